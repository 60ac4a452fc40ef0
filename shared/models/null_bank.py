"""The null bank: how close everyday questions come to a catalog that does not answer them.

A cosine means different things in different catalogs: .62 is a good answer among 244 indicators and noise among
100,000 tables. So each release keeps the median and the spread of the best cosines of these queries, and the
embedded judge counts in that spread above that median.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shared.contracts.release import NullBank
from shared.models.ledger import Ledger
from shared.models.provider import Embedder

if TYPE_CHECKING:
    import numpy.typing as npt

_BLOCK = 4096

EVERYDAY_QUERIES = (
    "hello, how are you today?",
    "tell me something funny about lobsters",
    "what should I name my new puppy?",
    "write a birthday poem for my sister",
    "my girlfriend is angry with me, what do I say?",
    "what is the meaning of life?",
    "how do I fall asleep faster?",
    "good morning, did you sleep well?",
    "best running shoes for flat feet",
    "where can I buy a cheap leather sofa?",
    "compare these two smartphones for me",
    "is this jacket waterproof?",
    "what do I get my uncle for his retirement?",
    "which coffee maker should I get?",
    "how do I return an order that arrived broken?",
    "wireless headphones with noise cancelling",
    "easy lasagna recipe without meat",
    "how long do I boil an egg?",
    "what can I use instead of buttermilk?",
    "chocolate chip cookies that stay soft",
    "how to season a cast iron pan",
    "a quick dinner with chicken and rice",
    "which wine goes with salmon?",
    "how to keep rye bread fresh",
    "three days in Rome with small children",
    "do I need a visa for a weekend in Istanbul?",
    "quiet beach hotel with a pool",
    "cheapest flight to Lisbon on Friday",
    "what should I pack for a hiking trip?",
    "scenic train ride through the Alps",
    "is it safe to drink the tap water on my holiday?",
    "how early should I be at the airport?",
    "my laptop will not turn on",
    "reset the password of my email account",
    "python list comprehension with two loops",
    "why is my printer offline?",
    "how do I align two columns on a web page?",
    "the app crashes when I open the camera",
    "connect a bluetooth keyboard to my tablet",
    "what does error 404 mean?",
    "lyrics of that song about a yellow submarine",
    "who wins the chess match tonight?",
    "a movie like the one with the dream heist",
    "how do I tune a guitar?",
    "yoga stretches for a stiff back",
    "how to remove a red wine stain from a carpet",
    "my tomato plants have yellow leaves",
    "what does it mean when my cat purrs?",
)


async def null_bank(embedder: Embedder, vectors: npt.NDArray[Any]) -> NullBank:
    """Median and median absolute deviation of the best cosine of each everyday query over `vectors` `(n, d)`."""
    return await null_bank_of_items(embedder, [vectors], [1.0])


async def null_bank_of_items(
    embedder: Embedder, matrices: Sequence[npt.NDArray[Any]], weights: Sequence[float] = (1.0, 1.0, 1.0)
) -> NullBank:
    """The same of items, which have a matrix `(n, d)` a field: of the best weighted sum of their cosines.

    That is the score by which vectors find an item, -3 to 3 with the usual weights.
    """
    import numpy as np

    queries = await embedder.embed(EVERYDAY_QUERIES, "query", Ledger())
    best = np.full(len(queries), -np.inf, dtype=np.float32)
    for start in range(0, len(matrices[0]), _BLOCK):
        blocks = [matrix[start : start + _BLOCK].astype(np.float32) for matrix in matrices]
        summed = sum(weight * (block @ queries.T) for weight, block in zip(weights, blocks, strict=True))
        best = np.maximum(best, np.max(summed, axis=0))
    median = float(np.median(best))
    return NullBank(queries=len(best), median=median, mad=float(np.median(np.abs(best - median))))
