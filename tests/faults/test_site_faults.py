"""A site's answer while things fail: rows T02, T03, T05, M01-M04, M10 and L02 of the fault table, at the pipeline.

The gateway is a real server that fails on plan, the release is real files. Whatever happens, the events are
accepted by the grammar (tests/grammar.py), what is missing is said, and the next answer is normal.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import pytest
from fakes import openrouter as faults
from fakes.openrouter import OpenRouter, Seen
from fakes.plans import IMPATIENT, sites, wrong_of
from fakes.site import DIMENSION, Asked, Here, movie, movies, site_here
from grammar import FOLLOW, faults_of
from msgspec.structs import asdict, replace

from shared.contracts.ask import AskRequest
from shared.contracts.events import Begin, Candidate, Complete, End, Event, Result
from shared.edge.sse import Frames
from shared.sites.ask import ask
from shared.sites.panel import Panel

# What a model proposes beside is tests/faults/test_site_steps.py's.
PLAIN = {"expands": False}
SEEN_BEFORE = ("space story",)


@pytest.fixture(scope="module")
def here() -> Iterator[Here]:
    with OpenRouter(dimension=DIMENSION) as fake, site_here(fake, **IMPATIENT, **PLAIN) as site:
        yield site


@pytest.fixture(autouse=True)
def healthy(here: Here) -> Iterator[None]:
    assert here.fake is not None
    here.fake.heal()
    here.fake.seen.clear()
    yield
    here.fake.heal()
    again = here.ask("space story")  # I5: the fault gone, the next answer is normal
    assert again.names
    assert (again.said, again.error) == ([], None)


@pytest.fixture
def fake(here: Here) -> OpenRouter:
    assert here.fake is not None
    return here.fake


def is_ranking(seen: Seen) -> bool:
    return seen.is_chat and '"rs":' in seen.body["messages"][-1]["content"]


def is_rewriting(seen: Seen) -> bool:
    return seen.is_chat and '"current_query":' in seen.body["messages"][-1]["content"]


def is_writing(seen: Seen) -> bool:
    return seen.is_chat and '"evidence":' in seen.body["messages"][-1]["content"]


def is_embedding(seen: Seen) -> bool:
    return not seen.is_chat


def first_batch(seen: Seen) -> bool:
    """The one of the three calls that has the first candidate of "space story"."""
    return is_ranking(seen) and '"name":"Space story 0"' in seen.body["messages"][-1]["content"]


def soon(holds: Callable[[], bool]) -> bool:
    """Whether something comes to hold: the gateway sees a closed connection when it next looks."""
    end = time.monotonic() + 10.0
    while not holds() and time.monotonic() < end:
        time.sleep(0.01)
    return holds()


# T05


def test_T05_the_grammar_has_begin_first_one_end_and_nothing_behind_it():
    assert FOLLOW["end-nlweb-response"] == set()
    assert "result" in FOLLOW["result"]
    assert "candidate" not in FOLLOW["result"]
    assert faults_of([Begin(), Complete(), End()]) != []


def test_T05_the_machine_refuses_what_breaks_the_grammar(here: Here):
    events = here.ask("space story").events
    first, second = (next(each for each in events if isinstance(each, kind)) for kind in (Candidate, Result))
    late = [*events[:-1], first, events[-1]]
    unannounced = [event for event in events if not isinstance(event, Candidate)]
    for broken in (
        events[1:],
        events[:-1],
        [*events, events[-1]],
        late,
        unannounced,
        [*events[:-3], second, *events[-3:]],
    ):
        assert faults_of(broken) != []


def test_T05_a_healthy_answer_is_accepted(here: Here):
    for mode in ("list", "summarize", "generate"):
        asked = here.ask("space story", mode=mode)
        assert faults_of(asked.events) == []
        assert (asked.answer is None) == (mode == "list")


def test_T05_200_seeded_fault_plans_are_accepted(fake: OpenRouter):
    with sites(fake) as both:
        wrong, said = anyio.run(wrong_of, both, range(200))
    assert wrong == {}
    assert {"triage_failed", "expansion_failed", "describer_failed", "ranker_fell_back"} <= set(said)
    assert {"batch_failed", "rewrite_failed", "vectors_unavailable", "answer_failed", "verdicts_skipped"} <= set(said)


# The table of section 7, row by row


@pytest.mark.parametrize(
    "fault", [faults.status(500), faults.refuse(), faults.html(), faults.content("Sure! Try these.")]
)
def test_row_1_a_rewrite_that_fails_leaves_the_query_as_typed_and_says_so(here: Here, fake: OpenRouter, fault: Any):
    fake.fail(fault, when=is_rewriting)
    asked = here.ask("submarine story", previous_queries=SEEN_BEFORE)
    assert asked.rewritten is None
    assert asked.codes == ["rewrite_failed"]
    assert asked.names[0].startswith("Submarine story")
    assert faults_of(asked.events) == []


def test_row_1_a_rewrite_that_is_slow_is_given_up(here: Here, fake: OpenRouter):
    fake.fail(faults.stall(), when=is_rewriting)
    asked = here.ask("submarine story", {"rewrite_timeout_s": 0.02}, previous_queries=SEEN_BEFORE)
    assert asked.codes == ["rewrite_failed"]
    assert asked.of(Result)
    assert asked.usage["cancelled_calls"] == 1


def test_row_4_where_the_embedding_fails_what_words_find_is_ranked_with_the_notice(here: Here, fake: OpenRouter):
    fake.fail(faults.status(500), when=is_embedding)
    asked = here.ask("space story")
    assert asked.said == ["Vector retrieval unavailable; returning BM25 results."]
    assert {item["retrieval_source"] for item in asked.results} == {"bm25"}


@pytest.mark.parametrize("fault", [faults.wrong_dimension(), faults.zeros(), faults.nan()])
def test_M08_a_vector_that_cannot_be_used_is_none(here: Here, fake: OpenRouter, fault: Any):
    fake.fail(fault, when=is_embedding)
    asked = here.ask("space story")
    assert asked.codes == ["vectors_unavailable"]
    assert asked.results


def test_row_5_one_batch_that_fails_costs_its_own_verdicts_and_is_said(here: Here, fake: OpenRouter):
    whole = here.ask("space story")
    fake.fail(faults.status(500), when=first_batch)
    asked = here.ask("space story")
    assert asked.codes == ["batch_failed"]
    assert asked.error is None
    assert set(asked.names) < set(whole.names)
    assert "Space story 0" not in asked.names


def test_row_5_verdicts_that_came_before_a_stream_broke_count(here: Here, fake: OpenRouter):
    fake.fail(faults.framed(lambda frames: frames[: len(frames) * 2 // 3]), when=first_batch)
    asked = here.ask("space story")
    assert asked.codes == ["batch_failed"]
    assert "Space story 0" in asked.names


def test_row_5_where_every_batch_fails_there_is_no_result_and_the_reader_is_told_why(here: Here, fake: OpenRouter):
    fake.fail(faults.status(500), when=is_ranking)
    asked = here.ask("space story")
    assert asked.results == []
    assert asked.codes == ["batch_failed"]
    assert asked.error is not None
    assert asked.error.code == "relevance_scoring_failed"
    assert faults_of(asked.events) == []


class Breaking:
    """A part of a site that raises on some of its calls; every other call is the real part's."""

    def __init__(self, real: Any, sweep: Sweep) -> None:
        self._real, self._sweep = real, sweep

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._real, name)
        if name == "embedder":
            return Breaking(value, self._sweep)
        return self._sweep.wrapped(name, value) if callable(value) and name != "client" else value


