"""From process start to the first answer, over real sockets: every function, and each site, from where releases lie.

The floor is what nobody can avoid: functions-framework with Flask, and `import numpy`, answering a constant.
Runs are interleaved, so that a busy minute of the machine falls on all of them alike.
Models behind a gateway are the tests' fake one, at 0 ms, unless OPENROUTER_BASE_URL names another.
"""

from __future__ import annotations

import compileall
import json
import re
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from msgspec import structs

from cli.bench.beside import FAKE_KEY, ROOT, copied_to_gcs, fake_gateway
from cli.bench.started import Start, Target, hand_down, start, start_floor
from shared.bucket.base import Bucket, open_bucket
from shared.errors import ModelUnavailable, SettingsError
from shared.models.choice import judge_provider
from shared.release import writer
from shared.release.reader import current, read_manifest
from shared.settings import Settings
from shared.sites.kinds import KINDS
from shared.tables.catalogs import BUILT_IN

STAGES = ("import", "manifest", "fetch", "verify", "map", "models", "store")
VARIABLE, SEARCH, SITE = 1.25, 1.5, 1.5

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
_LIST_TOOLS = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
_QUESTION = {"query": {"text": "median household income"}}


@dataclass(frozen=True, slots=True)
class Plan:
    """How often each is started, which of them (all where none is named), and whether a copy in GCS is beside."""

    runs: int
    only: tuple[str, ...] = ()
    gcs: bool = False


def measure(settings: Settings, plan: Plan) -> dict[str, Any]:
    """Every start with its stages, their medians, the bars, and what each function imports.

    Raises SettingsError for a plan that measures nothing, BuildError for a function that does not come up.
    """
    if not settings.bucket_url:
        raise SettingsError("bench start needs a release: --bucket URL or BUCKET_URL")
    if plan.runs < 1:
        raise SettingsError(f"bench start needs --runs to be at least 1, not {plan.runs}")
    bucket = open_bucket(settings.bucket_url, settings)
    catalogs = writer.catalogs(bucket)
    targets = _chosen(_targets(catalogs), plan.only)
    _compile()
    with ExitStack() as ends:
        settings = ends.enter_context(_modelled(settings, bucket, catalogs))
        places = {settings.bucket_url.partition(":")[0]: settings}
        if plan.gcs:
            places["a copy in gs"] = ends.enter_context(copied_to_gcs(settings))
        return _measured(plan, targets, places, Path(ends.enter_context(tempfile.TemporaryDirectory())))


def lines(report: Mapping[str, Any]) -> Iterator[str]:
    """A report as people read it."""
    yield f"Process start to first answer, medians of {report['runs']} interleaved runs, ms; * beside other stages"
    heads = (
        "begun",
        *(f"{stage}*" if stage in ("import", "verify") else stage for stage in STAGES),
        "ready",
        "answer",
        "all",
    )
    yield f"{'':22}" + "".join(f"{head:>9}" for head in heads) + f"{'x floor':>9}"
    floor_s = report["floor"]["median_s"]
    yield f"{'floor':22}{'':{9 * (len(heads) - 1)}}{floor_s * 1e3:9.0f}{1:9.2f}"
    for each in report["starts"]:
        stages = "".join(f"{each['stages_ms'][stage]:9.0f}" for stage in STAGES)
        spans = [each["ready_s"], each["answered_s"] - each["ready_s"], each["answered_s"]]
        rest = "".join(f"{seconds * 1e3:9.0f}" for seconds in spans)
        name = f"{each['function']}, {each['place']}"
        yield f"{name:22}{each['begun_s'] * 1e3:9.0f}{stages}{rest}{each['answered_s'] / floor_s:9.2f}"
    for name, found in report["models"].items():
        yield f"models of {name} alone: {found['median_s'] * 1e3:.0f} ms"
    for bar in report["bars"]:
        yield f"{'ok  ' if bar['met'] else 'OVER'} {bar['rule']}: {bar['found_s']:.3f} s of {bar['most_s']:.3f} s"
    for name, found in report["functions"].items():
        yield f"{name} imports beyond the framework: {', '.join(found['packages'])}"
        yield f"{name} import time, own ms: " + ", ".join(f"{top} {ms:.0f}" for top, ms in found["import_ms"].items())


