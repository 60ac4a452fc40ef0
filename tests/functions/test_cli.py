"""The verbs of a caller: `askbucket search`, and what every verb does with errors."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from wire import Service, free_port

from build_jobs.leaves import families
from cli import gateway as gateway_of
from cli import leaves
from cli.main import main
from shared.version import VERSION

ROOT = Path(__file__).resolve().parents[2]


def test_search_prints_title_source_score_variable_and_urn(
    gateway: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["search", "average", "rainfall", "by", "country", "--url", gateway.url]) == 0
    shown = capsys.readouterr().out
    assert "Mean annual rainfall — Data Commons (World Bank Climate)" in shown
    assert "datacommons · Mean_Rainfall" in shown
    assert "urn:air:datacommons.org:okf:datacommons.mean-rainfall" in shown


def test_search_over_a_bucket_needs_no_server_and_answers_the_same(
    gateway: Service, tiny_bucket: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["search", "life expectancy", "--sources", "worldbank", "--page-size", "3", "--json"]
    replies = []
    for where in (["--url", gateway.url], ["--bucket", tiny_bucket]):
        assert main([*asked, *where]) == 0
        replies.append(json.loads(capsys.readouterr().out))
    over_http, in_process = ([(e["identifier"], e["score"]) for e in reply["results"]] for reply in replies)
    assert over_http == in_process
    assert 1 <= len(in_process) <= 3


def test_search_says_in_words_that_nothing_matches(gateway: Service, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "best lasagna recipe with spinach", "--url", gateway.url]) == 0
    assert "No match" in capsys.readouterr().out


@pytest.mark.parametrize("flags", [["--sources", "nowhere"], ["--page-size", "3", "--sources", "a,b"]])
def test_a_refused_request_is_one_line_and_exit_1(
    gateway: Service, flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["search", "rain", "--url", gateway.url, *flags]) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("askbucket: ")
    assert "HTTP 400" in line


def test_without_a_service_search_says_how_to_start_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "rain", "--url", f"http://127.0.0.1:{free_port()}"]) == 1
    assert "askbucket serve" in capsys.readouterr().err


@pytest.mark.parametrize("url", ["ftp://example.org", "file:///etc/passwd", "example.org"])
def test_only_http_urls_are_asked(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "rain", "--url", url]) == 1
    assert "http://" in capsys.readouterr().err


def test_an_empty_bucket_is_one_line_and_exit_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "rain", "--bucket", tmp_path.as_uri()]) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert "built-in" in line


VERBS = "serve search leaves build load-cosmos publish rollback releases prune evaluate bench doctor".split()


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([verb, "--help"])
    assert ended.value.code == 0
    assert verb in capsys.readouterr().out


def test_the_names_that_help_writes_out_are_those_of_the_code(capsys: pytest.CaptureFixture[str]) -> None:
    for verb, names in (("leaves", families.FAMILIES), ("serve", gateway_of.FUNCTIONS)):
        with pytest.raises(SystemExit):
            main([verb, "--help"])
        shown = " ".join(capsys.readouterr().out.split())
        assert [name for name in names if f" {name}" not in shown] == []
    assert set(leaves.FAMILIES) == set(families.FAMILIES)


def line_of(capsys: pytest.CaptureFixture[str], command: list[str]) -> str:
    """The one line on standard error of a command that fails."""
    assert main(command) == 1
    [line] = capsys.readouterr().err.splitlines()
    return line.removeprefix("askbucket: ")


def test_the_version_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert (ended.value.code, capsys.readouterr().out) == (0, f"askbucket {VERSION}\n")


@pytest.mark.parametrize("port", ["99999", "65536", "-1"])
def test_a_port_that_is_none_is_one_line(tiny_bucket: str, port: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert line_of(capsys, ["serve", "--bucket", tiny_bucket, "--port", port]) == f"--port {port}: expected 0 to 65535"


def test_a_host_that_is_none_is_one_line(tiny_bucket: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = line_of(capsys, ["serve", "--bucket", tiny_bucket, "--host", "a..b", "--port", "0"])
    assert said.startswith("--host a..b --port 0: ")


def test_a_port_that_is_taken_names_both_ways_to_take_another(
    tiny_bucket: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said = line_of(capsys, ["serve", "--bucket", tiny_bucket, "--port", port])
    assert said.startswith(f"port {port} of 127.0.0.1 is taken")
    assert "--port" in said
    assert "PORT=" in said


def test_without_a_service_search_names_every_way_to_one(capsys: pytest.CaptureFixture[str]) -> None:
    said = line_of(capsys, ["search", "rain", "--url", f"http://127.0.0.1:{free_port()}"])
    assert [way for way in ("make demo", "askbucket serve", "--url", "--bucket") if way not in said] == []
    assert "urlopen" not in said


@pytest.mark.parametrize("url", ["http://[::1", "http://127.0.0.1:x", "http://", "http://a b", "http://a..b"])
def test_a_url_that_is_none_is_one_line(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert url in line_of(capsys, ["search", "rain", "--url", url])


def test_a_service_that_does_not_speak_http_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    def answer() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65_536)
            connection.sendall(b"220 mail.example.org ESMTP\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        answering = threading.Thread(target=answer)
        answering.start()
        said = line_of(capsys, ["search", "rain", "--url", f"http://127.0.0.1:{listener.getsockname()[1]}"])
        answering.join()
    assert said.startswith("No answer from http://127.0.0.1:")


@pytest.mark.parametrize("command", [["search", "rain"], ["serve", "--port", "0"]])
def test_an_empty_bucket_says_how_to_build_into_it(command: list[str], tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "cli.main", *command, "--bucket", tmp_path.as_uri()],
        capture_output=True, text=True, timeout=60, check=False, cwd=ROOT,
    )  # fmt: skip
    assert ended.returncode == 1
    [line] = ended.stderr.splitlines()
    assert f"`askbucket build tables --leaves DIR --bucket {tmp_path.as_uri()}`" in line


@pytest.mark.parametrize("verb", ["releases", "publish", "rollback", "prune"])
def test_a_catalog_that_is_not_there_is_refused_with_those_that_are(
    verb: str, tiny_bucket: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = line_of(capsys, [verb, "--catalog", "bilt-in", "--bucket", tiny_bucket])
    assert said == f"{tiny_bucket} has no catalog 'bilt-in'; there is built-in"


def test_a_bucket_without_catalogs_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = line_of(capsys, ["releases", "--bucket", tmp_path.as_uri()])
    assert said.startswith(f"{tmp_path.as_uri()} has no catalog 'built-in'; there is none yet")


def test_leaves_that_cannot_be_written_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rows.jsonl").write_text('{"id": "A", "title": "Rain"}\n')
    (tmp_path / "taken").write_text("no folder")
    rows, to = str(tmp_path / "rows.jsonl"), str(tmp_path / "taken")
    assert line_of(capsys, ["leaves", "worldbank", "--from", rows, "--to", to]).startswith(f"--to {to} cannot be")


def test_one_leaf_is_one_leaf(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rows.jsonl").write_text('{"id": "A", "title": "Rain"}\n')
    rows, to = str(tmp_path / "rows.jsonl"), str(tmp_path / "leaves")
    assert main(["leaves", "worldbank", "--from", rows, "--to", to]) == 0
    assert [line.split(" in ")[0] for line in capsys.readouterr().out.splitlines()] == [
        "1 leaf",
        "1 row read, 0 of other directories, 0 bad",
    ]
