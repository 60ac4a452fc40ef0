"""A reader that does what the deployed ask page does, line by line, works unchanged against our sites.

What it does: one POST with five or six keys, blocks between blank lines, their `data:` lines trimmed and joined, every
block JSON or the whole turn is lost, and of each message only `message_type` and `content`.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest

from shared.sites.kinds import KINDS

QUESTIONS = {
    "recipes": ("vegetarian dinner under 40 minutes", "only the vegan ones"),
    "movies": ("time loop comedy", "only the ones from before 2000"),
    "reviews": ("robot vacuum for two cats and a long-haired dog", "under 400 dollars"),
    "trails": ("waterfall hike that allows dogs", "under 5 miles"),
    "homes": ("4-bedroom house with a pool", "under $3M"),
}


class SearchFailed(Exception):
    """What the deployed page shows instead of an answer."""


@dataclass
class DeployedTurn:
    """What is on the page after one question."""

    question: str
    interpreted_as: str = ""
    provisional: dict[str, Any] = field(default_factory=dict)
    results: list[Any] = field(default_factory=list)
    answer: str = ""
    notices: list[str] = field(default_factory=list)
    held: str = ""
    usage: Any = None
    status: str = "Searching…"


@dataclass
class DeployedPage:
    """The deployed page of one site, with its conversation."""

    origin: str
    site: str
    model: str = ""
    turns: list[DeployedTurn] = field(default_factory=list)

    def ask(self, question: str, mode: str = "summarize") -> DeployedTurn:
        body = {
            "query": question,
            "site": self.site,
            "mode": mode,
            "previous_queries": [turn.interpreted_as or turn.question for turn in self.turns[-5:]],
            "previous_results": [item["name"] for item in self.turns[-1].results[:10]] if self.turns else [],
        }
        if self.model:
            body["ranking_model"] = self.model
        turn = DeployedTurn(question)
        self.turns.append(turn)
        for message in self._messages(body):
            show(message, turn)
        return turn

    def health(self) -> Any:
        with self._request("GET", "/health", None) as response:
            return json.loads(response.read())

    def _messages(self, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        with self._request("POST", "/ask", json.dumps(body)) as response:
            if response.status != 200:
                raise SearchFailed(json.loads(response.read()).get("error") or f"Search HTTP {response.status}")
            text = ""
            while chunk := response.read1(4096):
                text = (text + chunk.decode()).replace("\r\n", "\n")
                *blocks, text = text.split("\n\n")
                for block in blocks:
                    data = "\n".join(line[5:].strip() for line in block.split("\n") if line.startswith("data:"))
                    if data:
                        yield json.loads(data)

    @contextmanager
    def _request(self, method: str, path: str, body: str | None) -> Iterator[http.client.HTTPResponse]:
        parts = urlsplit(self.origin)
        headers = {"Accept": "text/event-stream", "Content-Type": "application/json"}
        with closing(http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)) as connection:
            connection.request(method, f"{parts.path}{path}", body, headers)
            with connection.getresponse() as response:
                yield response


def show(message: dict[str, Any], turn: DeployedTurn) -> None:
    """As the deployed page acts on a message; it does not know others."""
    kind, content = message["message_type"], message["content"]
    if kind == "candidate" and not turn.results:
        for item in content:
            turn.provisional.setdefault(item["url"] or f"{item['site']}:{item['name']}", item)
        turn.status = f"Searching… {len(turn.provisional)} possible results"
    elif kind == "result":
        turn.provisional.clear()
        turn.results.extend(content)
    elif kind == "nlws":
        turn.answer = content["answer"]
    elif kind == "decontextualized_query":
        turn.interpreted_as = content
    elif kind == "restrictions":
        turn.held = f"diet: {', '.join(content['restrictions'])} · ranked by {content['ranking_model']}"
    elif kind in ("intermediate_message", "error"):
        turn.notices.append(content)
    elif kind == "usage":
        turn.usage = content
    elif kind == "end-nlweb-response":
        count = len(turn.results)
        words = f"{count} result{'' if count == 1 else 's'}"
        turn.status = f"{words} · {turn.usage['total_tokens']:,} tokens · ${turn.usage['cost']:.4f}"


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_conversation_of_the_deployed_page_works_unchanged(gateway_url: str, kind: str) -> None:
    deployed = DeployedPage(f"{gateway_url}/sites/{kind}", kind)
    question, followup = QUESTIONS[kind]
    first = deployed.ask(question)
    assert first.status.startswith(f"{len(first.results)} result")
    assert first.results
    assert first.provisional == {}
    assert first.answer
    for item in first.results:
        assert item["@type"] == "Item"
        assert {"url", "name", "site", "description", "schema_object"} <= set(item)
        assert isinstance(item["schema_object"].get("image", ""), str)
    second = deployed.ask(followup, mode="list")
    assert second.status.startswith(f"{len(second.results)} result")
    assert second.interpreted_as not in ("", followup)
    assert second.answer == ""
    for model in first.usage["models"]:
        assert {"model", "phases", "calls", "prompt_tokens", "completion_tokens", "total_tokens", "cost"} <= set(model)


def test_the_deployed_page_names_what_results_are_held_to(gateway_url: str) -> None:
    turn = DeployedPage(f"{gateway_url}/sites/recipes", "recipes").ask("vegetarian dinner under 40 minutes")
    assert turn.held.startswith("diet: vegetarian · ranked by ")
    assert "undefined" not in turn.held


def test_the_deployed_page_shows_what_was_wrong_with_a_request(gateway_url: str) -> None:
    with pytest.raises(SearchFailed, match="mode must be list, summarize, or generate"):
        DeployedPage(f"{gateway_url}/sites/recipes", "recipes").ask("soup", mode="shout")


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_deployed_page_and_its_wake_page_read_our_health(gateway_url: str, kind: str) -> None:
    health = DeployedPage(f"{gateway_url}/sites/{kind}", kind).health()
    assert health["status"] == "ok"
    assert isinstance(health["collections"][kind], int)
    assert {"snapshot_id", "built_at"} <= set(health["corpus"])


@pytest.mark.parametrize(
    "model", ["typesafe/jev-1.14", "openai/gpt-oss-20b", "google/gemma-4-26b-a4b-it", "google/gemini-3.8-flash"]
)
def test_the_models_of_the_deployed_picker_are_taken(scripted_url: str, model: str) -> None:
    turn = DeployedPage(f"{scripted_url}/sites/trails", "trails", model).ask("waterfall hike")
    assert "result" in turn.status