def load_models(settings: Settings, catalog: str) -> None:
    """Open the models that a search over this catalog waits for, as the function does.

    Without the key to a release's embedder a site waits for none.
    """
    from shared.models.choice import Models
    from shared.release.reader import fetch

    manifest = fetch(open_bucket(settings.bucket_url, settings), catalog, (), Path(settings.cache_dir)).manifest
    models = Models(settings, may_lack_a_key=manifest.kind == "items")
    with suppress(ModelUnavailable) if manifest.kind == "items" else nullcontext():
        models.embedder(manifest.embedder)
    if manifest.kind == "tables":
        models.judge(manifest.null_bank)


def _targets(catalogs: Sequence[str]) -> list[Target]:
    """What can be started over these catalogs; /stats.json and the pages need none."""
    tables = [
        _function("search", "POST", "/search", _QUESTION),
        _function("variable", "GET", "/variable?id=Count_Person"),
        _function("registry", "GET", "/publishers"),
        _function("mcp", "POST", "/mcp", _LIST_TOOLS),
    ]
    sites = [_site(kind) for kind in KINDS if kind in catalogs]
    alone = [_function("stats", "GET", "/stats.json"), _function("pages", "GET", "/")]
    return [*(tables if BUILT_IN in catalogs else []), *sites, *(replace(each, reads=False) for each in alone)]


def _function(name: str, method: str, path: str, body: Mapping[str, Any] | None = None) -> Target:
    return Target(name, _source(name), method, path, json.dumps(body).encode() if body else None)


def _site(kind: str) -> Target:
    return Target(kind, _source("ask_site"), "GET", "/ask?query=something%20good&streaming=false", site=kind)


def _source(folder: str) -> Path:
    return ROOT / "functions" / folder / "main.py"


def _chosen(targets: Sequence[Target], names: Sequence[str]) -> list[Target]:
    known = {target.name: target for target in targets}
    for name in names:
        if name not in known:
            raise SettingsError(f"bench start cannot start {name!r} over this bucket, only {', '.join(known)}")
    return [known[name] for name in names] or list(targets)


def _modelled(settings: Settings, bucket: Bucket, catalogs: Sequence[str]) -> AbstractContextManager[Settings]:
    """The settings with a gateway to ask where one is needed, which is the fake one where no other is named."""
    manifests = [read_manifest(bucket, name, current(bucket, name).release) for name in catalogs]
    remote = [each.embedder for each in manifests if each.embedder.provider == "openrouter"]
    if not remote and judge_provider(settings) != "openrouter":
        return nullcontext(settings)
    if settings.openrouter_base_url != Settings().openrouter_base_url:
        return nullcontext(settings)
    return _faked(settings, remote[0].dimension if remote else None)


@contextmanager
def _faked(settings: Settings, dimension: int | None) -> Iterator[Settings]:
    with fake_gateway(dimension) as url:
        yield structs.replace(settings, llm_provider="openrouter", openrouter_api_key=FAKE_KEY, openrouter_base_url=url)


def _measured(plan: Plan, targets: Sequence[Target], places: Mapping[str, Settings], folder: Path) -> dict[str, Any]:
    first = next(iter(places.values()))
    floor, catalogs = _floor(folder), _catalogs(targets)
    found: dict[tuple[str, str], list[Start]] = {}
    floors: list[float] = []
    models: dict[str, list[float]] = {catalog: [] for catalog in catalogs}
    for _ in range(plan.runs):
        floors.append(start_floor(floor))
        for place, settings in places.items():
            for target in targets:
                if target.reads or settings is first:
                    found.setdefault((target.name, place), []).append(start(target, _environment(settings)))
        hand_down(_environment(first))
        for catalog in catalogs:
            models[catalog].append(float(_python(MODELS_SOURCE.format(catalog=catalog))))
    return {
        "runs": plan.runs,
        "floor": _spread(floors),
        "models": {catalog: _spread(seconds) for catalog, seconds in models.items()},
        "starts": [_entry(name, place, starts) for (name, place), starts in found.items()],
        "bars": _bars(found, next(iter(places)), statistics.median(floors), models),
        "functions": _imports(targets, first),
    }


