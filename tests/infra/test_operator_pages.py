"""What the pages tell an operator to type can be typed, and each rule is able to fail."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from checkers import read_by_gcloud
from deployment import read
from page_rules import (
    PAGE_RULES,
    Page,
    PageRule,
    a_release_that_comes_back_stays,
    every_apply_reads_what_was_written_down,
    every_command_of_ours_is_one,
    every_file_is_there,
    every_job_is_one,
    every_setting_is_a_variable,
    page_of,
    what_a_rollout_reads_is_kept,
    what_an_apply_makes_is_rolled_out,
)

DEPLOY, OPERATIONS = "deploy.md", "operations.md"


@pytest.fixture(scope="module")
def pages() -> Mapping[str, Page]:
    deployment = read()
    return {name: page_of(name, deployment) for name in (DEPLOY, OPERATIONS)}


@pytest.mark.parametrize("name", [DEPLOY, OPERATIONS])
@pytest.mark.parametrize("rule", PAGE_RULES, ids=lambda rule: rule.__name__)
def test_what_a_page_tells_to_type_can_be_typed(pages: Mapping[str, Page], rule: PageRule, name: str) -> None:
    assert list(rule(pages[name])) == []


MISTAKES: list[tuple[PageRule, str, str, str, str]] = [
    (
        every_apply_reads_what_was_written_down, DEPLOY, "terraform -chdir=infra/terraform apply\n",
        "terraform -chdir=infra/terraform apply -var domain=a.b\n", "a setting that is written down nowhere: ",
    ),
    (
        every_apply_reads_what_was_written_down, OPERATIONS, "`min_instances = ", "`-var min_instances = ",
        "in a sentence",
    ),
    (
        every_apply_reads_what_was_written_down, DEPLOY,
        "infra/terraform init -backend-config=bucket=PROJECT-askbucket-state", "infra/terraform init",
        "a state without a bucket",
    ),
    (
        every_apply_reads_what_was_written_down, DEPLOY, "-chdir=infra/terraform/cosmos apply", "apply",
        "no root of ours",
    ),
    (every_apply_reads_what_was_written_down, OPERATIONS, "-raw endpoint", "-raw address", "no output address"),
    (
        every_setting_is_a_variable, DEPLOY, "alert_email     =", "alert_mail      =",
        "alert_mail is no variable of infra",
    ),
    (
        every_setting_is_a_variable, DEPLOY, "alert_email     =", "alert_mail      =",
        "alert_email is not given to infra",
    ),
    (every_setting_is_a_variable, DEPLOY, "account         =", "name            =", "account is not given to infra"),
    (
        every_setting_is_a_variable, DEPLOY, "TF_VAR_cosmos_keys", "TF_VAR_cosmos_key",
        "TF_VAR_cosmos_key is no variable",
    ),
    (every_setting_is_a_variable, OPERATIONS, "`min_instances = ", "`instances = ", "instances is no variable"),
    (
        what_an_apply_makes_is_rolled_out, OPERATIONS,
        "then apply and roll the same tag out again, since what an apply makes has no traffic ", "then apply ",
        "min_instances without a rollout",
    ),
    (
        what_an_apply_makes_is_rolled_out, DEPLOY, "terraform apply\n$ infra/deploy roll v1", "terraform apply",
        "an apply without a rollout",
    ),
    (every_command_of_ours_is_one, DEPLOY, "--leaves DIR --catalog", "--catalog", "required: --leaves"),
    (
        every_command_of_ours_is_one, DEPLOY, "NAME --embedder openrouter", "NAME",
        "an embedder that no function's image",
    ),
    (every_command_of_ours_is_one, DEPLOY, "… .venv/bin/askbucket", "… askbucket", "askbucket is on nobody's path"),
    (
        every_command_of_ours_is_one, DEPLOY, "`askbucket prune --catalog NAME`",
        "`askbucket build tables --catalog NAME --bucket gs://x`", "required: --leaves",
    ),
    (every_command_of_ours_is_one, DEPLOY, "infra/deploy smoke\n", "infra/deploy test\n", "infra/deploy has no test"),
    (every_file_is_there, DEPLOY, "demo/items/recipes.jsonl demo", "recipes.jsonl demo", "recipes.jsonl is not there"),
    (every_file_is_there, DEPLOY, "cp -r functions/__init__.py", "cp -r functions/init.py", "functions/init.py is not"),
    (every_job_is_one, DEPLOY, "execute askbucket-merge", "execute askbucket-index", "no job index"),
    (every_job_is_one, DEPLOY, '["map", ', '["plan", ', "no schedule of plan"),
    (every_job_is_one, OPERATIONS, "pause askbucket-merge", "pause askbucket-plan", "no schedule of plan"),
    (
        a_release_that_comes_back_stays, OPERATIONS,
        "gcloud scheduler jobs pause askbucket-merge --location us-central1 --project PROJECT\n", "",
        "a rollback that the next build undoes",
    ),
    (
        what_a_rollout_reads_is_kept, OPERATIONS, ' AND NOT httpRequest.userAgent:"infra-deploy-"', "",
        "infra/deploy asks as infra-deploy-, and that is dropped",
    ),
    (
        what_a_rollout_reads_is_kept, OPERATIONS, "--add-exclusion", "--exclusion",
        "that everybody writes for themselves",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "name", "right", "wrong", "said"),
    MISTAKES,
    ids=[f"{each[0].__name__}-{each[4][:30]}" for each in MISTAKES],
)
def test_a_mistake_on_a_page_is_found(
    pages: Mapping[str, Page], rule: PageRule, name: str, right: str, wrong: str, said: str
) -> None:
    page = pages[name]
    assert right in page.text
    mistaken = Page(name, page.text.replace(right, wrong), page.deployment)
    assert any(said in complaint for complaint in rule(mistaken)), list(rule(mistaken))


def test_every_rule_is_shown_to_fail() -> None:
    assert {rule for rule, *_ in MISTAKES} == set(PAGE_RULES)


def test_the_real_gcloud_knows_every_flag_of_the_pages(pages: Mapping[str, Page], tmp_path: Path) -> None:
    calls = [call for page in pages.values() for call in page.commands("gcloud") if call[1] != "auth"]
    assert {" ".join(call[1:3]) for call in calls} >= {"run jobs", "run deploy", "scheduler jobs", "logging sinks"}
    once = {(*call[:4], *(part.split("=")[0] for part in call if part.startswith("--"))): call for call in calls}
    assert [call for call in once.values() if not read_by_gcloud(call, tmp_path)] == []
