"""Objects out of JSON that is still being written: each the moment its last brace arrives."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

# A verdict is some 200 characters; what is longer is no verdict, and is not kept.
MAX_OBJECT_CHARS = 4_000
# The beginning of a list may come in two pieces.
_TAIL_CHARS = 40


class ObjectScanner:
    """Finds the objects that are members of a list, in text that is cut anywhere.

    Strings, escapes and depth are followed, so a brace inside of a string closes nothing. Prose and fences around
    the JSON are passed over. What cannot be decoded comes out as None, and so does the rest that `close` finds open.
    """

    def __init__(self) -> None:
        self._stack: list[str] = []
        self._in_string = False
        self._escaped = False
        self._kept: list[str] = []
        self._length = 0
        self._depth = 0  # of the object that is being kept, counted in `_stack`; 0: none is

    def feed(self, text: str) -> Iterator[object | None]:
        """The objects that this text completes, in order."""
        for letter in text:
            closed = self._step(letter)
            if closed:
                yield self._taken()

    @property
    def is_open(self) -> bool:
        """Whether an object has begun that has not ended."""
        return self._depth > 0

    def _step(self, letter: str) -> bool:
        """Take one letter; True where it closes a kept object."""
        if self._depth:
            self._keep(letter)
        if self._in_string:
            self._within_string(letter)
            return False
        if letter == '"':
            # Outside of any brackets a quotation mark belongs to prose.
            self._in_string = bool(self._stack)
        elif letter in "{[":
            self._open(letter)
        elif letter in "}]":
            return self._close()
        return False

    def _within_string(self, letter: str) -> None:
        if self._escaped:
            self._escaped = False
        elif letter == "\\":
            self._escaped = True
        elif letter == '"':
            self._in_string = False

    def _open(self, letter: str) -> None:
        member = letter == "{" and self._stack[-1:] == ["["]
        self._stack.append(letter)
        # An object around the list, or a list around the object ("[{"results": [...]}]"), is no verdict: the
        # innermost object that is a member of a list is.
        if member and (not self._depth or self._holds_list()):
            self._depth = len(self._stack)
            self._kept, self._length = [letter], 1

    def _holds_list(self) -> bool:
        return "[" in self._stack[self._depth : -1]

    def _close(self) -> bool:
        if not self._stack:
            return False
        closes = self._depth == len(self._stack)
        self._stack.pop()
        return closes

    def _keep(self, letter: str) -> None:
        self._length += 1
        if self._length <= MAX_OBJECT_CHARS:
            self._kept.append(letter)

    def _taken(self) -> object | None:
        text, self._depth = "".join(self._kept), 0
        if self._length > MAX_OBJECT_CHARS:
            return None
        try:
            found: object = json.loads(text)
        except (ValueError, RecursionError):
            return None
        return found


class ListScanner:
    """The objects of the list that an answer was asked for, by any of the list's names, as the answer comes.

    What is far longer than any answer is not looked into. `lists` says whether the list has begun.
    """

    def __init__(self, *names: str, most_chars: int) -> None:
        self.lists = False
        self._begins = re.compile(rf'"(?:{"|".join(names)})"\s*:\s*\[')
        self._objects = ObjectScanner()
        self._left = most_chars
        self._tail = ""

    def feed(self, text: str) -> Iterator[object | None]:
        """The objects that this piece completes, in order."""
        text = text[: self._left]
        self._left -= len(text)
        self.lists = self.lists or bool(self._begins.search(self._tail + text))
        self._tail = (self._tail + text)[-_TAIL_CHARS:]
        return self._objects.feed(text)

    @property
    def is_open(self) -> bool:
        """Whether an object has begun that has not ended."""
        return self._objects.is_open
