"""Conditions and an order, read from plain words without a model: "4-bedroom houses under $300k, cheapest first".

Every reading looks a bounded number of tokens ahead, and at most 1,000 characters and 128 tokens are read, so that no
text takes long (the worst of 8,000 characters: 8 ms): what lies behind them stays in the subject. What is read there
sees what follows, and counts only if it ends in time: "under $2 million" is not cut to "under $2".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from shared.contracts.constraints import OR, TO, Constraint, Op, Order, Reading
from shared.sites.kinds.kind import Kind
from shared.sites.kinds.wording import Choice, Claim, Loose, Named, Superlative, Vocabulary, Wording
from shared.sites.lexis import Lexis
from shared.sites.quantities import Phrases, Token, tokens
from shared.sites.subject import left_of, subject_of
from shared.sites.unknown_names import end_of_names

MOST_CHARS = 1_000
MOST_TOKENS = 128
_AHEAD_CHARS, _AHEAD_TOKENS = 200, 24
_OPPOSITE: dict[Op, Op] = {"has": "lacks", "lacks": "has", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_QUOTES = {'"': '"', "“": "”", "«": "»"}
_CLAUSE_ENDS = frozenset((",", ".", ";", "but"))
_ARTICLES = frozenset("a an any the too very so that - really overly super in of at all exactly".split())
_TOO = frozenset(("too", "so", "not", "no", "less", "more", "very"))
_GOES_ON = frozenset(("and", "or", "nor"))
_NONE = frozenset(("no", "without"))
_EXCEPT = frozenset(("not", "except", "excluding", "besides"))
_LONGEST_PHRASE = 4
_MOST_BETWEEN = 4
"""Words that may stand between "not" and what it denies: "not the one from 1922"."""


class _Span(Struct, frozen=True):
    """Tokens from `start` up to `end`, and what was read from them."""

    start: int
    end: int
    claims: tuple[Claim, ...] = ()
    order: Superlative | None = None
    is_denied: bool = False
    named: Named | None = None

    @property
    def is_left_to_rank(self) -> bool:
        """Whether its words stay in the subject: they decide nothing, and a ranker can read them."""
        return bool(self.claims) and all(claim.op == "has" and not claim.hard for claim in self.claims)


def read(text: str, kind: Kind, known: Vocabulary) -> Reading:
    """What a question demands of a kind's items, by id in the order of its words, and what is left of it.

    Without conditions and order the subject is the text as it is, but for denied names that nobody here has. What
    stands in double quotes is not read.
    """
    told = tokens(text[: MOST_CHARS + _AHEAD_CHARS], MOST_TOKENS + _AHEAD_TOKENS)
    most = _counted(told)
    is_partial = bool(text[told[most - 1].end if most else 0 :].strip())
    reader = _Reader(text, told, lexis_of(kind.wording), known)
    spans = [span for span in reader.spans(most) if span.end <= most]
    constraints = tuple(_numbered(text, reader.tokens, spans))
    order = next((_order(text, reader.tokens, span, span.order) for span in spans if span.order), None)
    strangers = [each for each in reader.strangers if each.end <= most]
    unknown = tuple(dict.fromkeys(text[told[each.start].start : told[each.end - 1].end] for each in strangers))
    taken = [(span.start, span.end) for span in spans if not span.is_left_to_rank]
    denied = [(each.start, each.end) for each in strangers if each.is_denied]
    cuts = [(told[start].start, told[end - 1].end) for start, end in sorted([*taken, *denied])]
    if constraints or order:
        return Reading(subject_of(text, cuts, kind.wording), constraints, order, is_partial, unknown)
    return Reading(left_of(text, cuts) or text if cuts else text, is_partial=is_partial, unknown=unknown)


def _counted(told: Sequence[Token]) -> int:
    """How many tokens are read; those behind them only say how what begins before them ends."""
    near = told[:MOST_TOKENS]
    return next((place for place, token in enumerate(near) if token.end > MOST_CHARS), len(near))


@lru_cache(16)
def lexis_of(wording: Wording) -> Lexis:
    """A kind's words, ready to be looked for; made once."""
    return Lexis(wording)


