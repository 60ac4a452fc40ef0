"""Sample questions that a release answers before it is published: files of them, how they are put, what they score.

Four kinds of file are read. Tables: JSON Lines with judgements beside them (as `askbucket evaluate` reads them), YAML
with `question` and `answers` (codes of leaves, or stems of their files), and YAML lists of texts that nothing answers.
Items: YAML with `question`, `answers` and `never` (ids, or the last parts of addresses), and suites of conditions over
the items' own records (build_jobs/predicates.py).
"""

from __future__ import annotations

import asyncio
import hashlib
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import yaml

from build_jobs.judged import Target, read_judged
from build_jobs.progress import Meter, Told, silent
from build_jobs.report.figures import PAGE
from shared.contracts.status import MOST_QUESTIONS, Answered, Returned, Sampled, Scores
from shared.errors import AskbucketError, BuildError
from shared.models.ledger import Ledger
from shared.sites.kinds import KINDS

Q = TypeVar("Q", bound="Question")

# Right answers that a ledger names of a question; a condition over records may be true of thousands.
_MOST_EXPECTED = 20
_TEXT_ENDINGS = (".xz", ".jsonl", ".json", ".yaml", ".yml")
_YAML = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class Question:
    """One sample question. `nothing`: the right answer is that there is none."""

    id: str
    text: str
    nothing: bool = False


@dataclass(frozen=True, slots=True)
class TableQuestion(Question):
    """The right tables, as their judgements name them; `stems` where the stem of a leaf's file names it as well."""

    targets: tuple[Target, ...] = ()
    stems: bool = False


@dataclass(frozen=True, slots=True)
class Suite(Generic[Q]):
    """The questions of one file. `digest` is that of its bytes, and of its judgements'."""

    name: str
    questions: Sequence[Q]
    digest: str


@dataclass(frozen=True, slots=True)
class Heard:
    """What a question got: the right answers' identifiers, the results in their order, and what it cost.

    `is_silent`: nothing was shown that would pass for an answer. `is_ruled_out`: something was shown that the question
    itself rules out.
    """

    expected: Sequence[str]
    results: Sequence[Returned]
    is_silent: bool
    is_ruled_out: bool = False
    cost_usd: float = 0.0


@dataclass(slots=True)
class Asked:
    """What came of all suites: every question, its scores by suite, and what it took."""

    scores: dict[str, Scores] = field(default_factory=dict)
    questions: list[Sampled] = field(default_factory=list)
    took_ms: list[float] = field(default_factory=list)
    cost_usd: float = 0.0

    @property
    def shown(self) -> list[Sampled]:
        """At most 250 of a suite, those that went wrong before the others, in the suites' order."""
        kept: list[Sampled] = []
        for name in self.scores:
            own = [each for each in self.questions if each.suite == name]
            wrong_first = sorted(range(len(own)), key=lambda at: _is_right(own[at]))[:MOST_QUESTIONS]
            kept += [own[at] for at in sorted(wrong_first)]
        return kept

    def figures(self) -> dict[str, float]:
        """What a manifest tells of it: scores over all suites together, the median time, dollars a question."""
        if not self.questions:
            return {}
        together = scores_of(self.questions, "")
        shares = {name: getattr(together, name) for name in ("recall_at_1", "recall_at_10", "mrr", "no_match_right")}
        return {
            "questions": float(len(self.questions)),
            **{name: round(value, 4) for name, value in shares.items() if value is not None},
            "p50_ms": round(statistics.median(self.took_ms), 1),
            "usd_per_question": round(self.cost_usd / len(self.questions), 6),
        }


def read_table_suites(questions: Sequence[Path], qrels: Sequence[Path]) -> list[Suite[TableQuestion]]:
    """A suite a file; those that are no YAML take the files of judgements in turn. Raises BuildError."""
    judgements = iter(qrels)
    judged = [path for path in questions if path.suffix not in _YAML]
    if len(judged) != len(qrels):
        raise BuildError(
            f"each file of --questions that is no YAML needs its --qrels: found {len(judged)} and {len(qrels)}"
        )
    return _named_apart(
        [_yaml_suite(path) if path.suffix in _YAML else _judged_suite(path, next(judgements)) for path in questions]
    )


def questions_beside(roots: Sequence[Path]) -> list[Path]:
    """The YAML files of `questions/` beside `sources/` in some leaf roots, but for those that are a site's."""
    found = (path for root in roots for path in sorted((root / "questions").glob("*.yaml")))
    return [path for path in found if path.stem not in KINDS]


def _judged_suite(path: Path, qrels: Path) -> Suite[TableQuestion]:
    read = read_judged(path, qrels)
    asked = [TableQuestion(each.id, each.text, targets=each.targets) for each in read]
    return Suite(suite_name(path), asked, digest_of(path, qrels))


def _yaml_suite(path: Path) -> Suite[TableQuestion]:
    asked = [_table_question(one, f"{path}: question {n}", n) for n, one in enumerate(yaml_list(path), 1)]
    return Suite(suite_name(path), asked, digest_of(path))


