"""The map sketch: points where they belong, numbers that can be read, and nobody asked for a tile."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from bare_page import Bare, demo_records, real_records, wired
from hypothesis import given, settings
from hypothesis import strategies as st
from playwright.sync_api import Page, expect

WIDTH, HEIGHT = 640, 280
RADIUS = 11


@pytest.fixture
def bare(page: Page, ask_url: str) -> Bare:
    return Bare(page, ask_url)


def at(latitude: Any, longitude: Any, name: str = "x") -> dict[str, Any]:
    return wired({"@type": "Trail", "name": name, "geo": {"latitude": latitude, "longitude": longitude}})


VIEW = """async (points) => {
  const { viewOf, scaleBar, graticule } = await import("/js/cards/projection.js");
  const view = viewOf(points, 640, 280);
  return {points: points.map(view.project), bar: scaleBar(view, 160), lines: graticule(view)};
}"""


def view(bare: Bare, points: list[tuple[float, float]]) -> Any:
    return bare.page.evaluate(VIEW, [{"latitude": latitude, "longitude": longitude} for latitude, longitude in points])


def kilometres(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Along the sphere: the haversine, which the sketch does not use."""
    lat1, lon1, lat2, lon2 = map(math.radians, (*one, *other))
    half = math.sin((lat2 - lat1) / 2) ** 2 + math.cos(lat1) * math.cos(lat2) * math.sin((lon2 - lon1) / 2) ** 2
    return 2 * 6371.0 * math.asin(math.sqrt(half))


def test_distances_on_the_sheet_are_those_on_the_earth(bare: Bare):
    """Over the size of a region, within 2 %."""
    points = [(47.3, 8.5), (46.2, 6.1), (46.9, 9.5), (47.6, 7.6), (46.0, 8.9)]
    shown = view(bare, points)
    scale = shown["bar"]["width"] / shown["bar"]["km"]
    for one, place in zip(points, shown["points"], strict=True):
        for other, there in zip(points, shown["points"], strict=True):
            drawn = math.hypot(place["x"] - there["x"], place["y"] - there["y"]) / scale
            assert drawn == pytest.approx(kilometres(one, other), rel=0.02, abs=0.1)


def test_north_is_up_and_east_is_right(bare: Bare):
    north_west, south_east = view(bare, [(10.0, 20.0), (-10.0, 40.0)])["points"]
    assert north_west["y"] < south_east["y"]
    assert north_west["x"] < south_east["x"]


def test_points_on_both_sides_of_the_date_line_lie_side_by_side(bare: Bare):
    shown = view(bare, [(-17.0, 179.5), (-17.5, -179.5), (-16.5, 178.0)])
    west, east, far_west = (point["x"] for point in shown["points"])
    assert far_west < west < east
    assert shown["bar"]["km"] <= 100
    labels = {line["label"] for line in shown["lines"] if "x" in line}
    assert {"179° E", "180° W"} <= labels or {"179° E", "180° E"} <= labels


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(-90, 90), st.floats(-180, 180)), min_size=2, max_size=12))
def property_of_views(shown: Callable[[list[tuple[float, float]]], Any], points: list[tuple[float, float]]) -> None:
    found = shown(points)
    assert all(0 <= point["x"] <= WIDTH and 0 <= point["y"] <= HEIGHT for point in found["points"])
    assert 0 < found["bar"]["width"] <= WIDTH / 4 + 0.001
    digits = f"{found['bar']['km']:e}"[0]
    assert digits in "125"
    assert len(found["lines"]) <= 24


def test_every_point_of_the_earth_lies_on_the_sheet_and_every_scale_is_a_round_number(bare: Bare):
    property_of_views(lambda points: view(bare, points))


def pins(bare: Bare) -> list[tuple[float, float, str]]:
    script = """all => all.map(pin => [Number(pin.getAttribute('cx')), Number(pin.getAttribute('cy')),
      pin.parentNode.querySelector('.map-number').textContent])"""
    return [tuple(one) for one in bare.page.locator(".map-pin").evaluate_all(script)]  # type: ignore[misc]


