"""The words in which people say what a home must be: price, rooms, size, land, year, place and what it has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from shared.contracts.constraints import Constraint
from shared.sites.kinds.wording import Choice, Claim, Loose, Measure, Named, Superlative, Taken, Vocabulary, Wording

if TYPE_CHECKING:
    from shared.index.columns import Columns, Verdicts

NOUNS = frozenset(
    """home homes house houses property properties listing listings place places residence residences apartment
    apartments condo condos flat flats townhouse townhouses real estate""".split()
)
_STATES = """AL alabama,AK alaska,AZ arizona,AR arkansas,CA california,CO colorado,CT connecticut,DE delaware,
    FL florida,GA georgia,HI hawaii,ID idaho,IL illinois,IN indiana,IA iowa,KS kansas,KY kentucky,LA louisiana,
    ME maine,MD maryland,MA massachusetts,MI michigan,MN minnesota,MS mississippi,MO missouri,MT montana,
    NE nebraska,NV nevada,NH new hampshire,NJ new jersey,NM new mexico,NY new york,NC north carolina,
    ND north dakota,OH ohio,OK oklahoma,OR oregon,PA pennsylvania,RI rhode island,SC south carolina,
    SD south dakota,TN tennessee,TX texas,UT utah,VT vermont,VA virginia,WA washington,WV west virginia,
    WI wisconsin,WY wyoming"""
_NAMES = {name: code for code, _, name in (each.strip().partition(" ") for each in _STATES.split(","))}
# Spelled alike in a question: "a house in or near the park".
_BLOCKED = frozenset(("in", "or", "me", "hi", "ok", "oh", "town", "the town", "city"))

# What a home has, and how its features spell it; a feature that begins with "no" says that it has none.
_HAS: dict[str, tuple[tuple[str, ...], str]] = {
    "garage": (("garage", "garages", "a garage"), r"\bgarage\b|carport and garage"),
    "fireplace": (("fireplace", "fireplaces", "a fireplace"), r"\bfireplaces?\b"),
    "pool": (("pool", "swimming pool", "a pool", "pools"), r"\bpool\b"),
    "basement": (("basement", "a basement", "finished basement"), r"\b(?:basement|cellar)\b"),
    "deck": (("deck", "wood deck", "wooden deck"), r"\bdeck\b"),
    "porch": (("porch", "screened porch", "screened in porch", "front porch"), r"\bporch\b"),
    "fence": (("fence", "fenced", "fenced yard", "fenced in yard", "a fenced backyard"), r"\bfenced?\b"),
    "air conditioning": (
        ("air conditioning", "central air", "central air conditioning", "ac unit", "a c", "aircon"),
        r"\b(?:air conditioning|central air|a/?c)\b",
    ),
    "dishwasher": (("dishwasher",), r"\bdishwasher\b"),
    "patio": (("patio",), r"\bpatio\b"),
    "hot tub": (("hot tub", "jacuzzi"), r"\b(?:hot tub|jacuzzi)\b"),
    "elevator": (("elevator",), r"\belevator\b"),
    "waterfront": (("waterfront", "lakefront", "on the water"), r"\b(?:water|lake)front\b"),
    "solar": (("solar panels", "solar"), r"\bsolar\b"),
}
_DENIED = re.compile(r"^(?:no|without|lacks)\b")


def _features_over(constraint: Constraint, columns: Columns) -> Verdicts:
    """A feature that is listed is had, one listed with a "no" is not; what no list names is not said."""
    import numpy as np

    from shared.index.columns import NO, UNSAID, YES

    value = str(constraint.value)
    pattern = re.compile(_HAS[value][1] if value in _HAS else rf"\b{re.escape(value)}\b")
    named = [each for each in columns.vocabulary("features") if pattern.search(each)]
    denied = {each for each in named if _DENIED.match(each)}
    verdicts = np.full(columns.rows, UNSAID, np.int8)
    has, lacks = (YES, NO) if constraint.op == "has" else (NO, YES)
    verdicts[columns.rows_with("features", denied)] = lacks
    verdicts[columns.rows_with("features", [each for each in named if each not in denied])] = has
    return verdicts


_CARS = re.compile(r"(\d+)[ -]car\b")


def _parking_over(constraint: Constraint, columns: Columns) -> Verdicts:
    """For how many cars: the spaces as they are given, else a garage's ("2-car garage"); "no garage" is none."""
    import numpy as np

    from shared.sites.eligible import compared

    spaces = columns.numbers("parking").copy()
    for feature in columns.vocabulary("features"):
        cars = 0.0 if feature == "no garage" else float(found[1]) if (found := _CARS.search(feature)) else None
        if cars is not None:
            rows = columns.rows_with("features", [feature])
            spaces[rows & np.isnan(spaces)] = cars
    return compared(spaces, constraint.op, float(constraint.value))


