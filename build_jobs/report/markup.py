"""HTML and SVG from elements, so that no text reaches a page unescaped."""

from __future__ import annotations

from html import escape

from build_jobs.text import unwritable_removed

_VOID = frozenset({"meta", "br"})


class Markup(str):
    """Text that is markup already: made by `element`, and by hand only for what this project wrote itself."""

    __slots__ = ()


def text(value: object) -> Markup:
    """A value as text of a page: everything escaped that markup knows, nothing left that UTF-8 cannot hold."""
    return value if isinstance(value, Markup) else Markup(escape(unwritable_removed(str(value))))


def joined(*parts: object) -> Markup:
    """The parts one after another."""
    return Markup("".join(map(text, parts)))


def element(name: str, /, *children: object, **attributes: object) -> Markup:
    """An element. Children and attribute values are escaped, unless they are markup already.

    An attribute that is None is left out; `class_` is `class`, and `_` inside a name is `-`.
    """
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(unwritable_removed(str(value)))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{said}>" if name in _VOID else f"<{name}{said}>{joined(*children)}</{name}>")
