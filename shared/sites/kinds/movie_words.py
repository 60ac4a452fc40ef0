"""The words in which people say what a film must be: when, how long, of which genre, by and with whom."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from shared.sites.kinds.wording import Choice, Claim, Loose, Measure, Named, Superlative, Taken, Vocabulary, Wording

NOUNS = frozenset(
    """movie movies film films picture pictures flick flicks cinema series show shows something
    anything one ones""".split()
)
_WORKS = ("movie", "movies", "film", "films", "flick", "flicks", "picture", "pictures")

# Genre as a column may have it, and what people call films of it. A bare word is too often one of a title or a plot
# ("war", "romance", "family"), so that it counts only in the plural, before "movie", or where a question begins with it
# (of_one_genre): then it is meant as a genre.
_GENRES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "comedy": ((), ("comedies",)), "drama": ((), ("dramas",)), "western": ((), ("westerns",)),
    "romance": (("romantic", "romance"), ("romances",)), "crime": ((), ()), "action": ((), ()),
    "thriller": ((), ("thrillers",)), "musical": ((), ("musicals",)), "horror": ((), ()), "adventure": ((), ()),
    "war": ((), ()), "mystery": ((), ("mysteries", "whodunits")),
    "noir": (("film noir",), ("noirs", "film noirs", "film noir")),
    "science fiction": (("sci fi", "scifi", "sci-fi"), ("sci fi", "scifi", "science fiction")),
    "short": ((), ("shorts",)), "animated": (("animation",), ("cartoons",)), "fantasy": ((), ()),
    "biography": (("biographical", "biopic"), ("biopics",)), "historical": (("history",), ()),
    "documentary": ((), ("documentaries",)), "sports": (("sport",), ()), "supernatural": ((), ()),
    "independent": (("indie",), ()), "slasher": ((), ("slashers",)), "spy": (("espionage",), ()),
    "superhero": ((), ()), "teen": ((), ()), "political": ((), ()), "satire": ((), ("satires",)),
    "martial arts": (("kung fu",), ()), "disaster": ((), ()), "family": ((), ()), "dance": ((), ()),
    "found footage": ((), ()),
}  # fmt: skip
_MEETS = {
    "science fiction": ("science fiction", "sci-fi", "scifi"), "animated": ("animated", "animation"),
    "biography": ("biography", "biographical", "biopic"), "historical": ("historical", "history"),
    "sports": ("sports", "sport"), "noir": ("noir", "film-noir", "film noir"), "musical": ("musical", "music"),
}  # fmt: skip


def _genre(value: str, called: tuple[str, ...], plurals: tuple[str, ...]) -> Choice:
    """`horror movies` and `comedies` are demands; what else a genre's word may mean stays with the search."""
    said = [f"{one} {work}" for one in (value, *called) for work in _WORKS]
    return Choice(field="genres", value=value, words=(*said, *plurals), meets=_MEETS.get(value, ()))


_KIDS = (
    "for kids",
    "for children",
    "for the kids",
    "family friendly",
    "kid friendly",
    "for the whole family",
    "kids movies",
    "kids movie",
)
_RATED = {
    "PG-13": ("pg 13", "pg13", "rated pg 13"), "PG": ("rated pg", "pg rated"),
    "R": ("rated r", "r rated"), "G": ("rated g", "g rated"), "NC-17": ("nc 17", "nc17", "rated nc 17"),
}  # fmt: skip


def spellings(person: str) -> Iterable[str]:
    """A full name, with and without its initials and what ends it ("Jr."), in plain letters too: two words at least."""
    words = [word.strip(".,'’") for word in person.lower().split()]
    lean = [word for word in words if len(word) > 1 and word not in ("jr", "sr")]
    for said in (words, lean):
        if len(said) > 1:
            plain = re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)*", " ".join(said))
            if len(plain) > 1:  # "A 1234" would be found wherever an "a" stands
                yield " ".join(plain)
                yield _unaccented(" ".join(plain))


_SHORTEST_SURNAME = 2
_PARTICLES = frozenset("de di da del du van von la le st der den ten".split())


def with_surname(person: str) -> Iterable[str]:
    """The spellings of a name, and its last word: after "starring" and "directed by" that is enough."""
    found = dict.fromkeys(spellings(person))
    yield from found
    shortest = min(found, key=len, default="")
    first, _, surname = shortest.rpartition(" ")
    if first and len(surname) > _SHORTEST_SURNAME:
        yield surname
        if (particle := first.rpartition(" ")[2]) in _PARTICLES:
            yield f"{particle} {surname}"