class Sweep:
    """Lets the nth call of the parts fail, or every one from the nth on: of all calls, or of those of one name.

    By name wherever every step has to be met: steps run side by side, so the nth of all is another one from run to run.
    """

    def __init__(self, first: int, lasting: bool, step: str = "") -> None:
        self.calls: list[str] = []
        self._first, self._lasting, self._step = first, lasting, step

    def wrapped(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **named: Any) -> Any:
            self.calls.append(name)
            count = self._counted
            if name != (self._step or name):
                return real(*args, **named)
            if count == self._first or (self._lasting and count > self._first):
                raise RuntimeError(f"secret-{name}")
            return real(*args, **named)

        return called

    @property
    def reached(self) -> bool:
        return self._counted >= self._first

    @property
    def _counted(self) -> int:
        return self.calls.count(self._step) if self._step else len(self.calls)


def parts_of(panel: Panel) -> dict[str, Any]:
    """The roles of a panel that somebody has."""
    return {name: part for name, part in asdict(panel).items() if part is not None}


def swept(here: Here, first: int, lasting: bool, step: str = "", **given: Any) -> tuple[Asked, Sweep]:
    sweep = Sweep(first, lasting, step)
    site: Any = Breaking(here.site, sweep)
    panel = Panel(**{name: Breaking(part, sweep) for name, part in parts_of(here.panel).items()})
    request = AskRequest("submarine", **given)

    async def run() -> Asked:
        asked = Asked([])
        async for event in ask(request, site, replace(here.settings, expands=step in ("expand", "")), panel):
            asked.events.append(event)
        await here.gateway.client().aclose()
        return asked

    return anyio.run(run), sweep


