"""Google Cloud Marketplace: one leaf a data product that costs nothing to subscribe to."""

from __future__ import annotations

import re
from typing import Any

from build_jobs.leaves.family import Family, access_document
from build_jobs.leaves.leaf import Draft, slug
from build_jobs.leaves.queries import for_dataset
from build_jobs.leaves.rows import NoMeasure, Row, RowError, identity
from build_jobs.leaves.shapes import Record, Shape, at, first_of, listed, required, text_at, under
from build_jobs.text import clean, clean_list

_COST = "The product itself is free; queries over it are billed to the project that runs them."
_LISTING = re.compile(r"^projects/([^/]+)/locations/([^/]+)/dataExchanges/([^/]+)/listings/([^/]+)$")

_ACCESS = access_document(
    title="Google Cloud Marketplace — free data products",
    description="Data products of many publishers that a Google Cloud account can subscribe to free of charge.",
    resource="https://console.cloud.google.com/marketplace/browse?filter=solution-type:dataset",
    publisher="cloud.google.com",
    scope="a data product that is subscribed to and then queried in SQL",
    auth="gcp-marketplace-account",
    operations={
        "listing": {
            "method": "GET",
            "url": "https://analyticshub.googleapis.com/v1/{listing}",
            "capability": {"returns": {"label": "displayName"}},
        },
        "subscribe": {
            "method": "POST",
            "url": "https://analyticshub.googleapis.com/v1/{listing}:subscribe",
            "body": '{"destinationDataset":{"datasetReference":{"projectId":"$project","datasetId":"$dataset"},'
            '"location":"$location"}}',
        },
        "open": {"method": "INTERACTIVE", "url": "{marketplaceUrl}"},
    },
    cost_notice=_COST,
)
_ABOUT = """# About

Each leaf is one product: a publisher's dataset, described by the publisher.

# Query

`open` is the product's page, on which a person accepts the publisher's terms. `subscribe` then links the dataset into
the caller's own project, where it is queried in SQL like any other.

# Matching & caveats

- A subscription needs an account and, for most products, a person who accepts terms.
- The leaf's `publisher` is who made the product; Google only hosts it.
"""


def draft(row: Row) -> Draft:
    code, title = identity(row)
    publisher = clean(row.get("publisher"))
    front_matter = {
        "type": "Google Cloud Marketplace Data Product",
        "title": f"{title} — {publisher or 'Google Cloud Marketplace'}",
        "description": clean(row.get("description")),
        "tags": list(dict.fromkeys(["marketplace", "dataset", *map(slug, clean_list(row.get("tags") or []))])),
        "source": "./_access.md",
        "code": code,
        "listing": clean(row.get("listing")),
        "publisher": publisher,
        "location": clean(row.get("location")),
        "marketplaceUrl": clean(row.get("marketplaceUrl")),
        "marketplacePrice": clean(row.get("marketplacePrice")) or "free",
        "accessCost": _COST,
        "representativeQueries": clean_list(row.get("queries") or []) or for_dataset(title, "the Marketplace"),
    }
    body = "# Marketplace listing\n\nOpen `marketplaceUrl` to subscribe; see [access](./_access.md)."
    return Draft(code, slug(code), front_matter, body)


def _listing(record: Record) -> Row:
    name = required(record, "name")
    path = _LISTING.match(name)
    if not path:
        raise RowError(f"name {name!r} is not projects/…/locations/…/dataExchanges/…/listings/…")
    if text_at(record, "state") not in ("", "ACTIVE"):
        raise NoMeasure("a listing that is not active")
    if at(record, "commercialInfo"):
        raise NoMeasure("a product that is sold")
    return {
        "id": f"{path[3]}.{path[4]}",
        "title": required(record, "displayName"),
        "description": text_at(record, "description"),
        "listing": name,
        "location": path[2],
        "publisher": text_at(record, "publisher", "name") or text_at(record, "dataProvider", "name"),
        "marketplaceUrl": f"https://console.cloud.google.com/bigquery/analytics-hub/exchanges/{name}",
        "tags": [clean(each).removeprefix("CATEGORY_").lower() for each in at(record, "categories") or []],
    }


def _goes_on(document: Any) -> bool:
    return bool(text_at(document, "nextPageToken"))


_SHAPES = (
    Shape(
        "a reply of Analytics Hub `listings.list`",
        ("name", "displayName"),
        _listing,
        first_of(under("listings"), listed("name", "displayName")),
        goes_on=_goes_on,
    ),
)

FAMILY = Family("gcp-marketplace-free", _ACCESS, _ABOUT, draft, _SHAPES)
