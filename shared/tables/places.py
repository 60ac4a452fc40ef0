"""Takes the places out of a question: documents describe measures, and a place draws in whatever mentions it.

    strip("air quality measure in Pierce County")  ->  "air quality measure"

The story of one text: its words are matched against the gazetteer (longest name first), names without the
evidence they need are let go, places that belong to the variable are kept ("born in Mexico", "US dollar"),
neighbours are joined ("India, China and Brazil"), and each group is cut out with the words that hang on it.
Which words do what is data: build_jobs/gazetteer.toml. Every step looks a bounded number of words around,
so the work is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from shared.tables.gazetteer import Evidence, Gazetteer, gazetteer, words

# Longer texts are searched as written; no embedder reads that far into a question.
MAX_CHARS = 10_000
# A text from which a third pass still removes something is no question ("new new new india york york york").
_MAX_PASSES = 2
# Nor is one that names more places than this.
_MAX_PLACES = 60
_MAX_NAME_WORDS = 7
_MAX_PHRASE_WORDS = 4

_FOREIGN = frozenset({"country", "region", "admin", "city"})
_ADJECTIVES = frozenset({"demonym", "continental"})
_HYPHENS = "-‐‑"
_APOSTROPHES = "'’‘ʻ`"
# Between the words of one name: "Sri Lanka", "Guinea-Bissau", "Côte d'Ivoire", "St. Louis", "Korea, Rep.".
_INSIDE_NAME = re.compile(rf"\s{{1,9}}(?:&\s{{1,9}}|[(\[])?|[{_HYPHENS}{_APOSTROPHES}]|[.,]\s{{1,9}}")
_BETWEEN_PLACES = re.compile(r"[\s,./&;(\[]{0,9}")
_WHITE = re.compile(r"\s+")
# Left by a cut: empty brackets, space before a mark or after a bracket, a comma before another mark, "? ?".
_UNTIDY = re.compile(r"\( ?\)|\[ ?\]| (?=[,;:.?!)\]])|(?<=[(\[]) |[,;:](?= ?[,;:.?!)])|([?!]) ?(?=\1)")
_LEFT_EDGE = " ,;:.-–—/&|?!"
_RIGHT_EDGE = " ,;:-–—/&|("


def strip(text: str) -> str:
    """The text without its places, never longer than it was.

    Unchanged, to the byte, when it names no place or when nothing to search for would be left ("India").
    Any string is fine; `strip(strip(text)) == strip(text)`.
    """
    return _settle(text)[0]


def found(text: str) -> tuple[str, ...]:
    """The places `strip` removes, as written and in order; empty when it returns the text unchanged."""
    return _settle(text)[1]


def _settle(text: str) -> tuple[str, tuple[str, ...]]:
    if len(text) > MAX_CHARS:
        return text, ()
    current, places = text, tuple[str, ...]()
    for _ in range(_MAX_PASSES + 1):
        shorter, removed = _remove_once(current)
        if not removed:
            return current, places
        current, places = shorter, places + removed
    return text, ()


def _remove_once(text: str) -> tuple[str, tuple[str, ...]]:
    """One pass: the shorter text and what was taken, or the text itself and nothing."""
    sentence = _Sentence(text, gazetteer())
    spans = list(islice(_matches(sentence), _MAX_PLACES + 1))
    if not 0 < len(spans) <= _MAX_PLACES:
        return text, ()
    groups = list(_groups(sentence, _evident(sentence, spans)))
    cuts = [cut for group in groups for cut in _cuts(sentence, group)]
    if not cuts or not _says_something(sentence, cuts):
        return text, ()
    places = tuple(sentence.written(span) for group in groups for span in group)
    return _tidied(_without(text, cuts)), places


class _Span(NamedTuple):
    """Words `first` up to `last` (not included) that name a place."""

    first: int
    last: int
    kind: str
    evidence: Evidence
    name: str
    possessive: bool = False
    suffix: int = 0  # words of the possessive itself: the "s" of "India's"


_Group = list[_Span]


class _Sentence:
    """The words of a text and what is asked about them; indices outside it are allowed and empty."""

    def __init__(self, text: str, known: Gazetteer) -> None:
        self.text = text
        self.known = known
        self.words = words(text)
        self.keys = [word.key for word in self.words]
        # Whether only space, or the apostrophe of a possessive, divides word i from the one before it.
        self.spaced = [self.gap(index).lstrip(_APOSTROPHES).isspace() for index in range(len(self.words))]

    def key(self, index: int) -> str:
        return self.keys[index] if 0 <= index < len(self.keys) else ""

    def gap(self, index: int) -> str:
        """What is written between word index-1 and word index."""
        start = self.words[index - 1].end if index > 0 else 0
        end = self.words[index].start if index < len(self.words) else len(self.text)
        return self.text[start:end]

    def phrase_after(self, index: int, listed: frozenset[str]) -> int:
        """How many words from index on make the longest of these phrases."""
        longest, phrase = 0, ""
        for last in range(index, min(index + _MAX_PHRASE_WORDS, len(self.keys))):
            if not self.spaced[last]:
                break
            phrase = f"{phrase} {self.keys[last]}" if phrase else self.keys[last]
            if phrase in listed:
                longest = last + 1 - index
        return longest

    def phrase_before(self, index: int, listed: frozenset[str]) -> int:
        """How many words ending before index make the longest of these phrases."""
        longest, phrase = 0, ""
        for first in range(index - 1, max(index - 1 - _MAX_PHRASE_WORDS, -1), -1):
            if first + 1 == len(self.keys) or not self.spaced[first + 1]:
                break
            phrase = f"{self.keys[first]} {phrase}" if phrase else self.keys[first]
            if phrase in listed:
                longest = index - first
        return longest

    def phrases(self, name: str) -> frozenset[str]:
        return self.known.lists[name]

    def written(self, span: _Span) -> str:
        start, stop = self.words[span.first].start, self.words[span.last - 1 - span.suffix].end
        return self.text[start : stop + self.closes(start, stop)]

    def closes(self, start: int, stop: int) -> bool:
        """Whether the character at `stop` is the bracket that closes one opened since `start` ("Congo [DRC]")."""
        after = self.text[stop : stop + 1]
        opener = {")": "(", "]": "["}.get(after)
        return opener is not None and self.text.count(opener, start, stop) > self.text.count(after, start, stop)

    def capital(self, index: int) -> bool:
        """Whether a capital says something here: in a sentence, not in a title or a shout."""
        return self.text[self.words[index].start].isupper() and self.in_sentence_case

    @cached_property
    def in_sentence_case(self) -> bool:
        small = sum(self.text[word.start].islower() for word in self.words)
        return 2 * small >= len(self.words)

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        return frozenset(self.keys)

    @cached_property
    def about_origin(self) -> bool:
        return not self.vocabulary.isdisjoint(self.phrases("origin"))

    def ends_clause(self, index: int) -> bool:
        """Whether a new part of the sentence begins at this word (or the text ends)."""
        if index >= len(self.words) or not self.spaced[index]:
            return True
        key = self.key(index)
        if key in self.phrases("function") or key[:1].isdigit():
            return True
        return key.endswith("ing") and key not in self.phrases("described")


def _matches(sentence: _Sentence) -> Iterator[_Span]:
    """Names and protected phrases by longest match from the left."""
    index = 0
    while index < len(sentence.words):
        span = _match_at(sentence, index) or _unknown_county(sentence, index)
        if span is not None:
            yield span
        index = span.last if span is not None else index + 1


def _match_at(sentence: _Sentence, index: int) -> _Span | None:
    known = sentence.known
    if sentence.keys[index] not in known.first_words:
        return None
    for last in range(_joined_until(sentence, index), index, -1):
        key = " ".join(sentence.keys[index:last])
        tail = sentence.phrase_after(last, sentence.phrases("counties")) if key in known.counties else 0
        if tail:
            return _whole(sentence, _Span(index, last + tail, "county", Evidence.NONE, key))
        if key in known.names:
            name = known.names[key]
            return _whole(sentence, _Span(index, last, name.kind, name.evidence, key))
    return None


def _unknown_county(sentence: _Sentence, index: int) -> _Span | None:
    """One to three capitalised words after a preposition, then "County" or the like."""
    if not (sentence.capital(index) and _preposition(sentence, index)):
        return None
    for last in range(index + 1, min(index + 4, len(sentence.keys))):
        if not (sentence.spaced[last] and sentence.capital(last)):
            return None
        if sentence.keys[last] in sentence.phrases("counties"):
            return _Span(index, last + 1, "county", Evidence.NONE, sentence.keys[last])
    return None


def _joined_until(sentence: _Sentence, index: int) -> int:
    """Where the words that could be one name with this one end."""
    last, end = index + 1, min(index + _MAX_NAME_WORDS, len(sentence.keys))
    while last < end and ((gap := sentence.gap(last)) == " " or _INSIDE_NAME.fullmatch(gap)):
        last += 1
    return last


def _whole(sentence: _Sentence, span: _Span) -> _Span | None:
    """The span with its possessive, or None where it is a piece of a longer word ("Cuba-Peso", "US$", "a.in")."""
    if span.kind == "protected":
        return span
    start, end = sentence.words[span.first].start, sentence.words[span.last - 1].end
    before, after = sentence.text[max(0, start - 2) : start], sentence.text[end : end + 2]
    if _glued(before[::-1]) or _glued(after) or after[:1] == "$":
        return None
    if after[:1] in tuple(_APOSTROPHES):
        if sentence.key(span.last) == "s" and len(sentence.gap(span.last)) == 1:
            return span._replace(last=span.last + 1, possessive=True, suffix=1)
        return span._replace(possessive=span.name.endswith("s"))
    return span


def _glued(beside: str) -> bool:
    return len(beside) == 2 and beside[0] in "-‐‑./\\@_:" and beside[1].isalnum()


def _evident(sentence: _Sentence, spans: list[_Span]) -> list[_Span]:
    """The spans with the evidence their names need, widened to a town before its state."""
    evident: list[_Span] = []
    for position, span in enumerate(spans):
        following = spans[position + 1] if position + 1 < len(spans) else None
        if _is_place(sentence, span, following) or (evident and _adjoins(sentence, evident[-1], span)):
            evident.append(span)
    return _with_towns(sentence, evident)


def _adjoins(sentence: _Sentence, before: _Span, span: _Span) -> bool:
    """Beside a place that was accepted: "Chicago, Dallas and Phoenix"."""
    return span.evidence <= Evidence.WORD and _joinable(sentence, before.last, span.first)


def _is_place(sentence: _Sentence, span: _Span, following: _Span | None) -> bool:
    if span.evidence == Evidence.NONE and span.name not in sentence.known.unless:
        return True
    if following is not None and following.kind in ("state", "country") and _comma_between(sentence, span, following):
        return True
    if _has_code(sentence, span) or sentence.phrase_before(span.first, sentence.phrases("heads")):
        return True
    return _EVIDENCE[span.evidence](sentence, span) and not _has_other_sense(sentence, span)


def _comma_between(sentence: _Sentence, span: _Span, following: _Span) -> bool:
    return span.last == following.first and sentence.gap(following.first).strip() == ","


def _has_other_sense(sentence: _Sentence, span: _Span) -> bool:
    """A word of the name's second sense stands in the text ("turkey production"), and no capital denies it."""
    others = sentence.known.unless.get(span.name)
    if others is None or others.isdisjoint(sentence.vocabulary):
        return False
    before = sentence.key(_before_article(sentence, span.first) - 1)
    if span.evidence == Evidence.NONE and before in sentence.phrases("inside"):
        return not sentence.ends_clause(span.last)
    return not (sentence.capital(span.first) and _preposition(sentence, span.first))


