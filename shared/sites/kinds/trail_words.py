"""The words in which people say what a trail must be: how far, how long, how hard, for whom, and where."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from shared.sites.kinds.wording import Choice, Claim, Loose, Measure, Named, Superlative, Taken, Vocabulary, Wording

NOUNS = frozenset(
    """trail trails track tracks walk walks hike hikes route routes path paths tramp tramps walking hiking tramping
    stroll strolls trek treks ramble rambles loop loops circuit circuits climb climbs day ride rides outing""".split()
)
GRADES = ("easy", "moderate", "hard", "expert")
_GRADED: dict[str, tuple[str, ...]] = {
    "easy": ("easy", "gentle", "beginner", "beginners", "beginner friendly", "easy going", "simple", "easygoing",
             "for beginners", "very easy"),
    "moderate": ("moderate", "moderately hard", "medium", "intermediate", "medium difficulty", "moderate difficulty"),
    "hard": ("hard", "difficult", "challenging", "strenuous", "tough", "demanding", "advanced",
    "moderately challenging",
             "steep and hard"),
    "expert": ("expert", "extreme", "very hard", "very difficult", "experts only", "expert only", "for experts"),
}  # fmt: skip
_WELCOME = (
    "dog friendly", "dogs allowed", "dog allowed", "dogs welcome", "dogs are allowed", "dogs are welcome", "with dogs",
    "with a dog", "with my dog", "for dogs", "for a dog", "for my dog", "with the dog", "with our dog", "dogs ok",
    "allows dogs", "allow dogs", "allowing dogs", "bring my dog", "bring a dog", "take my dog", "take a dog",
    "take the dog", "bring the dog", "that allow dogs", "that allows dogs", "where dogs are allowed", "dogs permitted",
    "where i can take my dog", "where i can bring my dog", "i can take my dog", "suitable for dogs", "dogs can come",
    "where dogs are welcome", "and my dog", "for me and my dog", "pet friendly", "pets allowed", "dog walking",
    "good for dogs", "open to dogs", "dogs may come", "on a leash", "dogs on a leash", "dogs on leash", "on leash",
)  # fmt: skip
_FREE = (
    "off leash", "off lead", "dogs off leash", "off leash dogs", "off the leash", "off the lead", "without a leash",
    "dog off leash", "dog can run free", "dogs can run free", "my dog off leash", "let my dog run free",
)  # fmt: skip
_NO_DOGS = (
    "no dogs", "no dogs allowed", "dogs not allowed", "without dogs", "dog free", "free of dogs", "no pets",
    "dogs are not allowed", "dogs aren't allowed", "where dogs are not allowed", "no dogs please", "not dog friendly",
)  # fmt: skip

_TRAILING = re.compile(
    r"\s+(?:area|region|district|forest park|national park|conservation park|regional park|scenic reserve"
    r"|nature reserve|forest|reserve|park|country|city|town)$"
)
# Parts of names that are no names: "near the coast", "in the north".
_BLOCKED = frozenset(
    """coast north south east west island central the great park national forest bay area mount lake river road
    beach valley bush mountains""".split()
)


def parts(place: str) -> Iterable[str]:
    """The names within a place's name: `Fiordland National Park, Milford Road/Milford Sound area` has three, and each
    counts without what it is ("area", "National Park").

    >>> sorted(parts("Mount Cook National Park, Hooker Valley area"))
    ['hooker valley', 'hooker valley area', 'mount cook', 'mount cook national park']
    """
    found: set[str] = set()
    for part in re.split(r"[,/]|\band\b", place.lower()):
        name = part.strip()
        found |= {name, _TRAILING.sub("", name)}
    return found - {""}


_DAYS = {"day": (4.0, 24.0), "half": (2.0, 5.0)}
_OUTINGS = frozenset(
    """walk walks hike hikes trip trips tramp tramps track tracks trail trails outing trek treks
    loop loops route routes""".split()
)


def a_day(words: Sequence[str], at: int, _known: Vocabulary) -> Taken | None:
    """`day walk`, `full-day hike`, `half-day walk`: softly, since records count a day as 24 hours."""
    said = list(words[at : at + 5])
    start = 1 if said[0] in ("a", "an", "one", "full", "all") and len(said) > 1 else 0
    kind = ""
    if said[start : start + 3] == ["half", "-", "day"] or said[start : start + 2] == ["half", "day"]:
        kind, start = "half", start + (3 if said[start + 1] == "-" else 2)
    elif said[start : start + 1] == ["-"] and said[start + 1 : start + 2] == ["day"]:
        kind, start = "day", start + 2
    elif said[start : start + 1] == ["day"]:
        kind, start = "day", start + 1
    start += said[start : start + 1] == ["-"]
    if not kind or (said[0] not in ("full", "all") and said[start : start + 1] and said[start] not in _OUTINGS):
        return None
    if said[0] not in ("full", "all") and not said[start : start + 1]:
        return None
    low, high = _DAYS[kind]
    claims = (Claim("hours", ">=", low, "h", hard=False), Claim("hours_most", "<=", high, "h", hard=False))
    return Taken(at + start, claims)


_OVER_A_DAY = (
    "multi day", "multiday", "overnight", "several days", "several day", "more than one day", "more than a day",
    "longer than a day", "over a day", "two or more days",
)  # fmt: skip
_IN = (
    "in", "near", "around", "close to", "within", "by", "located in", "in the", "near the", "in or near",
    "in and around",
    "around the", "on", "at", "near to", "close by", "outside", "from",
)  # fmt: skip


def over_a_day(words: Sequence[str], at: int, _known: Vocabulary) -> Taken | None:
    """`multi-day`, `overnight`: more than the 24 hours that a record calls a day."""
    for phrase in _OVER_A_DAY:
        said = phrase.split()
        taken = [word for word in words[at : at + len(said) + 2] if word != "-"][: len(said)]
        if taken == said:
            end, left = at, len(said)
            while left:
                left -= words[end] != "-"
                end += 1
            return Taken(end, (Claim("hours_most", ">", 24.0, "h"),))
    return None


WORDING = Wording(
    nouns=NOUNS,
    filler=frozenset(
        "go going hiker walker trip trips nature outdoor outdoors take do length difficulty graded grade".split()
    ),
    measures=(
        Measure(
            field="length_km", family="length", unit="km", bare="~", band=0.2,
            nouns=("long", "in length", "round trip", "return"),
            before=("length", "distance", "length of", "distance of"),
        ),
        Measure(
            field="hours", most="hours_most", family="time", unit="h", bare="~", band=0.25,
            nouns=("long", "return", "of walking", "of hiking"),
            before=("takes", "taking", "take", "lasting", "duration", "that takes", "that take", "in"),
            less=("quicker than", "faster than"), more=("slower than",),
        ),
        Measure(
            field="rating", family="score", bare=">=", nouns=("stars", "star"),
            before=("rated", "rating", "rating of", "a rating of", "with a rating of"),
        ),
    ),
    choices=(
        *(Choice(field="difficulty", value=grade, words=said, order=GRADES) for grade, said in _GRADED.items()),
        Choice(field="dogs", value="yes", words=_WELCOME, meets=("yes", "leash"), unsure=("permit",)),
        Choice(field="dogs", value="off leash", words=_FREE, meets=("yes",), unsure=("permit",)),
        Choice(field="dogs", value="no", words=_NO_DOGS),
        Choice(field="shape", value="loop", words=("loop", "loops", "circuit", "circular", "loop trail",
            "loop track", "loop walk")),
        Choice(field="shape", value="out-and-back", words=("out and back", "there and back")),
        Choice(field="shape", value="point-to-point", words=("point to point", "one way")),
        Choice(
            field="wheelchairs", value="yes",
            words=(
                "wheelchair", "wheelchairs", "wheelchair accessible", "wheelchair friendly", "stroller",
                "for wheelchairs", "for a wheelchair", "pushchair", "buggy", "buggies", "stroller friendly", "pram",
                "with a stroller", "with a wheelchair", "in a wheelchair", "with a pram", "buggy friendly",
                "pram friendly",
                "with a buggy", "with a pushchair", "suitable for wheelchairs", "for a stroller", "pushchair friendly",
            ),
        ),
        Choice(
            field="activities", value="mountain biking",
            words=("mountain biking", "mountain bike", "mountain bikes", "bike", "biking", "cycling", "bikes", "mtb"),
        ),
        Choice(field="activities", value="horse riding", words=("horse riding", "horseback riding")),
    ),
    names=(
        Named(fields=("region", "locality"), after=_IN, keys=parts, blocked=_BLOCKED),
        Named(fields=("region",), keys=parts, blocked=_BLOCKED),  # "Otago walks"
    ),
    orders=(
        Superlative(words=("shortest",), field="length_km"),
        Superlative(words=("longest",), field="length_km", descending=True),
        Superlative(words=("quickest", "fastest"), field="hours"),
        Superlative(words=("easiest", "gentlest", "least difficult"), field="difficulty"),
        Superlative(
            words=("hardest", "toughest", "most difficult", "most challenging", "most strenuous"),
            field="difficulty", descending=True,
        ),
        Superlative(words=("highest rated", "best rated", "top rated"), field="rating", descending=True),
    ),
    loose=(
        Loose(words=("short", "not too long"), field="length_km", op="<=", unit="km", value=5.0),
        Loose(words=("long",), field="length_km", op=">=", unit="km", value=10.0),
        Loose(words=("quick",), field="hours_most", op="<=", unit="h", value=1.5),
    ),
    takers=(a_day, over_a_day),
)  # fmt: skip
