"""From process start to the first answer, over real sockets.

The floor is what nobody can avoid: functions-framework with Flask, and `import numpy`, answering a constant.
Runs are interleaved, so that a busy minute of the machine falls on all of them alike.
"""

from __future__ import annotations

import compileall
import dataclasses
import http.client
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import functions
from shared.errors import BuildError, ModelUnavailable, SettingsError
from shared.settings import Settings

ROOT = Path(functions.__file__).parents[1]
TIMEOUT_S = 120.0
# An asked-for answer costs the starting process a millisecond or two of the core it starts on.
POLL_S = 0.02

FLOOR_SOURCE = "import numpy\n\n\ndef handle(request):\n    return str(numpy.float16(1))\n"
MODELS_SOURCE = """
import sys, time
import numpy
from cli.bench.start import load_models
from shared.settings import Settings
began = time.perf_counter()
load_models(Settings.from_env(), {catalog!r})
print(time.perf_counter() - began)
"""
IMPORTS_SOURCE = """
import json, sys
import functions_framework
before = set(sys.modules)
from functions.{name}.service import create
from shared.settings import Settings
app = create(Settings.from_env())
app.hosted.ensure()
app.hosted.wait(120)
tops = {{module.partition(".")[0] for module in set(sys.modules) - before}}
print(json.dumps(sorted(top for top in tops if top not in sys.stdlib_module_names and not top.startswith("_"))))
"""


@dataclasses.dataclass(frozen=True, slots=True)
class Target:
    """A function to start, and the request whose first 200 ends the clock."""

    name: str
    source: Path
    method: str
    path: str
    body: bytes | None = None


def measure(settings: Settings, runs: int, site: str = "") -> dict[str, Any]:
    """Seconds of every run with medians, ratios to the floor and their bars; imports by function.

    Of the tables' functions, or of one site's, up to the first 200 of its /health.
    """
    if not settings.bucket_url:
        raise SettingsError("bench start needs a release: --bucket URL or BUCKET_URL")
    _hand_down(settings, site)
    _compile()
    with tempfile.TemporaryDirectory() as folder:
        targets = _site_targets(Path(folder)) if site else _targets(Path(folder))
        seconds: dict[str, list[float]] = {**{target.name: [] for target in targets}, "models": []}
        for _ in range(runs):
            for target in targets:
                seconds[target.name].append(_first_answer(target))
            seconds["models"].append(float(_python(MODELS_SOURCE.format(catalog=site or "built-in"))))
    names = ("ask_site",) if site else ("variable", "search")
    return {"runs": runs, "seconds": seconds, **_judge(seconds), "functions": _imports(names)}


def lines(report: Mapping[str, Any]) -> Iterator[str]:
    """A report as people read it."""
    yield f"Process start to first answer, {report['runs']} interleaved runs"
    yield f"{'':10}{'median s':>10}{'min':>8}{'max':>8}{'x floor':>9}"
    for name, runs in report["seconds"].items():
        median = report["medians"][name]
        ratio = f"{median / report['medians']['floor']:9.2f}"
        yield f"{name:10}{median:10.3f}{min(runs):8.3f}{max(runs):8.3f}{ratio}"
    for bar in report["bars"]:
        yield f"{'ok  ' if bar['met'] else 'OVER'} {bar['rule']}: {bar['found_s']:.3f} s of {bar['most_s']:.3f} s"
    for name, found in report["functions"].items():
        yield f"{name} imports beyond the framework: {', '.join(found['packages'])}"
        yield f"{name} import time, own ms: " + ", ".join(f"{top} {ms:.0f}" for top, ms in found["import_ms"].items())


def load_models(settings: Settings, catalog: str) -> None:
    """Open the models that a search over this catalog waits for, as the function does.

    Without the key to a release's embedder a site waits for none.
    """
    from shared.bucket.base import open_bucket
    from shared.models.choice import Models
    from shared.release.reader import fetch

    manifest = fetch(open_bucket(settings.bucket_url, settings), catalog, (), Path(settings.cache_dir)).manifest
    models = Models(settings, may_lack_a_key=manifest.kind == "items")
    with suppress(ModelUnavailable) if manifest.kind == "items" else nullcontext():
        models.embedder(manifest.embedder)
    if manifest.kind == "tables":
        models.judge(manifest.null_bank)


