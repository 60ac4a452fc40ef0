"""Engines beside ours: who is right is asked of an oracle, and whoever cannot take part is named with the reason."""

from __future__ import annotations

import ast
import json
import re
import shutil
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes.release import publish
from fakes.storage import gcs_server
from hypothesis import given, settings
from hypothesis import strategies as st
from wire import ROOT

from cli.bench import lexical, open_here, open_remote, scan
from cli.bench.contest import NAMES, REQUIREMENTS, Contest, Engine, Lost, running, script
from cli.bench.oracle import KeywordOracle, Keywords, best_cosines, share_found
from cli.bench.peers.best import best_of_maximum, merge
from cli.main import main
from shared.bucket.gcs import GcsBucket
from shared.errors import BuildError, SettingsError
from shared.settings import Settings

# The start of an engine that is ready, and what it then answers to each line.
READY = """
import json, sys
task = json.loads(sys.stdin.readline())
print(json.dumps({"ready": True, "version": "9", "import_s": 0, "open_s": 0, "build_s": 0}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
"""


def answering(expression: str) -> tuple[str, str]:
    """An engine that is ready and answers this to everything."""
    return ("-c", READY + f"    print(json.dumps({expression}), flush=True)\n")


def scan_plan(*peers: str, **changes: Any) -> scan.Plan:
    fields: dict[str, Any] = {"rows": 2_000, "dimension": 32, "phrasings": 3, "runs": 2, "threads": (1,)}
    return scan.Plan(**{**fields, **changes}, peers=peers)


def scan_beside(engine: Engine) -> dict[str, Any]:
    return scan.measure(scan_plan(engine.name), {engine.name: engine})


def by_engine(report: Mapping[str, Any]) -> dict[str, Any]:
    return {entry["engine"]: entry for entry in report["measured"]}


def test_scan_measures_everybody_in_turns_and_everybody_finds_the_best_rows():
    report = scan.measure(scan_plan("numpy-blocks", "numpy-f32", threads=(1, 2)))
    engines = ["askbucket", "numpy-blocks", "numpy-f32"]
    assert [(e["engine"], e["threads"]) for e in report["measured"]] == [(n, t) for t in (1, 2) for n in engines]
    for entry in report["measured"]:
        assert len(entry["seconds"]) == 2
        assert entry["least_s"] <= entry["median_s"] <= entry["most_s"]
        assert entry["found"] >= scan.LEAST_FOUND
    assert [entry["times_ours"] for entry in report["measured"] if entry["engine"] == "askbucket"] == [1, 1]
    assert report["absent"] == {}
    faiss, numpy, threads, right = report["bars"]
    assert (faiss["found"], faiss["met"]) == (None, None)
    assert numpy["found"] > 0
    assert threads["found"] > 0
    assert right["met"]


def test_scan_says_in_json_what_it_says_in_lines(capsys: pytest.CaptureFixture[str]):
    flags = ["bench", "scan", "--rows", "500", "--dimension", "16", "--runs", "1", "--threads", "1"]
    assert main([*flags, "--peers", "numpy-blocks", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert set(report) == {"plan", "rows", "dimension", "top", "measured", "absent", "two_of_one", "bars"}
    assert (report["rows"], report["dimension"], report["top"]) == (500, 16, 150)
    assert set(by_engine(report)) == {"askbucket", "numpy-blocks"}
    said = "\n".join(scan.lines(report))
    assert "500 x 16 float16" in said
    assert re.search(r"numpy-blocks +1 ", said)
    assert f"products in {report['two_of_one']:.2f} of the time of 1" in said
    assert "of faiss's time, 1 thread each, at most 0.5: not measured" in re.sub(" +", " ", said)


def test_scan_takes_a_file_of_vectors_and_its_shape(tmp_path: Path):
    rows = np.eye(40, 8, dtype=np.float16)
    rows[8:, 0] = 1
    np.save(tmp_path / "v.npy", rows)
    report = scan.measure(scan_plan(vectors=tmp_path / "v.npy"))
    assert (report["rows"], report["dimension"], report["top"]) == (40, 8, 40)


def test_scan_refuses_a_file_that_holds_no_float16_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    np.save(tmp_path / "v.npy", np.eye(4, dtype=np.float32))
    assert main(["bench", "scan", "--vectors", str(tmp_path / "v.npy"), "--peers", "none"]) == 1
    assert "expected a 2-dimensional <f2 array, found 2-dimensional <f4" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["scan", "--peers", "nobody"], "'nobody'; there are numpy-blocks, numpy-f32, faiss, usearch"),
        (["scan", "--runs", "0"], "--runs to be at least 1"),
        (["scan", "--threads", "1,0"], "--threads to be at least 1"),
        (["lexical", "--peers", "nobody"], "'nobody'; there are bm25s"),
        (["lexical", "--rows", "0"], "--rows to be at least 1"),
        (["open", "--bucket", "gs://x", "--runs", "0"], "--runs to be at least 1"),
        (["open", "--bucket", "gs://x", "--peers", "nobody"], "'nobody'; there are json, lancedb"),
        (["peers", "nobody"], "'nobody'; there are bm25s, faiss, lancedb, usearch"),
    ],
)
def test_a_bench_that_would_measure_nothing_is_refused_and_says_what_is_valid(
    flags: list[str], said: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["bench", *flags]) == 1
    assert said in capsys.readouterr().err