def _at_boundary(sentence: _Sentence, span: _Span) -> bool:
    if span.first == 0 or span.last == len(sentence.words) or sentence.capital(span.first):
        return True
    return bool(_preposition(sentence, _before_article(sentence, span.first)))


def _stands_out(sentence: _Sentence, span: _Span) -> bool:
    accented = not sentence.text[sentence.words[span.first].start : sentence.words[span.first].end].isascii()
    return (
        (accented or sentence.capital(span.first))
        and bool(_preposition(sentence, span.first))
        and (span.possessive or sentence.ends_clause(span.last))
    )


def _abbreviates(sentence: _Sentence, span: _Span) -> bool:
    start, end = sentence.words[span.first].start, sentence.words[span.first].end
    written = sentence.text[start:end]
    if "." in written or (written.isupper() and not sentence.text.isupper()):
        return True
    before = sentence.key(span.first - 1)
    if before in sentence.phrases("articles") or before in sentence.phrases("inside"):
        return True
    return span.first == 0 and not sentence.ends_clause(span.last)


def _modifies(sentence: _Sentence, span: _Span) -> bool:
    """An adjective of a nation before what is the nation's, not before people, languages or nothing."""
    if span.kind == "continental":
        return bool(sentence.phrase_after(span.last, sentence.phrases("areas")))
    if sentence.ends_clause(span.last) or sentence.about_origin:
        return False
    plain = span.name in sentence.phrases("plain_demonyms")
    ahead = (sentence.key(index) for index in range(span.last, span.last + 3))
    return plain or sentence.phrases("people").isdisjoint(ahead)


