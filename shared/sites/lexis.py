"""A kind's words, ready to be looked for at any token, beside the words that all kinds share."""

from __future__ import annotations

from shared.contracts.constraints import Op
from shared.sites.kinds.wording import Choice, Loose, Superlative, Wording
from shared.sites.measures import Measures
from shared.sites.quantities import Phrases, tokens

_HEDGES = """preferably|ideally|if possible|would be nice|nice to have|would be great|is a plus|a plus|preferred|
    prefer|i'd prefer|we'd prefer|if at all possible|hopefully|by preference|would be ideal|if available|
    would be a plus|would be a bonus|is a bonus|a bonus"""
_DENIALS = """not|no|non|without|w / o|never|isn't|aren't|avoid|avoiding|except|excluding|nothing|other than|
    anything but|don't want|do not want|no need for|that don't have|that doesn't have|lacking|is not|are not|not a|
    not too|    that is not|that isn't|that aren't|don't need|don't|doesn't|didn't|do not|does not|did not|
    neither|nor|anyone but|anybody but|nobody but|with no"""
_LADDER: dict[Op, str] = {
    "<=": """no harder than|not harder than|nothing harder than|no more difficult than|at most|up to|max|maximum|
        no tougher than|nothing above|not above|no more than|easier than or""",
    "<": "easier than|less than|below|less difficult than",
    ">": "harder than|more difficult than|tougher than|more than|above",
    ">=": "at least|no easier than|not easier than|nothing easier than|minimum",
}
_LADDER_BEHIND: dict[Op, str] = {
    "<=": "or easier|or below|or less|at most|or lower|at the most",
    ">=": "or harder|or above|or more|at least|or tougher|or higher|or more difficult",
}
_PREPOSITIONS = frozenset(
    """with in near under over for that which to by of and at from on but around about without through along between
    below above where when who , . ; ? ! ) ( : is are has have or as if it i we you my up down within""".split()
)
_UNITS_AND_NUMBERS = frozenset(
    """- + $ km kms mile miles mi m metre metres meter meters hour hours h hr hrs minute minutes min day days k million
    one two three four five six seven eight nine ten eleven twelve long round trip return""".split()
)


class Lexis:
    """The phrases of one kind. `own` are words that may stand before its nouns and speak of its items."""

    def __init__(self, wording: Wording) -> None:
        self.wording = wording
        self.measures = Measures(wording)
        self.choices = Phrases([(word, each) for each in wording.choices for word in each.words])
        self.names = Phrases([(word, each) for each in wording.names for word in each.after])
        self.sure_names = Phrases([(word, each) for each in wording.names for word in each.sure])
        self.anywhere = [each for each in wording.names if not each.after]
        self.orders = Phrases([(word, each) for each in wording.orders for word in each.words])
        self.loose = Phrases([(word, each) for each in wording.loose for word in each.words])
        self.hedges = Phrases([(phrase, True) for phrase in _listed(_HEDGES)])
        self.denials = Phrases([(phrase, True) for phrase in _listed(_DENIALS)])
        self.ladder = Phrases([(phrase, op) for op, phrases in _LADDER.items() for phrase in _listed(phrases)])
        self.ladder_behind = Phrases(
            [(phrase, op) for op, phrases in _LADDER_BEHIND.items() for phrase in _listed(phrases)]
        )
        self.nouns = wording.nouns | {"first"}
        self.prepositions = _PREPOSITIONS
        self.own = _UNITS_AND_NUMBERS | _numbers() | _own_words(wording)


def _listed(phrases: str) -> list[str]:
    return [" ".join(phrase.split()) for phrase in phrases.split("|")]


def _numbers() -> frozenset[str]:
    return frozenset(str(number) for number in range(100))


def _own_words(wording: Wording) -> frozenset[str]:
    said = [word for each in wording.measures for word in each.nouns]
    declared: tuple[Choice | Superlative | Loose, ...] = (*wording.choices, *wording.orders, *wording.loose)
    said += [word for each in declared for word in each.words]
    return frozenset(token.word for phrase in said for token in tokens(phrase))
