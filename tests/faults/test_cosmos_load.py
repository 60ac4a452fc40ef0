"""What happens to a load that is killed, throttled, cut off or not alone: the container comes to hold the release."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes.cosmos import Account, Fault, Seen, closed, cosmos_account, cut, lost, status, throttled
from item_release import DIMENSION, KIND, bucket_of, changed, films, vector, write_release
from wire import ROOT

from build_jobs import load_cosmos as job
from build_jobs.cosmos.batches import MOST_BATCH_BYTES, batches
from build_jobs.cosmos.check import check_cosmos
from build_jobs.cosmos.listed import release_ids
from build_jobs.cosmos.opened import opened
from build_jobs.load_cosmos import LoadReport, load_cosmos
from shared.errors import BuildError, ReleaseIncompatible, StoreBusy, StoreError, StoreRefused
from shared.index.cosmos_client import policies
from shared.index.cosmos_documents import Document
from shared.release import writer
from shared.settings import Settings

DAY_S = 86_400.0
KILLS = 10
WRITES = ("batch", "create", "upsert", "replace", "patch", "delete")


@pytest.fixture(scope="module")
def three_thousand(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose bucket has a release of 3,000 films. Read only."""
    folder = tmp_path_factory.mktemp("three-thousand")
    write_release(folder, films(3_000))
    return folder


@pytest.fixture
def account() -> Iterator[Account]:
    with cosmos_account() as account:
        yield account


def settings_for(account: Account, folder: Path, **given: Any) -> Settings:
    return Settings(
        **{
            "bucket_url": (folder / "bucket").as_uri(),
            "cache_dir": str(folder / "cache"),
            "cosmos_endpoint": account.endpoint,
            "cosmos_key": account.key,
            **given,
        }
    )


def load(account: Account, folder: Path, release_id: str | None = None, **given: Any) -> LoadReport:
    settings = settings_for(account, folder, **given)
    return load_cosmos(
        settings.bucket_url, settings=settings, catalog=KIND, release_id=release_id, sleep=lambda _: None
    )


def documents_of(folder: Path, release_id: str | None = None) -> dict[str, Document]:
    """What the container has to hold of a release, by id."""
    with opened(bucket_of(folder), KIND, folder / "cache", release_id) as release:
        return {each["id"]: each for each in release.documents(range(len(release.ids)))}


def held(account: Account) -> dict[str, Document]:
    """What the container holds, without what the service adds."""
    return {
        each["id"]: {name: value for name, value in each.items() if name[0] != "_"}
        for each in account.container().documents()
    }


# Killed


def test_a_load_of_3000_items_killed_ten_times_comes_to_hold_the_release_and_then_writes_nothing(
    three_thousand, account
):
    chance, before = random.Random(20261130), 0
    account.create(DIMENSION)
    with loads(account, three_thousand) as run:
        for _ in range(KILLS):
            assert killed(account, run, after=chance.randint(3, 9), answered=chance.random() < 0.5)
            assert len(account.container().ids()) >= before
            before = len(account.container().ids())
    assert 0 < len(account.container().ids()) < 3_000
    report = load(account, three_thousand)
    assert report.written + report.there == 3_000
    assert held(account) == documents_of(three_thousand)
    _second_load_sends_no_write(account, three_thousand)


