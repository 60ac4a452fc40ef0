"""What a process keeps: loaded after the fork, swapped without dropping a request, never leaked."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from wire import ROOT, free_port

from shared.edge.memory import available_bytes, memory_allows
from shared.edge.process import Hosted
from shared.errors import AskbucketError, CatalogConflict, ReleaseCorrupt, Starting, Unavailable, UnknownName

PATIENCE_S = 30.0
# From Python 3.12 on a fork beside threads warns; what a fork beside threads does is what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")


class Value:
    """Something that is opened and closed, and knows how often."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.closed = 0


class Shelf:
    """Opens numbered values; `newest` is the number of the one to open."""

    def __init__(self) -> None:
        self.newest = 1
        self.opened: list[Value] = []
        self.opening = 0
        self.most_opening = 0
        self.failure: Exception | None = None
        self.gate = threading.Event()
        self.gate.set()
        self._lock = threading.Lock()

    def open(self, progress: Callable[[int, int], None]) -> Value:
        with self._lock:
            self.opening += 1
            self.most_opening = max(self.opening, self.most_opening)
        try:
            progress(3, 10)
            assert self.gate.wait(PATIENCE_S)
            if self.failure is not None:
                raise self.failure
            self.opened.append(Value(self.newest))
            return self.opened[-1]
        finally:
            with self._lock:
                self.opening -= 1

    def is_stale(self, value: Value) -> bool:
        return value.number != self.newest

    def close(self, value: Value) -> None:
        with self._lock:
            value.closed += 1

    def host(self, refresh_s: float = 3600, **options: Any) -> Hosted[Value]:
        return Hosted(self.open, is_stale=self.is_stale, close=self.close, refresh_s=refresh_s, **options)


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


def eventually(happens: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not happens():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.002)


def no_helper() -> bool:
    return not any(thread.name == "hosted" for thread in threading.enumerate())


def number(hosted: Hosted[Value]) -> int:
    with hosted.borrow() as value:
        return value.number


def test_nothing_is_loaded_before_the_first_request(shelf: Shelf) -> None:
    threads = threading.active_count()
    shelf.host()
    assert (threading.active_count(), shelf.opened) == (threads, [])


def test_while_it_loads_a_request_is_told_so(shelf: Shelf) -> None:
    shelf.gate.clear()
    hosted = shelf.host()
    with pytest.raises(Starting, match=r"^Service is starting$") as caught, hosted.borrow():
        pass
    assert caught.value.headers["Retry-After"]
    eventually(lambda: hosted.state() == {"state": "starting", "done_bytes": 3, "total_bytes": 10})
    assert hosted.wait(0.01) is False
    shelf.gate.set()
    assert hosted.wait(PATIENCE_S) is True
    assert hosted.state() == {"state": "ready", "release_pending": False, "refresh_error": None}
    assert number(hosted) == 1


def test_many_first_requests_load_once(shelf: Shelf) -> None:
    hosted = shelf.host()
    start = threading.Barrier(16)

    def first() -> None:
        start.wait()
        hosted.ensure()
        hosted.wait(PATIENCE_S)

    in_threads(first, 16)
    assert len(shelf.opened) == 1


def test_a_refusal_is_kept_and_raised_by_its_own_type(shelf: Shelf) -> None:
    shelf.failure = ReleaseCorrupt("records: expected 3 bytes, found 2", detail={"role": "records"})
    hosted = shelf.host()
    assert hosted.wait(PATIENCE_S) is False
    assert hosted.state() == {
        "state": "refused",
        "code": "release_corrupt",
        "message": "records: expected 3 bytes, found 2",
    }
    for _ in range(2):
        with pytest.raises(ReleaseCorrupt, match="expected 3 bytes") as caught, hosted.borrow():
            pass
        assert caught.value.detail == {"role": "records"}


@pytest.mark.parametrize("error", [CatalogConflict("two"), UnknownName("no such", ["a", "b"]), Unavailable("later")])
def test_a_refusal_never_collects_the_frames_of_those_who_met_it(shelf: Shelf, error: AskbucketError) -> None:
    shelf.failure = error
    hosted = shelf.host()
    hosted.wait(PATIENCE_S)
    met = []
    for _ in range(3):
        with pytest.raises(type(error)) as caught, hosted.borrow():
            pass
        met.append(caught.value)
    assert len(set(map(id, met))) == 3
    assert all(vars(one) == vars(error) for one in met)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_what_nobody_foresaw_is_a_refusal_and_not_an_endless_start(shelf: Shelf) -> None:
    shelf.failure = ZeroDivisionError("of /secret/path")
    hosted = shelf.host()
    assert hosted.wait(PATIENCE_S) is False
    assert hosted.state()["code"] == "unavailable"
    with pytest.raises(Unavailable) as caught, hosted.borrow():
        pass
    assert "secret" not in caught.value.message
    eventually(no_helper)


