"""A fake of Cosmos DB at its wire: the account over HTTP, what it holds, and the SQL it is asked in."""

from .account import KEY, Account, Fault, Seen, closed, cosmos_account, cut, lost, slow, status, throttled
from .store import Container

__all__ = [
    "KEY",
    "Account",
    "Container",
    "Fault",
    "Seen",
    "closed",
    "cosmos_account",
    "cut",
    "lost",
    "slow",
    "status",
    "throttled",
]
