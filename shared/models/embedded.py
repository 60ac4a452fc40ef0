"""The embedder that comes in a wheel: bge-small-en-v1.5, int8 ONNX, 384 dimensions, at most 512 tokens.

One text at a time, always, on one thread a text: the int8 model quantises its activations by batch, so a text
embedded beside others gets another vector (1 - cos up to 6e-3). Several texts run side by side on threads
instead; a query and a build therefore get the same bytes for the same text.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from shared.errors import EmbeddingFailed
from shared.models.ledger import Ledger
from shared.models.provider import Provider, TextKind
from shared.models.weights import BGE_SMALL, locate, paths
from shared.settings import threads_or_cores

if TYPE_CHECKING:
    import anyio
    import numpy as np
    import numpy.typing as npt

DIMENSION = 384
MAX_TOKENS = 512

# What bge was trained to see before a question and never before a document. Measured on 23,450 tables, embedding order
# alone: R@10 .960 to .978 and MRR .834 to .864 on datacommons-nl, .901 to .909 and .668 to .683 on okf-heldout.
_INSTRUCTION = "Represent this sentence for searching relevant passages: "


class EmbeddedEmbedder:
    """Implements models.provider.Embedder. Loading takes about 0.15 s and 75 MB; raises ModelUnavailable."""

    provider: Provider = "embedded"
    model = BGE_SMALL.model
    dimension = DIMENSION
    # 512 tokens of English are 2,000 characters and more; the model reads no further.
    max_chars = 2_000

    def __init__(self, threads: int = 0) -> None:
        files = paths(BGE_SMALL)
        self._threads = threads_or_cores(threads)
        self._limiter: anyio.CapacityLimiter | None = None
        with ThreadPoolExecutor(2, thread_name_prefix="weights") as beside:
            session = beside.submit(open_session, str(files.onnx))
            tokenizer = beside.submit(open_tokenizer, str(files.tokenizer), MAX_TOKENS)
            locate(BGE_SMALL)  # the digests are taken meanwhile; what was opened is kept only where they are right
            self._session, self._tokenizer = session.result(), tokenizer.result()

    async def embed(self, texts: Sequence[str], kind: TextKind, ledger: Ledger) -> npt.NDArray[np.float32]:
        """`(len(texts), 384)` float32 unit vectors, in order; equal texts are embedded once.

        Safe to call from several tasks: all share the same few threads. Raises EmbeddingFailed.
        """
        import anyio

        started = time.perf_counter()
        self._limiter = self._limiter or anyio.CapacityLimiter(self._threads)
        batch = _Batch([_INSTRUCTION + text for text in texts] if kind == "query" else texts)
        async with anyio.create_task_group() as group:
            for _ in range(min(self._threads, len(batch.place))):
                group.start_soon(self._on_a_thread, batch)
        if batch.failure is not None:
            raise batch.failure
        ledger.record(
            target="embedded",
            model=self.model,
            stage=f"embed-{kind}",
            elapsed_ms=(time.perf_counter() - started) * 1e3,
            prompt_tokens=sum(batch.tokens),
        )
        return batch.vectors[batch.rows]

    async def _on_a_thread(self, batch: _Batch) -> None:
        from anyio import to_thread

        await to_thread.run_sync(self._drain, batch, limiter=self._limiter)

    def _drain(self, batch: _Batch) -> None:
        try:
            for text, index in batch.waiting:
                batch.vectors[index], batch.tokens[index] = self._vector(text)
        except EmbeddingFailed as failure:
            batch.failure = failure

    def _vector(self, text: str) -> tuple[npt.NDArray[np.float32], int]:
        """The CLS state, normalised, and how many tokens were read."""
        import numpy as np

        # A lone surrogate cannot be UTF-8; "?" stands for it, as it would on any wire.
        encoding = self._tokenizer.encode(text.encode("utf-8", "replace").decode("utf-8"))
        feeds = {
            "input_ids": np.asarray([encoding.ids], dtype=np.int64),
            "attention_mask": np.asarray([encoding.attention_mask], dtype=np.int64),
            "token_type_ids": np.asarray([encoding.type_ids], dtype=np.int64),
        }
        try:
            state = self._session.run(None, feeds)[0][0, 0]
        except RuntimeError as error:
            raise EmbeddingFailed("The embedded model could not read the query.") from error
        return _unit(state), len(encoding.ids)


def opening(threads: int = 0) -> Future[EmbeddedEmbedder]:
    """The embedder on its way, opened by a thread of its own."""
    import_packages()
    pool = ThreadPoolExecutor(1, thread_name_prefix="embedder")
    embedder = pool.submit(EmbeddedEmbedder, threads)
    pool.shutdown(wait=False)
    return embedder


def import_packages() -> None:
    """Import what the models need, before a thread opens them.

    Threads that import side by side wait for each other's lock; what is left, 0.13 s of reading the weights, needs
    no lock, so other imports go on beside it.
    """
    import onnxruntime  # noqa: F401
    import tokenizers  # noqa: F401


class _Batch:
    """The distinct texts of one call, handed one by one to whichever thread is free."""

    def __init__(self, texts: Sequence[str]) -> None:
        import numpy as np

        self.place = {text: index for index, text in enumerate(dict.fromkeys(texts))}
        self.rows = [self.place[text] for text in texts]
        self.waiting = iter(self.place.items())
        self.vectors = np.zeros((len(self.place), DIMENSION), dtype=np.float32)
        self.tokens = [0] * len(self.place)
        # Kept here, not raised in the task: a task group would wrap it in a group of exceptions.
        self.failure: EmbeddingFailed | None = None


def _unit(vector: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    import numpy as np

    norm = float(np.linalg.norm(vector))
    if not np.isfinite(norm) or norm == 0.0:
        raise EmbeddingFailed("The embedded model returned a vector that is no number.")
    return np.asarray(vector / norm, dtype=np.float32)


def open_tokenizer(path: str, max_tokens: int) -> Any:
    """A `tokenizers.Tokenizer` that reads at most `max_tokens` of a text, or of a pair, of which it cuts the longer."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(path)
    tokenizer.enable_truncation(max_tokens)
    # One text at a time needs no padding, and the cross-encoder's file asks for 512 tokens of it: 90 ms for 15.
    tokenizer.no_padding()
    return tokenizer


def open_session(path: str) -> Any:
    """An `onnxruntime.InferenceSession` on the thread that calls it, which may be several at once."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # The arena keeps the largest text's buffers for good; without it the process stays 40 MB smaller.
    options.enable_cpu_mem_arena = False
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