def test_a_refused_load_is_tried_again_when_it_is_old_enough(shelf: Shelf) -> None:
    shelf.failure = ReleaseCorrupt("broken")
    hosted = shelf.host(refresh_s=0)
    assert hosted.wait(PATIENCE_S) is False
    shelf.failure = None
    eventually(lambda: (hosted.ensure(), hosted.state()["state"] == "ready")[1])
    assert number(hosted) == 1


def test_a_refused_load_is_not_tried_again_at_every_request(shelf: Shelf) -> None:
    shelf.failure = ReleaseCorrupt("broken")
    hosted = shelf.host(refresh_s=3600)
    hosted.wait(PATIENCE_S)
    shelf.failure = None
    for _ in range(20):
        with pytest.raises(ReleaseCorrupt), hosted.borrow():
            pass
    assert shelf.opened == []


def test_a_newer_value_is_swapped_in_beside_a_request(shelf: Shelf) -> None:
    hosted = shelf.host(refresh_s=0)
    hosted.wait(PATIENCE_S)
    with hosted.borrow() as mine:
        shelf.newest = 2
        eventually(lambda: number(hosted) == 2)
        assert (mine.number, mine.closed) == (1, 0)
    assert mine.closed == 1
    assert [value.closed for value in shelf.opened] == [1, 0]


def test_a_value_is_not_looked_at_again_before_it_is_old_enough(shelf: Shelf) -> None:
    hosted = shelf.host(refresh_s=3600)
    hosted.wait(PATIENCE_S)
    shelf.newest = 2
    threads = threading.active_count()
    assert [number(hosted) for _ in range(50)] == [1] * 50
    assert threading.active_count() == threads


def test_a_failed_refresh_keeps_the_old_value_and_says_so(shelf: Shelf) -> None:
    hosted = shelf.host(refresh_s=0)
    hosted.wait(PATIENCE_S)
    shelf.newest, shelf.failure = 2, ReleaseCorrupt("broken")
    eventually(lambda: (number(hosted), hosted.state()["refresh_error"])[1])
    assert hosted.state() == {
        "state": "ready",
        "release_pending": True,
        "refresh_error": {"code": "release_corrupt", "message": "broken"},
    }
    shelf.failure = None
    eventually(lambda: number(hosted) == 2)
    eventually(lambda: hosted.state() == {"state": "ready", "release_pending": False, "refresh_error": None})


def test_a_newer_value_waits_while_memory_is_short(shelf: Shelf) -> None:
    room = [False]
    hosted = shelf.host(refresh_s=0, fits=lambda: room[0])
    assert hosted.wait(PATIENCE_S), "the first value needs no room beside another"
    shelf.newest = 2
    eventually(lambda: (number(hosted), hosted.state()["release_pending"])[1])
    assert (number(hosted), len(shelf.opened)) == (1, 1)
    room[0] = True
    eventually(lambda: number(hosted) == 2)
    assert hosted.state()["release_pending"] is False


def test_swaps_under_constant_borrows_drop_none_and_close_each_value_once(shelf: Shelf) -> None:
    """Eight threads borrow without a pause while twenty newer values come in."""
    hosted = shelf.host(refresh_s=0)
    hosted.wait(PATIENCE_S)
    stop = threading.Event()
    served: list[int] = []
    wrong: list[str] = []

    def borrow() -> None:
        while not stop.is_set():
            with hosted.borrow() as value:
                before = value.number
                time.sleep(0)
                if value.closed or value.number != before:
                    wrong.append(f"{before} was closed under its borrower")
                served.append(before)

    threads = [threading.Thread(target=borrow) for _ in range(8)]
    for thread in threads:
        thread.start()
    for newest in range(2, 22):
        shelf.newest = newest
        eventually(lambda: shelf.opened[-1].number == shelf.newest)
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert set(served) >= {1, 20}
    assert shelf.most_opening == 1
    hosted.close()
    eventually(lambda: [value.closed for value in shelf.opened] == [1] * 21)


