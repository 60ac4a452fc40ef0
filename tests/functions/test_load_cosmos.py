"""`askbucket load-cosmos`, and the verbs that move a pointer: no site is ever pointed to items that are not there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from fakes.cosmos import Account, closed, cosmos_account, status
from item_release import DIMENSION, KIND, bucket_of, changed, films, vector, write_release

from build_jobs.items.build import ItemsReport, build_items
from cli.main import main
from shared.contracts.items import Item
from shared.errors import BuildError
from shared.models.ledger import Ledger
from shared.models.provider import Provider, TextKind
from shared.release import reader
from shared.release.manifest import pointer_key
from shared.settings import Settings
from shared.sites.kinds import KINDS

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def account() -> Iterator[Account]:
    with cosmos_account() as account:
        yield account


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, account: Account) -> Run:
    """Run the command with the account's settings: its exit status, what it said and what went wrong."""
    for name, value in {
        "CACHE_DIR": str(tmp_path / "cache"),
        "COSMOS_ENDPOINT": account.endpoint,
        "COSMOS_KEY": account.key,
    }.items():
        monkeypatch.setenv(name, value)

    def run(*words: str) -> tuple[int, str, str]:
        returned = main([*words, "--bucket", (tmp_path / "bucket").as_uri()])
        said = capsys.readouterr()
        return returned, said.out, said.err

    return run


def test_a_load_says_what_it_did_and_what_that_took(run, tmp_path, account):
    release = write_release(tmp_path, films(30))
    returned, out, _ = run("load-cosmos", "--site", KIND)
    assert returned == 0
    assert f"{KIND}: {release} is in samples/items, 30 items" in out
    assert "0 were there, 30 written, 0 renewed in 1 batch; 24 read back and compared" in out
    assert " RU (" in out
    returned, out, _ = run("load-cosmos", "--site", KIND, "--json")
    told = json.loads(out)
    assert (told["status"], told["there"], told["written"], told["writeUnits"]) == ("unchanged", 30, 0, 0.0)
    assert told["requestUnits"] > 0


def test_the_request_units_of_a_load_are_those_that_the_account_charged(run, tmp_path, account):
    write_release(tmp_path, films(130))
    _, out, _ = run("load-cosmos", "--site", KIND, "--json")
    told = json.loads(out)
    assert told["requestUnits"] == pytest.approx(account.container().charge, abs=0.05)
    assert told["writeUnits"] == pytest.approx(sum(seen.charge for seen in account.of("batch")), abs=0.05)
    assert told["batches"] == 2


def test_a_check_says_how_the_account_answers_and_writes_nothing(run, tmp_path, account):
    write_release(tmp_path, films(60))
    run("load-cosmos", "--site", KIND)
    before = account.container().writes
    returned, out, _ = run("load-cosmos", "--site", KIND, "--check")
    assert returned == 0
    assert "name: passthrough, 40 rows on 4 pages, in order, 40 as by looking at all" in out
    assert "a question takes" in out
    assert "wrong" not in out
    assert account.container().writes == before


@pytest.mark.parametrize(
    ("needs_plan", "path", "is_in_order"), [(False, "passthrough", False), (True, "plan", True)], ids=["pass", "plan"]
)
def test_a_check_tells_the_order_of_pages_and_the_path_of_a_query(
    run, tmp_path, account, needs_plan, path, is_in_order
):
    write_release(tmp_path, films(60))
    run("load-cosmos", "--site", KIND)
    account.behaviour.shuffled, account.behaviour.needs_plan = True, needs_plan
    returned, out, _ = run("load-cosmos", "--site", KIND, "--check", "--json")
    told = json.loads(out)
    assert returned == 0
    assert {(each["path"], each["is_in_order"], each["exact"]) for each in told["asked"]} == {(path, is_in_order, 40)}
    assert any("another order" in remark for remark in told["remarks"]) is not is_in_order


def test_a_check_looks_at_its_own_release_among_others(run, tmp_path, account):
    write_release(tmp_path, films(60), age_s=60)
    run("load-cosmos", "--site", KIND)
    release = write_release(tmp_path, changed(films(60), keywords="anew"), current=False)
    run("load-cosmos", "--site", KIND, "--release", release)
    returned, out, _ = run("load-cosmos", "--site", KIND, "--check", "--json")
    told = json.loads(out)
    assert (returned, told["there"], told["others"], told["remarks"]) == (0, 60, 60, [])
    assert all(0 < each["rows"] == each["exact"] < 40 for each in told["asked"])