# One process that has imported all it needs, and forks a child for each load: the starts took 30 s otherwise.
_LOADS = """
import os, sys
import azure.cosmos.exceptions, azure.identity
import build_jobs.load_cosmos
from cli.main import main
for _ in sys.stdin:
    child = os.fork()
    if child == 0:
        sys.stdout = sys.stderr
        os._exit(main(sys.argv[1:]))
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""
Run = Callable[[Callable[[int], None]], int]


@contextmanager
def loads(account: Account, folder: Path) -> Iterator[Run]:
    """Runs the command in a process of its own, whose pid is told to what is given. Returns the signal it died of."""
    environment = {
        **os.environ,
        "COSMOS_ENDPOINT": account.endpoint,
        "COSMOS_KEY": account.key,
        "CACHE_DIR": str(folder / "cache"),
    }
    flags = ["load-cosmos", "--site", KIND, "--bucket", (folder / "bucket").as_uri()]
    process = subprocess.Popen(
        [sys.executable, "-c", _LOADS, *flags],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    asked, told = process.stdin, process.stdout
    assert asked
    assert told

    def run(tell: Callable[[int], None]) -> int:
        print(file=asked, flush=True)
        tell(int(told.readline()))
        return int(told.readline()) & 0x7F

    try:
        yield run
    finally:
        process.communicate()


def killed(account: Account, run: Run, after: int, answered: bool) -> bool:
    """Whether a load died of being killed at its `after`-th request, before or after that was carried out."""
    come, pids = 0, []
    known = threading.Event()

    def tell(pid: int) -> None:
        pids.append(pid)
        known.set()

    def kill(seen: Seen) -> bool:
        nonlocal come
        come += seen.kind != "account"
        if come == after and known.wait(30):
            os.kill(pids[0], signal.SIGKILL)
        return come == after

    account.mend()
    account.fail(lost() if answered else closed(), of=kill)
    died = run(tell) == signal.SIGKILL
    account.mend()
    return died


def _second_load_sends_no_write(account: Account, folder: Path) -> None:
    before = len(account.of(*WRITES))
    report = load(account, folder)
    assert (report.status, report.written, report.batches, report.write_units) == ("unchanged", 0, 0, 0.0)
    assert len(account.of(*WRITES)) == before
    assert report.compared == 24


# Cut off


def fault_name(fault: Fault) -> str:
    """What a fault is called in a test's name."""
    if fault.status:
        return str(fault.status)
    return "closed" if fault.closes else "lost" if fault.lost else "cut"


@pytest.mark.parametrize("fault", [throttled(), closed(), lost()], ids=fault_name)
def test_a_load_holds_the_release_whichever_request_the_service_fails(tmp_path, fault):
    write_release(tmp_path, films(120))
    with cosmos_account() as account:
        load(account, tmp_path)
        requests = len([seen for seen in account.seen if seen.kind != "account"])
    expected = documents_of(tmp_path)
    assert requests > 8
    for number in range(1, requests + 1):
        with cosmos_account() as account:
            account.fail(fault, on=number)
            try:
                load(account, tmp_path)
            except StoreError:
                load(account, tmp_path)  # making the container is tried once: nothing was lost by its failure
            assert held(account) == expected, number


@pytest.mark.parametrize("fault", [cut(), status(408), status(503)], ids=fault_name)
def test_a_batch_whose_fate_is_unknown_is_sent_again(tmp_path, account, fault):
    write_release(tmp_path, films(120))
    account.fail(fault, on=1, of="batch")
    assert load(account, tmp_path).written == 120
    assert held(account) == documents_of(tmp_path)


def test_a_load_that_is_throttled_for_too_long_says_so_and_goes_on_later(tmp_path, account, monkeypatch):
    write_release(tmp_path, films(250))
    monkeypatch.setattr(job, "Account", _impatient)
    account.fail(throttled(), times=1_000, of=lambda seen: seen.kind == "batch" and len(account.of("batch")) > 1)
    with pytest.raises(StoreBusy, match="provisioned"):
        load(account, tmp_path)
    assert len(account.container().ids()) == 100
    account.mend()
    assert load(account, tmp_path).written == 150
    assert held(account) == documents_of(tmp_path)


def _impatient(settings: Settings) -> Any:
    from shared.index.cosmos_client import Account as Client
    from shared.index.cosmos_client import Patience

    return Client(settings, Patience(timeout_s=5, retries=1, throttled_s=1))


def test_a_dead_account_is_an_error_that_names_no_document(tmp_path, account):
    write_release(tmp_path, films(3))
    account.die()
    with pytest.raises(StoreError, match="cannot be reached"):
        load(account, tmp_path)


def test_a_wrong_key_is_said_in_one_sentence_without_the_key(tmp_path, account):
    write_release(tmp_path, films(3))
    with pytest.raises(StoreRefused) as refused:
        load(account, tmp_path, cosmos_key="d3Jvbmc=")
    assert "d3Jvbmc" not in refused.value.message


