"""What several suites stand on: a small real release, and real servers over it."""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

from building import build_demo, build_tiny
from wire import Service, function, serving

from shared.models.choice import Models
from shared.settings import Settings
from shared.tables.tables import Tables, open_tables

settings.register_profile(
    "askbucket", settings(), deadline=None
)  # no test asserts a time: the first example pays for imports
settings.load_profile("askbucket")

_MAY_BE_MISSING = ("ASKBUCKET_TEST_DATA", "no gcloud")  # neither can be installed from the registries
_skipped: list[str] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Remember every test that was skipped for want of something."""
    said = str(report.longrepr)
    if report.skipped and not hasattr(report, "wasxfail") and not any(reason in said for reason in _MAY_BE_MISSING):
        _skipped.append(f"{report.nodeid}: {report.longrepr}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI everything is installed, so a skip there is a test that silently stopped testing."""
    if os.environ.get("CI") == "true" and _skipped and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which skips CI refuses."""
    if os.environ.get("CI") == "true":
        for line in _skipped:
            terminalreporter.write_line(f"skipped in CI, which installs all it needs: {line}", red=True)


@pytest.fixture(scope="session")
def tiny_bucket(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of a bucket with one release: 15 leaves of datacommons, worldbank and census. Read only."""
    return _built_once(tmp_path_factory, "tiny-bucket", build_tiny)


def _built_once(made: pytest.TempPathFactory, name: str, build: Callable[[Path], object]) -> str:
    """The URL of a folder that all processes of this run share; the first that needs it builds it."""
    above = made.getbasetemp().parent if "PYTEST_XDIST_WORKER" in os.environ else made.getbasetemp()
    folder, done = above / name, above / f"{name}.done"
    with (above / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            folder.mkdir()
            build(folder)
            done.touch()
    return folder.as_uri()


@pytest.fixture(scope="session")
def gateway(tiny_bucket: str) -> Iterator[Service]:
    """Every function behind one port over the tiny bucket."""
    with serving(tiny_bucket) as service:
        yield service


@pytest.fixture(scope="session")
def demo_bucket(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of a bucket with the demo catalog and its five sites, as `make demo` builds them. Read only."""
    return _built_once(tmp_path_factory, "demo-bucket", build_demo)


@pytest.fixture(scope="session")
def demo_gateway(demo_bucket: str) -> Iterator[Service]:
    """What `make demo` serves."""
    with serving(demo_bucket, {"LLM_PROVIDER": "embedded"}) as service:
        yield service


@pytest.fixture(scope="session")
def demo_tables(demo_bucket: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tables]:
    """The demo catalog opened in this process."""
    cache = tmp_path_factory.mktemp("demo-cache")
    settings = Settings(bucket_url=demo_bucket, llm_provider="embedded", cache_dir=str(cache))
    with closing(Models(settings)) as models, closing(open_tables(settings, models)) as tables:
        yield tables


@pytest.fixture(scope="session")
def search_service(tiny_bucket: str) -> Iterator[Service]:
    """The search function alone, as deployed."""
    with function("search", {"BUCKET_URL": tiny_bucket}) as service:
        assert service.until_ready().status == 200
        yield service


@pytest.fixture(scope="session")
def variable_service(tiny_bucket: str) -> Iterator[Service]:
    """The variable function alone, as deployed."""
    with function("variable", {"BUCKET_URL": tiny_bucket}) as service:
        assert service.until_ready().status == 200
        yield service