def _unaccented(said: str) -> str:
    return "".join(sign for sign in unicodedata.normalize("NFKD", said) if not unicodedata.combining(sign))


_STARRING = Named(
    fields=("actors",),
    after=(
        "starring", "star", "that star", "that stars", "which stars", "stars", "featuring", "played by", "acted by",
        "actor", "actress", "with actor", "with actress", "co starring", "starred by",
    ),
    sure=("starring", "with actor", "with actress", "acted by"),
    keys=with_surname,
)  # fmt: skip
_WITH = Named(fields=("actors",), after=("with", "without", "and", "or"), keys=spellings)
_DIRECTED = Named(
    fields=("directors",),
    after=("directed by", "director", "by director", "that were directed by", "from director", "direction by"),
    sure=("directed by", "by director", "from director"),
    keys=with_surname,
)  # fmt: skip
_NOT_BY = Named(
    fields=("directors", "actors"), after=("not by", "nor by", "neither by", "without"), keys=with_surname, mostly=True
)
_BY = Named(fields=("directors", "actors"), after=("by", "from"), keys=spellings)
_PEOPLE = replace(_BY, mostly=True)
# A full name alone: as likely the title of a film about somebody, so it decides nothing.
_SOMEBODY = Named(fields=("directors", "actors"), keys=spellings, hard=False, mostly=True)
_LONGEST_NAME = 4
_MEDIA = frozenset(_WORKS) | frozenset(
    word
    for value, (called, plurals) in _GENRES.items()
    for said in (value, *called, *plurals)
    for word in said.split()[:1]
)


def of_somebody(words: Sequence[str], at: int, known: Vocabulary) -> Taken | None:
    """`John Wayne movies`, `Alfred Hitchcock's films`: a full name that the collection has, before what films are."""
    for size in range(min(_LONGEST_NAME, len(words) - at - 1), 1, -1):
        said = list(words[at : at + size])
        if words[at + size] not in _MEDIA:
            continue
        name = " ".join(said).removesuffix("'s").removesuffix("’s").replace(" . ", " ").replace(" .", "")
        if found := known.named(_PEOPLE, name):
            return Taken(at + size, (Claim(found[0], "has", found[1]),))
    return None


def of_a_century(words: Sequence[str], at: int, _known: Vocabulary) -> Taken | None:
    """`this century`, `from the 21st century`: 2000 and later; `last century` ends before it.

    `20th Century Women` is a film, and nothing that a film must be.
    """
    place = at
    while place < len(words) and place < at + 3 and words[place] in ("from", "of", "in", "the", "made"):
        place += 1
    said = [*words[place : place + 4]]
    for later, spelled in (
        (True, ("this century", "21 st century", "twenty first century", "twenty - first century")),
        (False, ("last century", "20 th century", "twentieth century")),
    ):
        for one in spelled:
            if said[: len(one.split())] == one.split() and (place > at or not one[0].isdigit()):
                claim = Claim("year", ">=", 2000.0) if later else Claim("year", "<", 2000.0)
                return Taken(place + len(one.split()), (claim,))
    return None


# What one film of a genre is called. That it is what is asked for is sure only at the question's beginning, behind
# words that ask and an article ("I want a musical"), and where nothing that it could belong to follows ("a western
# town").
_CALLED = {
    **{each: each for each in "comedy drama western musical thriller documentary satire".split()},
    "whodunit": "mystery", "biopic": "biography", "cartoon": "animated",
}  # fmt: skip
# What goes before such a word and is a genre itself: "a romantic comedy" is both.
_BESIDE = {
    "romantic": "romance", "sci - fi": "science fiction", "historical": "historical",
    **{each: each for each in "crime horror action musical fantasy war animated political spy".split()},
}  # fmt: skip
# Genres that a question can be against by their name alone: "no romance", "not horror".
_DENIED = _CALLED | {
    **{each: each for each in "horror romance action crime fantasy noir slasher".split()},
    "science fiction": "science fiction", "sci - fi": "science fiction", "animation": "animated",
}  # fmt: skip
_AGAINST = ("not a", "not an", "not", "no", "without", "without a", "without any", "non -", "never a", "isn't a")
_ASKING = frozenset(
    """i we i'd i'm we'd want would like to see watch find me us need looking for show recommend suggest is there are
    any please can you could give get let's""".split()
)
_OF_IT = frozenset(
    """after before from in with without starring about directed by set under over where that which made released for
    but not no featuring based between since until rated . ? ! )""".split()
)