def _numbered(text: str, told: Sequence[Token], spans: Iterable[_Span]) -> Iterator[Constraint]:
    seen: set[tuple[str, Op, float | str]] = set()
    for span in spans:
        for claim in span.claims:
            key = (claim.field, claim.op, claim.value)
            if key not in seen:
                seen.add(key)
                said = text[told[span.start].start : told[span.end - 1].end]
                yield Constraint(
                    f"c{len(seen)}", claim.field, claim.op, claim.value, claim.unit, " ".join(said.split()), claim.hard
                )


def _order(text: str, told: Sequence[Token], span: _Span, found: Superlative) -> Order:
    return Order(found.field, found.descending, text[told[span.start].start : told[span.end - 1].end])


class _Stranger(Struct, frozen=True):
    """Tokens from `at` to `end` announce and name somebody whom no item names; from `start` on they are denied."""

    start: int
    at: int
    end: int
    named: Named

    @property
    def is_denied(self) -> bool:
        """Whether it is somebody who is not wanted."""
        return self.start < self.at


class _Reader:
    """One question, from its first token to its last."""

    def __init__(self, text: str, told: list[Token], lexis: Lexis, known: Vocabulary) -> None:
        self.tokens = told
        self._text = text
        self._words = [token.word for token in told]
        self._lexis = lexis
        self._known = known
        self._spans: list[_Span] = []
        self.strangers: list[_Stranger] = []

    def spans(self, most: int) -> list[_Span]:
        """Every span that begins among the first `most` tokens, in order; hedged ones are soft.

        Where a name must stand and none that is known here does, `strangers` has it. One that is denied is no part of
        the subject: to search for it would find what is not wanted.
        """
        at = 0
        hedge: int | None = None
        while at < most:
            if self._words[at] in _CLAUSE_ENDS:
                hedge = None
            if (end := self._quoted(at)) is not None:
                at = end
            elif (found := self._lexis.hedges.at(self._words, at)) is not None:
                at, hedge = found[0], self._hedged(at, found[0], hedge)
            elif (span := self._longest(at)) is not None:
                self._keep(span, hedge)
                self._mark_other(span)
                at, hedge = span.end, None if hedge is None else span.end
            else:
                self._mark_stranger(at)
                at += 1
        return self._spans

    def _keep(self, span: _Span, hedge: int | None) -> None:
        """A span behind a hedge of its clause is soft, and the hedge is part of it where nothing stands between."""
        if hedge is not None:
            start = self._begin_of(self._lexis.hedges, span.start) if hedge == span.start else span.start
            span = replace(span, claims=_soft(span.claims), start=start)
        self._spans.append(span)

    def _begin_of(self, phrases: Phrases[bool], end: int) -> int:
        """Where the longest of these phrases begins that ends at a token; the token itself without one."""
        for size in range(min(_LONGEST_PHRASE, end), 0, -1):
            found = phrases.at(self._words, end - size)
            if found is not None and found[0] == end:
                return end - size
        return end

    def _hedged(self, at: int, end: int, hedge: int | None) -> int | None:
        """A hedge right behind a span, with nothing of its clause following, softens that one; else it opens."""
        last = self._spans[-1] if self._spans else None
        is_last = end >= len(self._words) or self._words[end] in _CLAUSE_ENDS | {"?", "!", ")"}
        if last is None or last.end != at or not is_last:
            return end
        self._spans[-1] = replace(last, claims=_soft(last.claims), end=end)
        return hedge

    def _mark_stranger(self, at: int) -> None:
        """`directed by Someone Else`, where none of the names that are known here begins in it."""
        found = self._lexis.sure_names.at(self._words, at)
        if found is None or (self.strangers and at < self.strangers[-1].end):
            return
        end = end_of_names(self._text, self.tokens, found[0], self._is_read)
        if end is None or self._names_somebody(end):  # "Sir" before a known name is no stranger
            return
        if end > found[0] + 1 or not self._begins_a_name(found[0]):
            self.strangers.append(_Stranger(self._begin_of(self._lexis.denials, at), at, end, found[1]))

    def _mark_other(self, span: _Span) -> None:
        """`directed by Known Name or Someone Else`, also with "and"."""
        if span.named is None or not span.named.sure or not {*self._words[span.end : span.end + 1]} & _GOES_ON:
            return
        end = end_of_names(self._text, self.tokens, span.end + 1, self._is_read)
        if end is not None and not self._names_somebody(end):
            self.strangers.append(
                _Stranger(span.end if span.is_denied else span.end + 1, span.end + 1, end, span.named)
            )

    def _is_read(self, at: int) -> bool:
        announces = self._lexis.names.at(self._words, at) is not None
        return announces or self._names_somebody(at) or self._longest(at) is not None

    def _names_somebody(self, at: int) -> bool:
        """Whether a name begins here that some item has, whatever it is there."""
        return any(self._spelled(at, name) is not None for name in self._lexis.wording.names)

    def _begins_a_name(self, at: int) -> bool:
        """Whether somebody here is called so first: "starring Bill" is somebody, though not one."""
        return any(self._known.longest(name, self._words[at]) for name in self._lexis.wording.names)

    def _quoted(self, at: int) -> int | None:
        """Where what is quoted from here on ends."""
        closing = _QUOTES.get(self._words[at])
        if closing is None or (at and self._words[at - 1].isdigit()):  # 6" is six inches
            return None
        try:
            return self._words.index(closing, at + 1) + 1
        except ValueError:
            return None

    def _longest(self, at: int) -> _Span | None:
        """The reading that takes most; of equals the first. A number may not be cut in two by a word before it."""
        best: _Span | None = None
        for way in (self._taken, self._measured, self._chosen, self._named, self._anywhere, self._sorted, self._loose):
            span = way(at)
            if span is not None and (best is None or span.end > best.end):
                best = span
        return best

    def _taken(self, at: int) -> _Span | None:
        found = [taken for take in self._lexis.wording.takers if (taken := take(self._words, at, self._known))]
        best = max(found, key=lambda taken: taken.end, default=None)
        return _Span(at, best.end, best.claims) if best and best.end > at else None

    def _measured(self, at: int) -> _Span | None:
        found = self._lexis.measures.at(self._words, at)
        if found is None or not found.claims:
            return None
        if found.needs_item and not self._speaks(found.end, foreign=2 if found.family == "year" else 0):
            return None
        if at and self._words[at - 1] in _NONE and all(claim.op in (">", ">=") for claim in found.claims):
            within = tuple(replace(claim, op=_OPPOSITE[claim.op]) for claim in found.claims)
            return _Span(at - 1, found.end, within, is_denied=True)  # "no fee over $400"
        if (denial := self._excepted_from(at)) is not None:
            claims = _all_but(found.claims)
            return _Span(denial, found.end, claims, is_denied=True) if claims else None
        return _Span(at, found.end, found.claims)

    def _excepted_from(self, at: int) -> int | None:
        """Where the denial stands that leaves out what is measured from here on, if its clause has one."""
        read = max(self._spans[-1].end if self._spans else 0, self.strangers[-1].end if self.strangers else 0)
        for place in range(at - 1, max(read, at - _MOST_BETWEEN) - 1, -1):
            if self._words[place] in _EXCEPT:
                return place
            if self._words[place] in _CLAUSE_ENDS:
                return None
        return None

    # Words

    def _denial(self, at: int) -> tuple[int, bool]:
        """Past a denial and its article, and whether there is one."""
        found = self._lexis.denials.at(self._words, at)
        if found is None:
            return at, False
        end = found[0]
        while end < len(self._words) and end < found[0] + 2 and self._words[end] in _ARTICLES:
            end += 1
        return end, True

    def _chosen(self, at: int) -> _Span | None:
        """`[not] easy`, `no harder than moderate`, `easy or moderate`, `moderate or harder`."""
        if compared := self._compared(at):
            return compared
        if whole := self._lexis.choices.at(self._words, at):  # "no dogs" is a phrase of its own
            return self._joined(at, whole[0], whole[1], is_denied=False)
        begin, is_denied = self._denial(at)
        found = self._lexis.choices.at(self._words, begin) if is_denied else None
        return self._joined(at, found[0], found[1], is_denied) if found else None

    def _compared(self, at: int) -> _Span | None:
        found = self._lexis.ladder.at(self._words, at)
        if found is None:
            return None
        choice = self._lexis.choices.at(self._words, found[0])
        if choice is None or not choice[1].order:
            return None
        return _Span(at, choice[0], (Claim(choice[1].field, found[1], choice[1].value),))

    def _joined(self, at: int, end: int, first: Choice, is_denied: bool) -> _Span:
        """A choice with the others of its field that "or" joins to it."""
        chosen = [first]
        while end + 1 < len(self._words) and self._words[end] in ("or", "to", "-", "/", ","):
            found = self._lexis.choices.at(self._words, end + 1)
            if found is None or found[1].field != first.field or (self._words[end] != "or" and not first.order):
                break
            chosen.append(found[1])
            end = found[0]
        if behind := first.order and self._lexis.ladder_behind.at(self._words, end):
            return _Span(at, behind[0], (Claim(first.field, behind[1], first.value, hard=first.hard),))
        return _Span(at, end, _claims_of(chosen, is_denied), is_denied=is_denied)

    def _named(self, at: int) -> _Span | None:
        """`in Ames`, `not starring X`, `without X`, `starring X and Y`."""
        denial = self._lexis.denials.at(self._words, at)
        if denial is not None and (span := self._announced(at, denial[0], is_denied=True)):
            return span
        return self._announced(at, at, is_denied=denial is not None)

    def _announced(self, at: int, start: int, is_denied: bool) -> _Span | None:
        """A name behind what announces one. An "and" does so only right behind another, and says of both the same."""
        last = self._spans[-1] if self._spans and self._spans[-1].end == start else None
        stranger = self.strangers[-1] if self.strangers and self.strangers[-1].end == start else None
        if stranger is not None and self._words[start] in _GOES_ON:
            return self._name(at, start + 1, stranger.named, stranger.is_denied)
        for end, name in self._lexis.names.each_at(self._words, start):
            is_more = self._words[end - 1] in _GOES_ON
            if is_more and last is not None and last.named is not None and set(last.named.fields) & set(name.fields):
                is_denied = last.is_denied
            elif is_more:
                continue
            if span := self._name(at, end, name, is_denied):
                return span
        return None

    def _anywhere(self, at: int) -> _Span | None:
        begin, is_denied = self._denial(at)
        if (
            not is_denied and at and self._words[at - 1] in self._lexis.prepositions
        ):  # "an hour from Auckland" is not in it
            return None
        for name in self._lexis.anywhere:
            if span := self._name(at, begin, name, is_denied):
                return span
        return None

    def _name(self, at: int, start: int, name: Named, is_denied: bool) -> _Span | None:
        """The longest spelling that this collection has; behind a comma one of another field goes with it."""
        found = self._spelled(start, name)
        if found is None:
            return None
        end, field, value = found
        while self._words[end : end + 1] == ["or"] and (more := self._spelled(end + 1, name)) and more[1] == field:
            end, value = more[0], value + OR + more[2]
        claims = [Claim(field, "lacks" if is_denied else "has", value, hard=name.hard or is_denied)]
        if len(name.fields) > 1 and not is_denied and self._words[end : end + 1] == [","]:
            more = self._spelled(end + 1, name)
            if more is not None and more[1] != field:  # "Ames, Iowa"
                end = more[0]
                claims.append(Claim(more[1], "has", more[2], hard=name.hard))
        return _Span(at, end, tuple(claims), is_denied=is_denied, named=name)

    def _spelled(self, start: int, name: Named) -> tuple[int, str, str] | None:
        """Where the longest known spelling from a token on ends, its field and its value."""
        first = start + (start < len(self._words) and self._words[start] == "the")
        for end in self._ends(first, self._known.longest(name, self._words[first]) if first < len(self._words) else 0):
            words = self._words[first:end]
            said = " ".join(words)
            if "," not in words and said not in name.blocked:
                found = self._known.named(name, said)
                if found is not None:
                    return end, *found
        return None

    def _ends(self, first: int, most: int) -> list[int]:
        """Behind each of so many words, the last first; signs are none, so "Samuel L. Jackson" is three."""
        near = range(first, min(len(self._words), first + 2 * most))
        return [at + 1 for at in near if self._words[at][0].isalnum()][:most][::-1]

    def _sorted(self, at: int) -> _Span | None:
        if any(span.order for span in self._spans):
            return None
        start = at + (self._words[at] == "the")
        start += start < len(self._words) and start > at and self._words[start].isdigit()
        found = self._lexis.orders.at(self._words, start)
        if found is None or (at and self._words[at - 1] in ("second", "third", "not")):
            return None
        end = found[0] + (found[0] < len(self._words) and self._words[found[0]] == "first")
        return _Span(at, end, order=found[1]) if self._speaks(end, 3, anything=found[1].anything) else None

    def _loose(self, at: int) -> _Span | None:
        found = self._lexis.loose.at(self._words, at)
        if found is None or (at and self._words[at - 1] in _TOO):
            return None
        end, loose = found
        value = loose.value if loose.quantile is None else self._known.quantile(loose.field, loose.quantile)
        if value is None or not self._speaks(end, foreign=1, anything=loose.anything):
            return None
        return _Span(at, end, (_loosely(loose, value),))

    def _speaks(self, at: int, foreign: int, *, anything: bool = False) -> bool:
        """Whether words speak of the kind's items, by what follows them: one of its nouns, a word of its own, the end.

        So many other words may stand between, but no preposition, and not at the end: "oldest brick houses" but not
        "oldest church". `anything`: any noun will do, as in "cheapest headphones".
        """
        left = foreign
        for word in self._words[at : at + 12]:
            if word in self._lexis.nouns:
                return True
            if word in self._lexis.prepositions:
                return left == foreign or anything
            if word not in self._lexis.own:
                left -= 1
            if left < 0:
                return anything
        return left == foreign or anything