def test_closing_waits_for_the_last_borrower_and_a_later_request_loads_anew(shelf: Shelf) -> None:
    hosted = shelf.host()
    hosted.wait(PATIENCE_S)
    with hosted.borrow() as value:
        hosted.close()
        assert value.closed == 0
    assert value.closed == 1
    assert hosted.state()["state"] == "starting"
    assert hosted.wait(PATIENCE_S)
    assert len(shelf.opened) == 2


def test_who_asks_while_an_abandoned_load_runs_is_served_by_the_next_one_and_never_two_run_at_once(
    shelf: Shelf,
) -> None:
    shelf.gate.clear()
    hosted = shelf.host()
    hosted.ensure()
    eventually(lambda: shelf.opening)
    hosted.close()
    hosted.ensure()
    time.sleep(0.05)  # room for a second load to begin, where nothing forbids it
    shelf.gate.set()
    eventually(lambda: hosted.state()["state"] == "ready")
    assert shelf.most_opening == 1
    assert [value.closed for value in shelf.opened] == [1, 0]
    hosted.close()


def test_a_value_that_was_opened_for_nobody_is_closed(shelf: Shelf) -> None:
    shelf.gate.clear()
    hosted = shelf.host()
    hosted.ensure()
    eventually(lambda: shelf.opening)
    hosted.close()
    shelf.gate.set()
    eventually(lambda: [value.closed for value in shelf.opened] == [1])
    assert hosted.state()["state"] == "starting"


def test_C06_200_cycles_leave_no_thread_and_no_descriptor(tmp_path: Path) -> None:
    """Each value is an open file; each cycle loads, borrows and closes, with an event loop in every tenth."""
    path = tmp_path / "file"
    path.write_bytes(b"1")

    def cycle(number: int) -> None:
        hosted = Hosted(
            lambda _: path.open("rb"),
            is_stale=lambda _: False,
            close=lambda file: file.close(),
            refresh_s=3600,
            needs_loop=number % 10 == 0,
        )
        assert hosted.wait(PATIENCE_S)
        with hosted.borrow() as file:
            assert file.read() == b"1"
        hosted.close()

    def counts() -> tuple[int, int]:
        return sum(1 for _ in Path("/proc/self/fd").iterdir()), threading.active_count()

    cycle(0)
    eventually(no_helper)
    before = counts()
    for n in range(200):
        cycle(n)
    gc.collect()
    eventually(lambda: all(now <= then for now, then in zip(counts(), before, strict=True)))


def test_the_loop_runs_async_work_in_one_thread_of_its_own(shelf: Shelf) -> None:
    hosted = shelf.host(needs_loop=True)
    hosted.wait(PATIENCE_S)

    async def where(name: str) -> tuple[str, int]:
        return name, threading.get_ident()

    idents = set()
    in_threads(lambda: idents.add(hosted.run(where, "a")), 6)
    [(name, ident)] = idents
    assert (name, ident != threading.get_ident()) == ("a", True)
    hosted.close()
    assert hosted.run(where, "b")[1]
    hosted.close()


def test_an_exception_of_async_work_reaches_who_asked(shelf: Shelf) -> None:
    hosted = shelf.host(needs_loop=True)

    async def fail() -> None:
        raise ReleaseCorrupt("from the loop")

    with pytest.raises(ReleaseCorrupt, match="from the loop"):
        hosted.run(fail)
    hosted.close()


def test_a_function_that_needs_no_loop_has_none(shelf: Shelf) -> None:
    with pytest.raises(RuntimeError, match="needs_loop=True"):
        _ = shelf.host().portal