def of_one_genre(words: Sequence[str], at: int, _known: Vocabulary) -> Taken | None:
    """`a musical after 1950`, `a romantic comedy`; not `a film about a musical`, `a comedy or …`."""
    named = _behind_the_first(words, at)
    beside, genre = _BESIDE.get(" ".join(words[at:named])), _CALLED.get(words[named])
    if genre is None or not _goes_on_of_it(words, named + 1):
        return None
    article = next((place for place in (at - 1, at - 2) if place >= 0 and words[place] in ("a", "an")), None)
    if article is None or not _ASKING.issuperset(words[:article]):
        return None
    return Taken(named + 1, tuple(Claim("genres", "has", each) for each in dict.fromkeys((beside, genre)) if each))


def _behind_the_first(words: Sequence[str], at: int) -> int:
    """Behind the first of two genres, "romantic" in "romantic comedy"; here where one stands alone."""
    for size in (3, 1):
        if " ".join(words[at : at + size]) in _BESIDE and at + size < len(words) and words[at + size] in _CALLED:
            return at + size
    return at


def against_a_genre(words: Sequence[str], at: int, _known: Vocabulary) -> Taken | None:
    """`an action film, not a western`, `comedies without romance`, `no horror`."""
    for said in _AGAINST:
        begin = at + len(said.split())
        if list(words[at:begin]) != said.split():
            continue
        for size in (3, 2, 1):
            genre = _DENIED.get(" ".join(words[begin : begin + size]))
            if genre and begin + size <= len(words) and _ends_there(words, begin + size):
                return Taken(begin + size, (Claim("genres", "lacks", genre),))
    return None


def _goes_on_of_it(words: Sequence[str], at: int) -> bool:
    """Whether what stands here speaks of the film; a comma may stand before it."""
    at += at < len(words) and words[at] == ","
    return at >= len(words) or words[at] in _OF_IT


def _ends_there(words: Sequence[str], at: int) -> bool:
    return at >= len(words) or words[at] in _OF_IT or words[at] in (",", "and", "or", "nor", ";")


_ANY_WORK = (*_WORKS, "releases", *(plural for _, plurals in _GENRES.values() for plural in plurals))

WORDING = Wording(
    nouns=NOUNS,
    filler=frozenset("watch see released made good great directed starring".split()),
    measures=(
        Measure(
            field="year", family="year", bare="=", nouns=_ANY_WORK,
            before=(
                "from", "in", "made in", "released in", "from the year", "in the year", "out in", "shot in", "year",
                "made", "released", "made during", "during", "came out in", "that came out in", "filmed in",
            ),
        ),
        Measure(field="minutes", family="time", unit="min", bare="~"),
        Measure(
            field="rating", family="score", bare=">=", nouns=("stars", "star", "or better", "and up"),
            before=("rated", "rating", "rating of", "a rating of", "with a rating of", "rated at least", "scored"),
        ),
    ),
    choices=(
        *(_genre(value, called, plurals) for value, (called, plurals) in _GENRES.items()),
        Choice(field="genres", value="silent", words=("silents", *(f"silent {work}" for work in _WORKS))),
        Choice(field="genres", value="silent", words=("silent",), hard=False),  # as likely a house or a witness
        Choice(field="genres", value="family", words=_KIDS, meets=("family", "animated", "animation"), hard=False),
        *(Choice(field="content_rating", value=value, words=words) for value, words in _RATED.items()),
    ),
    names=(_STARRING, _DIRECTED, _NOT_BY, _BY, _WITH, _SOMEBODY),
    orders=(
        Superlative(words=("newest", "latest", "most recent"), field="year", descending=True),
        Superlative(words=("oldest", "earliest"), field="year"),
        Superlative(words=("longest",), field="minutes", descending=True),
        Superlative(words=("shortest",), field="minutes"),
        Superlative(words=("highest rated", "best rated", "top rated"), field="rating", descending=True),
        Superlative(words=("lowest rated", "worst rated"), field="rating"),
    ),
    loose=(
        Loose(words=("recent", "new"), field="year", op=">=", quantile=0.9),
        Loose(words=("old", "classic", "vintage"), field="year", op="<=", value=1970.0),
    ),
    takers=(of_somebody, of_a_century, of_one_genre, against_a_genre),
)  # fmt: skip
