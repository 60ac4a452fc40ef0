"""GET /status.json over real releases, and what comes of rolling back under a server."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from building import TINY_LEAVES
from releases import a_bucket, flip_a_bit, object_path, published
from wire import Service, serving

from cli.main import main
from shared.bucket.base import open_bucket
from shared.contracts import replies
from shared.errors import ReleaseCorrupt
from shared.models.weights import installed
from shared.release import manifest as manifests
from shared.release import reader
from shared.settings import Settings
from shared.tables.status import Ledgers

pytestmark = pytest.mark.skipif(not installed(), reason="the embedded models' weights are not installed")

ASKED = """
- question: how many people live in a place
  answers: [Count_Person]
- question: a table about dragons
  answers: [NoSuchCode]
- tell me a joke about penguins
"""


def build(folder: Path, *more: str) -> None:
    url = (folder / "bucket").as_uri()
    command = ["build", "tables", "--leaves", str(folder / "leaves"), "--bucket", url, "--embedder", "embedded"]
    assert main([*command, "--questions", str(folder / "asked.yaml"), *more]) == 0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A leaf root, questions, and a bucket with two releases, of which the second has one leaf more."""
    made = tmp_path_factory.mktemp("status")
    shutil.copytree(TINY_LEAVES, made / "leaves")
    (made / "asked.yaml").write_text(ASKED)
    build(made)
    known = made / "leaves/sources/datacommons/count-person-wdi.md"
    shutil.copy(known, known.with_name("count-person-once-more.md"))
    build(made)
    return made


@pytest.fixture(scope="module")
def service(folder: Path) -> Iterator[Service]:
    with serving((folder / "bucket").as_uri(), {"REFRESH_S": "0.2", "LLM_PROVIDER": "embedded"}) as running:
        yield running


def test_the_status_is_what_the_build_asked_and_has_the_documented_shape(service: Service) -> None:
    [catalog] = service.get("/status.json").json["catalogs"]
    assert set(catalog) == set(replies.StatusCatalog.__annotations__)
    assert set(catalog["scores"]["asked"]) == set(replies.StatusScores.__annotations__)
    assert set(catalog["questions"][0]) == set(replies.StatusQuestion.__annotations__)
    assert set(catalog["questions"][0]["results"][0]) == set(replies.StatusResult.__annotations__)
    assert (catalog["catalog"], catalog["release"]) == ("built-in", service.get("/health").json["release"])
    assert catalog["embedder"] == "BAAI/bge-small-en-v1.5 (embedded, 384 dimensions)"
    people, dragons, joke = catalog["questions"]
    assert (people["verdict"], people["rank"]) == ("right", 1)
    assert people["results"][0]["identifier"] in people["expected"]
    assert (dragons["verdict"], dragons["expected"]) == ("missed", [])
    assert joke["verdict"] in ("no_match_right", "no_match_wrong")
    assert catalog["scores"]["asked"]["recall_at_10"] == 0.5


def test_the_status_says_what_the_gate_found(service: Service) -> None:
    [catalog] = service.get("/status.json").json["catalogs"]
    assert catalog["gate"]["verdict"] == "passed"
    verdicts = {check["name"]: check["verdict"] for check in catalog["gate"]["checks"]}
    assert verdicts == dict.fromkeys(("sources", "files", "urns", "vectors", "scores"), "passed")


def test_B05_one_command_brings_the_previous_release_back_under_a_running_server(
    service: Service, folder: Path
) -> None:
    """Within REFRESH_S of the next request; its status comes back with it."""
    before = service.get("/health").json["release"]
    assert main(["rollback", "--bucket", (folder / "bucket").as_uri()]) == 0
    until(lambda: service.get("/health").json["release"] != before)
    until(lambda: service.get("/status.json").json["catalogs"][0]["release"] != before)
    assert service.get("/health").json["entries"] == 15
    assert main(["rollback", "--bucket", (folder / "bucket").as_uri()]) == 0
    until(lambda: service.get("/health").json["release"] == before)


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_function_without_releases_or_with_old_ones_has_no_ledgers(tmp_path: Path) -> None:
    assert Ledgers(Settings()).shown() == {"catalogs": []}
    bucket = a_bucket(tmp_path)
    assert Ledgers(Settings(bucket_url=bucket.url)).shown() == {"catalogs": []}
    published(bucket, tmp_path / "files")
    assert Ledgers(Settings(bucket_url=bucket.url)).shown() == {"catalogs": []}


def test_a_ledger_whose_bytes_changed_is_refused_by_name(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "bucket", tmp_path / "bucket")
    bucket: Any = open_bucket((tmp_path / "bucket").as_uri())
    manifest = reader.read_manifest(bucket, "built-in", reader.current(bucket, "built-in").release)
    digest = next(file.sha256 for file in manifest.files if file.role == "status")
    flip_a_bit(object_path(bucket, manifests.file_key("built-in", digest)))
    with pytest.raises(ReleaseCorrupt, match="status of catalog 'built-in'"):
        Ledgers(Settings(bucket_url=bucket.url)).shown()


def test_ledgers_are_read_again_only_when_the_last_look_is_old(folder: Path) -> None:
    now = [0.0]
    ledgers = Ledgers(Settings(bucket_url=(folder / "bucket").as_uri(), refresh_s=60), now=lambda: now[0])
    first = ledgers.shown()
    pointer = folder / "bucket/built-in/current.json"
    kept = pointer.read_bytes()
    try:
        pointer.write_bytes(b"broken")
        assert ledgers.shown() == first
        now[0] = 61.0
        with pytest.raises(Exception, match=r"current\.json"):
            ledgers.shown()
    finally:
        pointer.write_bytes(kept)