def in_child(act: Callable[[], object]) -> Any:
    """What `act` returned in a forked child."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.write(write, json.dumps(act()).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    return json.loads(said)


def test_R11_a_forked_child_loads_its_own_value_without_being_asked(shelf: Shelf) -> None:
    hosted = shelf.host(needs_loop=True)

    def child() -> list[object]:
        eventually(lambda: hosted.state()["state"] == "ready")
        return [number(hosted), len(shelf.opened)]

    assert in_child(child) == [1, 1]
    assert (shelf.opened, hosted.state()["state"]) == ([], "starting")


def test_R11_a_child_shares_nothing_with_a_parent_that_had_loaded(shelf: Shelf) -> None:
    """Neither the value nor the loop of the parent is used or closed by the child."""
    hosted = shelf.host(needs_loop=True)
    hosted.wait(PATIENCE_S)
    with hosted.borrow() as mine:

        async def pid() -> int:
            return os.getpid()

        def child() -> list[object]:
            assert hosted.wait(PATIENCE_S)
            with hosted.borrow() as other:
                own = other is not mine
            answered = hosted.run(pid) == os.getpid()
            hosted.close()
            return [own, answered, mine.closed]

        assert in_child(child) == [True, True, 0]
    assert hosted.run(pid) == os.getpid()
    assert mine.closed == 0
    hosted.close()


FUNCTION = """
import os, time
from shared.edge.process import Hosted
from shared.errors import AskbucketError

IMPORTED_IN = os.getpid()
FOLDER = os.environ["MARKS"]

def open_(progress):
    time.sleep(0.1)
    open(os.path.join(FOLDER, f"loaded-{os.getpid()}"), "x").close()
    return os.getpid()

hosted = Hosted(open_, is_stale=lambda _: False, close=lambda _: None, refresh_s=3600, needs_loop=True)

async def add(a, b):
    return a + b

def main(request):
    try:
        with hosted.borrow() as pid:
            pids = {"loaded_in": pid, "served_in": os.getpid(), "imported_in": IMPORTED_IN}
            return {**pids, "sum": hosted.run(add, 1, 2)}
    except AskbucketError as error:
        return {"error": error.message}, 503, error.headers
"""


@contextmanager
def deployed(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """The function above under functions-framework and gunicorn, as it is deployed."""
    (folder / "main.py").write_text(FUNCTION)
    port = free_port()
    command = [sys.executable, "-m", "functions_framework", "--target", "main", "--source", "main.py"]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT), "MARKS": str(folder)}
    process = subprocess.Popen(command, cwd=folder, env=env)
    try:
        yield process, f"http://127.0.0.1:{port}/"
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def answer(url: str) -> dict[str, Any] | None:
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as response:
            said: dict[str, Any] = json.load(response)
            return said
    except urllib.error.HTTPError as error:
        assert error.code == 503
        assert json.load(error) == {"error": "Service is starting"}
    except OSError:
        pass
    return None


def test_R11_under_gunicorn_the_worker_loads_before_any_request_and_exits_cleanly(tmp_path: Path) -> None:
    with deployed(tmp_path) as (process, url):
        eventually(lambda: list(tmp_path.glob("loaded-*")))
        said: list[dict[str, Any]] = []
        eventually(lambda: said.extend(filter(None, [answer(url)])) or said)
        assert said[0]["loaded_in"] == said[0]["served_in"] != said[0]["imported_in"] == process.pid
        assert said[0]["sum"] == 3
        assert len(list(tmp_path.glob("loaded-*"))) == 1
    assert process.returncode == 0


def test_a_process_with_a_running_loop_ends_by_itself() -> None:
    """Neither the loop's thread nor its collection at exit keeps the interpreter."""
    code = """
from shared.edge.process import Hosted
hosted = Hosted(lambda _: 1, is_stale=lambda _: False, close=lambda _: None, refresh_s=1, needs_loop=True)
hosted.wait(30)
async def one(): return 1
print(hosted.run(one))
"""
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")


def test_importing_it_brings_nothing_heavy() -> None:
    code = "import sys, shared.edge.process; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    heavy = {"pydantic", "numpy", "anyio", "asyncio", "flask", "sqlite3", "json"}
    assert heavy.isdisjoint(loaded.split())
    ours = [name for name in loaded.split() if name.startswith("shared")]
    assert ours == ["shared", "shared.edge", "shared.edge.process", "shared.errors", "shared.garbage", "shared.timed"]


def machine(folder: Path, available_kb: int | None, groups: str, files: dict[str, str]) -> dict[str, Path]:
    """A /proc and a /sys/fs/cgroup that say these things."""
    proc, cgroup = folder / "proc", folder / "cgroup"
    written = {"proc/self/cgroup": groups, **{f"cgroup/{name}": text for name, text in files.items()}}
    if available_kb is not None:
        written["proc/meminfo"] = f"MemTotal:   99 kB\nMemAvailable:   {available_kb} kB\n"
    for name, text in written.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return {"proc": proc, "cgroup": cgroup}