STEPS = ("read", "bm25", "embed", "nearest", "items", "rank", "expand", "compose")


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("history", [(), SEEN_BEFORE])
@pytest.mark.parametrize("lasting", [False, True])
def test_T02_an_exception_at_any_step_ends_in_an_accepted_stream(
    here: Here, lasting: bool, history: tuple[str, ...], step: str
):
    """Row 7: the main path is run once more; a second failure is one error, and the closing events still come."""
    for first in range(1, 40):
        asked, sweep = swept(here, first, lasting, step, previous_queries=history)
        if not sweep.reached:
            break
        assert faults_of(asked.events) == [], (first, sweep.calls)
        assert asked.types[-3:] == ["usage", "complete", "end-nlweb-response"]
        assert asked.said or asked.error or not lasting
        assert "secret" not in json.dumps([event.content for event in asked.events])
    assert first > 1, f"{step} was never called"


def test_row_7_a_path_that_raises_once_is_run_once_more_and_that_is_said(here: Here):
    asked, sweep = swept(here, 1, lasting=False, step="bm25")
    assert asked.codes == ["ranking_restarted"]
    assert asked.results
    assert sweep.calls.count("bm25") == 2


def test_row_7_a_path_that_raises_twice_is_one_error(here: Here):
    asked, _ = swept(here, 1, lasting=True, step="bm25")
    assert asked.types == ["begin-nlweb-response", "error", "usage", "complete", "end-nlweb-response"]


def test_row_8_no_result_is_said_and_no_summary_written(here: Here, fake: OpenRouter):
    asked = here.ask("zzz qqq", retrieval="bm25")
    assert asked.said == ["No matching results found."]
    assert asked.answer is None
    assert not any(map(is_writing, fake.seen))


def test_row_10_where_composing_fails_the_results_stand_and_the_notice_says_so(here: Here, fake: OpenRouter):
    fake.fail(faults.status(500), when=is_writing)
    asked = here.ask("space story")
    assert [text.partition(":")[0] for text in asked.said] == ["Answer generation unavailable"]
    assert asked.results
    assert asked.answer is None


@pytest.mark.parametrize(
    "written", ['{"summary": 3}', '{"summary": ""}', '{"summary": "\\ud83d"}', "[1]", '{"sum', "null"]
)
def test_row_10_an_unreadable_summary_is_put_together_from_the_results(here: Here, fake: OpenRouter, written: str):
    fake.fail(faults.content(written), when=is_writing)
    asked = here.ask("space story")
    assert asked.codes == ["answer_from_names"]
    assert asked.answer is not None
    assert asked.answer.answer.startswith(f"The best matches are {asked.names[0]}, {asked.names[1]}")