_EVIDENCE: dict[Evidence, Callable[[_Sentence, _Span], bool]] = {
    Evidence.NONE: lambda _sentence, _span: True,
    Evidence.BOUNDARY: _at_boundary,
    Evidence.WORD: _stands_out,
    Evidence.ABBREVIATION: _abbreviates,
    Evidence.MODIFIER: _modifies,
}


def _with_towns(sentence: _Sentence, spans: list[_Span]) -> list[_Span]:
    """Adds what only its state gives away: the code after "Austin, TX", the unknown town before ", Ohio"."""
    widened: list[_Span] = []
    taken = 0
    for span in spans:
        wider = _with_code(sentence, span)
        if span.kind == "state":
            wider = _with_unknown_town(sentence, wider, taken)
        widened.append(wider)
        taken = wider.last
    return widened


def _with_code(sentence: _Sentence, span: _Span) -> _Span:
    return span._replace(last=span.last + 1) if _has_code(sentence, span) else span


def _has_code(sentence: _Sentence, span: _Span) -> bool:
    """Whether a state's two-letter code follows: after a comma, or in capitals after a town."""
    if span.last >= len(sentence.words) or span.kind not in ("town", "county", "city"):
        return False
    code, gap = sentence.words[span.last], sentence.gap(span.last)
    if code.key not in sentence.phrases("us_states"):
        return False
    upper = sentence.text[code.start : code.end].isupper()
    if gap.strip() == ",":
        return upper or span.last + 1 == len(sentence.words) or not sentence.gap(span.last + 1).isspace()
    at_end = span.last + 1 == len(sentence.words) and code.key not in sentence.phrases("function")
    return gap.isspace() and (at_end or (upper and sentence.in_sentence_case))


