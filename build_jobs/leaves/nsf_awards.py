"""NSF awards: grants of the US National Science Foundation, by organization and by topic."""

from __future__ import annotations

from build_jobs.leaves.declared import Measure, measured_by
from build_jobs.leaves.family import Family, access_document
from build_jobs.leaves.federal_funding import funding_draft, search_terms
from build_jobs.leaves.leaf import Draft
from build_jobs.leaves.rows import Row
from build_jobs.leaves.shapes import Record, Shape, required, under

_ACCESS = access_document(
    title="NSF Awards",
    description="Research grants of the US National Science Foundation, with what each has obligated.",
    resource="https://api.nsf.gov/services/v1/",
    publisher="nsf.gov",
    scope="a research organization or university, for what the NSF awards it",
    operations={
        "awards_by_awardee": {
            "method": "GET",
            "url": "https://api.nsf.gov/services/v1/awards.json?awardeeName=%22{awardee}%22"
            "&printFields=id,title,fundsObligatedAmt,awardeeName,date,startDate&offset={offset}",
            "capability": {
                "identity_field": "awardeeName",
                "page": {"complete": False, "max": 25, "offset_param": "offset"},
                "grain": "award",
                "returns": {"path": "response.award", "label": "title", "value": "fundsObligatedAmt"},
            },
        },
        "awards_by_topic": {
            "method": "GET",
            "url": "https://api.nsf.gov/services/v1/awards.json?keyword={topic}"
            "&printFields=id,title,fundsObligatedAmt,awardeeName,date&offset={offset}",
            "capability": {"page": {"complete": False, "max": 25}, "grain": "award"},
        },
    },
)
_ABOUT = """# About

The award search has one record a grant, with the awardee and the money obligated so far.

# Query

The leaf's `search` names the operation. `awards_by_awardee` takes an organization's full name between the encoded
quotation marks that the address already has; `awards_by_topic` takes words.

# Matching & caveats

- Without the quotation marks any word of the name matches, and foreign awards come along.
- A reply has at most 25 awards: go on with `offset`.
- Amounts are texts.
"""

_AWARDEE = search_terms(
    "awards_by_awardee", "awardee", "organization", "response.award", match="name", field="awardeeName"
)
_TOPIC = search_terms("awards_by_topic", "topic", "topic", "response.award")

_MEASURES = (
    Measure(
        "research-grants",
        "NSF Research Grants by Organization",
        "Awards of the National Science Foundation to an organization, with the money obligated for each.",
        (
            "How much NSF funding does this university receive?",
            "NSF awards to an organization",
            "science grants of a research institution",
        ),
        _AWARDEE,
    ),
    Measure(
        "research-by-topic",
        "NSF Research Grants by Topic",
        "Awards of the National Science Foundation on a topic, with awardee and money obligated.",
        ("Which NSF grants study this topic?", "NSF funding for robotics research", "science awards by keyword"),
        _TOPIC,
    ),
)


def draft(row: Row) -> Draft:
    tags = ["research", "grants", "nsf", "science", "funding"]
    return funding_draft(row, suffix="NSF Awards", tags=tags, default=_AWARDEE, more={"offset": 1})


def _award(record: Record) -> Row:
    return {"year": required(record, "date").rpartition("/")[2]}


_SHAPES = (
    Shape(
        "a reply of NSF `awards.json`",
        ("title", "awardeeName", "fundsObligatedAmt", "date"),
        _award,
        under("response", "award"),
    ),
)

FAMILY = Family("nsf-awards", _ACCESS, _ABOUT, draft, _SHAPES, measured_by(_MEASURES))
