"""What the platforms ask of infra/ beyond the code holds, and each rule is able to fail."""

from __future__ import annotations

from pathlib import Path

import pytest
from deployment import Deployment, with_mistake
from platform_rules import (
    PLATFORM_RULES,
    every_catalog_is_pruned,
    every_interface_that_is_asked_is_on,
    every_key_reaches_its_secret_and_nothing_else,
    every_log_of_access_arrives,
    every_number_has_a_default,
    every_root_keeps_its_state_in_a_bucket,
    every_root_signs_in_to_its_own_platform_alone,
    every_schedule_can_stand_still,
    every_site_is_one_of_ours,
    nobody_from_outside_has_rights_everywhere,
    the_budget_has_the_currency_of_its_account,
    what_a_rollout_changes_is_left_alone,
    what_is_kept_is_kept_from_something,
    what_one_root_puts_out_the_other_takes,
)
from rules import Rule


@pytest.mark.parametrize("rule", PLATFORM_RULES, ids=lambda rule: rule.__name__)
def test_what_is_deployed_is_what_the_platforms_take(deployment: Deployment, rule: Rule) -> None:
    assert list(rule(deployment)) == []


_LOGS = 'resource "google_storage_bucket" "logs" {'
_AZURE = f'resource "azurerm_resource_group" "items" {{\n  name = "askbucket"\n}}\n\n{_LOGS}'
MISTAKES: list[tuple[Rule, str, str, str, str]] = [
    (
        every_root_signs_in_to_its_own_platform_alone, "storage.tf",
        _LOGS, _AZURE,
        "the root that everybody applies makes things of ['azurerm']",
    ),
    (
        every_root_signs_in_to_its_own_platform_alone, "versions.tf", 'provider "google" {',
        'provider "azapi" {\n}\n\nprovider "google" {', "terraform configures ['azapi', 'google']",
    ),
    (
        every_root_signs_in_to_its_own_platform_alone, "cosmos/versions.tf", "    azapi = {", "    other = {",
        "cosmos requires ['azurerm', 'other']",
    ),
    (
        every_root_keeps_its_state_in_a_bucket, "versions.tf", 'backend "gcs"', 'backend "local"',
        "terraform has no place",
    ),
    (
        every_root_keeps_its_state_in_a_bucket, "cosmos/versions.tf", '"cosmos"', '"askbucket"',
        "has no place of its own",
    ),
    (
        nobody_from_outside_has_rights_everywhere, "identity.tf", 'member = "serviceAccount:${google_service_account.b',
        'member = "allUsers${google_service_account.b', "allUsers",
    ),
    (
        nobody_from_outside_has_rights_everywhere, "storage.tf", "var.access_logs ? 1 : 0", "1",
        "group:cloud-storage-analytics@google.com cannot be left out",
    ),
    (
        what_a_rollout_changes_is_left_alone, "functions.tf", "template[0].labels, ", "",
        "google_cloud_run_v2_service: an apply undoes template[0].labels",
    ),
    (
        what_a_rollout_changes_is_left_alone, "jobs.tf", "template[0].labels, ", "",
        "google_cloud_run_v2_job: an apply undoes template[0].labels",
    ),
    (what_a_rollout_changes_is_left_alone, "functions.tf", "[traffic, ", "[", "an apply undoes traffic"),
    (every_interface_that_is_asked_is_on, "apis.tf", '"logging",', "", "logging is asked and not enabled"),
    (every_interface_that_is_asked_is_on, "apis.tf", '"redis",', "", "redis is asked and not enabled"),
    (
        every_interface_that_is_asked_is_on, "apis.tf", '"redis",', '"redis", "pubsub",',
        "pubsub is enabled and not asked",
    ),
    (
        every_interface_that_is_asked_is_on, "redis.tf", '"google_redis_instance"', '"google_pubsub_topic"',
        "google_pubsub_topic: by which interface is it made?",
    ),
    (
        what_is_kept_is_kept_from_something, "apis.tf", 'action = "DELETE"', 'action = "KEEP"',
        "no image is ever removed",
    ),
    (
        what_is_kept_is_kept_from_something, "apis.tf", 'action = "KEEP"', 'action = "DELETE"',
        "the newest images may be",
    ),
    (
        every_log_of_access_arrives, "storage.tf", "roles/storage.objectCreator", "roles/storage.objectViewer",
        "bucket sources: nobody may write its log",
    ),
    (
        the_budget_has_the_currency_of_its_account, "alerts.tf",
        "      units =", '      currency_code = "EUR"\n      units =',
        "budget month: a currency of its own",
    ),
    (
        every_key_reaches_its_secret_and_nothing_else, "secrets.tf", "= var.cosmos_key_version", "= 1",
        "secret cosmos: no variable stores another value",
    ),
    (
        every_key_reaches_its_secret_and_nothing_else, "secrets.tf", "  ephemeral   = true\n", "",
        "secret openrouter: its value is in the state",
    ),
    (
        every_key_reaches_its_secret_and_nothing_else, "cosmos/outputs.tf", "sensitive   = true", "sensitive   = false",
        "keys",
    ),
    (
        what_one_root_puts_out_the_other_takes, "cosmos/outputs.tf", 'output "endpoint"', 'output "address"',
        "nothing takes the output address",
    ),
    (what_one_root_puts_out_the_other_takes, "cosmos/cosmos.tf", '"samples"\n  res', '"s"\n  res', "is called s, and"),
    (
        every_number_has_a_default, "functions.tf", "local.most_instances[", "var.max_instances[",
        "var.max_instances: a key that is left out is an invalid index",
    ),
    (every_number_has_a_default, "functions.tf", "stats = 1, ", "", "stats: no number of most instances"),
    (
        every_number_has_a_default, "variables.tf", "keys(var.min_instances)", "[]",
        "var.min_instances: any key is taken",
    ),
    (every_site_is_one_of_ours, "variables.tf", '"trails", "homes"]', '"trails"]', "sites may be "),
    (every_catalog_is_pruned, "../jobs.yaml", "--catalog, <kind>, ", "", "pruned are ['built-in', 'built-in']"),
    (every_schedule_can_stand_still, "jobs.tf", "contains(var.jobs_paused, each.key)", "false", "nothing pauses"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "file", "right", "wrong", "said"),
    MISTAKES,
    ids=[f"{each[0].__name__}-{each[4][:30]}" for each in MISTAKES],
)
def test_a_mistake_is_found(tmp_path: Path, rule: Rule, file: str, right: str, wrong: str, said: str) -> None:
    mistaken = with_mistake(tmp_path, f"terraform/{file}", right, wrong)
    assert any(said in complaint for complaint in rule(mistaken)), said


def test_every_rule_is_shown_to_fail() -> None:
    assert {rule for rule, *_ in MISTAKES} == set(PLATFORM_RULES)