def test_a_peer_that_is_not_installed_is_told_with_the_command_that_installs_it():
    report = scan_beside(Engine("other", (), environment="nowhere"))
    assert report["absent"] == {"other, 1 thread": "not installed: run `askbucket bench peers nowhere`"}
    assert "other, 1 thread: not installed" in "\n".join(scan.lines(report))
    assert list(by_engine(report)) == ["askbucket"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("-c", "import sys; sys.exit('no such kernel')"), "ended with exit status 1: no such kernel"),
        (("-c", "print('Welcome!')"), "printed what is no JSON: Welcome!"),
        (("-c", "print([1, 2])"), "printed what is no JSON object: [1, 2]"),
        (("-c", r"import sys; sys.stdout.buffer.write(b'\xff\n')"), "printed what is no UTF-8"),
        (("-c", "print('{}')"), "answered {} where it should have said that it is ready"),
        (("-c", READY + "    sys.exit(3)"), "ended with exit status 3"),
        (answering("{'rows': [1]}"), "answered without a number in 'seconds'"),
        (answering("{'seconds': 'fast', 'rows': [1]}"), "answered without a number in 'seconds'"),
        (answering("{'seconds': 0.1}"), "answered without a list in 'rows'"),
        (answering("{'seconds': 0.1, 'rows': ['a']}"), "answered without a number in 'rows'"),
    ],
)
def test_a_peer_that_dies_or_prints_rubbish_is_told_by_name_and_the_others_go_on(arguments: tuple[str, ...], why: str):
    report = scan_beside(Engine("other", arguments))
    assert report["absent"]["other, 1 thread"].startswith(why)
    assert by_engine(report)["askbucket"]["found"] >= scan.LEAST_FOUND


def test_a_peer_that_takes_too_long_is_ended_and_told():
    sleeper = Engine("other", ("-c", "import time; time.sleep(60)"))
    with pytest.raises(Lost, match=r"gave no answer within 0\.3 s"), running(sleeper, {}, timeout_s=0.3):
        pass


def test_a_fast_wrong_answer_shows():
    report = scan_beside(Engine("liar", answering("{'seconds': 1e-9, 'rows': list(range(task['top']))}")))
    assert by_engine(report)["liar"]["found"] < 0.5
    [line] = [line for line in scan.lines(report) if line.startswith("liar")]
    assert line.endswith("WRONG")


def test_our_own_engine_may_not_fall_out():
    with pytest.raises(BuildError, match="askbucket, 1 thread: gone"):
        Contest().attempt("askbucket, 1 thread", lost)


def lost() -> None:
    raise Lost("gone")


SCORES = st.integers(1, 4).flatmap(
    lambda q: st.integers(1, 30).flatmap(
        lambda n: st.lists(st.permutations(range(q * n)), min_size=1, max_size=1).map(
            lambda drawn: np.array(drawn[0], dtype=np.float32).reshape(q, n)
        )
    )
)


