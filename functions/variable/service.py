"""Exact lookups of published variables: no model, no vectors."""

from __future__ import annotations

from typing import Any

from shared.edge.app import App
from shared.edge.call import Call
from shared.edge.hosting_tables import host_tables
from shared.settings import Settings
from shared.tables.exact import VARIABLE_LIMIT, VARIABLES_LIMIT, variable, variables
from shared.tables.tables import Tables


def create(settings: Settings) -> App[Tables]:
    """GET /variable and GET /variables. Raises SettingsError where the settings alone are wrong; starts nothing."""
    routes = {"/variable": {"GET": get_variable}, "/variables": {"GET": get_variables}}
    return App(host_tables(settings), routes, describe=Tables.describe, settings=settings, counted="lookups")


def get_variable(call: Call, tables: Tables) -> dict[str, Any]:
    """Every source's document for one published variable."""
    [published] = call.query.required("id")
    return variable(tables, id=published, limit=call.query.size(*VARIABLE_LIMIT))


def get_variables(call: Call, tables: Tables) -> dict[str, Any]:
    """The dimensions a quantity is split by or, with `constraints`, the variables split by exactly those."""
    population_type, measured_property, stat_type = call.query.required(
        "populationType", "measuredProperty", "statType"
    )
    return variables(
        tables,
        population_type=population_type,
        measured_property=measured_property,
        stat_type=stat_type,
        constraints=call.query.items("constraints"),
        limit=call.query.size(*VARIABLES_LIMIT),
    )