def _with_unknown_town(sentence: _Sentence, span: _Span, taken: int) -> _Span:
    """Up to three capitalised words between a preposition and ", Ohio"."""
    if span.first == 0 or sentence.gap(span.first).strip() != ",":
        return span
    first = span.first
    while first - 1 >= max(taken, span.first - 3) and sentence.capital(first - 1):
        first -= 1
        if not sentence.gap(first).isspace():
            break
    return span._replace(first=first) if first < span.first and _preposition(sentence, first) else span


def _groups(sentence: _Sentence, spans: list[_Span]) -> Iterator[_Group]:
    """Neighbours joined, without the groups of which one place belongs to the variable."""
    groups: list[_Group] = []
    for span in spans:
        if groups and _joins(sentence, groups[-1][-1], span):
            groups[-1].append(span)
        else:
            groups.append([span])
    for group in groups:
        if not _governed(sentence, group[0]) and not any(_belongs(sentence, span) for span in group):
            yield group


def _joins(sentence: _Sentence, before: _Span, span: _Span) -> bool:
    """Whether two neighbours are one group; a protected phrase takes a word ("Hawaii or other Pacific islands")."""
    apart = "protected" in (before.kind, span.kind) and span.first == before.last
    return not apart and _joinable(sentence, before.last, span.first)


def _belongs(sentence: _Sentence, span: _Span) -> bool:
    """Whether a place is part of the variable: of the noun after it, or of a question about origin."""
    if span.kind == "protected" or (sentence.about_origin and span.kind in _FOREIGN):
        return True
    return bool(sentence.phrase_after(span.last, sentence.phrases("kept_before")))


def _governed(sentence: _Sentence, span: _Span) -> bool:
    """Whether what stands before a place makes it an origin or a destination ("born in", "exports to")."""
    first = _before_article(sentence, _before_compass(sentence, span.first))
    governed = sentence.phrase_before(first, sentence.phrases("kept_after"))
    # "native-born in Ohio" live there; "born in Ohio" need not.
    compound = sentence.gap(first - governed).endswith(tuple(_HYPHENS))
    return bool(governed) and not compound and sentence.key(first - governed - 1) not in sentence.phrases("released_by")


