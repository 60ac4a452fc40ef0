"""What a model wrote, held against what it was shown.

A sentence stays where every figure, every proper name and every address in it occurs in the records that it speaks
of; figures and names may come out of the question as well. That is what can be checked without another model: a wrong
claim in plain words ("the quietest of all") is not seen.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise
from urllib.parse import unquote

from msgspec import Struct

from shared.contracts.notices import Notice
from shared.models.quoting import dropped
from shared.models.sentences import sentences
from shared.sites.fields import UNITS
from shared.sites.figures import Figure, Known, figures, given, occurs
from shared.sites.values import each, minutes, plain, spelled

_TOP = "com|org|net|io|info|biz|dev|app|edu|gov|co|uk|de|fr|ru|cn|xyz|site|shop|top|online|click|link|example|test"
_ADDRESS = re.compile(
    rf"(?:\b[a-z][a-z0-9+.-]{{1,15}}://|\bwww\.|\b(?:javascript|mailto|data|tel):)[^\s<>\"')\]]+"
    rf"|\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+|\b(?:[\w-]{{1,63}}\.){{1,4}}(?:{_TOP})\b(?:/[^\s<>\"')\]]*)?",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"(?<!\d)[^\W\d_](?:[^\W_]|['’&](?=[^\W\d_])|-(?=[^\W_])|\.(?=[^\W\d_]\.))*")
# A capital here begins a sentence, or what reads like one; it makes no name.
_BEGINS = re.compile(r"(?:^|[:;•|>–—]\s|\s-\s|\.{3}\s?|…\s?)[\s\"“‘'(\[*]*$")
# Words that are written with a capital and name nothing that a record would have to say.
_PLAIN = frozenset({
    "i", "i'm", "i'd", "i'll", "i've", "ok", "tv", "dvd", "diy", "bbq", "am", "pm", "us", "uk", "hoa", "gps", "a",
    "the", "of", "and", "in", "sq", "ft",
})  # fmt: skip
# Words of one run of capitals ("John M. Stahl") are one name, and lie as close together in a record.
_NEAR = 4
_APART = 20


class Checked(Struct, frozen=True):
    """The sentences that stand, as one text, and how many were dropped."""

    text: str
    dropped: int = 0

    @property
    def notices(self) -> list[Notice]:
        """What has to be said of what was dropped."""
        return dropped(self.dropped)


def checked(text: str, of: Sequence[object], question: str = "") -> Checked:
    """The text without the sentences that name what neither `of` nor the question holds.

    `of` are the records that it speaks of, or texts out of them. Addresses have to be in `of`: a question does not
    vouch for them.
    """
    said = sentences(text)
    held = _Given(of, question)
    kept = [sentence for sentence in said if held.supports(sentence)]
    return Checked(" ".join(" ".join(kept).split()), len(said) - len(kept))


class _Given:
    """What a model was shown. Each part is read when a sentence first needs it: most sentences name little."""

    def __init__(self, of: Sequence[object], question: str) -> None:
        self._of, self._question = of, question

    def supports(self, sentence: str) -> bool:
        """Whether the sentence names nothing that was not given."""
        addresses = [_address(found[0]) for found in _ADDRESS.finditer(sentence)]
        if not all(address in self._addresses for address in addresses):
            return False
        bare = _ADDRESS.sub(" ", sentence) if addresses else sentence
        return all(self._holds(figure) for figure in figures(bare)) and all(map(self._knows, names(bare)))

    def _holds(self, figure: Figure) -> bool:
        return occurs(figure, self._figures)

    def _knows(self, name: tuple[str, ...]) -> bool:
        """Whether all words of a name were given, each close to the one before it."""
        places = [self._places(word) for word in name]
        return all(places) and all(_close(one, other) for one, other in pairwise(places))

    def _places(self, word: str) -> list[int]:
        return next((found for form in _singular(word) if (found := self._words.get(form))), [])

    @functools.cached_property
    def _texts(self) -> list[str]:
        return [_said(text) for text in self._strings]

    @functools.cached_property
    def _strings(self) -> list[str]:
        return [text for one in self._of for text in _strings(one)]

    @functools.cached_property
    def _figures(self) -> frozenset[Known]:
        return frozenset(known for text in [*self._texts, self._question] for known in given(text))

    @functools.cached_property
    def _addresses(self) -> frozenset[str]:
        found = [_address(match[0]) for text in self._strings for match in _ADDRESS.finditer(text)]
        return frozenset([*found, *(address.partition("/")[0] for address in found)])

    @functools.cached_property
    def _words(self) -> dict[str, list[int]]:
        """Each word → its places in all that was given, in order."""
        places: dict[str, list[int]] = {}
        place = 0
        for text in [*self._texts, self._question]:
            for word in _folded(text):
                places.setdefault(word, []).append(place)
                place += 1
            place += 1 if text is not self._question else _APART
        return places


def names(sentence: str) -> Iterator[tuple[str, ...]]:
    """The proper names of a sentence, folded: runs of words with a capital, but for one that only begins it."""
    run: list[str] = []
    end = 0
    for match in _TOKEN.finditer(sentence):
        between = sentence[end : match.start()]
        if run and (between.strip() or not match[0][0].isupper()):
            yield tuple(run)
            run = []
        end = match.end()
        if _is_name(match[0]) and not (_BEGINS.search(sentence[max(0, match.start() - 8) : match.start()])):
            run += [word for word in _folded(match[0]) if word not in _PLAIN]
        if run and match[0].casefold().endswith(("'s", "’s")):  # what somebody has is another name
            yield tuple(run)
            run = []
    if run:
        yield tuple(run)


def _is_name(word: str) -> bool:
    """Whether it has a capital that means something: at its beginning, or within as in `iPhone`."""
    return any(letter.isupper() for letter in word) and word.casefold().replace("’", "'") not in _PLAIN


def _strings(value: object) -> Iterator[str]:
    """Every text and number that a record holds, and the words of its properties' names."""
    for one in each(value):
        if isinstance(one, dict):
            if unit := UNITS.get(str(one.get("unitCode"))):
                yield f"{one.get('value')} {unit}"
            if (prep := minutes(one.get("prepTime"))) and (cook := minutes(one.get("cookTime"))):
                yield f"{spelled(prep + cook)} minutes"
            for key, member in one.items():
                yield re.sub(r"(?<=[a-z])(?=[A-Z])", " ", str(key))
                yield from _strings(member)
        elif isinstance(one, str):
            yield one
        elif isinstance(one, int | float) and not isinstance(one, bool):
            yield spelled(one)


