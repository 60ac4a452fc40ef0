"""A number with its noun, unit or comparison, read as conditions over a kind's measures: "at least 4 beds"."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from shared.contracts.constraints import Op
from shared.sites.kinds.wording import Claim, Family, Measure, Wording
from shared.sites.quantities import UNITS, Amount, Phrases, amount, is_year

# What is said around a value: below it, at most it …; `~` is near it, `..` opens a range.
_BEFORE: dict[str, str] = {
    "<": """under, in under, below, less than, in less than, fewer than, lower than, smaller than, shorter than,
        beneath, cheaper than""",
    "<=": """up to, at most, no more than, not more than, maximum, maximum of, max, max of, within, no longer than,
        not longer than, not over, no over, not above, not exceeding, no bigger than, no larger than, no greater than,
        no higher than, nothing over, nothing above, nothing more than, nothing longer than, don't exceed,
        doesn't exceed, not to exceed, do in, done in, walked in, as much as, a maximum of,
        a max of, no further than, < =, ≤, capped at""",
    ">": "over, above, more than, greater than, bigger than, larger than, longer than, higher than, exceeding, beyond",
    ">=": """at least, minimum, minimum of, min, min of, no less than, not less than, no fewer than, not fewer than,
        no shorter than, not shorter than, not under, not below, nothing under, nothing below, no smaller than,
        starting at, starting from, upwards of, a minimum of, no lower than, > =, ≥, not smaller than""",
    "=": "exactly, precisely, equal to",
    "~": "about, around, roughly, approximately, approx, approx ., ~, circa, close to, nearly",
    "..": "between, from, in the range of, ranging from, anywhere from, anywhere between",
}
_BEHIND: dict[str, str] = {
    "<=": """or less, or under, or fewer, or earlier, or older, or before, or below, or shorter, max, maximum, tops,
        at most, or cheaper, at the most, or smaller""",
    ">=": """+, plus, onwards, onward, and later, or later, or newer, or more, and up, or above, or longer, or better,
        and above, or higher, min, minimum, at least, or larger""",
    "~": "or so, or thereabouts, ish, - ish, give or take",
}
_LESS_THAN, _MORE_THAN = "<", ">"
_YEARS = [
    ("before", "<"), ("prior to", "<"), ("earlier than", "<"), ("older than", "<"), ("until", "<="),
    ("no later than", "<="), ("not later than", "<="), ("after", ">"), ("newer than", ">"), ("later than", ">"),
    ("more recent than", ">"), ("since", ">="), ("no earlier than", ">="), ("no older than", ">="),
    ("not older than", ">="),
]  # fmt: skip
_FLIPPED: dict[str, str] = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_NOT = frozenset({"not", "isn't", "aren't", "wasn't", "weren't", "don't", "doesn't"})
_JOINS = frozenset({"-", "to", "and", "or"})
# Words between a comparison and its number, and between a number and its noun, that say nothing.
_SKIPPED = frozenset(
    {"a", "an", "the", "of", "is", "are", "was", "at", ":", "budget", "total", "be", "in", "it", "takes", "with"}
)
_INNER = frozenset(
    {"full", "total", "or", "of", "in", "spacious", "large", "big", "real", "good", "long", "-", "separate"}
)
_YEARS_NEAR = 5
_ELSEWHERE = frozenset("of from away drive outside south north east west".split())  # how far off another thing is


class Read(Struct, frozen=True):
    """Tokens up to `end`, without it, and what they say. `is_bare`: a number and its unit with nothing around."""

    end: int
    claims: tuple[Claim, ...]
    is_bare: bool = False
    family: Family = "count"

    @property
    def needs_item(self) -> bool:
        """Whether it counts only where it speaks of an item: "5 km walk", not "seven mile beach"."""
        return self.is_bare and self.family in ("length", "time", "area", "money", "year")


class _Clause(Struct, frozen=True):
    """What was found around a number, before it is known which measure it is for."""

    op: str
    low: Amount
    high: Amount | None
    named: tuple[Measure, ...]
    end: int


class Measures:
    """The measures of one kind, ready to be looked for."""

    def __init__(self, wording: Wording) -> None:
        self._all = wording.measures
        self._families: frozenset[Family] = frozenset(each.family for each in wording.measures)
        said = [(phrase, op) for op, phrases in _BEFORE.items() for phrase in _split(phrases)]
        own = [(word, _LESS_THAN) for each in self._all for word in each.less]
        own += [(word, _MORE_THAN) for each in self._all for word in each.more]
        years = [each for each in self._all if each.family == "year"]
        own += _YEARS if years else []
        self._compare = Phrases([*[each for each in said if each[0] not in dict(own)], *dict.fromkeys(own)])
        ties = [(word, each) for each in self._all for word in (*each.less, *each.more)]
        self._own = Phrases([*ties, *((word, each) for word, _ in _YEARS for each in years)])
        self._behind = Phrases([(phrase, op) for op, phrases in _BEHIND.items() for phrase in _split(phrases)])
        self._nouns = Phrases([(noun, each) for each in self._all for noun in each.nouns])
        self._before = Phrases([(noun, each) for each in self._all for noun in each.before])

    def at(self, words: Sequence[str], at: int) -> Read | None:
        """The clause about a number that begins at a token."""
        if not self._all or at >= len(words):
            return None
        is_denied = words[at] in _NOT
        clause = self._clause(words, at + is_denied)
        if clause is None:
            return None
        measure = self._measure(clause)
        if measure is None or (is_denied and clause.op == ""):
            return None
        return _read(clause, measure, is_denied)

    def _clause(self, words: Sequence[str], at: int) -> _Clause | None:
        """[noun] [comparison] number [unit] [comparison] [noun] [comparison]."""
        named, at = self._found(self._before, words, at)
        at = self._past_ties(words, at) if named else at
        op, own, at = self._comparison(words, at)
        if not named:
            named, after = self._found(self._before, words, at)
            at = _past(words, after, _SKIPPED) if named else at
        at = _past_articles(words, at) if op or named else at
        low = amount(words, at, self._families)
        if low is None or (low.is_article and not (op or named) and low.least in (1.0, 0.5)):
            return None
        high, end = self._second(words, low, op)
        op, end = self._said_behind(words, end, op)
        nouns, after = self._found(self._nouns, words, end + (words[end : end + 1] == ["-"]))
        if not nouns:
            nouns, after = self._found(self._nouns, words, _past(words, end, _INNER))
        end = after if nouns else end
        op, end = self._said_behind(words, end, op)
        if low.is_vague and not op:
            op = "~"
        if low.family in ("length", "time") and not nouns and end < len(words) and words[end] in _ELSEWHERE:
            return None
        named = _those_of_both(named, nouns) or named or nouns or own
        return _Clause(op, low, high, named, end)

    def _past_ties(self, words: Sequence[str], at: int) -> int:
        """Past a word that only ties a number to its noun: "price of", but not the "at" of "at least"."""
        for _ in range(2):
            if at < len(words) and words[at] in _SKIPPED and self._compare.at(words, at) is None:
                at += 1
        return at

    def _found(self, phrases: Phrases[Measure], words: Sequence[str], at: int) -> tuple[tuple[Measure, ...], int]:
        found = phrases.all_at(words, at)
        return (tuple(found[1]), found[0]) if found else ((), at)

    def _comparison(self, words: Sequence[str], at: int) -> tuple[str, tuple[Measure, ...], int]:
        found = self._compare.at(words, at)
        if found is None:
            return "", (), at
        own, _ = self._found(self._own, words, at)
        end, op = found
        nearer = self._compare.at(words, end)  # "for about", "in less than"
        return (nearer[1], own, nearer[0]) if nearer and op in ("~", "..", "=") else (op, own, end)

    def _said_behind(self, words: Sequence[str], at: int, op: str) -> tuple[str, int]:
        if op:
            return op, at
        found = self._behind.at(words, at)
        return (found[1], found[0]) if found else (op, at)

    def _second(self, words: Sequence[str], low: Amount, op: str) -> tuple[Amount | None, int]:
        """The upper end of a range, and where it ends; the first number takes scale and unit from it."""
        end = low.end
        if op not in ("", "..", "~") or end >= len(words) or words[end] not in _JOINS:
            return None, end
        if words[end] == "and" and op != "..":
            return None, end
        high = amount(words, end + 1, self._families)
        if high is None or high.is_article or _scaled(low, high).least > high.most:
            return None, end
        return high, high.end

    def _measure(self, clause: _Clause) -> Measure | None:
        """The measure that a clause is about; None where nothing settles it."""
        family, unit = _unit_of(clause)
        if clause.named:
            return next((each for each in clause.named if _fits(each, clause, family)), None)
        if family and family != "year":
            ours = [each for each in self._all if each.family == family and not each.needs_noun]
            return next((each for each in ours if _is_unit_like(each.unit, unit)), next(iter(ours), None))
        if family == "year" or (clause.op == ".." and clause.high and is_year(clause.low) and is_year(clause.high)):
            return next((each for each in self._all if each.family == "year"), None)
        return next((each for each in self._all if clause.op and not each.needs_noun and _is_plain(each, clause)), None)


def _split(phrases: str) -> list[str]:
    return [" ".join(phrase.split()) for phrase in phrases.split(",")]


def _past(words: Sequence[str], at: int, skipped: frozenset[str], most: int = 2) -> int:
    end = min(len(words), at + most)
    while at < end and words[at] in skipped:
        at += 1
    return at


def _past_articles(words: Sequence[str], at: int) -> int:
    """Past what stands between a comparison and its number, but for an article that is the number: "over an acre"."""
    end = _past(words, at, _SKIPPED, most=3)
    return end - 1 if end > at and words[end - 1] in ("a", "an") else end


def _those_of_both(some: tuple[Measure, ...], others: tuple[Measure, ...]) -> tuple[Measure, ...]:
    return tuple(each for each in some if each in others)


def _scaled(low: Amount, high: Amount) -> Amount:
    """The first number of a range, in the scale and the unit of the second where it has none of its own."""
    if high.is_scaled and not low.is_scaled and low.least < 1_000:
        return low.times(1e6 if high.least >= 1e6 else 1e3).with_unit(high)
    return low.with_unit(high) if not low.unit and high.unit else low


def _unit_of(clause: _Clause) -> tuple[Family | None, str]:
    told = clause.high if clause.high is not None and not clause.low.unit else clause.low
    return told.family, told.unit


def _is_unit_like(own: str, said: str) -> bool:
    """Land is measured in acres and hectares, a floor in feet and metres."""
    return own == said or {own, said} <= {"acre", "ha"} or {own, said} <= {"sqft", "sqm"}


def _fits(measure: Measure, clause: _Clause, family: Family | None) -> bool:
    if measure.family == "year":
        return is_year(clause.low)
    if family is not None:
        return measure.family == family
    if measure.plain is not None:
        return _is_plain(measure, clause)
    return measure.family in ("count", "score") or (measure.family == "money" and bool(clause.op))


def _is_plain(measure: Measure, clause: _Clause) -> bool:
    if measure.plain is None or clause.low.family is not None:
        return False
    return measure.plain[0] <= clause.low.least <= measure.plain[1]


def _read(clause: _Clause, measure: Measure, is_denied: bool) -> Read | None:
    op = clause.op
    low = _in_unit(_scaled(clause.low, clause.high) if clause.high else clause.low, measure)
    high = _in_unit(clause.high or clause.low, measure)
    is_range = clause.high is not None or low.least != high.most
    if is_denied:
        op = _FLIPPED.get(op, "")
        if not op:
            return None
    if op == "..":
        op = "" if is_range else (">=" if measure.family != "year" else "=")
    is_bare = op == ""
    if is_bare and not is_range:
        op = measure.bare
        if not op:
            return None
    claims = _between(measure, low.least, high.most, op != "~") if is_range and op in ("", "=", "~") else _compared(
        measure, op, low.least, high.most)  # fmt: skip
    return Read(clause.end, claims, is_bare and not clause.named, measure.family)


def _in_unit(said: Amount, measure: Measure) -> Amount:
    if not said.unit or not measure.unit or said.unit == measure.unit:
        return said
    factor = UNITS[said.unit][1] / UNITS[measure.unit][1]
    return Amount(said.least * factor, said.most * factor, said.end)


def _compared(measure: Measure, op: str, least: float, most: float) -> tuple[Claim, ...]:
    """One bound; what is after a decade is after its last year, what is before it is before its first."""
    if op == "~":
        away = _YEARS_NEAR if measure.family == "year" else least * measure.band
        return _between(measure, least - away, most + away, hard=False)
    named: dict[str, Op] = {"<": "<", "<=": "<=", ">": ">", ">=": ">=", "=": "="}
    value = most if op in (">", "<=") else least
    field = measure.most if measure.most and op in ("<", "<=") else measure.field
    return (Claim(field, named[op], rounded(value), measure.unit),)


def _between(measure: Measure, least: float, most: float, hard: bool) -> tuple[Claim, ...]:
    return (
        Claim(measure.field, ">=", rounded(least), measure.unit, hard),
        Claim(measure.most or measure.field, "<=", rounded(most), measure.unit, hard),
    )


def rounded(value: float) -> float:
    """A value as it is shown: 5 miles are 8.047 km, $300k are 300000."""
    return float(round(value, 3))
