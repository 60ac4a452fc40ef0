"""docs/operations.md says what the code logs, refuses and leaves out, and what the alerts watch, and nothing else."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import get_args

import pytest

from cli import checkup
from cli.bench.start import STAGES
from shared.contracts.notices import NoticeCode
from shared.edge import log
from shared.errors import AskbucketError

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
ALERTS = (ROOT / "infra" / "terraform" / "alerts.tf").read_text(encoding="utf-8")


def section(heading: str, text: str = PAGE) -> str:
    """What stands under a heading, up to the next one of its rank or a higher one."""
    found = re.search(rf"^(#+) {re.escape(heading)}$", text, re.MULTILINE)
    assert found, heading
    rest = text[found.end() :]
    end = re.search(rf"^#{{1,{len(found[1])}}} ", rest, re.MULTILINE)
    return rest[: end.start()] if end else rest


def first_cells(heading: str) -> list[str]:
    return re.findall(r"^\| `([^`]+)` \|", section(heading), re.MULTILINE)


def codes(root: type[AskbucketError] = AskbucketError) -> set[str]:
    own = {root.code} if root.__module__ == AskbucketError.__module__ else set()
    return own.union(*(codes(child) for child in root.__subclasses__()))


def logged() -> list[str]:
    """The fields of a request's line, as the code writes them."""
    tree = ast.parse(inspect.getsource(log.request_line))
    return next(
        [ast.literal_eval(key) for key in node.keys if key] for node in ast.walk(tree) if isinstance(node, ast.Dict)
    )


def anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_error_says_what_an_operator_does():
    cells = first_cells("Errors for operators")
    assert len(cells) == len(set(cells))
    assert set(cells) == codes()


def checks() -> list[str]:
    """What doctor looks at, in its order, as the code names it."""
    tree = ast.parse(inspect.getsource(checkup))
    named = (node.elts for node in ast.walk(tree) if isinstance(node, ast.Tuple) and len(node.elts) == 2)
    return [
        first.value
        for first, second in named
        if isinstance(first, ast.Constant) and isinstance(second, ast.Attribute) and isinstance(first.value, str)
    ]


def test_every_check_of_the_doctor_is_listed():
    assert {"keys", "cosmos", "mcp"} <= set(checks())
    assert set(first_cells("Is everything there?")) == set(checks())


def test_every_notice_says_what_it_means_for_an_operator():
    assert first_cells("Notices for operators") == sorted(get_args(NoticeCode))


def test_the_fields_of_the_log_are_those_that_the_code_writes():
    assert first_cells("In the log") == logged()


def test_the_stages_of_a_load_are_those_that_the_code_times():
    named = re.search(r"`stages`: (.+)\.$", section("Starts are slow"), re.MULTILINE)
    assert named
    timed = {
        stage
        for path in ("edge", "tables", "sites", "release")
        for file in (ROOT / "shared" / path).rglob("*.py")
        for stage in re.findall(r'timed\("(\w+)"\)', file.read_text(encoding="utf-8"))
    }
    assert set(re.findall(r"`(\w+)`", named[1])) == set(STAGES)
    assert set(STAGES) <= timed


def test_the_alerts_are_those_of_the_page():
    [promise] = re.findall(r"promise = ([\d.]+)", ALERTS)
    [days] = re.findall(r"rolling_period_days\s*= (\d+)", ALERTS)
    assert f"{100 * float(promise):g} % of requests" in section("What is promised")
    assert f"over {days} days" in section("What is promised")
    burns = re.findall(r'(fast|slow) = \{ times = (\d+), windows = \["(\d+)s", "(\d+)s"\] \}', ALERTS)
    assert {name for name, *_ in burns} == {"fast", "slow"}
    for name, times, long_s, short_s in burns:
        [row] = re.findall(rf"^\| {name}, .*$", section("What is promised"), re.MULTILINE)
        assert f"{times} x too fast" in row
        assert seconds(row) == [int(long_s), int(short_s)]


def seconds(row: str) -> list[int]:
    """The stretches of time that a row names."""
    units = {"hour": 3_600, "hours": 3_600, "minutes": 60, "days": 86_400}
    found = re.findall(r"last (?:(\d+) )?(hours?|minutes|days)", row)
    return [int(count or 1) * units[unit] for count, unit in found]


def test_what_an_alert_points_to_is_there():
    pointed = re.findall(r'docs/operations\.md, \\"([^"\\]+)\\"', ALERTS)
    assert len(pointed) >= 2
    for heading in pointed:
        assert section(heading).strip()


@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "docs").glob("*.md")))
def test_links_between_the_pages_lead_to_headings_that_are_there(name: str):
    page = ROOT / "docs" / name
    for target, anchor in re.findall(r"\]\(([\w-]*(?:\.md)?)(?:#([\w-]+))?\)", page.read_text(encoding="utf-8")):
        other = page.with_name(target) if target else page
        assert other.exists(), f"{name}: {target}"
        assert not anchor or anchor in anchors(other.read_text(encoding="utf-8")), f"{name}: {target}#{anchor}"