@pytest.mark.parametrize(
    ("available_kb", "groups", "files", "expected"),
    [
        (2, "0::/\n", {}, 2048),
        (2, "0::/\n", {"memory.max": "max\n", "memory.current": "5\n"}, 2048),
        (2, "0::/\n", {"memory.max": "1000\n", "memory.current": "400\n"}, 600),
        (
            2,
            "0::/\n",
            {"memory.max": "1000", "memory.current": "400", "memory.stat": "anon 1\ninactive_file 50\n"},
            650,
        ),
        (2, "0::/\n", {"memory.max": "1000", "memory.current": "1200"}, 0),
        (2, "0::/gone/host\n", {"memory.max": "900", "memory.current": "0"}, 900),
        (2, "0::/a/b\n", {"a/memory.max": "700", "a/memory.current": "0", "a/b/memory.max": "max"}, 700),
        (
            2,
            "7:cpu:/x\n4:memory:/x\n",
            {
                "memory/x/memory.limit_in_bytes": "800",
                "memory/x/memory.usage_in_bytes": "300",
                "memory/x/memory.stat": "inactive_file 7\ntotal_inactive_file 20\n",
                "memory/memory.limit_in_bytes": "9223372036854771712",
                "memory/memory.usage_in_bytes": "5",
            },
            520,
        ),
        (None, "", {}, None),
    ],
)
def test_free_memory_is_the_least_that_the_machine_and_its_groups_leave(
    tmp_path: Path, available_kb: int | None, groups: str, files: dict[str, str], expected: int | None
) -> None:
    said = machine(tmp_path, available_kb, groups, files)
    assert available_bytes(**said) == expected
    if expected is not None:
        assert memory_allows(expected, **said)
        assert not memory_allows(expected + 1, **said)


def test_where_nothing_says_how_much_is_free_memory_allows(tmp_path: Path) -> None:
    assert memory_allows(1 << 60, tmp_path, tmp_path)


def test_this_machine_has_some_memory_free() -> None:
    free = available_bytes()
    assert free is None or free > 0


def in_threads(act: Callable[[], object], count: int) -> None:
    threads = [threading.Thread(target=act) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


STOPPED_AT_ONCE = """
import os, signal, time
from shared.edge.process import Hosted
signal.signal(signal.SIGTERM, lambda *_: None)  # as the master's, which only notes it
child = os.fork()
if child == 0:
    time.sleep(60)
    os._exit(0)
os.kill(child, signal.SIGTERM)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), signal.pthread_sigmask(signal.SIG_BLOCK, []))
os.kill(os.getpid(), signal.SIGTERM)  # is noted here all the same
"""


def test_a_worker_told_to_stop_before_it_has_handlers_of_its_own_ends() -> None:
    command = [sys.executable, "-c", STOPPED_AT_ONCE]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=50, check=False)
    assert (ended.stdout, ended.returncode) == ("-15 set()\n", 0), ended.stderr


ALL_TAKEN = """
import os, signal
from shared.edge.process import Hosted
class Told(Exception): pass
def tell(*_): raise Told
signal.signal(signal.SIGTERM, tell)
taken = 0
for _ in range(200):
    try:
        os.kill(os.getpid(), signal.SIGTERM)
    except Told:
        taken += 1
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
print(taken, signal.pthread_sigmask(signal.SIG_BLOCK, []))
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, signal.SIG_DFL)
child = os.fork()
if child == 0:
    os._exit(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_fork_leaves_the_signals_of_who_forks_as_they_were() -> None:
    ended = subprocess.run([sys.executable, "-c", ALL_TAKEN], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ended.stdout == "200 set()\n1\n"


RAISED_WHILE_HELD = """
import os, signal
os.register_at_fork(before=lambda: os.kill(os.getpid(), signal.SIGTERM))  # runs after the hooks that came later
from shared.edge.process import Hosted
noted = []
signal.signal(signal.SIGTERM, lambda *_: noted.append(1))
child = os.fork()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
print(len(noted), signal.pthread_sigmask(signal.SIG_BLOCK, []))
"""


def test_a_stop_that_comes_while_a_worker_is_forked_is_noted_by_the_master() -> None:
    command = [sys.executable, "-c", RAISED_WHILE_HELD]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert ended.stdout == "1 set()\n", ended.stderr