def test_row_11_without_a_key_results_come_in_retrieval_order_with_notices():
    with site_here(None) as alone:
        asked = alone.ask("space story", previous_queries=SEEN_BEFORE)
    assert {item["relevance"] for item in asked.results} == {"retrieval"}
    assert "No language model is configured; results use retrieval scores." in asked.said
    assert asked.codes == ["rewrite_failed", "vectors_unavailable", "retrieval_order", "answer_failed"]
    assert asked.usage["calls"] == 0
    assert faults_of(asked.events) == []


def test_a_ranking_model_that_cannot_be_had_is_said_and_the_answer_stands(here: Here):
    with site_here(None) as alone:
        asked = alone.ask("space story", ranking_model="openai/gpt-5-mini", mode="list")
        assert "ranking_model_ignored" not in alone.ask("space story", mode="list").codes
    assert asked.results
    assert asked.codes == ["ranking_model_ignored", "vectors_unavailable", "retrieval_order"]
    assert asked.usage["notices"][0]["ranking_model"] == "openai/gpt-5-mini"
    assert "openai/gpt-5-mini" in asked.said[0]
    assert here.panel.ranker is not None
    assert here.ask("space story", ranking_model=here.panel.ranker.model, mode="list").codes == []


def test_an_empty_query_is_an_error_and_a_whole_stream(here: Here, fake: OpenRouter):
    asked = here.ask("")
    assert asked.types == ["begin-nlweb-response", "error", "usage", "complete", "end-nlweb-response"]
    assert asked.error is not None
    assert asked.error.text == "No query provided."
    assert fake.calls == []


def test_another_site_matches_nothing_and_costs_nothing(here: Here, fake: OpenRouter):
    assert here.ask("space story", site="nowhere").said == ["No matching results found."]
    assert fake.calls == []
    for name in ("movies", "imdb", "", "recipes,IMDb"):
        assert here.ask("space story", site=name, mode="list").results


# M01-M04, M10


@pytest.mark.parametrize("code", [408, 409, 429, 500, 502, 503, 529])
def test_M01_one_failure_of_each_call_is_retried_and_nothing_is_missing(here: Here, fake: OpenRouter, code: int):
    whole = here.ask("submarine", previous_queries=SEEN_BEFORE)
    for number in range(1, len(fake.calls) + 1):
        fake.heal()
        before = len(fake.calls)
        fake.fail(
            faults.status(code, {"Retry-After": "0"}), when=lambda seen, n=before + number: seen.number >= n, times=1
        )
        asked = here.ask("submarine", previous_queries=SEEN_BEFORE)
        assert (asked.names, asked.said, asked.error) == (whole.names, [], None)


@pytest.mark.parametrize("fault", ["refuse", "reset", "stall", "stall_midway"])
@pytest.mark.parametrize("when", [is_embedding, is_rewriting, is_ranking, is_writing])
def test_M02_a_connection_that_breaks_or_stalls_is_a_typed_notice(here: Here, fake: OpenRouter, fault: str, when: Any):
    fake.fail(faults.FAULTS[fault](), when=when)
    asked = here.ask("submarine", previous_queries=SEEN_BEFORE)
    assert faults_of(asked.events) == []
    assert set(asked.codes) & {"vectors_unavailable", "rewrite_failed", "batch_failed", "answer_failed"}


@pytest.mark.parametrize(
    "fault", ["empty", "html", "half", "not_utf8", "wrong_schema", "no_end", "bad_frame", "error_midway"]
)
def test_M03_a_ranking_that_is_none_costs_its_batch_only(here: Here, fake: OpenRouter, fault: str):
    fake.fail(faults.FAULTS[fault](), when=first_batch)
    asked = here.ask("space story")
    assert faults_of(asked.events) == []
    assert asked.codes == ["batch_failed"]
    assert asked.results


def test_M03_a_reply_of_ten_megabytes_is_not_read_to_its_end(here: Here, fake: OpenRouter):
    fake.fail(faults.large(), when=first_batch)
    assert here.ask("space story").codes == ["batch_failed"]


