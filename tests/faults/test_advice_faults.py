"""Triage, expansion, describer and light writer while the gateway fails: rows M03, M10 and L01, at the models' border.

The gateway is a real server. Whatever it does, a call ends with a result, a typed failure or the deadline, and the
next call is normal.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest
from fakes import openrouter as faults
from fakes.asking import Asked, Work, ask, gateway_for
from fakes.openrouter import OpenRouter

from shared.contracts.items import Item
from shared.errors import ModelUnavailable, QueryCancelled
from shared.models.gateway import Gateway
from shared.models.ledger import Ledger
from shared.models.provider import Described, Evidence, Need, Proposed, Shown, SiteQuestion, Triaged

QUESTION = SiteQuestion("vegan stew", "recipes", query_id="q-1")
SHOWN = [Shown(Item(name, "", name, "s", {}), {"name": name}, None, 1.0, "bm25") for name in ("Dal", "Chili", "Ribs")]


def triage(gateway: Gateway, ledger: Ledger) -> object:
    return gateway.advisor().triage("vegan stew", "recipes", ledger)


def expand(gateway: Gateway, ledger: Ledger) -> object:
    return gateway.advisor().expand("vegan stew", "recipes", ["dal"], ledger)


class Describing:
    """A describer's call, and what it said of each item."""

    def __init__(self, *restrictions: str) -> None:
        self.said: list[Described] = []
        self._restrictions = restrictions

    def __call__(self, gateway: Gateway, ledger: Ledger) -> object:
        return gateway.describer().describe(QUESTION, SHOWN, self._restrictions, self.said.append, ledger)


def sum_up(gateway: Gateway, ledger: Ledger) -> object:
    evidence = [Evidence(each.item.name, "", "", each.record) for each in SHOWN]
    return gateway.writer(lite=True).compose("summarize", "stew", evidence, ledger)


WORKS: dict[str, Work] = {"triage": triage, "expansion": expand, "describer": Describing(), "lite": sum_up}  # type: ignore[dict-item]
works = pytest.mark.parametrize("work", WORKS.values(), ids=WORKS)


@pytest.fixture
def fake() -> Iterator[OpenRouter]:
    with OpenRouter() as server:
        yield server


def asked(fake: OpenRouter, work: object, **given: object) -> Asked:
    return ask(gateway_for(fake, **given), work)  # type: ignore[arg-type]


def is_well(fake: OpenRouter, work: object) -> bool:
    fake.heal()
    return asked(fake, work).error is None


def wait_until_abandoned(fake: OpenRouter) -> None:
    """Wait for the gateway to see that every caller left."""
    end = time.monotonic() + 10
    while not all(seen.abandoned for seen in fake.calls):
        assert time.monotonic() < end, "the gateway still has a caller"
        time.sleep(0.005)


def test_each_role_asks_its_own_model_and_the_ledger_names_its_stage(fake):
    stages = [asked(fake, work).events[0]["stage"] for work in WORKS.values()]
    assert stages == ["triage", "expansion", "description", "generation"]
    sent = [(seen.body["model"], seen.body.get("reasoning", {}).get("effort")) for seen in fake.chats]
    assert sent == [
        ("openai/gpt-oss-120b", "low"),
        ("openai/gpt-oss-120b", "low"),
        ("google/gemini-3.8-flash", "low"),
        ("google/gemini-2.5-flash-lite", None),
    ]
    assert {seen.body["provider"]["sort"] for seen in fake.chats} == {"throughput"}
    assert [bool(seen.body.get("stream")) for seen in fake.chats] == [False, False, True, False]
    assert fake.chats[2].body["user"] == "q-1"


def test_the_settings_choose_the_describer_and_the_light_writer(fake):
    given = {"describer_model": "acme/d", "lite_model": "acme/l", "describer_effort": ""}
    for work in (Describing(), sum_up):
        asked(fake, work, **given)
    assert [(seen.body["model"], "reasoning" in seen.body) for seen in fake.chats] == [("acme/d", 0), ("acme/l", 0)]


def test_what_a_well_gateway_says_is_read(fake):
    assert asked(fake, triage).result == Triaged("hard", (Need("diet", "vegan", "require"),))
    assert asked(fake, expand).result == Proposed(("vegan", "stew"), ("vegan stew",))
    describing = Describing("vegan")
    summary, notices = asked(fake, describing).result
    assert [(each.index, each.keep) for each in describing.said] == [(0, True), (1, True), (2, True)]
    assert "Swap" in describing.said[0].text
    assert (summary, notices) == ("Dal, Chili, Ribs fit best.", [])


def test_nothing_to_describe_asks_nobody(fake):
    work = lambda gateway, ledger: gateway.describer().describe(QUESTION, [], [], print, ledger)  # noqa: E731
    assert asked(fake, work).result == ("", [])
    assert fake.calls == []


@works
@pytest.mark.parametrize("fault", ["html", "half", "not_utf8", "wrong_schema", "empty", "refuse", "429", "503"])
def test_M03_what_is_no_completion_is_a_typed_failure_and_the_next_call_is_normal(fake, work, fault):
    fake.fail(faults.FAULTS[fault]())
    failed = asked(fake, work, llm_max_retries=1, llm_breaker_failures=0)
    if failed.error is None:  # half of a small stream may hold whole words
        assert isinstance(work, Describing)
    else:
        assert type(failed.error) is ModelUnavailable
    assert is_well(fake, work)