def _soft(claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    return tuple(replace(claim, hard=False) for claim in claims)


def _all_but(claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Everything but a value, or but a stretch; none for what has one end only: "not fond of under 90 minutes"."""
    field, unit = claims[0].field, claims[0].unit
    ends = [f"{each.value:g}" for each in claims if not isinstance(each.value, str) and each.field == field]
    if [each.op for each in claims] not in (["="], [">=", "<="]) or len(ends) < len(claims):
        return ()
    return (Claim(field, "lacks", TO.join(ends), unit=unit),)


def _loosely(loose: Loose, value: float) -> Claim:
    return Claim(loose.field, loose.op, round(value, 3), loose.unit, hard=False)


def _claims_of(chosen: Sequence[Choice], is_denied: bool) -> tuple[Claim, ...]:
    """What one choice or several of one field say: of a ladder a stretch, else any of them."""
    first = chosen[0]
    if len(chosen) == 1:
        op = _denied(first) if is_denied else first.op
        return (Claim(first.field, op, first.value, hard=first.hard),)
    if not first.order:
        op = _OPPOSITE[first.op] if is_denied else first.op
        return (Claim(first.field, op, OR.join(each.value for each in chosen), hard=first.hard),)
    ranks = sorted(first.order.index(each.value) for each in chosen)
    low, high = first.order[ranks[0]], first.order[ranks[-1]]
    if is_denied:
        return (Claim(first.field, ">" if ranks[0] == 0 else "<", high if ranks[0] == 0 else low),)
    upper = Claim(first.field, "<=", high, hard=first.hard)
    return (upper,) if ranks[0] == 0 else (Claim(first.field, ">=", low, hard=first.hard), upper)


def _denied(choice: Choice) -> Op:
    """Not this value; what is not hard is not expert either, and what is not easy is harder."""
    if not choice.order:
        return _OPPOSITE[choice.op]
    rank = choice.order.index(choice.value)
    if rank == 0:
        return ">"
    return "<" if rank >= len(choice.order) / 2 else "lacks"
