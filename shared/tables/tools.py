"""The tables as tools for language models: what each takes and answers, with its JSON schemas.

A tool answers what its route does, from the same code: `search` is GET /ask, the others are routes without a model.
What its arguments may be and how a wrong one is refused is the route's, so that nothing differs between the two.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import cache
from typing import Any

from msgspec import Struct

from shared.contracts.replies import Entry, PublishersReply, SearchReply, VariableReply, VariablesReply
from shared.contracts.schema import Schema, Schemas
from shared.contracts.tables import MAX_ASK_CHARS, MAX_PAGE_SIZE, MAX_SOURCES, ORDERS
from shared.contracts.text import whole_number
from shared.errors import NotFound, RequestError
from shared.models.ledger import Ledger
from shared.tables.exact import VARIABLE_LIMIT, VARIABLES_LIMIT, variable, variables
from shared.tables.registry.browse import entry_of
from shared.tables.registry.wellknown import list_publishers
from shared.tables.reply_text import as_text
from shared.tables.request import names_of, parse_ask
from shared.tables.search import search
from shared.tables.tables import Tables
from shared.work import work

Arguments = Mapping[str, Any]
Reply = dict[str, Any]
# The tables, the request's ledger, and the base URL of this registry, which ends in a slash.
Ask = Callable[[Tables, Ledger, str], Awaitable[Reply]]

INSTRUCTIONS = (
    "Finds published statistical tables: which dataset describes a quantity, and how to ask its source for the numbers."
    " Begin with search; entry gives one table whole, with its access operations."
)
# A document is shown to a model up to this; structuredContent has all of it.
MOST_TEXT_CHARS = 6_000


class Tool(Struct, frozen=True):
    """One tool. `parse` makes of the arguments that `takes` names what can be run, or raises RequestError.

    `paid` tools ask models; `as_text` says the reply in a few lines for a model that reads no structure.
    """

    name: str
    title: str
    description: str
    takes: Schema
    gives: Any
    parse: Callable[[Arguments], Ask]
    as_text: Callable[[Reply], str]
    paid: bool = False

    def ask(self, arguments: Arguments) -> Ask:
        """What can be run. Raises RequestError with one sentence, also for an argument that the schema does not name:

        a model that misspells one reads the answer as if it had counted.
        """
        unknown = next((name for name in arguments if name not in self.takes["properties"]), None)
        if unknown is not None:
            known = ", ".join(self.takes["properties"]) or "none"
            raise RequestError(f"unknown argument {unknown[:64]!r}; {self.name} takes {known}")
        return self.parse(arguments)

    def listed(self) -> dict[str, Any]:
        """The tool as `tools/list` has it."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.takes,
            "outputSchema": _schema(self.gives),
            "annotations": {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False},
        }


@cache
def _schema(kind: Any) -> Schema:
    """The schema of a reply by itself: the components it refers to lie in its own `$defs`."""
    schemas = Schemas()
    schemas.of(kind)
    made: Schema = json.loads(json.dumps(schemas.components).replace("#/components/schemas/", "#/$defs/"))
    return {**made.pop(kind.__name__), "$defs": made}


