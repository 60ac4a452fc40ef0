"""A leaf file: its stem, its front matter, its bytes."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

STEM_LENGTH = 110
"""Longest stem. With `sources/<source>/` and `.md` a path stays far below what Windows and tar allow."""

_DIGEST_LENGTH = 8
_RESERVED = {"", "index", "log", "con", "prn", "aux", "nul"} | {f"{n}{i}" for n in ("com", "lpt") for i in range(10)}
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NOT_A_WORD = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Draft:
    """A leaf before it has a file name: `code` is its publisher's identifier, `slug` the stem it asks for."""

    code: str
    slug: str
    front_matter: Mapping[str, Any]
    body: str


def split_camel(name: str) -> str:
    """`ProfitLoss` as `Profit Loss`; `IPOCosts` as `IPO Costs`."""
    return _CAMEL.sub(" ", name)


def slug(text: str) -> str:
    """Lower-case ASCII words joined by `-`; accents fold away, everything else is a separator."""
    folded = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return _NOT_A_WORD.sub("-", folded.lower()).strip("-")


def digest(code: str) -> str:
    """A short digest of a published identifier, for stems that would not be unique without it."""
    return hashlib.sha256(code.encode()).hexdigest()[:_DIGEST_LENGTH]


def fitted(text: str, code: str, length: int = STEM_LENGTH) -> str:
    """`text` as a stem: one that is too long, empty or a name that systems reserve carries the code's digest."""
    if len(text) <= length and text not in _RESERVED:
        return text
    head = text[: length - _DIGEST_LENGTH - 1].rstrip("-")
    return f"{head or 'leaf'}-{digest(code)}"


def stems(drafts: Sequence[Draft]) -> list[str]:
    """One stem a draft, unique also where case does not count.

    Of drafts that ask for the same stem all carry their digest, so a stem never depends on the order of the rows.
    """
    asked: dict[str, list[int]] = defaultdict(list)
    for index, draft in enumerate(drafts):
        asked[fitted(draft.slug, draft.code)].append(index)
    taken = [""] * len(drafts)
    for stem, indexes in asked.items():
        for index in indexes:
            code = drafts[index].code
            taken[index] = stem if len(indexes) == 1 else f"{stem[: STEM_LENGTH - _DIGEST_LENGTH - 1]}-{digest(code)}"
    return taken


def document(front_matter: Mapping[str, Any], body: str) -> bytes:
    """The file's bytes: front matter between delimiter lines, then the body. Empty values are left out.

    A leaf's bytes do not depend on how PyYAML was built: see `_yaml`.
    """
    kept = {key: value for key, value in front_matter.items() if value not in (None, "", [])}
    return f"---\n{_yaml(kept)}---\n\n{body.strip()}\n".encode()


def _yaml(matter: Mapping[str, Any]) -> str:
    """Front matter as PyYAML's own emitter writes it: by libyaml, which takes 0.13 ms in the place of 0.9 ms.

    The two differ in what they escape, emoji for one; so what libyaml has escaped is written again by the other.
    """
    fast = getattr(yaml, "CSafeDumper", None)
    text = _dumped(matter, fast) if fast else ""
    return text if text and "\\" not in text else _dumped(matter, yaml.SafeDumper)


def _dumped(matter: Mapping[str, Any], dumper: Any) -> str:
    text: str = yaml.dump(
        matter, Dumper=dumper, sort_keys=False, allow_unicode=True, width=100_000, default_flow_style=False
    )
    return text
