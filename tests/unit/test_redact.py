"""What must not be in a log line is struck out, and what operators need stays: X07."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.edge.log import JsonLines, to_stderr
from shared.edge.redact import STRUCK, Redactor

CLEAN = Redactor(["k3y-of-ours/with+signs", "abc"]).text

SECRET = {
    "the key we hold": "sent k3y-of-ours/with+signs to the gateway",
    "inside a word": "xk3y-of-ours/with+signsx",
    "named": "refused: api_key=hunter2secret",
    "in an environment's words": "OPENROUTER_API_KEY=hunter2secret",
    "in JSON": '{"password": "hunter2secret", "a": 1}',
    "in a query string": "GET /x?token=hunter2secret&y=1",
    "bearer": "Authorization: Bearer hunter2secret",
    "bearer alone": "got bearer hunter2secret",
    "said in words": "my token hunter2secret please",
    "in a URL": "redis://user:hunter2secret@10.0.0.1/0",
    "of a provider": "sk-or-v1-hunter2secret",
    "signed": "eyJhbGciOiJIUzI1NiJ9.hunter2secret.c2ln",
    "cloud": "AKIAHUNTER2SECRET000",
    "long": "hunter2secretQwErTyUiOpAsDfGhJkL",
    "mail": "ask hunter2secret@example.org",
}


@pytest.mark.parametrize("text", SECRET.values(), ids=SECRET.keys())
def test_X07_a_secret_is_struck_out(text):
    cleaned = CLEAN(text)
    assert STRUCK in cleaned
    assert "hunter2secret" not in cleaned.lower()
    assert "k3y" not in cleaned


@pytest.mark.parametrize(
    "text", ["client 203.0.113.77 asked", "203.0.113.77:4711", "from 2001:db8:1:2::5.", "2001:db8:1:2::5"]
)
def test_X07_an_address_is_shown_as_its_network(text):
    cleaned = CLEAN(text)
    assert "203.0.113.77" not in cleaned
    assert "::5" not in cleaned


PLAIN = [
    "release not loaded: release_corrupt: vectors: expected 10 bytes, found 3",
    "files/" + "5194a3b5d725" * 5 + "abcd: the digest differs",
    "20261129T230127Z-5194a3b5d725",
    "scan kernels: haswell, serial; threads: 2",
    "at 12:30:45 on 2026-11-30, version 27.0.1",
    "median household income in Los Angeles County, token economics, key figures",
    "http://127.0.0.1:9000/built-in/current.json",
    "urn:air:datacommons.org:okf:datacommons.mean-rainfall",
]


@pytest.mark.parametrize("text", PLAIN)
def test_what_operators_need_stays_as_it_is(text):
    assert CLEAN(text) == text


@given(st.text(max_size=200))
def test_X07_whatever_stands_around_it_a_key_of_ours_never_shows(text):
    assert "k3y-of-ours" not in CLEAN(f"{text}k3y-of-ours/with+signs{text}")


@pytest.mark.parametrize(
    "text", ["x" * 100_000, "1." * 50_000, "a:" * 50_000, "eyJ" * 30_000, "a@" * 50_000, "key=" * 20_000]
)
def test_a_long_text_costs_no_more_than_its_length(text):
    CLEAN(text)


def line(record: logging.LogRecord) -> dict[str, object]:
    found: dict[str, object] = json.loads(JsonLines(["s3cr3t-value"]).format(record))
    return found


def test_X07_of_an_exception_only_its_type_and_place_are_written():
    try:
        raise ValueError("the caller's words and s3cr3t-value")
    except ValueError:
        record = logging.LogRecord(
            "asyncio", logging.ERROR, "", 0, "Task failed: %s", ("s3cr3t-value",), sys.exc_info()
        )
    written = line(record)
    assert written == {
        "severity": "ERROR",
        "message": f"Task failed: {STRUCK}",
        "type": "ValueError",
        "at": written["at"],
    }
    assert "caller" not in json.dumps(written)


def test_X07_fields_are_cleaned_however_deep_they_lie():
    record = logging.makeLogRecord({"msg": "m", "fields": {"a": {"b": ["s3cr3t-value", 7, None]}, "ok": True}})
    assert line(record) == {"severity": "NOTSET", "message": "m", "a": {"b": [STRUCK, 7, None]}, "ok": True} | {
        "severity": record.levelname
    }


def test_X07_a_thread_that_dies_says_so_without_its_message(capfd, monkeypatch):
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    loggers = [logging.getLogger("shared"), logging.getLogger()]
    before = [(logger.level, logger.propagate, list(logger.handlers)) for logger in loggers]

    def dies() -> None:
        raise KeyError("s3cr3t-value and more")

    try:
        with io.StringIO() as closed, contextlib.redirect_stderr(closed):
            to_stderr()  # as a command before this one did, in the same process
        to_stderr(secrets=["s3cr3t-value"])
        thread = threading.Thread(target=dies)
        thread.start()
        thread.join()
    finally:
        for logger, (level, propagate, handlers) in zip(loggers, before, strict=True):
            logger.setLevel(level)
            logger.propagate = propagate
            logger.handlers = handlers
    written = capfd.readouterr().err
    assert '"type": "KeyError"' in written
    assert "s3cr3t" not in written
    assert "and more" not in written