def test_M03_an_empty_completion_is_asked_for_again_with_more_room(here: Here, fake: OpenRouter):
    fake.fail(faults.empty(), when=first_batch, times=1)
    asked = here.ask("space story")
    assert asked.said == []
    assert [seen.body["max_tokens"] for seen in fake.chats if first_batch(seen)] == [800, 1600]


def test_M03_a_gateway_that_does_not_stream_is_read_all_the_same(here: Here, fake: OpenRouter):
    whole = here.ask("space story")
    fake.fail(faults.framed(lambda _: []), when=is_ranking)
    assert here.ask("space story").names == whole.names


def test_M04_verdicts_on_nothing_are_ignored_and_counted(here: Here, fake: OpenRouter):
    lies = [(-1, "strong"), (0, "strong"), (0, "strong"), ("3", "strong"), (99, "relevant")]
    written = json.dumps({"results": [{"i": index, "m": word} for index, word in lies]})
    fake.fail(faults.content(written), when=is_ranking)
    asked = here.ask("space story")
    assert asked.usage["rejected"] == 12
    assert [each["verdicts"] for each in asked.usage["notices"]] == [12]
    assert len(asked.results) == 3


def test_M10_a_slow_model_ends_at_the_deadline_with_what_was_kept_until_then(here: Here, fake: OpenRouter):
    patient = {"ask_timeout_s": 0.5, "llm_read_timeout_s": 30.0}
    with site_here(fake, **{**IMPATIENT, **patient, **PLAIN}) as slow:
        fake.fail(faults.stall(), when=first_batch)
        asked = slow.ask("space story")
    assert asked.error is not None
    assert asked.error.code == "query_cancelled"
    assert (
        asked.error.text == f"The search was stopped after 0.5 s; {len(asked.results)} results were found until then."
    )
    assert asked.results
    assert asked.answer is None
    assert asked.usage["cancelled_calls"] == 1
    assert faults_of(asked.events) == []
    assert soon(lambda: [seen.abandoned for seen in fake.chats if first_batch(seen)] == [True])


# The plan of a turn


def test_the_fast_track_counts_where_the_rewrite_changes_nothing(here: Here, fake: OpenRouter):
    fake.fail(faults.content('{"standalone_query": "Space Story"}'), when=is_rewriting)
    kept = here.ask("Space Story", previous_queries=("submarine",))
    assert kept.rewritten is None
    assert kept.results
    assert sum(map(is_ranking, fake.seen)) == 3


def test_nothing_is_shown_before_the_plan_is_settled_and_a_wasted_call_is_counted(fake: OpenRouter):
    with site_here(fake, **PLAIN) as patient:
        fake.fail(faults.stall(0.3), when=is_rewriting)
        asked = patient.ask("submarine", previous_queries=SEEN_BEFORE)
    assert faults_of(asked.events) == []
    assert asked.types.index("decontextualized_query") == 1
    assert asked.usage["phases"]["ranking"] == 6, "three of the query as typed, three of its rewrite"


def test_a_wasted_call_that_was_given_up_counts_as_cancelled_and_unpriced(fake: OpenRouter):
    with site_here(fake, **PLAIN) as patient:
        fake.fail(faults.stall(0.2), when=is_rewriting)
        fake.fail(faults.stall(), when=is_ranking, times=3)
        usage = patient.ask("submarine", previous_queries=SEEN_BEFORE).usage
    assert (usage["cancelled_calls"], usage["unpriced_calls"]) == (3, 3)
    assert usage["phases"]["ranking"] == 6


def test_without_the_fast_track_a_follow_up_waits_for_its_rewrite(here: Here, fake: OpenRouter):
    asked = here.ask("submarine", {"fast_track": False}, previous_queries=SEEN_BEFORE)
    assert asked.rewritten == "space story submarine"
    assert sum(map(is_ranking, fake.seen)) == 3


def test_a_rewrite_of_the_caller_is_searched_without_asking_for_one(here: Here, fake: OpenRouter):
    asked = here.ask("that one", standalone_query="submarine story", previous_queries=SEEN_BEFORE)
    assert asked.rewritten == "submarine story"
    assert not any(map(is_rewriting, fake.seen))