@given(SCORES, st.integers(1, 40))
@settings(max_examples=80, deadline=None)
def test_what_each_query_found_merges_into_the_best_of_the_maximum(scores: np.ndarray, k: int):
    rows = np.argsort(-scores, axis=1)[:, :k]
    expected = np.argsort(-scores.max(axis=0))[:k].tolist()
    assert best_of_maximum(scores, k) == expected
    assert merge(rows, np.take_along_axis(scores, rows, axis=1), k) == expected


def test_the_oracle_of_the_scan_is_the_largest_product_of_each_row():
    vectors = np.random.default_rng(0).standard_normal((9_000, 4)).astype(np.float16)
    queries = np.random.default_rng(1).standard_normal((3, 4)).astype(np.float32)
    plain = [
        max(sum(float(a) * float(b) for a, b in zip(row, query, strict=True)) for query in queries) for row in vectors
    ]
    np.testing.assert_allclose(best_cosines(vectors, queries), plain, rtol=1e-12)


@pytest.mark.parametrize(
    ("rows", "share"),
    [
        ([3, 4], 1.0),
        ([4, 3], 1.0),
        ([4, 2], 1.0),
        ([4, 4], 0.5),
        ([4], 0.5),
        ([1, 0], 0.0),
        ([1, 0, 4, 3], 0.0),
        ([4, 99], 0.5),
        ([-1, 4], 0.5),
        ([], 0.0),
    ],
)
def test_the_share_found_counts_ties_and_neither_repeats_nor_what_is_not_there(rows: list[int], share: float):
    assert share_found(np.array([0.0, 0.1, 0.5, 0.5, 0.9]), rows, 2) == share


def test_rows_that_match_nothing_are_not_missed():
    assert share_found(np.array([0.0, 0.3, 0.0]), [1], 150) == 1
    assert share_found(np.zeros(3), [], 150) == 1


def test_lexical_finds_the_documents_that_the_textbook_finds():
    report = lexical.measure(Settings(), lexical.Plan(300, 20, 2, ()))
    found = by_engine(report)
    assert list(found) == ["askbucket", "askbucket-one-field"]
    for entry in found.values():
        assert entry["found"] == 1
        assert entry["p50_ms"] <= entry["p95_ms"] <= entry["p99_ms"]
        assert len(entry["open"]["seconds"]) == len(entry["import"]["seconds"]) == 2
        assert entry["index_bytes"] > 0
    assert all(bar["met"] for bar in report["bars"])


