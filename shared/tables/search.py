"""One table search, told top to bottom: which published tables describe this quantity?

validate → scope → phrasings → embed → scan → shape the pool → judge → widen → merge → reply. Validation is
`parse_search`; everything after it happens here, and whatever is dropped on the way becomes a notice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shared.contracts.notices import Notice, notice
from shared.contracts.tables import SearchRequest
from shared.index.scan import Float32, Rows, not_cosines
from shared.models.judging import Judge, Question
from shared.models.ledger import Ledger
from shared.models.provider import MAX_QUESTION_CHARS
from shared.settings import Settings
from shared.tables.candidates import candidates_of
from shared.tables.coverage import lies_in
from shared.tables.judge import Asked, judge_pool
from shared.tables.legs import Legs
from shared.tables.merge import Scored, merge
from shared.tables.places import found as places_in
from shared.tables.places import strip
from shared.tables.pool import Pool, Retrieved, shape_pool, sorted_positions
from shared.tables.reply import Outcome, reply
from shared.tables.scope import Scope, scope_of
from shared.tables.tables import Tables
from shared.tables.wording import plain
from shared.timed import timed
from shared.work import work


async def search(request: SearchRequest, tables: Tables, ledger: Ledger, base_url: str = "") -> dict[str, Any]:
    """The reply to one search.

    Raises UnknownName, EmbeddingFailed, RelevanceScoringFailed; the caller sets the deadline.
    """
    legs, settings = tables.searched_with, tables.settings
    scope = await work(lambda: scope_of(request, tables))
    if scope.empty:
        return reply(Outcome(request, scope), tables, ledger, base_url)
    with timed("phrase"):
        question, notices = phrase(request, legs.embedder.max_chars, settings.strip_places)
    with timed("embed"):
        queries = await legs.embedder.embed(question.phrasings, "query", ledger)
    found, pool, dropped = await work(lambda: retrieve(question, queries, scope, tables))
    found, pool = found.kept_for(pool, settings)
    outcome = Outcome(request, scope, notices=(*notices, *dropped))
    if legs.judge is None or not (request.rerank and settings.rerank):
        hits = await work(lambda: in_embedding_order(found, pool, tables, request.page))
        outcome = outcome.unjudged(hits, because=_why_unjudged(request, settings))
    else:
        outcome = outcome.noting(_question_shortened(legs.judge, question))
        judged = await judge_pool(legs.judge, Asked(question, request.page, tables, ledger), found, pool)
        hits = merge(judged.eligible, request.order, settings.result_sources, request.page)
        outcome = outcome.judged_by(legs.judge, hits, judged)
    return await work(lambda: reply(outcome, tables, ledger, base_url))


def phrase(request: SearchRequest, max_chars: int, strip_places: bool = True) -> tuple[Question, list[Notice]]:
    """The caller's phrasings, one to four, then a twin of each that names a place, without the place.

    Documents describe measures, not places: a place in the question pulls in whatever merely mentions it.
    The text as asked stays beside its twin, so a place that belongs to the variable is not lost; but without what
    any table could be called by ("data on …"), which says nothing of the measure. Texts are read up to `max_chars`,
    what the embedder can take.
    """
    asked = [text[:max_chars] for text in request.query.phrasings]
    given = list(dict.fromkeys(map(plain, asked)))
    twins = [plain(strip(text)) for text in given] if strip_places else []
    added = [twin for twin in dict.fromkeys(twins) if twin not in given]
    stripped = (*(False for _ in given), *(True for _ in added))
    notices = [*_shortened(request, max_chars), *_plainer(asked), *_places(given if added else [])]
    places = frozenset(part for text in request.query.phrasings for part in lies_in(text))
    return Question(request.query.text, (*given, *added), stripped, places), notices


def _shortened(request: SearchRequest, max_chars: int) -> list[Notice]:
    cut = sum(len(text) > max_chars for text in request.query.phrasings)
    message = f"Texts are searched up to {max_chars} characters, what the embedder can take."
    return [notice("query_shortened", message, texts=cut)] if cut else []


def _question_shortened(judge: Judge, question: Question) -> list[Notice]:
    if not judge.wants_groups or len(question.text) <= MAX_QUESTION_CHARS:
        return []
    return [notice("query_shortened", f"The judge reads query.text up to {MAX_QUESTION_CHARS} characters.", texts=1)]


def _plainer(asked: Sequence[str]) -> list[Notice]:
    searched = [shorter for text in asked if (shorter := plain(text)) != text]
    message = "Words that any table could be called by were left out of the search."
    return [notice("words_set_aside", message, searched=searched)] if searched else []


def _places(given: Sequence[str]) -> list[Notice]:
    """What the twins lack, so that a caller sees how a question was read."""
    names = list(dict.fromkeys(name for text in given for name in places_in(text)))
    message = f"The question was also searched without {', '.join(names)}: tables describe measures, not places."
    return [notice("places_set_aside", message, places=names)] if names else []


def keyword_texts(question: Question, strip_places: bool = True) -> list[str]:
    """What the keyword leg looks up: each text without its place, since a place's name is a rare and heavy word."""
    asked = [text for text, stripped in zip(question.phrasings, question.stripped, strict=True) if not stripped]
    return list(dict.fromkeys(plain(strip(text)) if strip_places else text for text in asked))


def retrieve(
    question: Question, queries: Float32, scope: Scope, tables: Tables
) -> tuple[Retrieved, Pool, list[Notice]]:
    """Both legs over the rows in scope, and the pool. A row whose vector is no unit vector is left out and counted."""
    legs, settings = tables.searched_with, tables.settings
    rows = np.arange(tables.rows) if scope.rows is None else scope.rows
    cosines = legs.cosines(queries, scope.rows)
    keywords = legs.keyword_scores(keyword_texts(question, settings.strip_places), scope.rows)
    # A chat model pays for what it reads; where nobody judges, nothing deeper than the slice is shown either.
    reads = legs.judge is None or legs.judge.wants_groups
    with timed("select"):
        found = Retrieved.of(rows, cosines, keywords).without(not_cosines(cosines))
        pool = shape_pool(found, legs.slices, settings, reads=reads)
        while len(broken := _unusable(found, pool, legs)):
            found = found.without(broken)
            pool = shape_pool(found, legs.slices, settings, reads=reads)
    lost = len(rows) - len(found.rows)
    message = "Some documents have no usable vector and were left out."
    return found, pool, [notice("vector_unusable", message, documents=lost)] if lost else []


def _unusable(found: Retrieved, pool: Pool, legs: Legs) -> Rows:
    """Positions of the walk and the pool whose vector is no unit vector, though it gives numbers."""
    shown = sorted_positions(pool.walk, pool.positions)
    return shown[np.isin(found.rows[shown], legs.unusable(found.rows[shown]), assume_unique=True)]


def in_embedding_order(found: Retrieved, pool: Pool, tables: Tables, page: int) -> list[Scored]:
    """`rerank: false`: the embedding walk as it stands, keyword matches not mixed in."""
    candidates = candidates_of(found, pool, pool.walk[:page], tables)
    return [(candidate, candidate.cosine * 100) for candidate in candidates]


def _why_unjudged(request: SearchRequest, settings: Settings) -> str:
    if not request.rerank:
        return "as asked (rerank: false)"
    return "because no judge is configured" if settings.rerank else "because ARD_RERANK is 0"
