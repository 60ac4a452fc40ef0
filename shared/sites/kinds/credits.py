"""Who directed a film, read from what its description says, where the record does not name anybody."""

from __future__ import annotations

import re

# "directed by", "directed and co-written by", "written, produced, and directed by", "director Ann Bo".
_JOB = (
    r"(?:(?:co-)?(?:written|produced|edited|scored|filmed|narrated|shot|adapted|created|photographed|choreographed|"
    r"animated))"
)
_BY = re.compile(
    rf"\b(?:co-)?[Dd]irected(?:(?:,? and |, | & )(?:also )?{_JOB}){{0,4}}(?: (?:film|drama|comedy))?"
    r" by (?:directed by |(?:[A-Z][a-z]+ )?directors? |brothers |sisters |husband and wife |actor |actress |"
    r"filmmakers? )?"
    r"|\b(?:film|[Dd]rama|[Cc]omedy|[Ww]estern) by (?:[A-Z][a-z]+ )?directors? |\bdirectorial debut of "
    r"|\b[Tt]he director was "
)
_LETTER = "A-ZÀ-ÖØ-ÞŁŚŠŽČ"
_TITLED = rf"(?:[{_LETTER}][\w'’.\-]*)"
_PARTICLE = r"(?:de|da|di|du|del|della|van|von|der|den|la|le|ten|ter|bin|af|av|y)"
_WHOLE_NAME = re.compile(rf"{_TITLED}(?: (?:{_PARTICLE} ){{0,2}}{_TITLED}){{1,4}}(?:,? (?:Jr|Sr)\b\.?)?")
_SHARED = re.compile(rf"({_TITLED}) (?:and|&) (?={_TITLED} )")
_AND = re.compile(r"(?:,? and |,? & |, )(?:co-directed by |by )?")
_LAST = re.compile(r"(?:,? and | & )")
# A capital that begins no name: the sentence goes on with another one, or with a company.
_NO_NAMES = frozenset(
    """The It He She They His Her This Its An A In On At For Based Starring Written Produced Released
    Distributed Set Filmed Shot Paramount Universal Warner Metro-Goldwyn-Mayer MGM RKO Columbia Fox 20th Disney Walt
    Pictures Productions Released Lionsgate Netflix American British Released Republic Monogram Vitagraph Edison
    Oscar Academy Emmy Famous United Essanay Biograph Jesse Released Hollywood Also With And""".split()
)
_TRAIL = frozenset(
    ("Productions", "Pictures", "Studios", "Entertainment", "Films", "Company", "Corporation", "Brothers")
)
_NATIONS = ("-American", "-Italian", "-British", "-Canadian", "-French", "-German")
_INITIAL = re.compile(r"(?:\b[A-Z]\.)+$|\b(?:Jr|Sr|St|Mt|Ste|Wm|Geo|Chas|Jas|Jno|Robt|Edw|Thos|Fred|Dr|Mr|Mrs)\.$")
_MOST_DIRECTORS = 4
_READ = 3_000
_MADE_BEFORE = re.compile(
    r"\b(?:remake|sequel|prequel|original|previous|earlier|based on the \d{4} film|first film|"
    r"film (?:of|with) the same (?:name|title))\b"
)


def directors(description: str) -> tuple[str, ...]:
    """The names of those who directed, in lower case and in the text's order; none where it does not say so plainly.

    A surname alone is no name, but of two that share one ("Joel and Ethan Coen") both are named in full. Only the
    first such words of a text count, and not where they speak of another film.
    """
    said = " ".join(description[:_READ].replace("\xa0", " ").split())
    for found in _BY.finditer(said):
        sentence = said[: found.start()].rpartition(". ")[2]
        if not _MADE_BEFORE.search(sentence):
            return tuple(dict.fromkeys(name.lower() for name in _names(said[found.end() : found.end() + 200])))
    return ()


def _names(said: str) -> list[str]:
    """The names a text begins with, joined by commas and "and". Behind a comma alone one counts if an "and" follows."""
    names: list[str] = []
    waiting: list[str] = []
    place = 0
    while len(names) + len(waiting) < _MOST_DIRECTORS:
        name, place = _name(said, place)
        if not name:
            break
        waiting.append(name)
        joint = _AND.match(said, place)
        if not names or _is_last(said, place - len(name)):
            names, waiting = names + waiting, []
        if not joint:
            break
        place = joint.end()
    return _surnamed(said) or names


def _is_last(said: str, start: int) -> bool:
    return bool(re.search(r"(?:and|&) (?:co-directed by |by )?$", said[max(0, start - 22) : start]))


def _surnamed(said: str) -> list[str]:
    """Two who share a surname: `Joel and Ethan Coen`."""
    shared = _SHARED.match(said)
    other = _name(said, shared.end())[0] if shared else ""
    surname = other.partition(" ")[2]
    return [f"{shared[1]} {surname}", other] if shared and surname and shared[1] not in _NO_NAMES else []


def _name(said: str, place: int) -> tuple[str, int]:
    """The full name at a place and where it ends; "" where there is none."""
    found = _WHOLE_NAME.match(said, place)
    if found is None:
        return "", place
    name = _ended(found[0])
    words = name.split()
    while words and words[-1] in _NO_NAMES:
        words.pop()
    if len(words) > 2 and words[0].endswith(_NATIONS):  # "directed by Swedish-Italian Erik Gandini"
        words, place = words[1:], place + len(words[0]) + 1
    if len(words) < 2 or words[0] in _NO_NAMES or words[-1] in _TRAIL:
        return "", place
    name = " ".join(words)
    return name.rstrip(".") if not name.endswith("Jr.") else name, place + len(name)


def _ended(name: str) -> str:
    """The name up to the full stop that ends its sentence: one behind an initial does not."""
    for stop in re.finditer(r"\.(?= )", name):
        if not _INITIAL.search(name[: stop.end()]):
            return name[: stop.start()]
    return name