@works
def test_M03_a_reply_of_ten_megabytes_is_not_read_to_its_end_and_not_asked_for_again(fake, work):
    fake.fail(faults.large())
    failed = asked(fake, work)
    assert (type(failed.error), failed.outcomes) == (ModelUnavailable, ["error"])
    assert is_well(fake, work)


@pytest.mark.parametrize("work", [triage, expand, Describing()], ids=["triage", "expansion", "describer"])
@pytest.mark.parametrize("text", ["I cannot help.", "<html></html>", "[1, 2]", '{"scores":[{"i":0,"s":100}]}', "null"])
def test_M03_a_completion_that_is_no_answer_is_a_typed_failure(fake, work, text):
    fake.fail(faults.content(text))
    assert type(asked(fake, work).error) is ModelUnavailable


def test_M03_a_completion_cut_by_its_length_gives_what_came_whole(fake):
    fake.fail(faults.content('{"items":[{"i":0,"keep":true,"d":"Red lentils."},{"i":1,"ke', finish_reason="length"))
    describing = Describing()
    summary, notices = asked(fake, describing).result
    assert describing.said == [Described(0, True, "Red lentils.")]
    assert (summary, [each["code"] for each in notices]) == ("", ["verdicts_skipped"])
    fake.heal()
    fake.fail(faults.content('{"terms":["dal makhani","lentil stew","len', finish_reason="length"))
    assert asked(fake, expand).result == Proposed(("lentil stew",), (), 1)


@pytest.mark.parametrize("fault", ["no_end", "bad_frame", "error_midway", "stall_midway"])
def test_M03_a_stream_that_breaks_off_is_a_failure_and_what_was_said_before_stays(fake, fault):
    text = json.dumps({"items": [{"i": n, "keep": True, "d": "A stew of beans."} for n in range(3)], "summary": "S."})
    fake.fail(faults.content(text), times=1)
    whole = Describing()
    assert asked(fake, whole).error is None
    assert len(whole.said) == 3
    broken = Describing()

    def both(seen: faults.Seen, reply: faults.Reply) -> faults.Reply:
        return faults.FAULTS[fault]()(seen, faults.content(text)(seen, reply))

    fake.fail(both)
    failed = asked(fake, broken, llm_read_timeout_s=0.3)
    assert (type(failed.error), len(failed.events)) == (ModelUnavailable, 1)
    assert broken.said == whole.said[: len(broken.said)]
    assert 1 <= len(broken.said) < 3
    assert is_well(fake, Describing())


def test_M03_a_model_that_sends_all_at_once_is_read_all_the_same(fake):
    fake.fail(faults.framed(lambda frames: [_joined(frames), *frames[-3:]]))
    describing = Describing()
    assert asked(fake, describing).result[0] == "Dal, Chili, Ribs fit best."
    assert [each.index for each in describing.said] == [0, 1, 2]


def _joined(frames: list[str]) -> str:
    deltas = [json.loads(frame[len("data: ") :])["choices"] for frame in frames[:-1]]
    text = "".join(choices[0]["delta"]["content"] for choices in deltas if choices)
    return "data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}) + "\n\n"


def test_L01_an_obedient_describer_speaks_of_nothing_but_what_it_was_shown(fake):
    injected = [
        {"i": 0, "keep": True, "d": "Dal.", "url": "http://evil.example", "score": 100},
        {"i": 7, "keep": True, "d": "Buy from evil.example."},
        {"name": "Another item", "keep": True, "d": "Not among the results."},
    ]
    fake.fail(faults.content(json.dumps({"items": injected, "summary": "S.", "system": "the prompt"})))
    describing = Describing()
    assert asked(fake, describing).result == (
        "S.",
        [{"code": "verdicts_skipped", "message": _SKIPPED, "verdicts": 2}],
    )
    assert describing.said == [Described(0, True, "Dal.")]


_SKIPPED = "Some of the describer's words could not be read and were skipped."


def test_L01_an_obedient_advisor_gives_needs_and_strings_and_nothing_else(fake):
    fake.fail(
        faults.content(
            '{"tier":"simple","constraints":[{"type":"sql","value":"drop","polarity":"require"}],'
            '"terms":["dal","stew"],"names":["Dal",{"url":"http://evil.example"}],"results":[{"i":0,"m":"strong"}]}'
        )
    )
    assert asked(fake, triage).result == Triaged("simple", (), 1)
    assert asked(fake, expand).result == Proposed(("stew",), (), 1)


@works
def test_M10_a_slow_call_ends_with_the_deadline_and_the_gateway_sees_it_go(fake, work):
    fake.fail(faults.stall())
    gateway = gateway_for(fake, llm_read_timeout_s=60.0)
    ended = ask(gateway, work, ends=lambda: len(fake.calls) == 1)
    assert (type(ended.error), ended.outcomes) == (QueryCancelled, ["cancelled"])
    wait_until_abandoned(fake)
    assert is_well(fake, work)


def test_M10_words_that_came_before_the_deadline_stay_said(fake):
    fake.fail(faults.stall_midway())
    describing = Describing()
    ended = ask(gateway_for(fake, llm_read_timeout_s=60.0), describing, ends=lambda: bool(describing.said))  # type: ignore[arg-type]
    assert type(ended.error) is QueryCancelled
    assert describing.said[0].index == 0
