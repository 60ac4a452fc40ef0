"""The landing page and the pages that report, over the real gateway and over replies of a test's own."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Page, Route, expect
from replies import NASTY, answering, question, stats, status
from watching import Watch

LONG = "x" * 1_000_000


def unharmed(page: Page) -> bool:
    """No text became markup, and nothing on the page is wider than it."""
    return bool(
        page.evaluate(
            "window.pwned === undefined && document.querySelector('main img, main script') === null"
            " && document.documentElement.scrollWidth <= innerWidth"
        )
    )


# The landing page


def test_the_landing_page_names_five_collections_and_what_each_holds(page: Page, gateway_url: str) -> None:
    page.goto(f"{gateway_url}/samples/")
    expect(page.locator(".sample-held")).to_have_count(5)
    expect(page.locator(".sample-held").first).to_contain_text("recipes · Demo Kitchen")
    page.get_by_role("link", name="Trails").click()
    expect(page).to_have_url(f"{gateway_url}/samples/trails/")


def test_an_example_of_the_landing_page_leads_to_its_question(page: Page, gateway_url: str) -> None:
    page.goto(f"{gateway_url}/samples/")
    link = page.get_by_role("link", name="4-bedroom house with a pool")
    assert link.get_attribute("href") == "homes/?q=4-bedroom+house+with+a+pool"


def test_a_collection_that_is_not_served_or_is_starting_is_said_so(page: Page, gateway_url: str, watch: Watch) -> None:
    watch.expect("status of (404|503)")
    answering(page, "/sites/movies/health", {"error": "no"}, 404)
    answering(page, "/sites/trails/health", {"error": "Service is starting"}, 503)
    page.goto(f"{gateway_url}/samples/")
    expect(page.locator("[data-kind=movies] .sample-held")).to_have_text("not served here")
    expect(page.locator("[data-kind=trails] .sample-held")).to_have_text("starting")


# The wake page


def test_the_wake_page_asks_all_five_and_says_how_warm_each_is(page: Page, gateway_url: str) -> None:
    page.goto(f"{gateway_url}/samples/wake/")
    rows = page.locator("#services tr")
    expect(rows).to_have_count(5)
    expect(page.locator("#services .badge-good, #services .badge-warning")).to_have_count(5)
    expect(rows.first).to_contain_text("Recipes")
    expect(rows.first.locator(".number")).to_have_text("61")
    expect(page.locator("#live")).to_have_text("5 of 5 services are awake")


def test_waking_again_asks_again_and_the_button_waits_meanwhile(page: Page, gateway_url: str) -> None:
    page.goto(f"{gateway_url}/samples/wake/")
    button = page.get_by_role("button", name="Wake them again")
    expect(button).to_be_enabled()
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/sites/homes/health", hold)
    button.click()
    expect(button).to_be_disabled()
    expect(page.locator("[data-status=homes]")).to_have_text("asking…")
    page.wait_for_timeout(50)
    held[0].fulfill(json={"status": "ok", "collections": {"homes": 62}})
    expect(button).to_be_enabled()
    expect(page.locator("[data-status=homes]")).to_contain_text("warm (")


ANSWERS = [
    (503, {"error": "Service is starting"}, "failed: Service is starting"),
    (200, {"status": "degraded", "collections": {}}, "failed: status degraded"),
    (500, "no object", "failed: HTTP 500"),
    (200, {"status": "ok", "collections": {"homes": NASTY}}, "warm ("),
    (404, {"error": NASTY}, f"failed: {NASTY}"),
]


def test_X04_a_service_that_does_not_wake_is_said_with_its_reason(page: Page, gateway_url: str, watch: Watch) -> None:
    watch.expect("status of (404|500|503)")
    page.goto(f"{gateway_url}/samples/wake/")
    button = page.get_by_role("button", name="Wake them again")
    for code, body, said in ANSWERS:
        page.unroute_all()
        answering(page, "/sites/homes/health", body, code)
        button.click()
        expect(page.locator("[data-status=homes]")).to_contain_text(said)
        assert unharmed(page)


def test_how_long_a_service_took_decides_between_warm_and_woke(page: Page, gateway_url: str) -> None:
    page.goto(f"{gateway_url}/samples/wake/")
    said = page.evaluate(
        """async () => {
          const { verdict } = await import(new URL("../../js/pages/wake.js", location.href));
          const ok = { ok: true, body: { status: "ok" } };
          return [0.04, 1.49, 1.5, 27.4].map((seconds) => verdict(ok, seconds).text);
        }"""
    )
    assert said == ["warm (0.0s)", "warm (1.5s)", "woke in 2 s", "woke in 27 s"]


# Stats


def test_the_stats_page_shows_what_the_gateway_counted(page: Page, gateway_url: str) -> None:
    asked = page.request.post(f"{gateway_url}/search", data={"query": {"text": "unemployment rate"}})
    assert asked.ok
    assert page.request.get(f"{gateway_url}/sites/trails/ask?query=waterfall&mode=list").ok
    page.goto(f"{gateway_url}/stats")
    expect(page.locator("#report h2")).to_have_text(["Searches", "Spend", "Latency", "Sites", "Models"])
    expect(page.get_by_role("region", name="Questions and latency by site")).to_contain_text("trails")
    expect(page.locator("#report svg.plot")).to_have_count(3)
    expect(page.get_by_role("region", name="Calls, cost and latency by model")).to_contain_text("bge-small")
    expect(page.locator("#scope")).to_contain_text("of this instance alone")


def test_days_models_and_their_latency_stand_in_tables_beside_the_plots(page: Page, gateway_url: str) -> None:
    answering(page, "/stats.json?days=30", stats(days=3, models=2))
    page.goto(f"{gateway_url}/stats.html")
    spend = page.get_by_role("region", name="Spend by day").locator("tbody tr")
    expect(spend).to_have_text(["2026-10-31$0.01101,800", "2026-10-30$0.0000", "2026-10-29$0.01101,800"])
    latency = page.get_by_role("region", name="Latency by day").locator("tbody tr")
    expect(latency.first).to_have_text("2026-10-31400 ms1.8 s")
    expect(latency.nth(1)).to_have_text("2026-10-30––")
    models = page.get_by_role("region", name="Calls, cost and latency by model").locator("tbody tr")
    expect(models).to_have_text(["vendor/model-15900$0.0080400 ms1.2 s", "vendor/model-05900$0.0040400 ms1.2 s"])
    expect(page.locator("#report .tile").last).to_have_text("Spent by the key, ever$12.30")
    assert page.locator("svg.plot").evaluate_all(
        "(all) => all.every((it) => it.getAttribute('aria-label').length > 10)"
    )


def test_models_beyond_five_share_one_colour_and_none_is_left_out_of_the_table(page: Page, gateway_url: str) -> None:
    answering(page, "/stats.json?days=30", stats(models=8))
    page.goto(f"{gateway_url}/stats")
    legend = page.locator("section", has=page.get_by_role("heading", name="Spend")).locator(".legend li")
    expect(legend).to_have_text([f"vendor/model-{place}" for place in (7, 6, 5, 4)] + ["other models"])
    expect(page.get_by_role("region", name="Calls, cost and latency by model").locator("tbody tr")).to_have_count(8)


def test_another_range_is_asked_for_and_notices_are_shown(page: Page, gateway_url: str) -> None:
    answering(page, "/stats.json?days=30", stats())
    told = {"code": "stats_unreadable", "message": "Counters of some instances could not be read."}
    answering(page, "/stats.json?days=366", stats(days=366 // 31, notices=[told]))
    page.goto(f"{gateway_url}/stats")
    page.get_by_label("Shown").select_option("366")
    expect(page.locator("#said .notice-warning")).to_have_text(told["message"])


def test_no_search_yet_is_said(page: Page, gateway_url: str) -> None:
    answering(page, "/stats.json?days=30", stats(days=0))
    page.goto(f"{gateway_url}/stats")
    expect(page.locator(".empty")).to_have_text("Nothing was searched or asked in these days.")


@pytest.mark.parametrize(("path", "name"), [("/stats.json?days=30", "stats"), ("/status.json", "status")])
def test_numbers_that_cannot_be_had_are_said_with_the_wait(
    page: Page, gateway_url: str, watch: Watch, path: str, name: str
) -> None:
    watch.expect("status of 503|ERR_FAILED")
    answering(page, path, {"error": "The counters are being added up"}, 503, {"Retry-After": "7"})
    page.goto(f"{gateway_url}/{name}")
    expect(page.locator("#said .notice-error")).to_have_text("The counters are being added up. Try again in 7 s.")
    page.unroute(f"**{path}")
    page.route(f"**{path}", lambda route: route.abort())
    page.reload()
    expect(page.locator("#said .notice-error")).to_have_text("The service could not be reached.")


NOT_STATS: list[object] = [
    {}, [], None, 7, {"days": []}, {"days": {"2026-10-01": None, "yesterday": {}, "2026-99-99": {"searches": 1}}},
    {"days": {"2026-10-01": {"searches": "many", "latency_seconds": 3, "models": [1]}}, "models": {"a": None}},
    stats(notices="no list", total=None, provider=[1], scope={}, generated_at=5),
    {**stats(notices=[None, {"message": {"a": 1}}]), "models": {NASTY: {"calls": "1", "cost_usd": 1e400}}},
    {"days": {"0001-01-01": {}, "9999-12-31": {}}},
]  # fmt: skip


def test_X04_stats_of_the_wrong_shape_break_nothing(page: Page, gateway_url: str) -> None:
    sent: list[object] = []

    def send(route: Route) -> None:
        text = json.dumps(sent[-1]).replace("Infinity", "1e400")
        route.fulfill(content_type="application/json", body=text)

    page.route("**/stats.json?days=30", send)
    for body in NOT_STATS:
        sent.append(body)
        page.goto(f"{gateway_url}/stats")
        expect(page.locator("#report")).to_have_attribute("aria-busy", "false")
        expect(page.locator("#live")).not_to_be_empty()
        assert unharmed(page), body


# Status


def test_a_ledger_shows_scores_the_gate_and_each_question_with_its_judgement(page: Page, gateway_url: str) -> None:
    answering(page, "/status.json", status())
    page.goto(f"{gateway_url}/status")
    expect(page.get_by_role("heading", name="Tables")).to_be_visible()
    expect(page.get_by_role("region", name="Scores of built-in").locator("tbody tr")).to_have_text(
        "money4082.5 %100 %0.891–"
    )
    expect(page.get_by_role("region", name="Checks of the gate").locator("tbody tr")).to_have_count(2)
    questions = page.locator(".question")
    expect(questions).to_have_count(5)
    questions.first.locator("summary").click()
    expect(questions.first).to_contain_text("Expected: urn:air:a:b:c")
    expect(questions.first.locator("li")).to_have_text("Rainfall score 81 right")


def test_questions_that_went_wrong_can_be_seen_alone(page: Page, gateway_url: str) -> None:
    answering(page, "/status.json", status())
    page.goto(f"{gateway_url}/status")
    page.get_by_label("Only those that went wrong").check()
    expect(page.locator(".question .badge").filter(has_not_text="score")).to_have_text(
        ["partly right", "missed", "wrongly answered"]
    )
    expect(page.get_by_text("3 questions")).to_be_visible()


def test_no_ledger_is_said(page: Page, gateway_url: str) -> None:
    answering(page, "/status.json", {"catalogs": []})
    page.goto(f"{gateway_url}/status")
    expect(page.locator(".empty")).to_contain_text("No release that is served now was evaluated")


NOT_A_LEDGER: list[object] = [
    {}, [], None, {"catalogs": {}}, {"catalogs": [None, 1, "a", {}]},
    status(label=NASTY, release=NASTY, judge=[1], embedder={}, evaluated_at=NASTY),
    status(scores={NASTY: {"questions": "x", "mrr": None}, "b": 4}, gate=NASTY, questions=NASTY),
    status(gate={"verdict": NASTY, "checks": [{"name": NASTY, "message": NASTY, "verdict": "toString"}, 3]}),
    status(questions=[question("constructor", text=NASTY, expected=NASTY, results=[{"title": NASTY}, 1], rank=NASTY)]),
    status(questions=[question("right", text=LONG, expected=[LONG], results=[{"title": LONG, "score": LONG}])]),
    status(questions=[{}, None, {"text": 4, "verdict": None}]),
]  # fmt: skip


def test_X04_a_hostile_ledger_shows_as_text_and_breaks_nothing(page: Page, gateway_url: str) -> None:
    for body in NOT_A_LEDGER:
        page.unroute_all()
        answering(page, "/status.json", body)
        page.goto(f"{gateway_url}/status")
        expect(page.locator("#report")).to_have_attribute("aria-busy", "false")
        for fold in page.locator(".question summary").all():
            fold.click()
        assert unharmed(page), str(body)[:200]


def test_the_status_page_reads_the_ledger_of_the_gateway(page: Page, gateway_url: str) -> None:
    page.goto(f"{gateway_url}/status")
    expect(page.locator("#report > *").first).to_be_visible()