_NO_HOA = [
    each.split() for each in ("no hoa", "without hoa", "without an hoa", "not in an hoa", "without any hoa", "no hoas")
]


_BEYOND = frozenset("over above more higher greater exceeding of".split())


def no_hoa(words: Sequence[str], at: int, _known: Vocabulary) -> Taken | None:
    """`no HOA`, `without HOA fees`: a fee of nothing; but not `no HOA fee over $400`."""
    for said in _NO_HOA:
        if list(words[at : at + len(said)]) == said:
            end = at + len(said)
            end += end < len(words) and words[end] in ("fee", "fees", "dues")
            if end < len(words) and words[end] in _BEYOND:
                return None
            return Taken(end, (Claim("hoa_fee", "<=", 0.0, "USD"),))
    return None


def parts(place: str) -> Iterable[str]:
    """A town is found by its name, with and without "City of"."""
    return (place.lower().removeprefix("city of "),)


_IN = (
    "in", "near", "around", "close to", "within", "located in", "in or near", "in the city of", "in the town of",
    "located near", "in and around",
)  # fmt: skip

WORDING = Wording(
    nouns=NOUNS,
    filler=frozenset(
        "sale sell buy rent live living available market family residential style budget price range spend".split()
    ),
    measures=(
        Measure(
            field="price", family="money", unit="USD", bare="~", plain=(10_000, 1e9), band=0.15,
            before=(
                "price", "priced", "prices", "budget of", "budget is", "my budget is", "budget", "costs", "cost",
                "costing", "asking", "asking price", "listed", "listed at", "listed for", "priced at", "for",
                "that cost",
                "that costs",
            ),
            less=("cheaper than", "less expensive than"), more=("more expensive than", "pricier than"),
        ),
        Measure(
            field="beds", family="count", bare="=",
            nouns=("bed", "beds", "bedroom", "bedrooms", "br", "brs", "bdrm", "bdrms", "bdr", "bd", "sleeping rooms"),
        ),
        Measure(
            field="baths", family="count", bare="=",
            nouns=("bath", "baths", "bathroom", "bathrooms", "ba", "bathrms", "full bath", "full baths"),
        ),
        Measure(
            field="parking", family="count", bare=">=",
            nouns=("car garage", "cars garage", "parking spaces", "parking spots", "car port", "garage spaces",
                "parking space"),
        ),
        Measure(field="area_sqft", family="area", unit="sqft", bare="~", before=("area", "floor area", "living area",
            "size")),
        Measure(
            field="lot_acres", family="area", unit="acre", bare="~",
            nouns=("lot", "lots", "of land", "land", "plot", "yard", "lot size", "of property", "garden", "parcel"),
            before=("lot", "lot of", "lot size", "land", "plot of", "yard", "lot size of", "lots"),
        ),
        Measure(
            field="year", family="year", bare="=",
            before=(
                "built in", "built", "from", "constructed in", "constructed", "year built", "dating from",
                "built during",
                "build in", "of",
            ),
            less=("built before", "older than"), more=("built after", "newer than"),
        ),
        Measure(
            field="hoa_fee", family="money", unit="USD", bare="<=", needs_noun=True,
            before=("hoa", "hoa fee", "hoa fees", "hoa dues", "monthly hoa", "hoas"),
            nouns=("hoa", "hoa fee", "hoa fees", "monthly hoa", "in hoa fees", "a month hoa"), plain=(0, 5_000),
        ),
    ),
    choices=(
        *(Choice(field="features", value=value, words=said) for value, (said, _) in _HAS.items()),
        Choice(field="type", value="single family", words=("single family", "detached", "single family detached"),
               meets=("Single family", "Single Family", "single family", "Single-family", "SingleFamily", "House")),
        Choice(field="type", value="condo", words=("condo", "condos", "condominium", "condominiums"),
               meets=("Condo", "Condominium", "condo", "Condo/Townhome")),
        Choice(field="type", value="townhouse", words=("townhouse", "townhouses", "townhome", "townhomes",
            "town house"),
               meets=("Townhouse", "Townhome", "townhouse", "Condo/Townhome")),
        # A part of a house may be one ("a house with an apartment for the grandparents"), so it decides nothing alone.
        Choice(field="type", value="apartment", words=("apartment", "apartments"), meets=("Apartment", "apartment"),
               hard=False),
    ),
    names=(
        Named(fields=("district",), after=("in the school district of", "school district", "schools of"), keys=parts),
        Named(fields=("town", "region", "neighborhood"), after=_IN, keys=parts, aliases=_NAMES, blocked=_BLOCKED),
        Named(fields=("postal_code",), after=("in", "zip", "zip code", "postal code", "in zip code", "in postal code")),
    ),
    orders=(
        Superlative(
            words=(
                "cheapest", "least expensive", "lowest priced", "most affordable", "lowest price", "cheapest first",
                "price low to high", "sorted by price", "sort by price", "ordered by price", "by price",
            ),
            field="price",
        ),
        Superlative(
            words=("most expensive", "priciest", "highest priced", "dearest", "highest price", "price high to low"),
            field="price", descending=True,
        ),
        Superlative(words=("newest", "most recently built", "most recent", "newest built"), field="year",
            descending=True),
        Superlative(words=("oldest",), field="year"),
        Superlative(words=("biggest", "largest", "most spacious", "roomiest"), field="area_sqft", descending=True),
        Superlative(words=("smallest", "tiniest"), field="area_sqft"),
        Superlative(
            words=(
                "biggest lot", "largest lot", "biggest yard", "largest yard", "most land", "biggest garden",
                "largest garden", "biggest plot",
            ),
            field="lot_acres", descending=True,
        ),
        Superlative(words=("smallest lot", "smallest yard"), field="lot_acres"),
        Superlative(words=("most bedrooms", "most beds"), field="beds", descending=True),
        Superlative(words=("most bathrooms", "most baths"), field="baths", descending=True),
        Superlative(words=("lowest hoa", "lowest hoa fee", "lowest hoa fees"), field="hoa_fee"),
    ),
    loose=(
        Loose(
            words=("cheap", "affordable", "inexpensive", "low cost", "low priced", "budget", "not too expensive",
                "bargain"),
            field="price", op="<=", unit="USD", quantile=0.25,
        ),
        Loose(words=("expensive", "luxury", "luxurious", "high end", "upscale"), field="price", op=">=", unit="USD",
            quantile=0.9),
        Loose(words=("large", "spacious", "big", "roomy", "huge"), field="area_sqft", op=">=", unit="sqft",
            quantile=0.75),
        Loose(words=("small", "tiny", "compact"), field="area_sqft", op="<=", unit="sqft", quantile=0.25),
        Loose(words=("new", "newer", "newly built", "new build", "recently built", "modern"), field="year", op=">=",
            quantile=0.8),
        Loose(words=("old", "older", "historic", "vintage"), field="year", op="<=", quantile=0.2),
        Loose(words=("large lot", "big lot", "large yard", "big yard", "large garden", "big garden", "lots of land"),
              field="lot_acres", op=">=", unit="acre", quantile=0.75),
    ),
    takers=(no_hoa,),
    evaluators={"features": _features_over, "parking": _parking_over},
)  # fmt: skip