def _floor(folder: Path) -> Target:
    floor = folder / "main.py"
    floor.write_text(FLOOR_SOURCE, encoding="utf-8")
    return Target("floor", floor, "GET", "/")


def _site_targets(folder: Path) -> list[Target]:
    return [_floor(folder), Target("site", ROOT / "functions/ask_site/main.py", "GET", "/health")]


def _targets(folder: Path) -> list[Target]:
    question = json.dumps({"query": {"text": "median household income"}}).encode()
    return [
        _floor(folder),
        Target("variable", ROOT / "functions/variable/main.py", "GET", "/variable?id=Count_Person"),
        Target("search", ROOT / "functions/search/main.py", "POST", "/search", question),
    ]


def _judge(seconds: Mapping[str, list[float]]) -> dict[str, Any]:
    medians = {name: statistics.median(runs) for name, runs in seconds.items()}
    most = 1.5 * medians["floor"] + medians["models"]
    bars = [
        _bar(rule, medians[name], most_s)
        for name, rule, most_s in (
            ("variable", "/variable at most 1.25 x the floor", 1.25 * medians["floor"]),
            ("search", "/search at most 1.5 x the floor + the models", most),
            ("site", "a site at most 1.5 x the floor + its embedder", most),
        )
        if name in medians
    ]
    return {"medians": medians, "bars": bars}


def _bar(rule: str, found_s: float, most_s: float) -> dict[str, Any]:
    return {"rule": rule, "found_s": found_s, "most_s": most_s, "met": found_s <= most_s}


def _hand_down(settings: Settings, site: str) -> None:
    """What the processes started from here find in their environment; ours was read already and stays as it is."""
    os.putenv("BUCKET_URL", settings.bucket_url)
    os.putenv("SITE", site)
    os.putenv("PYTHONPATH", str(ROOT))


def _compile() -> None:
    """Compile the sources, as the image has them: where Python writes no bytecode, each start did it anew (90 ms)."""
    for folder in ("functions", "shared", "cli"):
        compileall.compile_dir(ROOT / folder, quiet=2)


def _first_answer(target: Target) -> float:
    port = _free_port()
    command = [sys.executable, "-m", "functions_framework", "--source", str(target.source), "--target", "handle"]
    began = time.perf_counter()
    process = subprocess.Popen(  # noqa: S603 - our own command
        [*command, "--host", "127.0.0.1", "--port", str(port)], stderr=subprocess.DEVNULL
    )
    try:
        while not _answers(target, port):
            if process.poll() is not None:
                raise BuildError(f"{target.name} stopped with exit status {process.returncode}")
            if time.perf_counter() - began > TIMEOUT_S:
                raise BuildError(f"{target.name} did not answer 200 within {TIMEOUT_S:g} s")
            time.sleep(POLL_S)
        return time.perf_counter() - began
    finally:
        process.terminate()
        process.wait(timeout=40)


def _answers(target: Target, port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
    try:
        connection.request(target.method, target.path, target.body)
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _imports(names: Sequence[str]) -> dict[str, Any]:
    return {
        name: {
            "packages": json.loads(_python(IMPORTS_SOURCE.format(name=name))),
            "import_ms": _import_ms(name),
        }
        for name in names
    }


def _import_ms(name: str, most: int = 10) -> dict[str, float]:
    """Milliseconds a function's import spends in each top-level package itself, the dearest first."""
    source = f"import functions.{name}.service"
    timed = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-X", "importtime", "-c", source], capture_output=True, text=True, check=True
    )
    spent: Counter[str] = Counter()
    for own_us, module in re.findall(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)", timed.stderr):
        spent[module.partition(".")[0]] += int(own_us)
    return {top: own_us / 1000 for top, own_us in spent.most_common(most)}


def _python(source: str) -> str:
    command = [sys.executable, "-c", source]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603 - our own