def test_numbers_of_places_that_lie_upon_each_other_part_and_stay_on_the_sheet(bare: Bare):
    items = [
        *[at(46.5, 7.5, f"same {number}") for number in range(6)],
        at(46.5001, 7.5001),
        at(46.9, 7.9),
        at(46.1, 7.1),
    ]
    assert bare.show("cards/map", "mapSketch", items)
    shown = pins(bare)
    assert [number for _, _, number in shown] == [str(number) for number in range(1, 10)]
    for index, (x, y, _) in enumerate(shown):
        assert RADIUS <= x <= WIDTH - RADIUS
        assert RADIUS <= y <= HEIGHT - RADIUS
        assert all(math.hypot(x - left, y - top) > 1.9 * RADIUS for left, top, _ in shown[:index])


def test_a_point_keeps_the_number_of_its_card_where_others_do_not_say_where_they_are(bare: Bare):
    items = [
        wired({"@type": "Trail", "name": "nowhere"}),
        at(46, 7, "Aare"),
        at(91, 7),
        at("47", "8.5", "Sihl"),
        None,
        at(None, 3),
    ]
    assert bare.show("cards/map", "mapSketch", items)
    assert [number for _, _, number in pins(bare)] == ["2", "4"]
    picture = bare.page.get_by_role("img", name="Map sketch of 2 results: 2 Aare, 4 Sihl")
    expect(picture).to_be_visible()
    assert "4 do not say where" in bare.page.locator("figcaption").inner_text()


@pytest.mark.parametrize(
    "items",
    [
        [],
        [at(46, 7)],
        [at(46, 7), at(46, 7)],
        [at(46, float("nan")), at(46, 7)],
        [at({}, []), at("north", "east"), "x", None],
    ],
    ids=["none", "one", "twice the same", "not a number", "no numbers"],
)
def test_where_fewer_than_two_places_differ_there_is_no_map(bare: Bare, items: list[Any]):
    assert not bare.show("cards/map", "mapSketch", items)


def test_a_picked_point_names_its_result_by_mouse_and_keyboard(bare: Bare):
    script = """async (items) => {
      const { mapSketch } = await import("/js/cards/map.js");
      window.picked = [];
      const onPick = (index) => window.picked.push(index);
      document.getElementById("out").replaceChildren(mapSketch(items, { onPick }));
    }"""
    bare.page.evaluate(script, [at(46, 7, "Aare"), at(47, 8, "Sihl")])
    bare.page.get_by_role("button", name="2: Sihl").click()
    bare.page.get_by_role("button", name="1: Aare").focus()
    bare.page.keyboard.press("Enter")
    bare.page.keyboard.press("Space")
    assert bare.page.evaluate("window.picked") == [1, 0, 0]


@pytest.mark.parametrize("which", ["page", "dark", "phone"])
def test_axe_finds_nothing_on_a_map_of_the_demos_trails(
    request: pytest.FixtureRequest, which: str, ask_url: str, axe: Callable[[Page], None]
):
    """Watched, too: a map that asked another host for anything would fail here."""
    bare = Bare(request.getfixturevalue(which), ask_url)
    assert bare.show("cards/map", "mapSketch", [wired(record) for record in demo_records("trails")[:20]])
    axe(bare.page)


@pytest.mark.parametrize("kind", ["trails", "homes"])
def test_real_places_are_mapped_with_every_number_apart(bare: Bare, kind: str):
    records = real_records(kind, {"trails": 40, "homes": 120}[kind])[:20]
    assert bare.show("cards/map", "mapSketch", [wired(record) for record in records])
    shown = pins(bare)
    assert len(shown) == 20
    nearest = min(math.hypot(x - left, y - top) for i, (x, y, _) in enumerate(shown) for left, top, _ in shown[:i])
    assert nearest > 1.8 * RADIUS