def test_a_first_turn_asks_for_no_rewrite(here: Here, fake: OpenRouter):
    here.ask("space story")
    assert not any(map(is_rewriting, fake.seen))


def test_the_ranking_goes_to_the_providers_in_their_order_with_room_and_little_thinking(here: Here, fake: OpenRouter):
    here.ask("space story", query_id="q-1")
    bodies = [seen.body for seen in fake.seen if is_ranking(seen)]
    assert len(bodies) == 3
    for body in bodies:
        assert body["provider"] == {"order": ["coreweave", "novita", "groq"]}
        assert (body["model"], body["max_tokens"], body["temperature"]) == ("openai/gpt-oss-20b", 800, 0)
        assert (body["reasoning"], body["stream"], body["user"]) == ({"effort": "low"}, True, "q-1")


def test_the_same_verdicts_under_every_threshold_the_list_only_shrinks(here: Here):
    whole = here.ask("space story", min_score=0, mode="list").results
    for min_score in range(0, 96, 5):
        shown = here.ask("space story", min_score=min_score, mode="list").results
        assert [item["url"] for item in shown] == [item["url"] for item in whole if item["score"] >= min_score]


def test_an_evaluation_gets_a_verdict_on_every_candidate_ten_a_call(here: Here, fake: OpenRouter):
    everything = json.dumps({"results": [{"i": place, "m": "exclude"} for place in range(10)]})
    fake.fail(faults.content(everything), when=is_ranking)
    asked = here.ask("space story", include_excluded=True, max_results=200, mode="list")
    shown = [len(faults.asked_in(seen.body["messages"])["rs"]) for seen in fake.seen if is_ranking(seen)]
    assert max(shown) <= 10
    assert len(asked.results) == sum(shown)
    assert {item["relevance"] for item in asked.results} == {"exclude"}


def test_counts_and_the_kind_of_search_are_the_callers(here: Here, fake: OpenRouter):
    def candidates(**given: Any) -> int:
        fake.seen.clear()
        here.ask("space story", mode="list", **given)
        ranked = filter(is_ranking, fake.seen)
        return sum(len(faults.asked_in(seen.body["messages"])["rs"]) for seen in ranked)

    assert candidates(retrieval_count=5) == 10
    assert candidates(retrieval="bm25", retrieval_count=5) == 5
    assert candidates(retrieval="vector", retrieval_count=7) == 7
    assert candidates(ranking_count=4) == 4
    assert candidates() == 40


def test_a_site_that_asks_for_no_reasons_shows_what_its_items_say_of_themselves(fake: OpenRouter):
    with site_here(fake, movies(12), kind="recipes") as kitchen:
        asked = kitchen.ask("space story", mode="list")
    assert asked.results[0]["description"].startswith("A film about space")
    assert '"why"' not in fake.chats[-1].body["messages"][0]["content"]


def test_the_first_candidate_comes_before_the_other_batches_have_answered(here: Here, fake: OpenRouter):
    with site_here(fake, llm_read_timeout_s=5.0, **PLAIN) as patient:
        fake.fail(faults.stall(0.5), when=lambda seen: is_ranking(seen) and not first_batch(seen))
        answered: list[int] = []

        def look(event: Event) -> None:
            if isinstance(event, Candidate):
                answered.append(sum(is_ranking(seen) and bool(seen.sent) for seen in fake.seen))

        patient.on_event = look
        asked = patient.ask("space story")
    assert (answered[0], answered[-1]) == (1, 3)
    assert asked.said == []


# T01 and T03, at the pipeline


