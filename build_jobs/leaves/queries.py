"""Questions made by rule, for rows whose publisher has none: how people would ask for the same measure.

A made question never says what the row does not. Most rows of a catalog have no question of their own, so the
first made one is always the measure itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from build_jobs.leaves.leaf import split_camel

MOST = 6

_PARENTHESES = re.compile(r"\s*\(([^()]*)\)")
# Values of constraints that Data Commons writes as one word, as people say them.
_SPOKEN = (
    (re.compile(r"^Years(\d+)To(\d+)$"), "aged {0} to {1}"),
    (re.compile(r"^Years(\d+)Onwards$"), "aged {0} or older"),
    (re.compile(r"^YearsUpto(\d+)$"), "aged up to {0}"),
    (re.compile(r"^Years(\d+)$"), "aged {0}"),
    (re.compile(r"^USDollar(\d+)To(\d+)$"), "${0:,} to ${1:,}"),
    (re.compile(r"^USDollar(\d+)Onwards$"), "${0:,} or more"),
)

_POPULATIONS = {
    "Person": "people",
    "Student": "students",
    "Household": "households",
    "HousingUnit": "housing units",
    "School": "schools",
    "Teacher": "teachers",
    "BirthEvent": "births",
    "MortalityEvent": "deaths",
    "MedicalConditionIncident": "cases",
    "HateCrimeIncidents": "hate crimes",
    "CriminalActivities": "crimes",
    "BLSWorker": "workers",
    "BLSEstablishment": "establishments",
    "USCEstablishment": "establishments",
    "Debt": "debt",
    "Emissions": "emissions",
}
_STATISTICS = {
    "medianValue": "median",
    "meanValue": "average",
    "maxValue": "maximum",
    "minValue": "minimum",
    "growthRate": "growth rate of",
    "marginOfError": "margin of error of",
    "stdError": "standard error of",
    "sampleSize": "sample size of",
    "percentile10": "10th percentile of",
    "percentile90": "90th percentile of",
}


def distinct(questions: Iterable[str]) -> list[str]:
    """At most six questions, none twice (case and blanks do not make a difference), none empty."""
    kept: dict[str, str] = {}
    for question in questions:
        text = " ".join(question.split()).strip(" ,;—-")
        kept.setdefault(text.casefold(), text)
    kept.pop("", None)
    return list(kept.values())[:MOST]


def value_words(value: str) -> str:
    """A constraint's value as people say it: `Years16To64` is `aged 16 to 64`, `NAICS/4481` is `NAICS 4481`."""
    for pattern, spoken in _SPOKEN:
        if found := pattern.match(value):
            return spoken.format(*map(int, found.groups()))
    return _words(value.removeprefix("country/").replace("__", " or ").replace("/", " "))


def _words(name: str) -> str:
    """CamelCase as words; a word in capitals stays as it is."""
    split = re.sub(r"(?<=[a-z])(?=[0-9])|(?<=[0-9])(?=[A-Z][a-z])", " ", split_camel(name.replace("_", " ")))
    return " ".join(word if word.isupper() else word.lower() for word in split.split())


def variable_phrase(
    population: str, measured: str, statistic: str, constraints: Mapping[str, str], denominator: str
) -> str:
    """A statistical variable said from its schema: `number of people, male, aged 16 to 64`."""
    noun = _POPULATIONS.get(population, _words(population))
    values = [value_words(value) for value in constraints.values()]
    if measured == "count":
        subject = f"{'share' if denominator else 'number'} of {noun}"
    else:
        subject = _words(measured) + ("" if population in ("", "Place", "Thing") else f" of {noun}")
    return ", ".join(part for part in (f"{_STATISTICS.get(statistic, '')} {subject}".strip(), *values) if part)


def for_datacommons(
    title: str, *, mechanical: bool, population: str, measured: str, statistic: str, constraints: Mapping[str, str],
    denominator: str,
) -> list[str]:  # fmt: skip
    """The title; and for a title that is only a split identifier, the variable said from its schema."""
    if not mechanical or not measured:
        return distinct([title])
    return distinct([title, variable_phrase(population, measured, statistic, constraints, denominator)])