def test_a_check_finds_a_container_that_is_missing_unfit_or_not_full(run, tmp_path, account):
    write_release(tmp_path, films(10))
    returned, out, _ = run("load-cosmos", "--site", KIND, "--check")
    assert returned == 1
    assert "wrong: there is no such database or container" in out
    account.create(DIMENSION + 1, indexingPolicy={})
    returned, out, _ = run("load-cosmos", "--site", KIND, "--check")
    assert returned == 1
    assert f"wrong: vector policy of /name_v: expected dimensions {DIMENSION}, found {DIMENSION + 1}" in out
    assert "note: /name_v has no vector index" in out
    account.create(DIMENSION)
    returned, out, _ = run("load-cosmos", "--site", KIND, "--check")
    assert returned == 1
    assert "wrong: 10 of 10 items are not there" in out


def test_a_load_without_an_account_says_what_to_set(run, tmp_path, monkeypatch):
    write_release(tmp_path, films(1))
    monkeypatch.delenv("COSMOS_ENDPOINT")
    returned, _, err = run("load-cosmos", "--site", KIND)
    assert returned == 1
    assert "COSMOS_ENDPOINT" in err


def test_a_key_is_never_sent_over_plain_http_to_another_machine(run, tmp_path, monkeypatch):
    write_release(tmp_path, films(1))
    monkeypatch.setenv("COSMOS_ENDPOINT", "http://account.documents.azure.com/")
    returned, _, err = run("load-cosmos", "--site", KIND)
    assert returned == 1
    assert "expected https://" in err


# The order: build, load, point


class MadeUp:
    """An embedder of made-up vectors."""

    provider: Provider = "embedded"
    model = "test/made-up"
    dimension = DIMENSION
    max_chars = 24_000

    async def embed(self, texts: Sequence[str], kind: TextKind, ledger: Ledger) -> npt.NDArray[np.float32]:
        return np.stack([vector(text) for text in texts])


def built(folder: Path, account: Account, items: Sequence[Item], **given: Any) -> ItemsReport:
    """Build these films into the bucket below a folder, with Cosmos DB as their store."""
    path = folder / "films.jsonl"
    path.write_text("".join(json.dumps(item.record) + "\n" for item in items), encoding="utf-8")
    settings = Settings(
        cache_dir=str(folder / "cache"), cosmos_endpoint=account.endpoint, cosmos_key=account.key, **given
    )
    url = (folder / "bucket").as_uri()
    return asyncio.run(build_items([path], url, settings=settings, embedder=MadeUp(), kind=KINDS[KIND]))


def test_a_build_points_to_its_release_when_cosmos_db_has_all_of_it_and_not_before(tmp_path, account):
    first = built(tmp_path, account, films(40))
    assert first.cosmos
    assert (first.cosmos.release, first.cosmos.written) == (first.release, 40)
    seen_while_loading: list[str] = []

    def looks(seen: Any) -> bool:
        if seen.kind == "batch":
            seen_while_loading.append(reader.current(bucket_of(tmp_path), KIND).release)
        return False

    account.fail(closed(), of=looks)
    second = built(tmp_path, account, changed(films(40), keywords="anew"))
    assert seen_while_loading == [first.release]
    assert second.cosmos
    assert second.cosmos.written == 40
    assert reader.current(bucket_of(tmp_path), KIND).release == second.release
    assert "cosmos" in second.as_json()


def test_a_build_whose_items_cannot_be_loaded_leaves_the_pointer_and_says_how_to_go_on(run, tmp_path, account):
    first = built(tmp_path, account, films(10))
    account.fail(status(400), times=1_000, of="batch")
    with pytest.raises(BuildError, match="askbucket load-cosmos --site movies --release") as refused:
        built(tmp_path, account, changed(films(10), keywords="anew"))
    assert reader.current(bucket_of(tmp_path), KIND).release == first.release
    assert refused.value.message.count(f"--bucket {tmp_path.as_uri()}") == 2
    second = refused.value.message.split("--release ")[1].split()[0]
    returned, _, err = run("publish", second, "--catalog", KIND)
    assert returned == 1
    assert "lacks 10 items" in err
    assert reader.current(bucket_of(tmp_path), KIND).release == first.release
    account.mend()
    assert run("load-cosmos", "--site", KIND, "--release", second)[0] == 0
    assert run("publish", second, "--catalog", KIND)[0] == 0
    assert reader.current(bucket_of(tmp_path), KIND).release == second


