"""What infra/ says holds for the code, and each rule is able to fail."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from deployment import INFRA, Deployment, read, with_mistake
from rules import (
    RULES,
    Rule,
    every_bucket_is_closed_and_keeps_versions,
    every_deadline_is_the_first_to_end,
    every_folder_is_deployed,
    every_function_only_reads_releases,
    every_function_starts_with_what_it_is_given,
    every_job_is_as_its_table_says,
    every_job_runs_a_command_that_there_is,
    every_job_says_when_it_starts,
    every_route_leads_to_its_function,
    every_service_is_reached_and_started_as_it_must_be,
    every_setting_is_one,
    every_variable_is_used,
    everything_waits_for_the_interfaces_of_the_platform,
    only_a_job_has_the_key_that_writes_items,
)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_X03_what_is_deployed_is_what_the_code_needs(deployment: Deployment, rule: Rule) -> None:
    assert list(rule(deployment)) == []


YAML, OFFLINE, FUNCTIONS, STORAGE, IDENTITY, JOBS, SECRETS, BALANCER, VARIABLES, COSMOS, OUTPUTS = (
    "functions.yaml", "jobs.yaml", *(f"terraform/{name}.tf" for name in (
        "functions", "storage", "identity", "jobs", "secrets", "balancer", "variables", "cosmos/cosmos",
        "cosmos/outputs",
    )),
)  # fmt: skip
MISTAKES: list[tuple[Rule, str, str, str, str]] = [
    (every_folder_is_deployed, YAML, "folder: variable", "folder: variables", "functions/variable is not deployed"),
    (every_setting_is_one, YAML, "RATE_LIMIT_PER_HOUR", "RATE_LIMIT_PER_YEAR", "RATE_LIMIT_PER_YEAR is set and is no"),
    (every_setting_is_one, FUNCTIONS, "SPEND_LIMIT_USD_PER_DAY =", "SPEND_LIMIT =", "SPEND_LIMIT is set and is no"),
    (every_setting_is_one, YAML, 'REFRESH_S: "60"', 'REFRESH_S: "soon"', "settings.reading: REFRESH_S='soon'"),
    (
        every_function_starts_with_what_it_is_given, YAML,
        "needs: [models, releases, stats]\n    never: [shared.sites]\n    routes: [/mcp]",
        "needs: [releases, stats]\n    never: [shared.sites]\n    routes: [/mcp]", "mcp does not start: ",
    ),
    (
        every_function_starts_with_what_it_is_given, YAML, "needs: [releases]\n    never:",
        "needs: []\n    never:", "variable does not start: ",
    ),
    (every_route_leads_to_its_function, YAML, "/explore, ", "", "/explore is answered by registry and leads to pages"),
    (every_route_leads_to_its_function, YAML, "[/mcp]", "[/mcp, /tools]", "/tools leads to mcp, which answers nothing"),
    (every_route_leads_to_its_function, YAML, "/sites/<kind>/*", "/site/<kind>/*", "/sites/<kind>/ask is answered by"),
    (every_deadline_is_the_first_to_end, YAML, "timeout_s: 300", "timeout_s: 120", "site: ASKHUB_QUERY_TIMEOUT is 280"),
    (
        every_service_is_reached_and_started_as_it_must_be, FUNCTIONS, "INGRESS_TRAFFIC_INTERNAL_LOAD_BALANCER",
        "INGRESS_TRAFFIC_ALL", "ingress is 'INGRESS_TRAFFIC_ALL'",
    ),
    (
        every_service_is_reached_and_started_as_it_must_be, FUNCTIONS, "invoker_iam_disabled = true",
        "invoker_iam_disabled = false", "invoker_iam_disabled is False",
    ),
    (
        every_service_is_reached_and_started_as_it_must_be, YAML, 'THREADS: "20"', 'THREADS: "8"',
        "max_instance_request_concurrency is '20' and not '8'",
    ),
    (
        every_service_is_reached_and_started_as_it_must_be, FUNCTIONS, 'path = "/health"', 'path = "/"',
        "startup_probe is '/'",
    ),
    (
        every_bucket_is_closed_and_keeps_versions, STORAGE, 'public_access_prevention    = "enforced"',
        'public_access_prevention    = "inherited"', "bucket releases: may be public",
    ),
    (
        every_function_only_reads_releases, IDENTITY, '"storage.objects.list"]', '"storage.objects.create"]',
        "reader may ['storage.objects.get', 'storage.objects.create']",
    ),
    (
        every_function_only_reads_releases, IDENTITY, '["storage.objects.get", "storage.objects.list"]',
        '["storage.objects.get"]', "reader may ['storage.objects.get']",
    ),
    (
        every_function_only_reads_releases, IDENTITY, "google_project_iam_custom_role.reader.id",
        '"roles/storage.objectAdmin"', "functions have roles/storage.objectAdmin on google_storage_bucket.releases",
    ),
    (every_job_runs_a_command_that_there_is, OFFLINE, "--no-merge]", "--no-merging]", "map: "),
    (every_job_runs_a_command_that_there_is, OFFLINE, ", --no-merge]", "]", "map: 10 tasks would each publish"),
    (every_job_runs_a_command_that_there_is, OFFLINE, "tasks: 10", "tasks: 8", "plan is of 10 tasks, and map has 8"),
    (every_job_says_when_it_starts, OFFLINE, "    schedule: 0 7 * * 0\n", "", "prune: starts never"),
    (every_job_says_when_it_starts, OFFLINE, "0 5 * * *", "0 25 * * *", "merge: '0 25 * * *' is no schedule"),
    (every_job_is_as_its_table_says, JOBS, "= each.value.retries", "= 3", "a job's max_retries is 3"),
    (
        every_job_is_as_its_table_says, JOBS, "google_service_account.builder.email",
        "google_service_account.scheduler.email", "a job's service_account is ",
    ),
    (
        every_job_is_as_its_table_says, IDENTITY, '.name\n  role   = "roles/storage.objectUser"',
        '.name\n  role   = "roles/viewer"', "who writes releases: nobody",
    ),
    (only_a_job_has_the_key_that_writes_items, FUNCTIONS, 'cosmos["read"]', 'cosmos["write"]', "secrets: COSMOS_KEY"),
    (
        only_a_job_has_the_key_that_writes_items, SECRETS, "= var.cosmos_keys[each.key]", "= var.cosmos_keys.write",
        "a secret is not the key of its name",
    ),
    (only_a_job_has_the_key_that_writes_items, OUTPUTS, "primary_readonly_key", "primary_key", "the key `read` is"),
    (only_a_job_has_the_key_that_writes_items, OUTPUTS, ".secondary_key", ".secondary_readonly_key", "the key `write`"),
    (only_a_job_has_the_key_that_writes_items, OFFLINE, "sources, store]", "sources]", "build-<kind>: only a build of"),
    (only_a_job_has_the_key_that_writes_items, JOBS, 'contains(job.needs, "store") && ', "", "job_environment: a job"),
    (
        everything_waits_for_the_interfaces_of_the_platform, BALANCER,
        '"TLS_1_2"\n  depends_on      = [google_project_service.api]', '"TLS_1_2"',
        "google_compute_ssl_policy.modern does not wait",
    ),
    (every_variable_is_used, VARIABLES, 'variable "region"', 'variable "place"', "nothing reads var.place"),
    (every_variable_is_used, COSMOS, "= var.vector_dimension", "= 1536", "nothing reads var.vector_dimension"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "file", "right", "wrong", "said"),
    MISTAKES,
    ids=[f"{each[0].__name__}-{each[4][:30]}" for each in MISTAKES],
)
def test_a_mistake_is_found(tmp_path: Path, rule: Rule, file: str, right: str, wrong: str, said: str) -> None:
    mistaken = with_mistake(tmp_path, file, right, wrong)
    assert any(said in complaint for complaint in rule(mistaken)), said


@pytest.mark.parametrize("mistaken", [FUNCTIONS, COSMOS])
def test_what_is_no_hcl_is_refused_by_its_own_parser(tmp_path: Path, mistaken: str) -> None:
    shutil.copytree(INFRA, tmp_path / "infra")
    with (tmp_path / "infra" / mistaken).open("a", encoding="utf-8") as file:
        file.write('resource "x" "y" {\n')
    with pytest.raises(subprocess.CalledProcessError) as refused:
        read(tmp_path / "infra")
    assert mistaken.removeprefix("terraform/") in refused.value.stderr


def test_what_init_fetches_is_not_read(tmp_path: Path) -> None:
    shutil.copytree(INFRA, tmp_path / "infra")
    fetched = tmp_path / "infra" / "terraform" / "cosmos" / ".terraform" / "modules"
    fetched.mkdir(parents=True)
    (fetched / "x.tf").write_text('resource "x" "y" {\n', encoding="utf-8")
    assert read(tmp_path / "infra").roots.keys() == {"", "cosmos"}
