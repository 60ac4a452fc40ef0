"""What the platforms ask of infra/ beyond the code. Each rule yields a sentence for each thing that is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from deployment import Deployment
from rules import Rule, first

from shared.settings import Settings
from shared.sites.kinds import KINDS

# The interface that a resource is made with, by how its type begins: the longest beginning that fits.
INTERFACES = {
    "google_artifact_registry": "artifactregistry", "google_billing": "billingbudgets",
    "google_cloud_run": "run", "google_cloud_scheduler": "cloudscheduler", "google_compute": "compute",
    "google_monitoring": "monitoring", "google_project": "cloudresourcemanager", "google_project_iam": "iam",
    "google_project_service": "", "google_redis": "redis", "google_secret_manager": "secretmanager",
    "google_service_account": "iam", "google_storage": "storage",
}  # fmt: skip
# What `gcloud` asks in infra/deploy.
_ASKED = {"logging", "run"}


def every_root_signs_in_to_its_own_platform_alone(deployment: Deployment) -> Iterator[str]:
    """Terraform signs in wherever a block names a provider, so who has no Azure must come by none."""
    for name, root in deployment.roots.items():
        made = {address.removeprefix("data.").split("_")[0] for address, _ in root.blocks()}
        for what, named in (
            ("requires", {key for block in root.settings().get("required_providers", []) for key in block}),
            ("configures", set(root.named("provider"))),
        ):
            if named != made:
                yield f"{name or 'terraform'} {what} {sorted(named)} and makes things of {sorted(made)}"
    if made := {address.split("_")[0] for address, _ in deployment.blocks()} - {"google", "data.google"}:
        yield f"the root that everybody applies makes things of {sorted(made)}"


def every_root_keeps_its_state_in_a_bucket(deployment: Deployment) -> Iterator[str]:
    """A state on somebody's disk is lost or read; two of one prefix overwrite each other."""
    seen: set[Any] = set()
    for name, root in deployment.roots.items():
        prefix = first(root.settings().get("backend", {}).get("gcs")).get("prefix")
        if not prefix or prefix in seen:
            yield f"{name or 'terraform'} has no place of its own in the bucket of states: {prefix}"
        seen.add(prefix)


def nobody_from_outside_has_rights_everywhere(deployment: Deployment) -> Iterator[str]:
    """Organizations refuse members from outside: nobody is everybody, and the platform's group can be left out."""
    for address, body in deployment.blocks():
        member = str(body.get("member", body.get("members", "")))
        if re.search("allUsers|allAuthenticatedUsers|domain:", member):
            yield f"{address}: {member}"
        elif "@google.com" in member and "var.access_logs" not in str(body.get("count")):
            yield f"{address}: {member} cannot be left out"


def what_a_rollout_changes_is_left_alone(deployment: Deployment) -> Iterator[str]:
    """infra/deploy sets image and traffic, and gcloud a label beside; else each plan would undo it."""
    for kind, name, changed in (
        ("google_cloud_run_v2_service", "function", {"traffic", "template[0].containers[0].image"}),
        ("google_cloud_run_v2_job", "job", {"template[0].template[0].containers[0].image"}),
    ):
        ignored = {
            str(each).removeprefix("${").removesuffix("}")
            for each in first(deployment.resource(kind, name).get("lifecycle")).get("ignore_changes", [])
        }
        for missing in sorted({*changed, "client", "client_version", "template[0].labels"} - ignored):
            yield f"{kind}: an apply undoes {missing}"


def every_interface_that_is_asked_is_on(deployment: Deployment) -> Iterator[str]:
    """In an empty project an interface is off until it is named."""
    needed = set(_ASKED)
    for address, _ in deployment.blocks():
        kind = address.removeprefix("data.").split(".")[0]
        fitting = [begin for begin in INTERFACES if kind == begin or kind.startswith(f"{begin}_")]
        if not fitting:
            yield f"{kind}: by which interface is it made?"
        else:
            needed.add(INTERFACES[max(fitting, key=len)])
    on = set(deployment.locals()["apis"])
    yield from (f"{name} is asked and not enabled" for name in sorted(needed - on - {""}))
    yield from (f"{name} is enabled and not asked" for name in sorted(on - needed))


def what_is_kept_is_kept_from_something(deployment: Deployment) -> Iterator[str]:
    """A policy that keeps images removes none."""
    for name, registry in deployment.resources("google_artifact_registry_repository"):
        policies = registry.get("cleanup_policies", [])
        if not any(each["action"] == "DELETE" and first(each.get("condition")) for each in policies):
            yield f"{name}: no image is ever removed"
        if not any(each["action"] == "KEEP" for each in policies):
            yield f"{name}: the newest images may be removed"


def every_log_of_access_arrives(deployment: Deployment) -> Iterator[str]:
    """The platform's group writes them, to the bucket that is named."""
    writers = {
        str(member.get("bucket"))
        for _, member in deployment.resources("google_storage_bucket_iam_member")
        if member.get("member") == "group:cloud-storage-analytics@google.com"
        and member.get("role") == "roles/storage.objectCreator"
    }
    for name, bucket in deployment.resources("google_storage_bucket"):
        goal = first(bucket.get("logging")).get("log_bucket")
        if goal and goal not in writers:
            yield f"bucket {name}: nobody may write its log to {goal}"