def test_a_site_in_memory_is_built_without_cosmos_db(tmp_path, account):
    report = built(tmp_path, account, films(3), store="memory")
    assert (report.status, report.cosmos) == ("published", None)
    assert account.seen == []


def test_a_rollback_to_items_that_are_gone_is_refused_unless_it_is_asked_for(run, tmp_path, account):
    first = write_release(tmp_path, films(5), age_s=60)
    second = write_release(tmp_path, films(5, first=5))
    run("load-cosmos", "--site", KIND)
    returned, _, err = run("rollback", "--catalog", KIND)
    assert returned == 1
    assert f"lacks 5 items of release {first}" in err
    assert reader.current(bucket_of(tmp_path), KIND).release == second
    assert run("rollback", "--catalog", KIND, "--unloaded")[0] == 0
    assert reader.current(bucket_of(tmp_path), KIND).release == first


def test_an_item_that_is_too_large_keeps_no_release_from_being_published_or_rolled_back_to(run, tmp_path, account):
    first = write_release(tmp_path, films(5, text="x"), age_s=60)
    items = films(5)
    items[3].record["text"] = "x" * 2_100_000
    second = write_release(tmp_path, items, current=False)
    for release in (first, second):
        _, out, _ = run("load-cosmos", "--site", KIND, "--release", release)
    assert "too large for Cosmos DB, found by their words alone" in out
    assert run("publish", second, "--catalog", KIND)[0] == 0
    assert run("rollback", "--catalog", KIND)[0] == 0
    assert run("rollback", "--catalog", KIND)[0] == 0
    assert reader.current(bucket_of(tmp_path), KIND).release == second
    returned, out, _ = run("load-cosmos", "--site", KIND, "--check")
    assert returned == 0
    assert "note: 1 item is too large for Cosmos DB and found by its words alone" in out
    _, out, _ = run("doctor")
    assert "movies: the container holds 9 items for 4" in out


def test_a_site_in_memory_is_rolled_back_without_cosmos_db(run, tmp_path, account, monkeypatch):
    write_release(tmp_path, films(5), age_s=60)
    write_release(tmp_path, films(5, first=5))
    monkeypatch.setenv("STORE", "memory")
    assert run("rollback", "--catalog", KIND)[0] == 0
    assert account.seen == []


# The doctor


def test_the_doctor_says_whether_the_container_holds_the_items(run, tmp_path, account):
    write_release(tmp_path, films(5))
    assert "no such database or container" in _finding(run)["message"]
    run("load-cosmos", "--site", KIND)
    assert _finding(run) == {
        "name": "cosmos", "status": "ok", "message": "movies: the container holds 5 items for 5", "todo": "",
    }  # fmt: skip
    account.container().delete(f'"{KIND}"', next(iter(account.container().ids())))
    found = _finding(run)
    assert (found["status"], found["todo"]) == ("failed", "run `askbucket load-cosmos --site movies`")


def test_the_doctor_never_shows_the_key(run, tmp_path, account, monkeypatch):
    write_release(tmp_path, films(5))
    monkeypatch.setenv("COSMOS_KEY", "d3Jvbmc=")
    returned, out, err = run("doctor", "--json")
    assert returned == 1
    assert "d3Jvbmc" not in out + err
    [found] = [each for each in json.loads(out)["checks"] if each["name"] == "cosmos"]
    assert "takes neither this key nor this identity" in found["message"]


def _finding(run: Run) -> dict[str, str]:
    _, out, _ = run("doctor", "--json")
    found: list[dict[str, str]] = [each for each in json.loads(out)["checks"] if each["name"] == "cosmos"]
    return found[0]


def test_a_release_that_lists_no_documents_says_to_build_it_anew(run, tmp_path):
    release = write_release(tmp_path, films(3))
    key = pointer_key(KIND).replace("current.json", f"releases/{release}.json")
    manifest = json.loads(bucket_of(tmp_path).read(key))
    manifest["files"] = [each for each in manifest["files"] if each["role"] != "cosmos_ids"]
    from shared.contracts.release import Manifest
    from shared.contracts.strict import read
    from shared.release import manifest as manifests

    older = read(Manifest, manifest)
    older_id = manifests.id_of(older)
    bucket_of(tmp_path).put(manifests.manifest_key(KIND, older_id), manifests.encode(older))
    returned, _, err = run("load-cosmos", "--site", KIND, "--release", older_id)
    assert returned == 1
    assert "build with --force" in err