def test_lexical_asks_a_release_what_its_documents_say_people_ask(
    tiny_bucket: str, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--questions", "10", "--runs", "1", "--peers", "none", "--json"]
    assert main(["bench", "lexical", "--bucket", tiny_bucket, *flags]) == 0
    report = json.loads(capsys.readouterr().out)
    assert set(report) == {
        "plan", "documents", "rows", "questions", "top", "measured", "absent", "ratios", "bars",
    }  # fmt: skip
    assert report["documents"].startswith("release ")
    assert (report["rows"], report["questions"], report["top"]) == (15, 10, 15)
    assert {entry["found"] for entry in report["measured"]} == {1}
    assert "15 documents" in next(iter(lexical.lines(report)))


def test_lexical_asks_items_as_a_site_does(tmp_path: Path):
    items = [
        {"@type": "Recipe", "name": f"Crème {row}", "description": f"A pudding with {row} eggs, whisked."}
        for row in range(40)
    ]
    path = tmp_path / "items.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
    report = lexical.measure(Settings(), lexical.Plan(None, 10, 1, (), path))
    assert (report["documents"], report["rows"]) == ("items of items.jsonl", 40)
    assert {entry["found"] for entry in report["measured"]} == {1}
    json.dumps(report)


@pytest.mark.parametrize(
    ("expression", "share", "why"),
    [
        ("{'seconds': [0.1] * 5, 'rows': [[299, 298]] * 5}", 0.5, None),
        ("{'seconds': [0.1] * 5, 'rows': [[1]]}", None, "answered without rows for each of the 5 questions"),
        ("{'rows': [[1]] * 5}", None, "answered without a list in 'seconds'"),
    ],
)
def test_a_keyword_peer_that_answers_wrongly_shows(expression: str, share: float | None, why: str | None):
    peer = Engine("other", answering(expression))
    report = lexical.measure(Settings(), lexical.Plan(300, 5, 1, ("other",)), {"other": peer})
    if why:
        assert report["absent"]["other"].startswith(why)
    else:
        assert by_engine(report)["other"]["found"] < share
        assert any(line.startswith("other") and line.endswith("WRONG") for line in lexical.lines(report))
        assert report["ratios"]["p50 of other"] > 0


def test_the_keyword_oracle_is_bm25_by_hand_and_tells_other_knobs_apart():
    documents = [[["gdp", "gdp", "growth"]], [["gdp"]], [["crime"]]]
    oracle = KeywordOracle(documents, Keywords((1.0,), k1=1.2, b=0.75))
    idf, norm = np.log1p(1.5 / 2.5), 0.25 + 0.75 * 3 / (5 / 3)
    assert oracle.scores(["gdp"])[0] == pytest.approx(idf * (2 / norm) * 2.2 / (2 / norm + 1.2))
    assert oracle.scores(["gdp"]).argmax() == 1
    assert KeywordOracle(documents, Keywords((1.0,), k1=1.2, b=0.0)).scores(["gdp"]).argmax() == 0


def test_open_finds_the_same_rows_in_a_local_copy_kept_another_way():
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    engines = {**open_here.PEERS, "gone": Engine("gone", (), environment="nowhere")}
    with gcs_server() as address:
        own = Settings(bucket_url="gs://contract", storage_emulator_host=address)
        with closing(GcsBucket("gs://contract", own)) as bucket:
            publish(bucket, rows=200, dimension=16)
        report = open_remote.measure(own, 2, ("json", "gone"), engines)
    here = report["here"]
    found = by_engine(here)
    assert (here["rows"], here["dimension"]) == (200, 16)
    assert {name: entry["found"] for name, entry in found.items()} == {"askbucket": 1, "json": 1}
    for entry in found.values():
        assert all(len(entry[part]["seconds"]) == 2 for part in ("import_s", "open_s", "first_s", "total_s"))
    assert here["absent"] == {"gone": "not installed: run `askbucket bench peers nowhere`"}
    said = "\n".join(open_remote.lines(report))
    assert "gone: not installed" in said


def test_a_task_reaches_an_engine_and_its_greeting_is_no_answer(tmp_path: Path):
    np.save(tmp_path / "v.npy", np.eye(4, dtype=np.float16))
    np.save(tmp_path / "q.npy", np.eye(4, dtype=np.float32)[2:3])
    task = {"vectors": str(tmp_path / "v.npy"), "queries": str(tmp_path / "q.npy"), "top": 1, "threads": 1}
    for module in ("askbucket_scan", "numpy_blocks", "numpy_f32"):
        with running(script("one", module), task) as engine:
            assert engine.ask({})["rows"] == [2]


def test_the_peers_are_pinned_with_their_versions_and_digests():
    for name in NAMES:
        asked = (REQUIREMENTS / f"{name}.in").read_text(encoding="utf-8").split()
        locked = (REQUIREMENTS / f"{name}.txt").read_text(encoding="utf-8")
        assert all(re.fullmatch(r"[\w-]+==[\d.]+", pin) and f"{pin} \\" in locked for pin in asked)
        pins = re.split(r"\n(?=\S)", locked.strip())
        assert all(re.match(r"[\w.-]+==\S+", pin) and "--hash=sha256:" in pin for pin in pins)
        assert "://" not in locked


def test_another_engine_needs_nothing_of_ours_but_how_to_answer():
    for path in sorted((ROOT / "cli" / "bench" / "peers").glob("*.py")):
        if path.name.startswith("askbucket_"):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        modules = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        ours = {name for name in modules if name.split(".")[0] in {"cli", "shared", "functions", "build_jobs"}}
        assert ours <= {"cli.bench.peers.protocol", "cli.bench.peers.best"}, path.name


def test_an_unknown_peer_is_refused_before_anything_is_measured():
    with pytest.raises(SettingsError, match="there are numpy-blocks"):
        scan.measure(scan_plan("nobody"))