# Not alone


def test_two_loads_at_once_come_to_hold_the_release(tmp_path, account):
    write_release(tmp_path, films(400))
    account.create(DIMENSION)
    reports: list[LoadReport] = []
    threads = [threading.Thread(target=lambda: reports.append(load(account, tmp_path))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(reports) == 2
    assert held(account) == documents_of(tmp_path)
    _second_load_sends_no_write(account, tmp_path)


def test_a_reader_during_a_load_never_sees_a_mix(tmp_path, account):
    old = write_release(tmp_path, films(600), age_s=60)
    load(account, tmp_path)
    new = write_release(tmp_path, changed(films(600), keywords="anew"), current=False)
    reader = _Reader(account, tmp_path, old)
    expected = reader.ask()
    assert len(expected) == 20
    seen: list[list[tuple[str, float]]] = []
    finished = threading.Event()

    def read() -> None:
        while not finished.is_set():
            seen.append(reader.ask())

    thread = threading.Thread(target=read)
    thread.start()
    try:
        load(account, tmp_path, new)
    finally:
        finished.set()
        thread.join()
        reader.close()
    assert len(account.container().ids()) == 1_200
    assert len(seen) > 1
    assert all(answer == expected for answer in seen)


class _Reader:
    """Asks as a site does: for more than it needs, of which it keeps what its own release lists."""

    def __init__(self, account: Account, folder: Path, release_id: str) -> None:
        from shared.index.cosmos_client import Account as Client

        self._client = Client(settings_for(account, folder))
        self._ids = set(release_ids(bucket_of(folder), KIND, release_id, folder / "cache"))
        self._parameters: list[dict[str, Any]] = [{"name": "@v", "value": [float(x) for x in vector("a question")]}]

    def ask(self) -> list[tuple[str, float]]:
        query = "SELECT TOP 60 c.id, VectorDistance(c.name_v, @v) AS score FROM c ORDER BY VectorDistance(c.name_v, @v)"
        rows = self._client.container.query_items(query, parameters=self._parameters, partition_key=KIND)
        return [(row["id"], row["score"]) for row in rows if row["id"] in self._ids][:20]

    def close(self) -> None:
        self._client.close()


# What nobody lists any more


def test_documents_that_no_release_lists_go_when_their_grace_is_over_and_not_before(tmp_path, account):
    """The current release, the one before it and the one that was current when the grace began keep theirs."""
    first, second, third, fourth = (changed(films(20), keywords=each) for each in "abcd")
    ids: dict[str, list[str]] = {}
    for age_s, items in ((9 * DAY_S, first), (8 * DAY_S, second), (7 * DAY_S, third)):
        release_id = write_release(tmp_path, items, age_s=age_s)
        account.clock = lambda: _now() - 9 * DAY_S
        load(account, tmp_path)
        ids[items[0].record["keywords"]] = release_ids(bucket_of(tmp_path), KIND, release_id, tmp_path / "cache")
    account.clock = _now
    container = account.container()
    assert container.ids() == set(ids["b"]) | set(ids["c"])
    fourth_id = write_release(tmp_path, fourth, current=False)
    report = load(account, tmp_path, fourth_id)
    assert (report.written, report.removed, report.waiting) == (20, 0, 0)
    writer.switch(bucket_of(tmp_path), KIND, fourth_id)
    report = load(account, tmp_path)
    assert (report.written, report.removed, report.waiting) == (0, 20, 0)
    assert not container.ids() & set(ids["b"])
    assert set(ids["c"]) <= container.ids()
    write_release(tmp_path, changed(films(20), keywords="e"))
    report = load(account, tmp_path)
    assert (report.written, report.removed) == (20, 0)  # whoever has not looked since still reads the third one
    assert set(ids["c"]) <= container.ids()


def test_a_young_document_that_nobody_lists_waits_for_the_end_of_its_grace(tmp_path, account):
    write_release(tmp_path, films(5))
    load(account, tmp_path)
    account.container().put([{"id": "stray", "site": KIND}])
    report = load(account, tmp_path)
    assert (report.removed, report.waiting) == (0, 1)
    report = load(account, tmp_path, cosmos_grace_s=-10.0)
    assert (report.removed, report.waiting) == (1, 0)
    assert "stray" not in account.container().ids()


def test_an_old_document_that_a_new_release_takes_up_is_written_anew_and_survives_a_removal_begun_before(
    tmp_path, account
):
    """Its stamp is a week old: who listed it for removal before the release was written would take it away."""
    write_release(tmp_path, films(20))
    load(account, tmp_path)
    taken_up = changed(films(10), keywords="again")
    release_id = write_release(tmp_path, taken_up, current=False)
    account.clock = lambda: _now() - 7 * DAY_S
    account.container().put(documents_of(tmp_path, release_id).values())
    account.clock = _now
    partition = _partition(account, tmp_path)
    doomed = {key: stamp for key, stamp in partition.listing().items() if stamp.written_at < _now() - DAY_S}
    assert len(doomed) == 10
    report = load(account, tmp_path, release_id)
    assert (report.renewed, report.written) == (10, 0)
    assert partition.remove(doomed) == 0
    assert documents_of(tmp_path, release_id).keys() <= account.container().ids()
    again = load(account, tmp_path, release_id)
    assert (again.status, again.renewed) == ("unchanged", 0)


def test_a_removal_takes_what_is_left_of_a_batch_in_which_one_was_written_or_is_gone(tmp_path, account):
    write_release(tmp_path, films(1))
    load(account, tmp_path)
    container = account.container()
    container.put([{"id": f"s{number}", "site": KIND} for number in range(12)])
    partition = _partition(account, tmp_path)
    listed = {key: stamp for key, stamp in partition.listing().items() if key.startswith("s")}
    container.put([{"id": "s3", "site": KIND, "anew": True}])
    container.delete(f'"{KIND}"', "s7")
    assert partition.remove(listed) == 10
    assert {each for each in container.ids() if each.startswith("s")} == {"s3"}


def test_nothing_is_removed_where_a_release_that_is_in_use_cannot_be_read(tmp_path, account):
    old = write_release(tmp_path, films(5), age_s=60)
    write_release(tmp_path, films(5, first=5))
    load(account, tmp_path, old)
    load(account, tmp_path)
    (tmp_path / "bucket" / KIND / "releases" / f"{old}.json").write_bytes(b"{}")
    report = load(account, tmp_path, cosmos_grace_s=-10.0)
    assert report.removed == 0
    assert "nothing was removed" in report.notes[0]
    assert len(account.container().ids()) == 10


def _now() -> float:
    import time

    return time.time()


def _partition(account: Account, folder: Path) -> Any:
    from build_jobs.cosmos.partition import Partition
    from shared.index.cosmos_client import Account as Client

    return Partition(Client(settings_for(account, folder)).container, KIND)


# What cannot be loaded


def test_a_batch_holds_what_the_service_takes():
    sizes = [300_000, 400_000, 400_000, 1_900_000, 100, *[50] * 250]
    documents: list[Document] = [{"id": f"d{n}", "item": f"i{n}", "text": "x" * size} for n, size in enumerate(sizes)]
    made = list(batches(documents))
    assert [each["id"] for batch in made for each in batch.documents] == [f"d{n}" for n in range(len(sizes))]
    assert [len(batch.documents) for batch in made] == [2, 1, 1, 100, 100, 51]
    for batch in made:
        assert len(json.dumps(batch.documents)) <= batch.bytes
        assert batch.bytes <= MOST_BATCH_BYTES or len(batch.documents) == 1


def _large(count: int, *rows: int) -> list[Any]:
    """So many films, of which these are too large for Cosmos DB."""
    items = films(count)
    for row in rows:
        items[row].record["text"] = "x" * 2_100_000
    return items


def test_items_that_are_too_large_are_reported_and_the_others_are_loaded(tmp_path, account):
    items = _large(5, 2, 4)
    write_release(tmp_path, items)
    report = load(account, tmp_path)
    assert report.too_large == [items[2].id, items[4].id]
    assert report.written == 3
    again = load(account, tmp_path)
    assert (again.status, again.too_large) == ("unchanged", [items[2].id, items[4].id])


@pytest.mark.parametrize("rows", [(2,), (0, 1, 2, 3)], ids=["one", "all"])
def test_items_that_are_too_large_are_not_missing_for_ever(tmp_path, account, rows):
    release = write_release(tmp_path, _large(4, *rows))
    settings = settings_for(account, tmp_path)
    load(account, tmp_path)
    job.refuse_unloaded(bucket_of(tmp_path), KIND, release, settings)
    found = check_cosmos(settings.bucket_url, settings=settings, catalog=KIND)
    assert (found.wrong, found.there, found.too_large) == ([], 4 - len(rows), len(rows))
    assert any("too large" in remark for remark in found.remarks)
    for each in list(account.container().ids())[:1]:
        account.container().delete(f'"{KIND}"', each)
        with pytest.raises(BuildError, match="lacks 1 items"):
            job.refuse_unloaded(bucket_of(tmp_path), KIND, release, settings)
        found = check_cosmos(settings.bucket_url, settings=settings, catalog=KIND)
        assert found.wrong[0].startswith("1 of 4 items are not there")


def test_an_older_release_that_lists_an_item_that_is_too_large_says_to_build_it_anew(tmp_path, account, monkeypatch):
    items = _large(4, 2)
    with monkeypatch.context() as older:
        older.setattr("shared.index.cosmos_documents.MOST_ITEM_BYTES", 10_000_000)
        write_release(tmp_path, items)
    with pytest.raises(ReleaseIncompatible, match=r"films.example/00002.*too large.*--force"):
        load(account, tmp_path)


@pytest.mark.parametrize("what", ["dimension", "partition", "measure"])
def test_a_container_that_cannot_hold_the_release_is_refused_before_anything_is_written(tmp_path, account, what):
    write_release(tmp_path, films(3))
    given: dict[str, Any] = {}
    if what == "partition":
        given["partitionKey"] = {"paths": ["/kind"], "kind": "Hash"}
    if what == "measure":
        policy = policies(DIMENSION)["vector_embedding_policy"]
        policy["vectorEmbeddings"][1]["distanceFunction"] = "euclidean"
        given["vectorEmbeddingPolicy"] = policy
    container = account.create(DIMENSION + (what == "dimension"), **given)
    with pytest.raises(BuildError, match=f"{'dimensions' if what == 'dimension' else ''}.*COSMOS_CONTAINER"):
        load(account, tmp_path)
    assert container.writes == 0


def test_a_document_that_is_not_what_its_id_says_is_found(tmp_path, account):
    write_release(tmp_path, films(10))
    load(account, tmp_path)
    other = {**next(iter(held(account).values())), "name": "Another film"}
    account.container().put([other])
    with pytest.raises(BuildError, match=other["id"]):
        load(account, tmp_path)


def test_every_number_arrives_as_the_release_has_it(tmp_path, account):
    """In float32, which is what the service computes in: no rounding on the way may change the order of a search."""
    write_release(tmp_path, films(30, budget=2**53 + 2, ratio=0.1))
    load(account, tmp_path)
    with opened(bucket_of(tmp_path), KIND, tmp_path / "cache", None) as release:
        stored = held(account)
        for row, key in enumerate(release.ids):
            for path, matrix in zip(("name_v", "description_v", "body_v"), release.matrices, strict=True):
                expected = np.asarray(matrix[row], np.float32)
                assert (path in stored[key]) is bool(expected.any())
                if path in stored[key]:
                    assert np.array_equal(np.array(stored[key][path], np.float32), expected)


def test_a_load_leaves_no_connection(tmp_path, account):
    write_release(tmp_path, films(3))
    for _ in range(3):
        load(account, tmp_path)
    _until_none_is_open(account)


def _until_none_is_open(account: Account) -> None:
    import time

    deadline = time.monotonic() + 30
    while account.open_connections:
        assert time.monotonic() < deadline
        time.sleep(0.01)