def _table_question(read: Any, place: str, number: int) -> TableQuestion:
    if isinstance(read, str):
        return TableQuestion(str(number), read, nothing=True)
    text, answers = (read.get("question"), read.get("answers")) if isinstance(read, Mapping) else (None, None)
    if not isinstance(text, str) or not text.strip() or not isinstance(answers, list):
        raise BuildError(f"{place}: expected a text, or `question` with a list of `answers`")
    targets = tuple(Target(None, str(answer)) for answer in answers)
    return TableQuestion(str(number), text, nothing=not targets, targets=targets, stems=True)


def yaml_list(path: Path) -> list[Any]:
    """The list that a YAML file holds. Raises BuildError."""
    read = read_yaml(path)
    if not isinstance(read, list) or not read:
        raise BuildError(f"{path}: expected a list of questions")
    return read


def read_yaml(path: Path) -> Any:
    """What a YAML file holds. Raises BuildError."""
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BuildError(f"{path} cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise BuildError(f"{path} is no YAML: {error}") from error


def suite_name(path: Path) -> str:
    """A file's name without its endings."""
    name = path.name
    while name.endswith(_TEXT_ENDINGS):
        name = name[: name.rindex(".")]
    return name


def _named_apart(suites: list[Suite[Q]]) -> list[Suite[Q]]:
    """Suites of one name are numbered, so that each has its own scores."""
    seen: dict[str, int] = {}
    found = []
    for suite in suites:
        seen[suite.name] = count = seen.get(suite.name, 0) + 1
        name = suite.name if count == 1 else f"{suite.name} ({count})"
        found.append(Suite(name, suite.questions, suite.digest))
    return found


def digest_of(*paths: Path) -> str:
    """The digest of these files' bytes. Raises BuildError."""
    digest = hashlib.sha256()
    for path in paths:
        try:
            digest.update(path.read_bytes())
        except OSError as error:
            raise BuildError(f"{path} cannot be read: {error.strerror}") from error
    return digest.hexdigest()


async def put(
    suites: Sequence[Suite[Q]],
    ask: Callable[[Q, Ledger], Awaitable[Heard]],
    *,
    asked_as: Callable[[Suite[Q]], str],
    at_once: int = 1,
    told: Told = silent,
) -> Asked:
    """Put every question, `at_once` side by side. `asked_as` is what scores of a suite can be compared under.

    Raises BuildError where a question cannot be asked at all.
    """
    found, free = Asked(), asyncio.Semaphore(at_once)
    meter = Meter("questions", sum(len(suite.questions) for suite in suites), told)

    async def one(suite: Suite[Q], question: Q) -> tuple[Sampled, float, float]:
        async with free:
            ledger, started = Ledger(), time.perf_counter()
            try:
                heard = await ask(question, ledger)
            except AskbucketError as error:
                raise BuildError(
                    f"suite {suite.name}, {question.text!r} could not be asked: {error.message}"
                ) from error
            took_ms = (time.perf_counter() - started) * 1e3
        meter.advance(1)
        return sampled(suite.name, question, heard), took_ms, heard.cost_usd

    for suite in suites:
        answers = await _in_order([one(suite, question) for question in suite.questions])
        own = [answer[0] for answer in answers]
        found.questions += own
        found.took_ms += [answer[1] for answer in answers]
        found.cost_usd += sum(answer[2] for answer in answers)
        found.scores[suite.name] = scores_of(own, asked_as(suite))
    return found


async def _in_order(calls: Sequence[Awaitable[Any]]) -> list[Any]:
    """What the calls return, in their order; where one fails, the others are not left running."""
    tasks = [asyncio.ensure_future(call) for call in calls]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


def sampled(suite: str, question: Question, heard: Heard) -> Sampled:
    """The question with its verdict."""
    right = None if question.nothing else set(heard.expected)
    results = [
        Returned(
            identifier=each.identifier,
            title=each.title,
            score=each.score,
            right=bool(right and each.identifier in right),
        )
        for each in heard.results[:PAGE]
    ]
    rank = next((place for place, each in enumerate(results, 1) if each.right), None)
    if heard.is_ruled_out:
        rank = None
    return Sampled(
        suite=suite,
        id=question.id,
        text=question.text,
        expected=list(heard.expected[:_MOST_EXPECTED]),
        results=results,
        verdict=_verdict(question, heard, rank),
        rank=rank,
    )


def _verdict(question: Question, heard: Heard, rank: int | None) -> Answered:
    if question.nothing:
        return "no_match_right" if heard.is_silent else "no_match_wrong"
    if rank is None:
        return "missed"
    return "right" if rank == 1 else "partly"


def _is_right(question: Sampled) -> bool:
    return question.verdict in ("right", "no_match_right")


def scores_of(questions: Sequence[Sampled], asked: str) -> Scores:
    """The scores of some questions; `asked` is what they can be compared under."""
    ranks = [each.rank for each in questions if not each.verdict.startswith("no_match")]
    nothing = [each.verdict == "no_match_right" for each in questions if each.verdict.startswith("no_match")]
    return Scores(
        questions=len(questions),
        recall_at_1=_mean([rank == 1 for rank in ranks]),
        recall_at_10=_mean([rank is not None for rank in ranks]),
        mrr=_mean([1 / rank if rank else 0.0 for rank in ranks]),
        no_match_right=_mean(nothing),
        asked=asked,
    )


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 6) if values else None
