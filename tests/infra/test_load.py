"""The loads of infra/load run, and their verdicts can fail. How fast anything was is not asked here."""

from __future__ import annotations

import http.client
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from building import TINY_LEAVES
from wire import ROOT

from infra.load import beside, known, mix, soak
from infra.load.__main__ import main, parser
from infra.load.buckets import build_demo
from infra.load.callers import Run, Sample
from infra.load.models import CALM, PHASES, Script, scripted
from infra.load.processes import Function, Served, serving, use_of
from infra.load.soak import Plan, _soaked
from infra.load.traffic import NEXT_PAGE, WEIGHTS, Answer, Traffic
from infra.load.verdict import Vitals, Window, bars, leaks, missing, unannounced
from shared.bucket.base import open_bucket
from shared.errors import BuildError, SettingsError
from shared.settings import Settings


@pytest.fixture(scope="module")
def models() -> Iterator[Script]:
    with scripted() as script:
        yield script


@pytest.fixture(scope="module")
def settings(models: Script, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Fifteen tables and one site, embedded by the scripted models."""
    folder = tmp_path_factory.mktemp("load")
    url = build_demo(folder, models.url, kinds=["movies"], leaves=TINY_LEAVES)
    return Settings(bucket_url=url, cache_dir=str(folder / "cache"))


@pytest.fixture(scope="module")
def found(settings: Settings) -> known.Known:
    return known.read(open_bucket(settings.bucket_url, settings), settings)


# The loads themselves


def test_the_traffic_holds_every_kind_of_request_and_what_follows_it(found: known.Known) -> None:
    whole = Answer(200, json.dumps({"pageToken": "x"}).encode())
    caller = Traffic(found).of_caller(0)
    assert {next(caller)(whole).kind for _ in range(2_000)} == {*WEIGHTS, NEXT_PAGE, "ask, follow-up"}
    assert sum(WEIGHTS.values()) == 100


def test_every_answer_to_a_mix_is_right_and_each_process_is_measured(
    settings: Settings, found: known.Known, models: Script
) -> None:
    functions = mix.functions_of(found, settings.bucket_url, models.url, settings.cache_dir)
    report = mix.measure(mix.Plan((1, 6), 1.0), found, functions)
    assert [bar for bar in report["bars"] if not bar["met"]] == []
    assert [level["callers"] for level in report["levels"]] == [1, 6]
    rows = report["levels"][-1]["processes"]
    assert {(row["function"], row["process"]) for row in rows} >= {("search", "master"), ("search", "worker")}
    assert all(row["rss"] >= row["private"] > 0 for row in rows)
    assert any("p99" in line for line in mix.lines(report))


def test_C06_a_short_soak_with_swaps_and_faults_has_no_failure_that_was_not_announced(
    settings: Settings, models: Script, tmp_path: Path
) -> None:
    plan = soak.Plan(5.0, callers=4, swap_every_s=1.0, phase_s=0.6)
    report = soak.measure(plan, settings, models, tmp_path / "soak")
    assert report["unannounced"] == {}
    assert report["swaps"] >= 1
    assert "429" in report["phases"]
    assert {each["name"] for each in report["vitals"]} == {"search", "variable", "registry", "stats", "movies"}
    assert "ok   failures that were not announced, and wrong answers: 0 of 0" in list(soak.lines(report))


def test_ours_and_the_plain_way_find_the_same_tables_in_one_run() -> None:
    report = beside.measure(beside.Plan(rows=400, callers=2, requests=6, rounds=1))
    assert report["same_answers"] == 1.0
    assert [way["failed"] for way in report["ways"].values()] == [{}, {}, {}]
    assert all(way["per_second"] > 0 and way["cpu_ms"] > 0 for way in report["ways"].values())
    assert any(line.startswith("  plain, keywords") for line in beside.lines(report))


def test_a_load_that_cannot_be_run_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], settings: Settings, models: Script
) -> None:
    assert main(["mix", "--bucket", tmp_path.as_uri(), "--seconds", "1"]) == 1
    assert "a load needs the catalog 'built-in'; the bucket has none" in capsys.readouterr().err
    with pytest.raises(SettingsError, match="needs time for a swap"):
        soak.measure(soak.Plan(5.0, swap_every_s=20.0), settings, models, tmp_path)
    with pytest.raises(SettingsError, match="beside needs"):
        beside.measure(beside.Plan(requests=1))


def test_a_function_that_does_not_start_is_named_with_what_it_said(settings: Settings) -> None:
    broken = Function("search", "functions/search/main.py", {"BUCKET_URL": settings.bucket_url, "REFRESH_S": "soon"})
    with pytest.raises(BuildError, match=r"search was not ready.*REFRESH_S='soon'"), serving([broken]):
        pass


# docs/load.md


def test_the_page_names_every_flag_with_its_default_every_kind_and_every_phase() -> None:
    page = (ROOT / "docs" / "load.md").read_text(encoding="utf-8")
    for load, shown in re.findall(r"^\.venv/bin/python -m infra\.load (\w+) +(.*)$", page, re.MULTILINE):
        given = dict(re.findall(r"\[(--[\w-]+)(?: ([^\]]+))?\]", shown))
        spelled = [word for name, value in given.items() for word in (name, value) if word]
        assert vars(parser().parse_args([load, *spelled])) == {
            **vars(parser().parse_args([load])),
            "bucket": "URL",
            "json": True,
        }
    assert dict(re.findall(r"^\| ([^|]+) \| (\d+) \|", page, re.MULTILINE)) == {
        kind: str(weight) for kind, weight in WEIGHTS.items()
    }
    assert all(f"| {phase} |" in page for phase in [*PHASES, soak.STORAGE] if phase != CALM)


# The models fail as they are told to


@pytest.mark.parametrize("phase", [phase for phase in PHASES if phase not in (CALM, "slow")])
def test_each_phase_fails_some_of_the_calls_and_a_calm_one_none(models: Script, phase: str) -> None:
    # The process reads of a phase a moment after it was told, so the first of these calls may be of the one before.
    models.begin(phase)
    failing = [_answered(models.url) for _ in range(40)]
    models.begin(CALM)
    calm = [_answered(models.url) for _ in range(40)]
    assert 5 < sum(failing) < 40
    assert all(calm[-8:])


def _answered(url: str) -> bool:
    """Whether a call to the models has a right answer."""
    address, path = url.removeprefix("http://").split("/", 1)
    connection = http.client.HTTPConnection(address, timeout=10)
    body = json.dumps({"model": "openai/gpt-oss-20b", "messages": [{"role": "user", "content": "x"}]})
    try:
        connection.request("POST", f"/{path}/chat/completions", body, {"Authorization": "Bearer k"})
        response = connection.getresponse()
        return response.status == 200 and bool(json.loads(response.read())["choices"][0]["message"]["content"])
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        return False
    finally:
        connection.close()


# Wrong answers are seen


class _Wrong(BaseHTTPRequestHandler):
    """A service that is sure of itself: 200 for everything, with a table and an item that do not exist."""

    def do_GET(self) -> None:
        if self.path.startswith("/ask"):
            events = [
                {"message_type": "begin-nlweb-response", "content": None},
                {"message_type": "result", "content": [{"url": "https://example.org/made-up"}]},
                {"message_type": "usage", "content": {"notices": []}},
                {"message_type": "complete", "content": None},
                {"message_type": "end-nlweb-response", "content": None},
            ]
            self._send("".join(f"data: {json.dumps(event)}\n\n" for event in events))
        else:
            self.do_POST()

    def do_POST(self) -> None:
        made_up = {"identifier": "urn:air:example.org:okf:made.up", "score": 90}
        reply = {"results": [made_up], "items": [made_up], "notices": [], "total": 1, "offset": 0, "facets": {}}
        self._send(json.dumps(reply))

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _send(self, text: str) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(text.encode())


@contextmanager
def standing_in(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def asked(url: str, found: known.Known, kinds: list[str], count: int = 6) -> list[Sample]:
    """What becomes of so many requests of these kinds to whatever stands there."""
    traffic = Traffic(found, kinds)
    served = {name: Served(name, 0, url) for name in [*traffic.functions, "stats"]}
    run, caller = Run(), threading.Thread()
    caller = threading.Thread(target=run.ask, args=(1, traffic, served))
    caller.start()
    while len(run.samples) < count and caller.is_alive():
        caller.join(0.01)
    run.stop.set()
    caller.join()
    return run.samples


@pytest.mark.parametrize("kind", [kind for kind in WEIGHTS if kind not in ("search, repeated", "search, not judged")])
def test_an_answer_with_what_does_not_exist_is_a_wrong_answer(found: known.Known, kind: str) -> None:
    with standing_in(_Wrong) as url:
        samples = asked(url, found, [kind])
    assert all(sample.status == 200 and sample.wrong for sample in samples)
    assert sum(unannounced(samples, [Window("500", 0, 1e9)], [Window("swap", 0, 1e9)]).values()) == len(samples)


def test_a_service_that_is_gone_is_no_announced_failure(found: known.Known) -> None:
    with standing_in(_Wrong) as url:
        pass
    samples = asked(url, found, ["search"])
    assert {sample.status for sample in samples} == {0}
    assert len(samples) == sum(unannounced(samples, [Window("500", 0, 1e9)], []).values())


@pytest.mark.parametrize(
    ("events", "says"),
    [
        ([], "a stream of nothing"),
        (["begin-nlweb-response", "complete", "end-nlweb-response"], "a stream of begin"),
        (["begin-nlweb-response", "usage", "complete"], "a stream of begin"),
    ],
)
def test_a_stream_without_its_end_is_a_wrong_answer(found: known.Known, events: list[str], says: str) -> None:
    sent = "".join(
        f"data: {json.dumps({'message_type': name, 'content': {'notices': []}})}\n\n" for name in events
    ).encode()
    ask = next(Traffic(found, ["ask"]).of_caller(0))(None)
    assert ask.read(Answer(200, sent)).wrong.startswith(says)


# The verdict


def a_sample(**changes: Any) -> Sample:
    return replace(Sample("search", "search", 50.0, 1.0, 0.5, 200), **changes)


DURING = [Window("500", 40.0, 60.0)]


@pytest.mark.parametrize(
    "sample",
    [
        a_sample(),
        a_sample(status=503, code="relevance_scoring_failed"),
        a_sample(status=504, code="query_cancelled"),
        a_sample(notices=("source_failed", "places_set_aside")),
        a_sample(at_s=38.0, seconds=3.0, status=503, code="embedding_failed"),
    ],
)
def test_what_was_announced_while_models_failed_is_no_complaint(sample: Sample) -> None:
    assert not unannounced([sample], DURING, [])


@pytest.mark.parametrize(
    "sample",
    [
        a_sample(status=500, code="internal_error"),
        a_sample(status=429, code="busy"),
        a_sample(status=0, wrong="ConnectionResetError"),
        a_sample(wrong="a table twice"),
        a_sample(at_s=100.0, status=503, code="embedding_failed"),
        a_sample(at_s=100.0, notices=("source_failed",)),
        a_sample(kind=NEXT_PAGE, status=400, code="invalid_request"),
    ],
)
def test_what_nobody_announced_is_a_complaint_and_fails_the_run(sample: Sample) -> None:
    complaints = unannounced([sample], DURING, [])
    assert sum(complaints.values()) == 1
    assert not bars([sample], flat(), complaints)[0]["met"]


def test_a_walk_over_pages_may_be_told_to_begin_again_by_a_swap_and_by_nothing_else() -> None:
    told = a_sample(kind=NEXT_PAGE, status=400, code="invalid_request")
    assert not unannounced([told], [], [Window("swap", 45.0, 57.0)])
    assert unannounced([replace(told, kind="agents")], [], [Window("swap", 45.0, 57.0)])


def test_a_run_in_which_nothing_was_asked_is_not_passed() -> None:
    assert [bar["met"] for bar in bars([], flat(), {})] == [False]


def flat(
    own: Callable[[float], float] = lambda _: 50e6,
    descriptors: Callable[[float], int] = lambda _: 30,
    threads: Callable[[float], int] = lambda _: 12,
) -> list[Vitals]:
    """Twenty minutes of a worker, looked at every two seconds; requests under way make it uneven."""
    moments = [second * 2.0 for second in range(600)]
    uneven = [3e6 * (number * 7 % 5) / 5 for number in range(600)]
    return [
        Vitals("search", at, round(own(at) + more), 80_000_000, descriptors(at), threads(at))
        for at, more in zip(moments, uneven, strict=True)
    ]


def test_C06_a_worker_that_keeps_what_it_takes_passes() -> None:
    warming = flat(own=lambda at: 50e6 + min(at, 300) * 1e5, descriptors=lambda at: 20 + min(int(at) // 30, 10))
    for vitals in (flat(), warming):
        assert all(bar["met"] for bar in leaks(vitals))


def test_a_run_in_which_nothing_was_watched_or_swapped_has_shown_nothing() -> None:
    seen = [Vitals("search", 8.0, 1, 1, 1, 1), Vitals("stats", 2.0, 1, 1, 1, 1)]
    assert [each["met"] for each in missing(["search"], seen, 10.0, 3, 6.0)] == [True, True]
    assert [each["met"] for each in missing(["search", "stats"], seen, 10.0, 2, 6.0)] == [False, False]


def test_a_soak_ends_with_what_its_watcher_or_director_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def direct(self) -> None:
            raise BrokenPipeError

    monkeypatch.setattr(Run, "ask", lambda *_: None)
    with pytest.raises(BrokenPipeError):
        _soaked(Plan(60.0), Run(), Broken(), None, {})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("vitals", "says"),
    [
        (flat(own=lambda at: 50e6 + at * 10e3), "own memory grown"),
        (flat(descriptors=lambda at: 30 + int(at) // 30), "more descriptors"),
        (flat(threads=lambda at: 12 + int(at) // 60), "more threads"),
    ],
)
def test_C06_a_worker_that_leaks_is_named_by_what_it_leaks(vitals: list[Vitals], says: str) -> None:
    assert [bar["rule"] for bar in leaks(vitals) if not bar["met"]] == [
        bar["rule"] for bar in leaks(vitals) if says in bar["rule"]
    ]


def test_C06_a_real_server_that_leaks_is_caught(tmp_path: Path) -> None:
    leaky = tmp_path / "main.py"
    leaky.write_text(
        "import os, threading\n"
        "kept, files = [], []\n"
        "def handle(request):\n"
        "    if request.path != '/health':\n"
        "        kept.append(os.urandom(1_000_000))\n"
        "        files.append(open('/dev/null'))\n"
        "        threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
        "    return '{}', 200\n"
    )
    with serving([Function("search", str(leaky), {})]) as served:
        vitals = []
        for number in range(40):
            _get(served["search"].url + "/leak")
            worker = use_of(served["search"].pid)[-1]
            vitals.append(Vitals("search", float(number), worker.own, worker.rss, worker.descriptors, worker.threads))
    assert not any(bar["met"] for bar in leaks(vitals))


def _get(url: str) -> None:
    connection = http.client.HTTPConnection(url.split("/")[2], timeout=10)
    connection.request("GET", "/leak")
    connection.getresponse().read()
    connection.close()
