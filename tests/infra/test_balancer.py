"""What the balancer sends on, with the settings that are deployed: whom a limit counts."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import yaml
from deployment import INFRA
from wire import Service, function

LIMIT = 3
# The balancer's own address, as it adds it last.
BALANCER = "35.191.0.1"


@pytest.fixture(scope="module")
def search(tiny_bucket: str) -> Iterator[Service]:
    """The search function with the settings that every one is deployed with, and three searches a day."""
    table = yaml.safe_load((INFRA / "functions.yaml").read_text(encoding="utf-8"))
    settings = {**table["settings"]["every"], "BUCKET_URL": tiny_bucket, "SEARCH_LIMIT_PER_DAY": str(LIMIT)}
    settings |= {"LLM_PROVIDER": "embedded"}
    with function("search", settings) as service:
        assert service.until_ready().status == 200
        yield service


def statuses(search: Service, chains: list[str]) -> list[int]:
    """What a search that is charged and then refused gets, by the header that came with each."""
    body = json.dumps({"query": {"text": ""}}).encode()
    return [search.send("POST", "/search", body, {"X-Forwarded-For": chain}).status for chain in chains]


def test_C02_behind_the_balancer_a_client_is_the_address_that_it_appended(search: Service) -> None:
    assert statuses(search, [f"203.0.113.7, {BALANCER}"] * LIMIT) == [400] * LIMIT
    assert statuses(search, [f"203.0.113.7, {BALANCER}", f"203.0.113.8, {BALANCER}"]) == [429, 400]


def test_C02_behind_the_balancer_what_a_client_wrote_itself_makes_it_no_other(search: Service) -> None:
    forged = [f"198.51.100.{number}, 192.0.2.{number}, 203.0.113.9, {BALANCER}" for number in range(LIMIT)]
    assert statuses(search, forged) == [400] * LIMIT
    assert statuses(search, [f"203.0.113.9, {BALANCER}"]) == [429]
