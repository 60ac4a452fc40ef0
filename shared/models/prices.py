"""What a call costs where the gateway does not say."""

from __future__ import annotations

# Dollars per million tokens, in and out. A name is matched as a part of the model's id, the longest one wins.
PRICES: dict[str, tuple[float, float]] = {
    "gpt-oss-120b": (0.09, 0.45),
    "gpt-oss-20b": (0.04, 0.15),
    "text-embedding-3-small": (0.02, 0.0),
    "text-embedding-3-large": (0.13, 0.0),
    "nomic-embed-text": (0.0, 0.0),
    "typesafe/jev-": (0.042, 0.0),
}


def price_usd(model: str, prompt_tokens: int, completion_tokens: int) -> float:
    """Dollars of one call; 0 for a model that the table does not know."""
    known = max((name for name in PRICES if name in model), key=len, default="")
    per_prompt, per_completion = PRICES.get(known, (0.0, 0.0))
    return (prompt_tokens * per_prompt + completion_tokens * per_completion) / 1e6