def test_T01_a_caller_who_leaves_ends_every_call(here: Here, fake: OpenRouter):
    with site_here(fake, **PLAIN) as patient:
        fake.fail(faults.stall(), when=is_ranking)

        async def leave() -> None:
            events = ask(AskRequest("space story"), patient.site, patient.settings, patient.panel)
            assert isinstance(await anext(events), Begin)
            with anyio.move_on_after(0.3):
                await anext(events)
            await events.aclose()  # type: ignore[attr-defined]
            await patient.gateway.client().aclose()

        anyio.run(leave)
    assert soon(lambda: [seen.abandoned for seen in fake.seen if is_ranking(seen)] == [True] * 3)
    assert not any(map(is_writing, fake.seen))


def test_T01_nothing_starts_before_the_first_event_is_taken_and_begin_comes_before_any_call(
    here: Here, fake: OpenRouter
):
    async def look() -> None:
        events = ask(AskRequest("space story"), here.site, here.settings, here.panel)
        await anyio.sleep(0.05)
        assert isinstance(await anext(events), Begin)
        await anyio.sleep(0.05)
        await events.aclose()  # type: ignore[attr-defined]

    anyio.run(look)
    assert fake.calls == []


NASTY = [
    movie(1, "Space\n\ndata: x\r\nevent: end", "Line \u2028 and \u2029 and \x00 and \r\n\r\ndata: [DONE]"),
    movie(2, "Space long", "space " * 170_000),
    movie(3, "Space half \ud800", "emoji 🚀 and \u202eright to left"),
]


def test_T03_records_that_would_break_a_frame_come_through_whole(fake: OpenRouter):
    with site_here(fake, NASTY[:2]) as odd:
        asked = odd.ask("space", mode="list")
    frames = Frames("q")
    sent = b"".join(frames.frame(event) for event in asked.events)
    lines = sent.decode("ascii").split("\n\n")
    assert lines.pop() == ""
    read = [json.loads(line.removeprefix("data: ")) for line in lines]
    assert [each["sequence"] for each in read] == list(range(1, len(read) + 1))
    found = {
        each["content"][0]["url"]: each["content"][0]["schema_object"]
        for each in read
        if each["message_type"] == "result"
    }
    assert found == {item.url: item.record for item in NASTY[:2]}


def test_L02_a_poisoned_record_moves_no_other_and_its_addresses_are_not_passed_on(here: Here, fake: OpenRouter):
    lure = '{"results":[{"i":0,"m":"strong","why":"Go to http://evil.example/win for it"}]}'
    fake.fail(faults.content(lure), when=is_ranking)
    fake.fail(faults.content('{"summary": "Visit www.evil.example now."}'), when=is_writing)
    asked = here.ask("space story")
    assert "evil" not in json.dumps([event.content for event in asked.events])


# The bill


def test_usage_is_by_model_with_phases_and_adds_up(here: Here):
    usage = here.ask("submarine", previous_queries=SEEN_BEFORE, query_id="q-2").usage
    assert usage["query_id"] == "q-2"
    assert {each["model"] for each in usage["models"]} == {
        "openai/gpt-oss-20b",
        "openai/gpt-oss-120b",
        "openai/text-embedding-3-small",
    }
    for name in ("calls", "total_tokens", "unpriced_calls", "cancelled_calls"):
        assert usage[name] == sum(each[name] for each in usage["models"])
    by_model = {each["model"]: each["phases"] for each in usage["models"]}
    assert by_model["openai/gpt-oss-120b"] == {"generation": 1, "pre_retrieval": 1}
    assert usage["cost"] > 0
    assert usage["calls"] == sum(usage["phases"].values())


def test_a_call_whose_cost_nobody_says_is_unpriced(here: Here, fake: OpenRouter):
    fake.reports_cost = False
    usage = here.ask("space story").usage
    fake.reports_cost = True
    assert usage["unpriced_calls"] == usage["calls"] > 0
    assert usage["cost"] == 0


def test_a_day_without_budget_is_said_in_every_part(fake: OpenRouter):
    with site_here(fake, spend_limit_usd_per_day=1e-9, **PLAIN) as poor:
        poor.ask("space story")
        asked = poor.ask("mountain story")
    assert asked.error is not None
    assert asked.error.code == "budget_exhausted"
    assert {"batch_failed"} <= set(asked.codes)
    assert faults_of(asked.events) == []