def the_budget_has_the_currency_of_its_account(deployment: Deployment) -> Iterator[str]:
    """Any other is refused, and we cannot know it."""
    for name, budget in deployment.resources("google_billing_budget"):
        if "currency_code" in first(first(budget.get("amount")).get("specified_amount")):
            yield f"budget {name}: a currency of its own"


def every_key_reaches_its_secret_and_nothing_else(deployment: Deployment) -> Iterator[str]:
    """It comes as an ephemeral variable, and a number of its own that is raised stores another one."""
    variables = deployment.named("variable")
    for name, version in deployment.resources("google_secret_manager_secret_version"):
        given = re.match(r"\$\{var\.(\w+)", str(version.get("secret_data_wo")))
        about = variables.get(given[1], {}) if given else {}
        if about.get("ephemeral") is not True or about.get("sensitive") is not True:
            yield f"secret {name}: its value is in the state or in the plan"
        number = re.fullmatch(r"\$\{var\.(\w+_version)\}", str(version.get("secret_data_wo_version")))
        if not number or variables.get(number[1], {}).get("type") != "${number}":
            yield f"secret {name}: no variable stores another value"
    for name, output in deployment.roots["cosmos"].named("output").items():
        if "_key" in str(output.get("value")) and output.get("sensitive") is not True:
            yield f"output {name} is shown"


def what_one_root_puts_out_the_other_takes(deployment: Deployment) -> Iterator[str]:
    """The outputs of infra/terraform/cosmos are variables here, and its names those that the code looks for."""
    cosmos = deployment.roots["cosmos"]
    for name in cosmos.named("output"):
        if f"cosmos_{name}" not in deployment.named("variable"):
            yield f"nothing takes the output {name} of cosmos"
    ours = Settings()
    for kind, name, right in (
        ("azurerm_cosmosdb_sql_database", "samples", ours.cosmos_database),
        ("azapi_resource", "items", ours.cosmos_container),
    ):
        if (found := cosmos.resource(kind, name).get("name")) != right:
            yield f"{kind} is called {found}, and the code asks for {right}"


def every_number_has_a_default(deployment: Deployment) -> Iterator[str]:
    """Who sets one entry of a map need not know the others, and one that is misspelt is refused."""
    for name, variable in deployment.named("variable").items():
        if str(variable.get("type")).startswith("${map(number"):
            if f"var.{name}[" in deployment.text:
                yield f"var.{name}: a key that is left out is an invalid index"
            if f"keys(var.{name})" not in str(variable.get("validation")):
                yield f"var.{name}: any key is taken"
    given = set(re.findall(r"(\w+) = \d+", str(deployment.locals().get("most_instances"))))
    for folder in sorted({each["folder"] for each in deployment.functions.values()} - given):
        yield f"{folder}: no number of most instances"


def every_site_is_one_of_ours(deployment: Deployment) -> Iterator[str]:
    """A kind that no code serves is refused before anything is made of it."""
    sites = str(deployment.named("variable")["sites"].get("validation"))
    named = re.findall(r"contains\(\[([^\]]*)\], kind\)", sites)
    if [re.findall(r"\w+", each) for each in named] != [list(KINDS)]:
        yield f"sites may be {named}, and the code has {list(KINDS)}"


def every_catalog_is_pruned(deployment: Deployment) -> Iterator[str]:
    """That of the tables, and that of each site."""
    pruned = [job["command"] for job in deployment.jobs.values() if job["command"][0] == "prune"]
    catalogs = [each[each.index("--catalog") + 1] if "--catalog" in each else "built-in" for each in pruned]
    if catalogs != ["built-in", "<kind>"]:
        yield f"pruned are {catalogs}"


def every_schedule_can_stand_still(deployment: Deployment) -> Iterator[str]:
    """Before the first build, and while an older release is to stay: by a variable, since an apply starts it again."""
    if (
        deployment.resource("google_cloud_scheduler_job", "job").get("paused")
        != "${contains(var.jobs_paused, each.key)}"
    ):
        yield "nothing pauses a schedule"


PLATFORM_RULES: Sequence[Rule] = (
    every_root_signs_in_to_its_own_platform_alone,
    every_root_keeps_its_state_in_a_bucket,
    nobody_from_outside_has_rights_everywhere,
    what_a_rollout_changes_is_left_alone,
    every_interface_that_is_asked_is_on,
    what_is_kept_is_kept_from_something,
    every_log_of_access_arrives,
    the_budget_has_the_currency_of_its_account,
    every_key_reaches_its_secret_and_nothing_else,
    what_one_root_puts_out_the_other_takes,
    every_number_has_a_default,
    every_site_is_one_of_ours,
    every_catalog_is_pruned,
    every_schedule_can_stand_still,
)
