"""The verbs of a caller: `askbucket search`, and what every verb does with errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from wire import Service, free_port

from build_jobs.leaves import generate
from cli import gateway as gateway_of
from cli import jobs
from cli.main import main


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


VERBS = "serve search leaves build publish rollback releases prune evaluate bench doctor".split()


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([verb, "--help"])
    assert ended.value.code == 0
    assert verb in capsys.readouterr().out


def test_the_names_that_help_writes_out_are_those_of_the_code(capsys: pytest.CaptureFixture[str]) -> None:
    for verb, names in (("leaves", generate.FAMILIES), ("serve", gateway_of.FUNCTIONS)):
        with pytest.raises(SystemExit):
            main([verb, "--help"])
        shown = " ".join(capsys.readouterr().out.split())
        assert [name for name in names if f" {name}" not in shown] == []
    assert set(jobs.FAMILIES) == set(generate.FAMILIES)
