"""X04, T03: whatever a record or a stream says, it shows as text and breaks nothing: a test a kind.

Each kind is asked for on the real ask page, between two plain items that have to come through unharmed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from ask_page import asked, kept, open_page, over, status
from bare_page import Bare, wired
from fakes.ask_service import BEGIN, END, AskService, Stream, frame
from playwright.sync_api import Locator, Page, expect

Json = dict[str, Any]
SCRIPT = "<script>window.broken=1</script>"
IMAGE = "<img src=x onerror=window.broken=1>"
MEGABYTE = 1 << 20
TYPES = ("Recipe", "Movie", "Article", "LocalBusiness", "SingleFamilyResidence")

# Every property that any card reads.
PROPERTIES = (
    "name headline alternativeHeadline description author recipeCuisine recipeCategory keywords suitableForDiet "
    "totalTime totalTimeText prepTime cookTime recipeYield recipeIngredient datePublished dateModified duration "
    "contentRating genre director actor hasPart price numberOfBedrooms numberOfRooms numberOfBathroomsTotal "
    "floorSize lotSize yearBuilt propertyType listingStatus parking heating cooling hoaFee schoolDistrict schools "
    "features amenities appliances amenityFeature containedInPlace address geo offers nutrition aggregateRating "
    "additionalProperty image url"
).split()


def filled(value: Any) -> Iterator[Json]:
    """An item of each kind, every property of which is this value, as are those of the item itself."""
    for kind in TYPES:
        record = {**dict.fromkeys(PROPERTIES, value), "@type": kind}
        yield wired(
            record, name=value, description=value, site=value, url=value, relevance=value, retrieval_source=value
        )


def nested(inner: Any, depth: int) -> Any:
    for _ in range(depth):
        inner = [inner]
    return inner


def named(name: str, **more: Any) -> Json:
    return wired({"@type": "Recipe", "name": name, **more}, description=name)


KINDS: dict[str, list[Any]] = {
    "script in names": [named(SCRIPT), named(f'"><svg onload=window.broken=1>{IMAGE}'), *filled(SCRIPT)],
    "script spelled in entities": [named("&lt;script&gt;window.broken=1&lt;/script&gt;"), named(f"</textarea>{IMAGE}")],
    "script in every text within": list(filled({"name": IMAGE, "value": IMAGE, "text": IMAGE, "price": IMAGE})),
    "addresses that run": [
        *(wired({"@type": kind, "name": "runs", "url": address, "image": address}, url=address)
          for kind in TYPES
          for address in ("javascript:window.broken=1", " java\nscript:window.broken=1", "data:text/html,<b>1</b>")),
        *filled("javascript:window.broken=1"),
    ],
    "addresses that break out": [named("quoted", url='https://x.example/"onclick="window.broken=1', image='"x"')],
    "a megabyte in every text": [named("m " * (MEGABYTE // 2)), *filled("long " * 2000)],
    "a megabyte without a blank": [named("x" * MEGABYTE), named("&amp;" * (MEGABYTE // 5)), *filled("y" * 9000)],
    "right to left": [
        named("\u202eesrever\u202d"), named("شكشوكة \u2067\u202e"), *filled("\u202e\u2066 نحل שקד"),
        wired({"@type": "Movie", "name": "ريدلي", "genre": ["دراما"], "actor": [{"name": "\u202eabc"}]}),
    ],
    "signs that are no letters": [named("\ud800 \udfff \x00\x07\x1b[31m \u2028\u2029 \ufeff"), *filled("\x00\ud83d")],
    "missing fields": [
        {}, wired({}), wired({"@type": "Recipe"}), {"schema_object": {}},
        *({"schema_object": {"@type": one}} for one in TYPES),
    ],
    "null everywhere": list(filled(None)),
    "numbers for texts": [*filled(7), *filled(-1), *filled(1e308), *filled(0.1)],
    "truths for texts": [*filled(True), *filled(False)],
    "texts for objects": [*filled("plain"), *filled("")],
    "objects for texts": [*filled({}), *filled({"name": {"name": {"name": {"name": "deep"}}}}), *filled({"x": 1})],
    "lists for texts": [*filled([]), *filled([None, [], {}, "", 0]), *filled(["a", 1, {"name": "b"}])],
    "nested lists": [*filled(nested("deep", 4)), *filled(nested("deepest", 400))],
    "lists without an end": [*filled(["many"] * 500), *filled([{"name": f"{n}"} for n in range(500)])],
    "records that are no objects": [wired(one) for one in ("text", 5, None, [], [[]], True)],
    "names of the language": [
        *filled("__proto__"), *filled("constructor"), *filled({"__proto__": {"name": "p"}, "constructor": "c"}),
        named("held", constructor=1, toString="t", hasOwnProperty=2), {**named("held"), "toString": None},
    ],
    "verdicts that are none": [
        {**named("v"), "score": "high", "vector_score": {}, "bm25_score": [1], "relevance": 5, "unknown": {"c1": 1}},
        {**named("v"), "score": None, "constraints_met": "maybe", "unknown": [["c1"] * 9] * 9},
        {**named("v"), "score": 1e400, "unknown": ["c1", None, 3, [["c2"]]], "constraints_met": None},
    ],
    "words that wear patterns out": [
        wired({"@type": "LocalBusiness", "name": "slow", "description": text})
        for text in ("this " * 4000, "1" * 20000, "dogs " * 4000, "an average of " + "1.2" * 6000, "a " * 9000)
    ],
}  # fmt: skip
PLAIN = [named("The first plain one"), named("The last plain one")]


def sane(page: Page, turn: Locator) -> None:
    """Nothing ran, nothing but http and https is linked, and nothing is wider than the page or hides its neighbours."""
    assert page.evaluate("window.broken") is None
    addresses = page.locator("article a, article img").evaluate_all("all => all.map((one) => one.href || one.src)")
    assert [one for one in addresses if not one.startswith(("https://", "http://"))] == []
    assert page.locator("article :is(script, iframe, svg, object, style, [onload], [onerror], [style])").count() == 0
    texts = turn.locator("article").all_inner_texts()
    assert not any("[object" in text or "undefined" in text or "NaN" in text for text in texts)
    assert all(len(text) < 20_000 for text in texts)
    shown = turn.locator("article h3").all_inner_texts()
    assert [shown[0][-19:], shown[-1][-18:]] == ["The first plain one", "The last plain one"]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    wide = "all => all.filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.innerText.slice(0, 99))"
    assert page.locator("article").evaluate_all(wide) == []


@pytest.mark.parametrize("kind", KINDS)
def test_X04_hostile_items_show_as_text_and_break_nothing(
    phone: Page, ask_url: str, service: AskService, kind: str
) -> None:
    """On a phone, where there is the least room; as candidates first, then as results, then from the store."""
    items = [PLAIN[0], *KINDS[kind], PLAIN[1]]
    for number, item in enumerate(items):
        item.setdefault("url", f"https://example.org/{number}")
    found = "".join(frame("candidate", [item]) for item in items)
    service.will(Stream([BEGIN, found, *(frame("result", [item]) for item in items), END]))
    open_page(phone, ask_url)
    turn = asked(phone, "soup")
    expect(status(turn)).to_contain_text("results")
    sane(phone, turn)
    kept(phone, 1)
    phone.reload()
    over(phone.locator(".turn"))
    sane(phone, phone.locator(".turn"))


def test_X04_script_in_a_name_is_read_as_it_was_written(page: Page, ask_url: str, service: AskService) -> None:
    service.will(Stream([BEGIN, frame("result", [named(SCRIPT)]), frame("result", [named(f"&lt;b&gt;{IMAGE}")]), END]))
    open_page(page, ask_url)
    turn = asked(page, "soup")
    assert turn.locator("article h3").all_inner_texts() == [SCRIPT, f"<b>{IMAGE}"]
    assert turn.locator(".card-reason").all_inner_texts() == [SCRIPT, f"<b>{IMAGE}"]


WRONG: list[Any] = [
    None,
    5,
    True,
    "text",
    [],
    [[]],
    {},
    [None, 5, "text", [], {"name": "thing"}],
    {"name": SCRIPT},
    SCRIPT,
]
MESSAGES = (
    "begin-nlweb-response decontextualized_query triage restrictions candidate result nlws intermediate_message error "
    "usage complete constructor __proto__ unheard-of"
).split()


@pytest.mark.parametrize("message_type", MESSAGES)
def test_T03_a_message_with_any_content_breaks_neither_the_turn_nor_the_page(
    page: Page, ask_url: str, service: AskService, message_type: str
) -> None:
    """Contents of every type in the place of the right one, between two results."""
    wrong = "".join(frame(message_type, content) for content in WRONG)
    first, last = (frame("result", [item]) for item in PLAIN)
    service.will(Stream([BEGIN, first, wrong, last, END]))
    open_page(page, ask_url)
    turn = asked(page, "soup")
    expect(status(turn)).to_contain_text("result")
    titles = turn.locator("article h3").all_inner_texts()
    assert (titles[0], titles[-1]) == ("The first plain one", "The last plain one")
    assert page.evaluate("window.broken") is None
    assert page.locator(":is(.turn, #usage-dialog) :is(script, img)").count() == 0
    kept(page, 1)
    page.reload()
    over(page.locator(".turn"))


ANYTHING = (SCRIPT, "__proto__", 5, None, {}, [], {"text": SCRIPT}, "x" * 100_000, [["a"]])


def held(one: Any) -> Json:
    """Restrictions with a condition all of whose properties are this, but for its words and its id."""
    condition = {**dict.fromkeys(("field", "op", "value", "unit", "hard"), one), "id": "c1", "text": "soup"}
    return {"restrictions": [one], "ranking_model": one, "constraints": [one, condition], "order": one}


@pytest.mark.parametrize("one", ANYTHING, ids=range(len(ANYTHING)))
def test_X04_conditions_of_any_shape_show_as_text(page: Page, ask_url: str, service: AskService, one: Any) -> None:
    item = {**PLAIN[0], "unknown": ["c1"], "constraints_met": None}
    service.will(Stream([BEGIN, frame("restrictions", held(one)), frame("result", [item]), END]))
    open_page(page, ask_url)
    turn = asked(page, "soup")
    expect(turn.locator(".constraint-chips")).to_contain_text("soup")
    expect(turn.locator(".card-unknown")).to_contain_text("Does not say: ")
    assert page.evaluate("window.broken") is None
    assert turn.locator(":is(script, img)").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_T03_a_number_that_json_does_not_have_is_no_fact(page: Page, ask_url: str) -> None:
    """A stream cannot say it, but one that was stored by another version may."""
    bare = Bare(page, ask_url)
    for number in (float("nan"), float("inf"), float("-inf"), -0.0):
        for item in filled(number):
            item.update(score=number, vector_score=number, bm25_score=number)
            [shown] = bare.cards([item])
            assert "NaN" not in shown
            assert "∞" not in shown
            assert "Infinity" not in shown


def test_T03_items_that_are_no_objects_still_make_a_card(page: Page, ask_url: str) -> None:
    shown = Bare(page, ask_url).cards([None, 5, "text", [], True])
    assert [" ".join(text.split()) for text in shown] == ["Without a name"] * 5


def test_X04_a_deeply_nested_stream_is_read_or_counted_but_never_fatal(
    page: Page, ask_url: str, service: AskService
) -> None:
    """Lists so deep that no reader of JSON may take them: that one frame is lost, and said to be."""
    depth = 200_000
    deep = json.dumps({"message_type": "result", "content": "@"}).replace('"@"', "[" * depth + "]" * depth)
    service.will(Stream([BEGIN, frame("result", [PLAIN[0]]), f"data: {deep}\n\n", frame("result", [PLAIN[1]]), END]))
    open_page(page, ask_url)
    turn = asked(page, "soup")
    assert len(turn.locator("article").all()) == 2
