"""SEC EDGAR: one leaf a numeric us-gaap concept; the company is the caller's parameter."""

from __future__ import annotations

from build_jobs.leaves.family import Family, access_document
from build_jobs.leaves.leaf import Draft, slug, split_camel
from build_jobs.leaves.queries import for_sec_edgar
from build_jobs.leaves.rows import Row, identity
from build_jobs.text import clean, clean_list

_ACCESS = access_document(
    title="SEC EDGAR — XBRL company facts",
    description="Financial facts that US public companies report in XBRL.",
    resource="https://data.sec.gov/api/xbrl/",
    publisher="sec.gov",
    scope="a US public company",
    headers={"User-Agent": "env:SEC_USER_AGENT"},
    operations={
        "resolve_ticker": {"method": "GET", "url": "https://www.sec.gov/files/company_tickers.json"},
        "company_concept": {
            "method": "GET",
            "url": "https://data.sec.gov/api/xbrl/companyconcept/CIK{cik:0>10}/{taxonomy}/{concept}.json",
        },
        "company_facts": {"method": "GET", "url": "https://data.sec.gov/api/xbrl/companyfacts/CIK{cik:0>10}.json"},
        "frame": {
            "method": "GET",
            "url": "https://data.sec.gov/api/xbrl/frames/{taxonomy}/{concept}/{measure}/{period}.json",
        },
    },
)
_ABOUT = """# About

Every US public company files its statements with tagged facts; each tag of the taxonomy is one concept.

# Query

`resolve_ticker` maps tickers to CIK numbers. `company_concept` takes the company's `cik` and the leaf's `concept`.
`frame` gives one fact a company for a `measure` such as `USD` and a `period` such as `CY2024` or `CY2024Q1I`.

# Matching & caveats

- A `User-Agent` that names the caller is required.
- The reply is keyed by unit; the leaf's `unit` is a family of units, not one of them.
- A 404 means that this company does not report the concept.
"""


def draft(row: Row) -> Draft:
    code, title = identity(row)
    front_matter = {
        "type": "Financial Statement Concept",
        "title": f"{title} — SEC EDGAR",
        "description": clean(row.get("description")),
        "tags": clean_list(row.get("tags") or ["finance", "sec", "edgar", "us-gaap"]),
        "source": "./_access.md",
        "taxonomy": clean(row.get("taxonomy")) or "us-gaap",
        "concept": code,
        "periodType": clean(row.get("periodType")),
        "unit": clean(row.get("unit")),
        "representativeQueries": clean_list(row.get("queries") or []) or for_sec_edgar(title),
    }
    body = (
        f"# Schema\n\nReports `{code}` per company and fiscal period (operation `company_concept`, key `cik`); "
        "see [access](./_access.md)."
    )
    return Draft(code, slug(split_camel(code)), front_matter, body)


FAMILY = Family("sec-edgar", _ACCESS, _ABOUT, draft)
