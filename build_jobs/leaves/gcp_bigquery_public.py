"""BigQuery public datasets: one leaf a dataset of the project that Google pays the storage of."""

from __future__ import annotations

from typing import Any

from build_jobs.leaves.family import Family, access_document
from build_jobs.leaves.leaf import Draft, slug
from build_jobs.leaves.queries import for_dataset
from build_jobs.leaves.rows import NoMeasure, Row, identity
from build_jobs.leaves.shapes import Record, Shape, at, first_of, listed, required, text_at, under
from build_jobs.text import clean, clean_list

_PROJECT = "bigquery-public-data"
_COST = "Storage is free of charge; a query is billed to the project that runs it, by the bytes it scans."

_ACCESS = access_document(
    title="Google Cloud — BigQuery public datasets",
    description="Datasets that Google hosts in BigQuery for everybody to query.",
    resource=_PROJECT,
    publisher="cloud.google.com",
    scope="a dataset that is queried in SQL",
    auth="gcp",
    operations={
        "dataset": {
            "method": "GET",
            "url": "https://bigquery.googleapis.com/bigquery/v2/projects/{project}/datasets/{datasetId}",
        },
        "tables": {
            "method": "GET",
            "url": "https://bigquery.googleapis.com/bigquery/v2/projects/{project}/datasets/{datasetId}/tables",
            "capability": {
                "page": {"complete": True},
                "returns": {"path": "tables", "label": "tableReference.tableId"},
            },
        },
        "query": {
            "method": "BIGQUERY",
            "url": "",
            "capability": {"paths": ["filter", "order", "aggregate"], "requires_env": "GOOGLE_CLOUD_PROJECT"},
        },
    },
    cost_notice=_COST,
)
_ABOUT = """# About

Each leaf is a whole dataset: several tables under one name.

# Query

`tables` lists what a dataset holds. In SQL a table is addressed by the leaf's `project` and `datasetId`, for instance
`bigquery-public-data.usa_names.usa_1910_current`; `query` runs such a statement in the caller's own project.

# Matching & caveats

- A query is billed by the bytes that it scans: name the columns, and limit a partitioned table by its date.
- The caller's query has to run where the dataset lies; the leaf's `location` says where.
- Some datasets are no longer brought up to date; look at a table's `lastModifiedTime`.
"""


def draft(row: Row) -> Draft:
    code, title = identity(row)
    project = clean(row.get("project")) or _PROJECT
    labels = row.get("labels")
    front_matter = {
        "type": "BigQuery Public Dataset",
        "title": f"{title} — BigQuery public datasets",
        "description": clean(row.get("description")),
        "tags": list(dict.fromkeys(["bigquery", "dataset", *clean_list(row.get("tags") or [])])),
        "source": "./_access.md",
        "project": project,
        "datasetId": code,
        "resource": f"//bigquery.googleapis.com/projects/{project}/datasets/{code}",
        "location": clean(row.get("location")),
        "datasetType": clean(row.get("datasetType")),
        "labels": dict(labels) if isinstance(labels, dict) and labels else None,
        "accessCost": _COST,
        "marketplaceUrl": clean(row.get("marketplaceUrl")),
        "marketplacePublisher": clean(row.get("marketplacePublisher")),
        "representativeQueries": clean_list(row.get("queries") or []) or for_dataset(title, "BigQuery"),
    }
    body = f"# Dataset\n\n`{project}.{code}`. List its tables with `tables`; see [access](./_access.md)."
    return Draft(code, slug(code), front_matter, body)


def _dataset(record: Record) -> Row:
    project = required(record, "datasetReference", "projectId")
    code = required(record, "datasetReference", "datasetId")
    if project != _PROJECT:
        raise NoMeasure(f"a dataset of another project than {_PROJECT}")
    if text_at(record, "type") == "LINKED":
        raise NoMeasure("a link to a dataset of another project")
    labels = at(record, "labels")
    return {
        "id": code,
        "title": text_at(record, "friendlyName") or _words(code),
        "description": text_at(record, "description"),
        "project": project,
        "location": text_at(record, "location"),
        "datasetType": text_at(record, "type"),
        "labels": labels,
        "tags": [key for key in labels if isinstance(key, str)] if isinstance(labels, dict) else [],
    }


def _words(code: str) -> str:
    words = code.replace("_", " ")
    return words[:1].upper() + words[1:]


def _goes_on(document: Any) -> bool:
    return bool(text_at(document, "nextPageToken"))


_SHAPES = (
    Shape(
        "a reply of BigQuery `datasets.list` or `datasets.get`",
        ("datasetReference", "id"),
        _dataset,
        first_of(under("datasets"), listed("datasetReference")),
        goes_on=_goes_on,
    ),
)

FAMILY = Family("gcp-bigquery-public", _ACCESS, _ABOUT, draft, _SHAPES)
