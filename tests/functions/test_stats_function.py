"""Counting by the deployed function: what a kill loses, what an end writes, and what /stats.json adds up."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from fakes.storage import gcs_server, s3_server
from wire import Service, deployed, free_port, function, running, serving

from shared.edge.stats.recorder import Recorder
from shared.edge.stats.sums import Sums
from shared.settings import Settings

# Answered without a model: nothing is left to look at.
FREE = {"query": {"text": "rain", "filter": {"type": "application/mcp-server-card+json"}}}
_numbers = count()


@dataclass
class Counted:
    """A place for counters, as settings and as a function's environment."""

    settings: Settings
    environ: dict[str, str]

    def written(self) -> int:
        """Searches that all instances wrote down by now."""
        recorder = Recorder(self.settings)
        try:
            return int(Sums(self.settings, recorder).shown(30)["total"]["searches"])
        finally:
            getattr(recorder.bucket, "close", lambda: None)()


@pytest.fixture(params=["file", "gs", "s3"])
def counted(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Counted]:
    if request.param == "file":
        url = (tmp_path / "stats").as_uri()
        yield Counted(Settings(stats_url=url), {"STATS_URL": url})
    elif request.param == "gs":
        with gcs_server() as address:
            url, host = f"gs://contract/{next(_numbers)}", f"http://{address}"
            yield Counted(
                Settings(stats_url=url, storage_emulator_host=host), {"STATS_URL": url, "STORAGE_EMULATOR_HOST": host}
            )
    else:
        keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}
        with s3_server() as address, pytest.MonkeyPatch.context() as patch:
            for name, value in keys.items():
                patch.setenv(name, value)
            url, endpoint = f"s3://contract/{next(_numbers)}", f"http://{address}"
            yield Counted(
                Settings(stats_url=url, aws_endpoint_url=endpoint),
                {"STATS_URL": url, "AWS_ENDPOINT_URL": endpoint, **keys},
            )


@contextmanager
def searching(settings: dict[str, str]) -> Iterator[tuple[subprocess.Popen[str], Service]]:
    """The search function as deployed, and its process."""
    command, env = deployed("search")
    port = free_port()
    with running(command, {**env, "HOST": "127.0.0.1", "PORT": str(port), **settings}) as (process, log):
        service = Service(f"http://127.0.0.1:{port}", log)
        assert service.until_ready().status == 200
        yield process, service


def kill(process: subprocess.Popen[str]) -> None:
    """End the server and its workers at once, without a word to them."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert children
    for pid in (*map(int, children), process.pid):
        os.kill(pid, signal.SIGKILL)
    process.wait(timeout=30)


def search(service: Service) -> None:
    assert service.post("/search", FREE).status == 200


def test_a_function_killed_in_the_middle_of_traffic_loses_what_it_counted_since_its_last_write_and_no_more(
    counted: Counted, tiny_bucket: str
):
    settings = {"BUCKET_URL": tiny_bucket, "STATS_FLUSH_S": "0.2", **counted.environ}
    with searching(settings) as (process, service):
        for _ in range(10):
            search(service)
        sent, deadline = 10, time.monotonic() + 60
        while counted.written() < 10:
            assert time.monotonic() < deadline, service.log.read_text()
            search(service)
            sent += 1
        kill(process)
    assert 10 <= counted.written() <= sent


def test_a_function_that_is_told_to_stop_writes_what_it_counted_and_a_new_one_goes_on(
    counted: Counted, tiny_bucket: str
):
    settings = {"BUCKET_URL": tiny_bucket, "STATS_FLUSH_S": "3600", **counted.environ}
    for times in (1, 2):
        with searching(settings) as (process, service):
            for _ in range(3):
                search(service)
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=60) == 0
        assert counted.written() == 3 * times


def test_the_stats_function_adds_up_what_search_functions_counted(tiny_bucket: str, tmp_path: Path):
    settings = {"BUCKET_URL": tiny_bucket, "STATS_FLUSH_S": "0", "STATS_URL": (tmp_path / "stats").as_uri()}
    for _ in range(2):
        with function("search", settings) as service:
            assert service.until_ready().status == 200
            search(service)
            assert service.post("/search", b"no JSON").status == 400
    with function("stats", settings) as service:
        health = service.until_ready()
        assert (health.status, health.json["scope"]) == (200, "all")
        told = service.get("/stats.json").json
        assert (told["scope"], told["provider"]) == ("all", None)
        [day] = told["days"].values()
        assert (day["searches"], day["no_match"], day["failed"], day["callers"]) == (2, 2, 0, 1)


def test_behind_one_port_a_search_is_counted_at_once_and_the_scope_is_this_instance(tiny_bucket: str):
    with serving(tiny_bucket) as service:
        assert service.get("/stats.json").json["days"] == {}
        assert service.post("/search", {"query": {"text": "rain in Kenya"}}).status == 200
        assert service.get("/ask?query=rain").status == 200
        assert service.send("HEAD", "/ask?query=rain").status == 200
        assert service.post("/mcp", call("search", query="rain")).status == 200
        assert service.post("/mcp", call("publishers")).status == 200
        told = service.get("/stats.json?days=1").json
    assert (told["scope"], told["total"]["searches"], told["total"]["callers"]) == ("instance", 3, 1)
    assert told["models"]["BAAI/bge-small-en-v1.5"]["calls"] >= 1


def call(tool: str, **arguments: str) -> dict[str, Any]:
    """A tool call, as MCP clients send it."""
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


@pytest.mark.parametrize("days", ["many", "", "1.5"])
def test_days_that_are_no_number_are_a_400(gateway: Service, days: str):
    assert gateway.get(f"/stats.json?days={days}").status == 400


@pytest.mark.parametrize("days", ["-1", "0", "100000"])
def test_days_out_of_range_are_held_in_it(gateway: Service, days: str):
    assert gateway.get(f"/stats.json?days={days}").status == 200


def test_a_wrong_address_for_counters_stops_the_function_and_says_what_to_set(tiny_bucket: str):
    command, env = deployed("search")
    environ = {**os.environ, **env, "BUCKET_URL": tiny_bucket, "STATS_URL": "ftp://x", "PORT": "0"}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert "STATS_URL" in done.stderr
