"""Whole streams read by a real browser, from a page of another origin: by EventSource and by fetch."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from browser.chromium import Stage, staged
from fakes.scripted.script import NASTY
from stream_reader import scripted, until
from wire import Service

EVENT_SOURCE = """
const messages = [];
const source = new EventSource(ASK);
source.onmessage = (event) => {
  const message = JSON.parse(event.data);
  messages.push(message);
  if (message.message_type === LAST) { source.close(); setTimeout(() => done(messages), 1500); }
};
"""
# As the sample pages read: blocks between blank lines, their `data:` lines joined; all else is ignored.
FETCH = """
const reply = await fetch(ASK, {method: "POST", headers: {"Content-Type": "application/json"}, body: BODY});
if (!reply.ok) throw new Error(reply.status);
const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
const messages = [];
let text = "";
for (;;) {
  const {value, done: over} = await reader.read();
  if (over) break;
  text = (text + value).replaceAll("\\r\\n", "\\n");
  const blocks = text.split("\\n\\n");
  text = blocks.pop();
  for (const block of blocks) {
    const data = block.split("\\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trim());
    if (data.length) messages.push(JSON.parse(data.join("\\n")));
  }
}
if (text !== "") throw new Error("a rest: " + text);
done(messages);
"""


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with staged() as stage:
        yield stage


@pytest.fixture(scope="module")
def service(stage: Stage) -> Iterator[Service]:
    with scripted({"ASKHUB_CORS_ORIGINS": stage.origin, "STREAM_HEARTBEAT": "0.3"}) as (service, _):
        yield service


def run(stage: Stage, script: str, **names: str) -> list[dict[str, Any]]:
    constants = "".join(f"const {name} = {json.dumps(value)};\n" for name, value in names.items())
    messages: list[dict[str, Any]] = stage.run(constants + script)
    return messages


def check(messages: list[dict[str, Any]], items: int) -> None:
    """None lost, none repeated, in order, and each record as it is."""
    assert [message["sequence"] for message in messages] == list(range(1, len(messages) + 1))
    kinds = [message["message_type"] for message in messages]
    assert kinds[0] == "begin-nlweb-response"
    assert kinds[-2:] == ["complete", "end-nlweb-response"]
    assert (kinds.count("candidate"), kinds.count("result")) == (items, items)
    results = [message["content"][0] for message in messages if message["message_type"] == "result"]
    assert [each["name"] for each in results] == [f"Item {number}" for number in range(items)]
    assert {each["schema_object"]["description"] for each in results} == {NASTY}


def test_T03_an_event_source_reads_a_whole_stream_and_does_not_ask_again(stage: Stage, service: Service):
    before = service.get("/seen").json["started"]
    ask = f"{service.url}/ask?query=items%3D12+pause%3D0.05+first%3D1+nasty%3D1"
    check(run(stage, EVENT_SOURCE, ASK=ask, LAST="end-nlweb-response"), 12)
    assert service.get("/seen").json["started"] == before + 1


def test_an_event_source_that_closes_at_complete_as_nlwebs_clients_do_asks_once(stage: Stage, service: Service):
    before = service.get("/seen").json["started"]
    messages = run(stage, EVENT_SOURCE, ASK=f"{service.url}/ask?query=items%3D2", LAST="complete")
    assert messages[-1]["message_type"] == "complete"
    seen = until(lambda: service.get("/seen").json, lambda seen: seen["ended"] == seen["started"])
    assert seen["started"] == before + 1


def test_T03_a_fetch_reader_reads_a_whole_stream(stage: Stage, service: Service):
    body = json.dumps({"query": "items=12 pause=0.05 first=1 nasty=1"})
    check(run(stage, FETCH, ASK=f"{service.url}/ask", BODY=body), 12)


def test_a_fetch_reader_sees_an_error_and_an_end_where_the_pipeline_breaks(stage: Stage, service: Service):
    messages = run(stage, FETCH, ASK=f"{service.url}/ask", BODY=json.dumps({"query": "items=3 crash=1"}))
    assert [m["message_type"] for m in messages][-3:] == ["error", "complete", "end-nlweb-response"]


def test_a_page_of_an_origin_that_is_not_named_reads_nothing(stage: Stage, service: Service):
    script = "try { await fetch(ASK); done(['read']); } catch { done(['refused']); }"
    with staged() as other:
        assert run(other, script, ASK=f"{service.url}/ask?query=items%3D1") == ["refused"]