_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_DATE = re.compile(r"\d{4}-(0[1-9]|1[0-2])(?:-\d\d)?(?:T.*)?")


_POSSESSIVE = re.compile(r"['’](?:s\b)?")
_INITIALS = re.compile(r"\b(\w)\.(?=\w\b)")


def _said(text: str) -> str:
    """A record's text as a reader sees it; a date with its month's name."""
    date = _DATE.fullmatch(text)
    return f"{text} {_MONTHS[int(date[1]) - 1]}" if date else plain(text)


def _folded(text: str) -> list[str]:
    """Its words in lower case, accents, possessives and stops taken off; a word with a hyphen is several."""
    bare = "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
    bare = _POSSESSIVE.sub("", bare.casefold())
    return re.findall(r"[^\W_]+", _INITIALS.sub(r"\1", bare))


def _singular(word: str) -> Iterator[str]:
    """The word, and the forms that a record may have of it."""
    yield word
    yield word + "s"
    if word.endswith("ies"):
        yield word[:-3] + "y"
    if word.endswith("es"):
        yield word[:-2]
    if word.endswith("s"):
        yield word[:-1]


def _close(one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether two sorted lists of places have two that are near each other."""
    left = right = 0
    while left < len(one) and right < len(other):
        if abs(one[left] - other[right]) <= _NEAR:
            return True
        if one[left] < other[right]:
            left += 1
        else:
            right += 1
    return False


def _address(text: str) -> str:
    """An address in the form by which two are compared: no scheme of the web, no www, no slash at its end."""
    bare = unquote(text.rstrip(".,;:!?/*")).casefold()
    return re.sub(r"^https?://", "", bare).removeprefix("www.")


def clipped(text: str, most: int) -> str:
    """A text cut at the end of a sentence, else of a word, within `most` characters."""
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    head = text[:most]
    end = max(head.rfind(sign) for sign in (". ", "! ", "? "))
    if end >= most // 3:
        return head[: end + 1]
    return head[: max(head.rfind(" "), most // 2)].rstrip(" ,;:") + "…"