def _floor(folder: Path) -> Target:
    source = folder / "main.py"
    source.write_text(FLOOR_SOURCE, encoding="utf-8")
    return Target("floor", source, "GET", "/")


def _catalogs(targets: Sequence[Target]) -> list[str]:
    """Whose models are measured alone: the tables' where search is started, and those of the first site."""
    tables = [BUILT_IN for target in targets if target.name == "search"]
    return [*tables, *[target.site for target in targets if target.site][:1]]


def _environment(settings: Settings) -> dict[str, str]:
    return {
        "PYTHONPATH": str(ROOT),
        "BUCKET_URL": settings.bucket_url,
        "STORAGE_EMULATOR_HOST": settings.storage_emulator_host,
        "LLM_PROVIDER": settings.llm_provider,
        "OPENROUTER_API_KEY": settings.openrouter_api_key,
        "OPENROUTER_BASE_URL": settings.openrouter_base_url,
    }


def _spread(seconds: Sequence[float]) -> dict[str, Any]:
    return {"seconds": list(seconds), "median_s": statistics.median(seconds)}


def _entry(name: str, place: str, starts: Sequence[Start]) -> dict[str, Any]:
    answered = [each.answered_s for each in starts]
    return {
        "function": name,
        "place": place,
        "seconds": answered,
        "begun_s": statistics.median(each.begun_s for each in starts),
        "ready_s": statistics.median(each.ready_s for each in starts),
        "answered_s": statistics.median(answered),
        "stages_ms": {stage: statistics.median(each.stages_ms.get(stage, 0.0) for each in starts) for stage in STAGES},
    }


def _bars(
    found: Mapping[tuple[str, str], Sequence[Start]], place: str, floor_s: float, models: Mapping[str, Sequence[float]]
) -> list[dict[str, Any]]:
    """Of the bucket's own place: what a network adds is the network's."""
    here = {name: starts for (name, where), starts in found.items() if where == place}
    answered = {name: statistics.median(each.answered_s for each in starts) for name, starts in here.items()}
    sites = {name: statistics.median(each.ready_s for each in here[name]) for name in here if name in KINDS}
    bars = []
    if "variable" in answered:
        bars.append(_bar(f"/variable at most {VARIABLE} x the floor", answered["variable"], VARIABLE * floor_s))
    if "search" in answered:
        most_s = SEARCH * floor_s + statistics.median(models[BUILT_IN])
        bars.append(_bar(f"/search at most {SEARCH} x the floor + the models", answered["search"], most_s))
    if sites:
        name = max(sites, key=lambda each: sites[each])
        most_s = SITE * floor_s + statistics.median(next(models[kind] for kind in models if kind in KINDS))
        bars.append(_bar(f"a site ({name}) ready in at most {SITE} x the floor + its embedder", sites[name], most_s))
    return bars


def _bar(rule: str, found_s: float, most_s: float) -> dict[str, Any]:
    return {"rule": rule, "found_s": found_s, "most_s": most_s, "met": found_s <= most_s}


def _compile() -> None:
    """Compile the sources, as the image has them: where Python writes no bytecode, each start did it anew (90 ms)."""
    for folder in ("functions", "shared", "cli"):
        compileall.compile_dir(ROOT / folder, quiet=2)


def _imports(targets: Sequence[Target], settings: Settings) -> dict[str, Any]:
    """Of every folder of functions/ that was started, once."""
    folders = {target.source.parent.name: target.site for target in reversed(targets)}
    found = {}
    for folder, site in folders.items():
        hand_down({**_environment(settings), "SITE": site, "CACHE_DIR": settings.cache_dir})
        packages = json.loads(_python(IMPORTS_SOURCE.format(name=folder)))
        found[folder] = {"packages": packages, "import_ms": _import_ms(folder)}
    return found


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