def _joinable(sentence: _Sentence, first: int, last: int) -> bool:
    """Whether only a comma or a joining word lies between two places."""
    if last - first > _MAX_PHRASE_WORDS:
        return False
    between = [key for key in sentence.keys[first:last] if key not in sentence.phrases("articles")]
    if between and " ".join(between) not in sentence.phrases("joiners"):
        return False
    return all(_BETWEEN_PLACES.fullmatch(sentence.gap(index)) for index in range(first, last + 1))


def _before_article(sentence: _Sentence, index: int) -> int:
    return index - sentence.phrase_before(index, sentence.phrases("articles"))


def _before_compass(sentence: _Sentence, index: int) -> int:
    return index - sentence.phrase_before(index, sentence.phrases("compass"))


def _preposition(sentence: _Sentence, index: int) -> int:
    """How many words before index are a preposition (0 or 1)."""
    return sentence.phrase_before(index, sentence.phrases("prepositions"))


def _cuts(sentence: _Sentence, group: _Group) -> Iterator[tuple[int, int]]:
    """The characters to take out: the places, what leads to them and what trails after."""
    last = group[-1]
    end = last.last + _tail(sentence, last)
    first = group[0].first - sentence.phrase_before(group[0].first, sentence.phrases("heads"))
    if not _describes(sentence, last, end, _before_article(sentence, _before_compass(sentence, first))):
        kept = sentence.phrase_before(first, sentence.phrases("kept_adjectives"))
        lead = _with_lead(sentence, first - kept)
        if kept and lead < first - kept:
            yield sentence.words[lead].start, sentence.words[first - kept].start
        first = first if kept else lead
    yield sentence.words[first].start, _until(sentence, sentence.words[first].start, end, last)


def _until(sentence: _Sentence, start: int, end: int, last: _Span) -> int:
    """Where a cut ends: after a possessive's apostrophe, or the bracket that closes one in the cut."""
    stop = sentence.words[end - 1].end
    dangling = last.possessive and sentence.text[stop : stop + 1] in tuple(_APOSTROPHES)
    return stop + (dangling or sentence.closes(start, stop))


def _tail(sentence: _Sentence, span: _Span) -> int:
    """Words such as "metro area", where nothing follows that they could describe."""
    tail = 0 if span.possessive else sentence.phrase_after(span.last, sentence.phrases("tails"))
    return tail if tail and sentence.ends_clause(span.last + tail) else 0


def _describes(sentence: _Sentence, span: _Span, end: int, first: int) -> bool:
    """Whether the place only describes the noun after it ("in California counties"): its preposition stays."""
    if span.possessive or span.kind in _ADJECTIVES:
        return True
    if sentence.ends_clause(end):
        return False
    where = sentence.key(first - 1) in sentence.phrases("inside")
    return not where or sentence.key(end) in sentence.phrases("described")


def _with_lead(sentence: _Sentence, first: int) -> int:
    """Leftwards over "living in the northern …"."""
    first = _before_article(sentence, _before_compass(sentence, first))
    first -= _preposition(sentence, first)
    hanging = sentence.phrase_before(first, sentence.phrases("hanging"))
    stands = hanging == first or sentence.key(first - hanging - 1) in sentence.phrases("auxiliaries")
    return first if stands else first - hanging


def _says_something(sentence: _Sentence, cuts: list[tuple[int, int]]) -> bool:
    """Whether a word to search for lies outside the cuts."""
    empty = sentence.phrases("empty")
    ahead = iter(cuts)
    start, end = next(ahead)
    for word in sentence.words:
        while word.start >= end >= 0:
            start, end = next(ahead, (len(sentence.text), -1))
        inside = start <= word.start < end
        if not inside and len(word.key) != 1 and not word.key.isdigit() and word.key not in empty:
            return True
    return False


def _without(text: str, cuts: list[tuple[int, int]]) -> str:
    ends = [0, *(end for _, end in cuts)]
    starts = [*(start for start, _ in cuts), len(text)]
    return "".join(text[end:start] for end, start in zip(ends, starts, strict=True))


def _tidied(text: str) -> str:
    return _UNTIDY.sub("", _WHITE.sub(" ", text)).strip().lstrip(_LEFT_EDGE).rstrip(_RIGHT_EDGE)
