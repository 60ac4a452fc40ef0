"""A new release while requests are served."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

from building import TINY_LEAVES, build_tiny
from wire import Service, serving

THREADS = 8


def test_a_new_release_is_swapped_in_without_dropping_a_request(tmp_path: Path) -> None:
    """Eight threads ask throughout; every reply is a 200 of one release or of the other, whole."""
    bucket = tmp_path / "bucket"
    url = build_tiny(bucket)
    with serving(url, {"REFRESH_S": "0.2"}) as service:
        before = service.get("/health").json["release"]
        asking = Asking(service)
        with asking:
            asking.at_least(5)
            build_tiny(bucket, leaves=one_leaf_more(tmp_path))
            asking.until(lambda: service.get("/health").json["entries"] == 16)
            # Each function swaps by itself: the look-ups may see the new release a moment after the searches.
            asking.until(lambda: asking.totals == {2, 3})
        after = service.get("/health").json["release"]
    assert after != before
    assert asking.failures == []
    assert asking.totals == {2, 3}


def one_leaf_more(folder: Path) -> Path:
    """The tiny leaves and a third document of Count_Person."""
    leaves = folder / "leaves"
    shutil.copytree(TINY_LEAVES, leaves)
    known = leaves / "sources" / "datacommons" / "count-person-wdi.md"
    text = known.read_text(encoding="utf-8").replace("World Development Indicators", "Another Yearbook")
    known.with_name("count-person-yearbook.md").write_text(text, encoding="utf-8")
    return leaves


class Asking:
    """Threads that ask a service until told to stop, and write down what is not right."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._stop = threading.Event()
        self._counted = threading.Condition()
        self._threads = [threading.Thread(target=self._ask, args=(number,)) for number in range(THREADS)]
        self.count = 0
        self.failures: list[str] = []
        self.totals: set[int] = set()

    def __enter__(self) -> None:
        for thread in self._threads:
            thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def at_least(self, count: int) -> None:
        """Wait until that many requests were answered."""
        with self._counted:
            assert self._counted.wait_for(lambda: self.count >= count, timeout=60)

    def until(self, true: object) -> None:
        """Wait until a condition holds, looking after every answer."""
        assert callable(true)
        with self._counted:
            assert self._counted.wait_for(true, timeout=60)

    def _ask(self, number: int) -> None:
        while not self._stop.is_set():
            try:
                self._search() if number % 2 else self._look_up()
            except (AssertionError, OSError) as error:
                self.failures.append(repr(error))
            with self._counted:
                self.count += 1
                self._counted.notify_all()

    def _search(self) -> None:
        answer = self._service.post("/search", {"query": {"text": "average rainfall by country"}})
        assert answer.status == 200, answer.content
        assert answer.json["results"][0]["okf:variable"] == "Mean_Rainfall"

    def _look_up(self) -> None:
        answer = self._service.get("/variable?id=Count_Person")
        assert answer.status == 200, answer.content
        assert len(answer.json["results"]) == answer.json["total"]
        self.totals.add(answer.json["total"])