def _takes(required: tuple[str, ...] = (), **properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _text(said: str, **more: Any) -> Schema:
    return {"type": "string", "minLength": 1, "description": said, **more}


def _size(default: int, most: int) -> Schema:
    said = f"How many; held between 1 and {most}."
    return {"type": "integer", "minimum": 1, "maximum": most, "default": default, "description": said}


def _names(said: str) -> Schema:
    return {"type": "array", "items": {"type": "string"}, "maxItems": MAX_SOURCES, "description": said}


def _parse_search(arguments: Arguments) -> Ask:
    """As GET /ask, but in all mounted catalogs: which of them to search is not for a model to choose."""
    request = parse_ask(arguments)
    return lambda tables, ledger, base_url: search(request, tables, ledger, base_url)


def _exact(look_up: Callable[[Tables], Reply]) -> Ask:
    """A lookup without a model: it reads records, off the event loop."""

    def ask(tables: Tables, ledger: Ledger, base_url: str) -> Awaitable[Reply]:
        del ledger, base_url
        return work(lambda: look_up(tables))

    return ask


def _parse_variable(arguments: Arguments) -> Ask:
    wanted, limit = _required(arguments, "id"), _limit(arguments, *VARIABLE_LIMIT)
    return _exact(lambda tables: variable(tables, id=wanted, limit=limit))


def _parse_variables(arguments: Arguments) -> Ask:
    population_type, measured_property, stat_type = (
        _required(arguments, name) for name in ("populationType", "measuredProperty", "statType")
    )
    constraints = None if arguments.get("constraints") is None else names_of(arguments, "constraints")
    limit = _limit(arguments, *VARIABLES_LIMIT)
    return _exact(
        lambda tables: variables(
            tables, population_type=population_type, measured_property=measured_property, stat_type=stat_type,
            constraints=constraints, limit=limit,
        )
    )  # fmt: skip


def _parse_entry(arguments: Arguments) -> Ask:
    wanted = _required(arguments, "id")

    def look_up(tables: Tables) -> Reply:
        found = entry_of(wanted, tables)
        if found is None:
            raise NotFound("no such entry")
        return found

    return _exact(look_up)


def _parse_publishers(arguments: Arguments) -> Ask:
    del arguments
    return _exact(list_publishers)


def _required(arguments: Arguments, name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str) or not value.strip():
        raise RequestError(f"{name} must be a non-empty string")
    return value.strip()


def _limit(arguments: Arguments, default: int, most: int) -> int:
    """`pageSize`, clamped as the routes clamp it."""
    if arguments.get("pageSize") is None:
        return default
    return max(1, min(most, whole_number(arguments["pageSize"], "pageSize")))


def _variable_text(reply: Reply) -> str:
    return _lines(
        f"{reply['total']} documents of {reply['variable']}, {len(reply['results'])} shown.",
        (f"{each['displayName']}\n   {each['identifier']}" for each in reply["results"]),
    )


def _variables_text(reply: Reply) -> str:
    quantity = f"{reply['statType']} of {reply['measuredProperty']} of {reply['populationType']}"
    if "variables" in reply:
        split = ", ".join(reply["constraints"]) or "nothing"
        lines = (f"{each['variable']}: {each['displayName']}" for each in reply["variables"])
        return _lines(f"{reply['total']} variables: {quantity}, split by {split}.", lines)
    lines = (f"{', '.join(each['constraints']) or 'nothing'}: {each['count']}" for each in reply["dimensions"])
    return _lines(f"{quantity} is split in {reply['total']} ways; variables of each:", lines)


def _entry_text(reply: Reply) -> str:
    head = [reply["displayName"], reply["identifier"], reply["description"]]
    text = "\n".join([*filter(None, head), "", reply["data"]["content"]])
    return text if len(text) <= MOST_TEXT_CHARS else f"{text[:MOST_TEXT_CHARS]}…\n(cut; structuredContent has all)"


def _publishers_text(reply: Reply) -> str:
    lines = (f"{each['publisher']} ({', '.join(each['sources'])}): {each['entries']}" for each in reply["publishers"])
    return _lines(f"{reply['total']} publishers, with their sources and tables:", lines)


def _lines(first: str, rest: Iterator[str]) -> str:
    return "\n".join([first, *(f"{number}. {line}" for number, line in enumerate(rest, start=1))])


_ALL = (
    Tool(
        "search",
        "Find tables",
        "Find the published tables that describe a quantity, best source first, each with its variable, its source and"
        " how to ask for the numbers. An empty result carries eligibility: no table fits.",
        _takes(
            ("query",),
            query=_text("What is wanted, in words: a quantity, and what it is of.", maxLength=MAX_ASK_CHARS),
            pageSize=_size(10, MAX_PAGE_SIZE),
            sources=_names("Only these source families or directories; publishers lists them."),
            excludeSources=_names("Not these."),
            rerank={"type": "boolean", "default": True, "description": "false: embedding order, nothing judged."},
            order={"type": "string", "enum": list(ORDERS), "default": ORDERS[0],
                   "description": "The best of each source first, or plain score order."},
        ),
        SearchReply, _parse_search, as_text, paid=True,
    ),
    Tool(
        "variable",
        "Documents of a variable",
        "Every source's table for one published variable, widest coverage first. Exact: the id as its publisher spells"
        " it, such as LifeExpectancy_Person.",
        _takes(("id",), id=_text("The variable's id, case kept."), pageSize=_size(*VARIABLE_LIMIT)),
        VariableReply, _parse_variable, _variable_text,
    ),
    Tool(
        "variables",
        "How a quantity is split",
        "The sets of dimensions that a quantity is split by or, with constraints, the variables split by exactly"
        " those; an empty list means the unsplit totals.",
        _takes(
            ("populationType", "measuredProperty", "statType"),
            populationType=_text("What is counted or measured, such as Person."),
            measuredProperty=_text("Which of its properties, such as count."),
            statType=_text("Which statistic of it, such as measuredValue."),
            constraints=_names("Dimensions, such as gender."),
            pageSize=_size(*VARIABLES_LIMIT),
        ),
        VariablesReply, _parse_variables, _variables_text,
    ),
    Tool(
        "entry",
        "One table, whole",
        "A table or a source whole: its description, its access operations and its document.",
        _takes(("id",), id=_text("Its identifier (urn:air:…) or the path of its document.")),
        Entry, _parse_entry, _entry_text,
    ),
    Tool(
        "publishers",
        "Who publishes",
        "The publishers, with the sources that search may be narrowed to and how many tables each has.",
        _takes(), PublishersReply, _parse_publishers, _publishers_text,
    ),
)  # fmt: skip

TOOLS: Mapping[str, Tool] = {tool.name: tool for tool in _ALL}
