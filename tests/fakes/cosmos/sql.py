"""The part of Cosmos DB's SQL that the project asks in, parsed into functions of a document.

An expression is compiled once a query into a closure of one row, so that a filter over 28,923 rows takes tens of
milliseconds. What is not there is UNDEFINED, and what is compared with it, or with a value of another type, is
UNDEFINED too: neither a condition nor its opposite holds of it, as in the service.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

AGGREGATES = ("COUNT", "SUM", "MIN", "MAX", "AVG")
_TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
    r"""|(?P<name>[A-Za-z_][A-Za-z_0-9]*)|(?P<parameter>@[A-Za-z_0-9]+)"""
    r"""|(?P<sign><=|>=|!=|<>|[-+*/%=<>(),.\[\]{}:]))"""
)


class Undefined:
    """The value of what is not there."""

    def __repr__(self) -> str:
        return "undefined"


UNDEFINED = Undefined()


class BadQuery(Exception):
    """What the service answers with a 400."""


@dataclass(slots=True)
class Row:
    """A document and where it lies in the matrices of its partition."""

    place: int
    document: Mapping[str, Any]


Expression = Callable[[Row], Any]


@dataclass(frozen=True, slots=True)
class Distance:
    """A `VectorDistance(c.path, @vector)` that a query asks for; `text` is how it was written."""

    path: str
    vector: tuple[float, ...]
    text: str


@dataclass(slots=True)
class Query:
    """A parsed query. `select` is None for `*`; an item of it is (its name, its expression, its text).

    `aggregate` is (its name, what it is of, where `value` looks for what came of it).
    """

    text: str
    top: int | None = None
    value: Expression | None = None
    select: list[tuple[str, Expression, str]] | None = None
    aggregate: tuple[str, Expression, list[Any]] | None = None
    where: Expression | None = None
    where_text: str = ""
    nearest: Distance | None = None
    order: list[tuple[Expression, bool]] = field(default_factory=list)
    order_text: str = ""
    alias: str = "c"
    distances: list[Distance] = field(default_factory=list)
    select_text: str = ""

    @property
    def is_streamed(self) -> bool:
        """Whether its rows come as they lie there, so that a page needs no look at those before it."""
        return not self.is_merged

    @property
    def is_merged(self) -> bool:
        """Whether its answer over several partitions has to be put together by whoever asks."""
        return self.top is not None or bool(self.order) or self.nearest is not None or self.aggregate is not None


Scores = Callable[[Distance], Any]
"""The measure of each row of a partition by its place, UNDEFINED where it has no such vector."""


def parse(text: str, parameters: Mapping[str, Any], scores: Scores) -> Query:
    """Raises BadQuery for what is no query of this kind."""
    return _Parser(text, parameters, scores).query()


def is_true(value: Any) -> bool:
    """Whether a condition holds."""
    return value is True


@dataclass(slots=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int

    def __str__(self) -> str:
        return self.text or "the end"


def _tokens(text: str) -> list[_Token]:
    found, place = [], 0
    while text[place:].strip():
        match = _TOKEN.match(text, place)
        if not match or match.lastgroup is None:
            raise BadQuery(f"Syntax error, incorrect syntax near '{text[place:].strip()[:20]}'.")
        found.append(_Token(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup), match.end()))
        place = match.end()
    return [*found, _Token("end", "", len(text), len(text))]


class _Parser:
    def __init__(self, text: str, parameters: Mapping[str, Any], scores: Scores) -> None:
        self._text = text
        self._parameters = parameters
        self._scores = scores
        self._tokens = _tokens(text)
        self._place = 0
        self._query = Query(text)
        self._alone: Distance | None = None
        self._aggregate: tuple[str, Expression, list[Any]] | None = None

    # Words

    @property
    def _next(self) -> _Token:
        return self._tokens[self._place]

    def _is(self, *words: str) -> bool:
        return self._next.text.upper() in words and self._next.kind in ("name", "sign")

    def _take(self, *words: str) -> bool:
        if self._is(*words):
            self._place += 1
            return True
        return False

    def _expect(self, word: str) -> None:
        if not self._take(word):
            raise BadQuery(f"Syntax error, incorrect syntax near '{self._next}', expected {word}.")

    def _advance(self) -> _Token:
        token = self._next
        self._place += 1
        return token

    def _since(self, start: int) -> str:
        return self._text[self._tokens[start].start : self._tokens[self._place - 1].end]

    # A query

    def query(self) -> Query:
        query = self._query
        query.alias = self._alias()
        self._expect("SELECT")
        if self._is("DISTINCT"):
            raise BadQuery("DISTINCT is not in this fake.")
        if self._take("TOP"):
            query.top = self._whole()
        self._select()
        self._expect("FROM")
        self._advance()
        if self._take("WHERE"):
            start = self._place
            query.where = self._or()
            query.where_text = self._since(start)
        if self._take("ORDER"):
            self._order()
        if self._next.kind != "end":
            raise BadQuery(f"Syntax error, incorrect syntax near '{self._next}'.")
        return query

    def _alias(self) -> str:
        words = [token.text for token in self._tokens]
        upper = [word.upper() for word in words]
        if "FROM" not in upper or self._tokens[upper.index("FROM") + 1].kind != "name":
            raise BadQuery("Syntax error, expected FROM and a name.")
        return words[upper.index("FROM") + 1]

    def _whole(self) -> int:
        token = self._advance()
        value = self._parameter(token) if token.kind == "parameter" else token.text
        if not str(value).isdigit():
            raise BadQuery(f"TOP expects a whole number, found {value}.")
        return int(value)

    def _select(self) -> None:
        query, start = self._query, self._place
        if self._take("*"):
            pass
        elif self._take("VALUE"):
            query.value = self._or()
            query.aggregate = self._aggregate
        else:
            query.select = [self._item(number) for number in [1]]
            while self._take(","):
                query.select.append(self._item(len(query.select) + 1))
            if self._aggregate:
                raise BadQuery("An aggregate outside of SELECT VALUE is not in this fake.")
        query.select_text = self._since(start)

    def _item(self, number: int) -> tuple[str, Expression, str]:
        start = self._place
        expression = self._or()
        text = self._since(start)
        if self._take("AS") or (self._next.kind == "name" and not self._is("FROM")):
            return self._advance().text, expression, text
        last = re.search(r"""(?:\.|\[["'])([A-Za-z_][A-Za-z_0-9]*)(?:["']\])?$""", text)
        return (last[1] if last else f"${number}"), expression, text

    def _order(self) -> None:
        self._expect("BY")
        start = self._place
        while True:
            self._alone = None
            expression = self._or()
            text = self._since(start)
            if self._alone and self._alone.text == text:
                self._query.nearest = self._alone
                if self._is("ASC", "DESC"):
                    raise BadQuery("ORDER BY VectorDistance takes neither ASC nor DESC.")
            elif "VECTORDISTANCE" in text.upper():
                raise BadQuery("ORDER BY takes one VectorDistance and nothing made of it.")
            else:
                falls = self._take("DESC")
                if not falls:
                    self._take("ASC")
                self._query.order.append((expression, falls))
            if not self._take(","):
                break
        if self._query.nearest and self._query.order:
            raise BadQuery("ORDER BY VectorDistance stands alone.")
        self._query.order_text = self._since(start)

    # Expressions, from what binds least

    def _or(self) -> Expression:
        left = self._and()
        while self._take("OR"):
            left = _either(left, self._and())
        return left

    def _and(self) -> Expression:
        left = self._not()
        while self._take("AND"):
            left = _both(left, self._not())
        return left

    def _not(self) -> Expression:
        if self._take("NOT"):
            return _opposite(self._not())
        return self._comparison()

    def _comparison(self) -> Expression:
        left = self._sum()
        for sign, compare in _COMPARISONS.items():
            if self._take(sign):
                return _compared(left, self._sum(), compare)
        denied = self._take("NOT")
        if self._take("IN"):
            found = _among(left, self._list("(", ")"))
        elif self._take("BETWEEN"):
            least = self._sum()
            self._expect("AND")
            found = _both(_compared(left, least, _COMPARISONS[">="]), _compared(left, self._sum(), _COMPARISONS["<="]))
        elif denied:
            raise BadQuery(f"Syntax error, incorrect syntax near '{self._next}'.")
        else:
            return left
        return _opposite(found) if denied else found

    def _sum(self) -> Expression:
        left = self._product()
        while self._is("+", "-"):
            left = _calculated(left, self._advance().text, self._product())
        return left

    def _product(self) -> Expression:
        left = self._sign()
        while self._is("*", "/", "%"):
            left = _calculated(left, self._advance().text, self._sign())
        return left

    def _sign(self) -> Expression:
        if self._take("-"):
            return _calculated(lambda _: 0, "-", self._sign())
        return self._primary()

    def _primary(self) -> Expression:
        if self._take("("):
            inner = self._or()
            self._expect(")")
            return inner
        if self._is("["):
            return _array(self._list("[", "]", may_be_empty=True))
        if self._is("{"):
            return self._object()
        token = self._advance()
        if token.kind == "number":
            number = float(token.text)
            return _constant(int(number) if token.text.isdigit() else number)
        if token.kind == "string":
            return _constant(_unquoted(token.text))
        if token.kind == "parameter":
            return _constant(self._parameter(token))
        if token.kind == "name":
            return self._named(token)
        raise BadQuery(f"Syntax error, incorrect syntax near '{token}'.")

    def _named(self, token: _Token) -> Expression:
        word = token.text.upper()
        if self._is("("):
            return self._call(word, self._place - 1)
        if word in _WORDS:
            return _constant(_WORDS[word])
        if token.text != self._query.alias:
            raise BadQuery(f"Identifier '{token.text}' could not be resolved.")
        return _reached(self._path())

    def _path(self) -> tuple[Any, ...]:
        steps: list[Any] = []
        while self._is(".", "["):
            if self._advance().text == ".":
                steps.append(self._advance().text)
                continue
            token = self._advance()
            steps.append(int(token.text) if token.kind == "number" else _unquoted(token.text))
            self._expect("]")
        return tuple(steps)

    def _parameter(self, token: _Token) -> Any:
        if token.text not in self._parameters:
            raise BadQuery(f"The parameter {token.text} was not given.")
        return self._parameters[token.text]

    def _list(self, opening: str, closing: str, may_be_empty: bool = False) -> list[Expression]:
        self._expect(opening)
        if may_be_empty and self._take(closing):
            return []
        found = [self._or()]
        while self._take(","):
            found.append(self._or())
        self._expect(closing)
        return found

    def _object(self) -> Expression:
        self._expect("{")
        named: list[tuple[str, Expression]] = []
        while not self._take("}"):
            name = _unquoted(self._advance().text)
            self._expect(":")
            named.append((name, self._or()))
            if not self._is("}"):
                self._expect(",")
        return _mapping(named)

    def _call(self, word: str, start: int) -> Expression:
        if word == "VECTORDISTANCE":
            return self._distance(start)
        arguments = self._list("(", ")", may_be_empty=True)
        if word in AGGREGATES:
            result: list[Any] = [UNDEFINED]
            self._aggregate = (word, arguments[0], result)
            return lambda _: result[0]
        if word not in _FUNCTIONS:
            raise BadQuery(f"'{word}' is not a recognized built-in function name.")
        return _applied(_FUNCTIONS[word], arguments)

    def _distance(self, start: int) -> Expression:
        """`VectorDistance(c.path, @vector [, brute force [, options]])`."""
        self._expect("(")
        alias = self._advance()
        path = self._path()
        if alias.text != self._query.alias or len(path) != 1:
            raise BadQuery("VectorDistance expects a path of the container's vector policy first.")
        self._expect(",")
        vector = self._primary()(Row(0, {}))
        while self._take(","):
            self._or()
        self._expect(")")
        if not isinstance(vector, list) or not all(isinstance(each, int | float) for each in vector):
            raise BadQuery("VectorDistance expects an array of numbers.")
        self._alone = Distance(str(path[0]), tuple(vector), self._since(start))
        self._query.distances.append(self._alone)
        scores = self._scores(self._alone)
        return lambda row: scores[row.place]


# What they are made of


def _constant(value: Any) -> Expression:
    return lambda _: value


def _reached(path: tuple[Any, ...]) -> Expression:
    if len(path) == 1:
        name = path[0]
        return lambda row: row.document.get(name, UNDEFINED)

    def reach(row: Row) -> Any:
        value: Any = row.document
        for step in path:
            if isinstance(value, Mapping):
                value = value.get(step, UNDEFINED)
            elif isinstance(value, list) and isinstance(step, int) and step < len(value):
                value = value[step]
            else:
                return UNDEFINED
        return value

    return reach


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else type(value).__name__


def _compared(left: Expression, right: Expression, compare: Callable[[Any, Any], bool]) -> Expression:
    def compared(row: Row) -> Any:
        one, other = left(row), right(row)
        if one is UNDEFINED or other is UNDEFINED or _kind(one) != _kind(other):
            return UNDEFINED
        return compare(one, other)

    return compared


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<=": lambda one, other: one is not None and one <= other,
    ">=": lambda one, other: one is not None and one >= other,
    "!=": lambda one, other: one != other,
    "<>": lambda one, other: one != other,
    "=": lambda one, other: one == other,
    "<": lambda one, other: one is not None and one < other,
    ">": lambda one, other: one is not None and one > other,
}


def _either(left: Expression, right: Expression) -> Expression:
    def either(row: Row) -> Any:
        one = left(row)
        if one is True:
            return True
        other = right(row)
        if other is True:
            return True
        return False if one is False and other is False else UNDEFINED

    return either


def _both(left: Expression, right: Expression) -> Expression:
    def both(row: Row) -> Any:
        one = left(row)
        if one is False:
            return False
        other = right(row)
        if other is False:
            return False
        return True if one is True and other is True else UNDEFINED

    return both


def _opposite(inner: Expression) -> Expression:
    def opposite(row: Row) -> Any:
        value = inner(row)
        return not value if isinstance(value, bool) else UNDEFINED

    return opposite


def _among(left: Expression, values: Sequence[Expression]) -> Expression:
    def among(row: Row) -> Any:
        one = left(row)
        if one is UNDEFINED:
            return UNDEFINED
        others = [value(row) for value in values]
        if any(_kind(one) == _kind(other) and one == other for other in others):
            return True
        return False if all(_kind(one) == _kind(other) for other in others) else UNDEFINED

    if all(isinstance(value(Row(0, {})), str) for value in values):
        known = frozenset(value(Row(0, {})) for value in values)

        def among_texts(row: Row) -> Any:
            one = left(row)
            return one in known if isinstance(one, str) else UNDEFINED

        return among_texts
    return among


def _calculated(left: Expression, sign: str, right: Expression) -> Expression:
    def calculated(row: Row) -> Any:
        one, other = left(row), right(row)
        if _kind(one) != "number" or _kind(other) != "number":
            return UNDEFINED
        if sign in "/%" and other == 0:
            return UNDEFINED
        return (
            {"+": one + other, "-": one - other, "*": one * other}.get(sign)
            if sign in "+-*"
            else (one / other if sign == "/" else one % other)
        )

    return calculated


def _array(items: Sequence[Expression]) -> Expression:
    return lambda row: [value for item in items if (value := item(row)) is not UNDEFINED]


def _mapping(named: Sequence[tuple[str, Expression]]) -> Expression:
    return lambda row: {name: value for name, each in named if (value := each(row)) is not UNDEFINED}


def _applied(function: Callable[..., Any], arguments: Sequence[Expression]) -> Expression:
    def applied(row: Row) -> Any:
        try:
            return function(*[argument(row) for argument in arguments])
        except TypeError as error:
            raise BadQuery(f"The function was called with other arguments than it takes: {error}") from error

    return applied


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text[:1] in ("'", '"') else text


def _contains(array: Any, value: Any, partly: bool = False) -> Any:
    if not isinstance(array, list) or value is UNDEFINED:
        return UNDEFINED
    if partly and isinstance(value, Mapping):
        return any(isinstance(each, Mapping) and value.items() <= each.items() for each in array)
    return any(_kind(each) == _kind(value) and each == value for each in array)


def _of_texts(function: Callable[..., Any]) -> Callable[..., Any]:
    def on_texts(text: Any, *more: Any) -> Any:
        if not isinstance(text, str) or (more and not isinstance(more[0], str)):
            return UNDEFINED
        if len(more) == 2 and more[1] is True:
            return function(text.lower(), more[0].lower())
        return function(text, *more[:1])

    return on_texts


_WORDS: dict[str, Any] = {"TRUE": True, "FALSE": False, "NULL": None, "UNDEFINED": UNDEFINED}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "ARRAY_CONTAINS": _contains,
    "ARRAY_LENGTH": lambda value: len(value) if isinstance(value, list) else UNDEFINED,
    "IS_DEFINED": lambda value: value is not UNDEFINED,
    "IS_NULL": lambda value: value is None,
    "IS_NUMBER": lambda value: _kind(value) == "number",
    "IS_STRING": lambda value: isinstance(value, str),
    "IS_BOOL": lambda value: isinstance(value, bool),
    "IS_ARRAY": lambda value: isinstance(value, list),
    "CONTAINS": _of_texts(lambda text, part: part in text),
    "STARTSWITH": _of_texts(lambda text, part: text.startswith(part)),
    "ENDSWITH": _of_texts(lambda text, part: text.endswith(part)),
    "LOWER": _of_texts(str.lower),
    "UPPER": _of_texts(str.upper),
    "LENGTH": _of_texts(len),
    "ABS": lambda value: abs(value) if _kind(value) == "number" else UNDEFINED,
}