def for_worldbank(title: str) -> list[str]:
    """The indicator as titled, without its unit, with its qualifiers in front (`female unemployment`), by country."""
    plain = _PARENTHESES.sub("", title)
    asked = [title, plain, _qualifiers_first(plain)]
    if share := re.search(r"\(% of ([^()]+)\)", title):
        asked.append(f"{_qualifiers_first(plain)} as a percentage of {share[1]}")
    asked.append(f"{_qualifiers_first(plain)} by country")
    return distinct(asked)


def _qualifiers_first(title: str) -> str:
    """`School enrollment, primary, female` as `female primary school enrollment`."""
    head, *qualifiers = title.split(", ")
    if not qualifiers or any(" and " in part or len(part.split()) > 3 for part in qualifiers):
        return title
    return " ".join([*reversed(qualifiers), head[:1].lower() + head[1:] if head[1:2].islower() else head])


def for_census(label: str, concept: str, *, percent: bool) -> list[str]:
    """The label path from its leaf upward; the table's concept where the path says nothing (a plain total)."""
    path = [part for part in (piece.strip() for piece in label.removeprefix("%").split(" — ")) if _says_something(part)]
    upward = ", ".join(_sentence(part) for part in reversed(path))
    amount = "percentage of " if percent else ""
    return distinct([f"{amount}{upward}" if upward else _sentence(concept)])


def _says_something(part: str) -> bool:
    return bool(part) and part.casefold() not in ("total", "estimate", "number", "percent")


def _sentence(text: str) -> str:
    """A heading in capitals in sentence case; anything else as it is."""
    return text.capitalize() if text.isupper() else text


def for_sec_edgar(title: str) -> list[str]:
    """The concept, and how somebody asks a company for it."""
    return distinct([title, f"What is a company's {title.lower()}?"])


def for_treasury(dataset: str, series: str, *, exchange_rate: bool) -> list[str]:
    """The series and its dataset; a currency is asked for by its rate to the dollar."""
    if exchange_rate:
        currency = series.replace("-", " ")
        return distinct([f"{currency} exchange rate to the US dollar", f"How much is one US dollar in {currency}?"])
    return distinct([f"{dataset}: {series}", series])


def inside(title: str) -> str:
    """A title as it reads within a sentence: its first letter small, unless it begins with an acronym."""
    return title[:1].lower() + title[1:] if title[1:2].islower() or title[1:2] == " " else title


def for_un_sdg(title: str) -> list[str]:
    """The series as titled, without its unit and its splits in brackets, by country."""
    plain = _PARENTHESES.sub("", title)
    return distinct([title, plain, f"{plain} by country", f"Which countries have the highest {inside(plain)}?"])


def for_population(measure: str, one: str, many: str) -> list[str]:
    """How a whole population is asked about one of its measures: the first, the last, in order, above a value."""
    said = inside(measure)
    return distinct(
        [
            measure,
            f"Which {one} has the highest {said}?",
            f"which {many} have the lowest {said}",
            f"rank {many} by {said}",
            f"how many {many} have {said} above",
        ]
    )


def for_one(measure: str, whose: str) -> list[str]:
    """How one member of a kind is asked about: `whose` is `a nonprofit`, or a placeholder such as `{school}`."""
    said = inside(measure)
    return distinct([measure, f"What is the {said} of {whose}?", f"{said} of {whose}"])


def for_area(measure: str, areas: str) -> list[str]:
    """A measure of small areas, one of them or all."""
    said = inside(measure)
    return distinct([measure, f"{said} by {areas}", f"Where is {said} highest?"])


def for_dataset(title: str, where: str) -> list[str]:
    """A whole dataset, as it is looked for by what is in it and by where it lies."""
    said = inside(title)
    return distinct([title, f"What data is there on {said}?", f"{said} dataset", f"{said} in {where}"])
