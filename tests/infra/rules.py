"""What holds between infra/ and the code. Each rule yields a sentence for each thing that is wrong."""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, TypeAlias

from deployment import Deployment
from wire import ROOT

from cli.main import parser
from shared.edge.app import App
from shared.errors import SettingsError
from shared.settings import ROWS, Settings

Rule: TypeAlias = Callable[[Deployment], Iterator[str]]

NAMES = {row.name for row in ROWS.values()}
# Read by the server that the platform starts, not by us.
SERVERS = {"THREADS"}
# What a deployment fills in, as a function would see it.
FILLED = {
    "BUCKET_URL": "gs://releases", "STATS_URL": "gs://stats", "ARD_CATALOGS": "open-data", "SITE": "movies",
    "OPENROUTER_API_KEY": "key", "AGENT_FINDER_SELF": "https://ask.example/",
}  # fmt: skip
SECONDS_TO_SPARE = 10


def every_folder_is_deployed(deployment: Deployment) -> Iterator[str]:
    """A folder below functions/ is a function, and the other way round."""
    there = {path.parent.name for path in (ROOT / "functions").glob("*/main.py")}
    deployed = {each["folder"] for each in deployment.functions.values()}
    yield from (f"functions/{name} is not deployed" for name in sorted(there - deployed))
    yield from (f"functions/{name} is deployed and is not there" for name in sorted(deployed - there))


def every_setting_is_one(deployment: Deployment) -> Iterator[str]:
    """What is set is a setting, and its value one that it takes."""
    named = set(re.findall(r"^\s+([A-Z][A-Z0-9]*_[A-Z0-9_]+)\s*=", deployment.text, re.MULTILINE))
    named |= set(re.findall(r"\{ ([A-Z][A-Z0-9]*_[A-Z0-9_]+) =", deployment.text))
    for group, settings in deployment.table["settings"].items():
        named |= settings.keys()
        try:
            Settings.from_env(settings)
        except SettingsError as error:
            yield f"settings.{group}: {error.message}"
    yield from (f"{name} is set and is no setting" for name in sorted(named - NAMES - SERVERS))


def every_function_starts_with_what_it_is_given(deployment: Deployment) -> Iterator[str]:
    """A function's settings and secrets are enough for it to start, and it is given no more than it needs."""
    for name, each in deployment.functions.items():
        environment = environment_of(deployment, each)
        try:
            create(each["folder"], environment)
        except SettingsError as error:
            yield f"{name} does not start: {error.message}"
        if "models" in each["needs"] and "LLM_PROVIDER" not in environment:
            yield f"{name} has the gateway's key and no LLM_PROVIDER"


def every_route_leads_to_its_function(deployment: Deployment) -> Iterator[str]:
    """A path of the code is one of the address, and the other way round. What several answer leads to one of them."""
    answered: dict[str, set[str]] = {}
    for name, each in deployment.functions.items():
        paths = routes_of(each["folder"], environment_of(deployment, each))
        mount = "/sites/<kind>" if name == "site" else ""
        for path in paths:
            answered.setdefault(mount + path, set()).add(name)
        for route in each["routes"]:
            if not any(covers(route, mount + path) for path in paths):
                yield f"{route} leads to {name}, which answers nothing there"
    for path, by in sorted(answered.items()):
        led = leads_to(deployment, path)
        if led not in by:
            yield f"{path} is answered by {' and '.join(sorted(by))} and leads to {led}"


def every_deadline_is_the_first_to_end(deployment: Deployment) -> Iterator[str]:
    """Our deadline ends a request before the platform does, with time for the last words."""
    for name, each in deployment.functions.items():
        settings = environment_of(deployment, each)
        for setting in ("AGENT_FINDER_QUERY_TIMEOUT", "ASKHUB_QUERY_TIMEOUT"):
            if setting in settings and float(settings[setting]) + SECONDS_TO_SPARE > each["timeout_s"]:
                yield f"{name}: {setting} is {settings[setting]} s, and the platform's end {each['timeout_s']} s"


def every_service_is_reached_and_started_as_it_must_be(deployment: Deployment) -> Iterator[str]:
    """Only through the balancer, as an account of its own, ready when /health says so, a thread a request."""
    service = deployment.resource("google_cloud_run_v2_service", "function")
    template = first(service.get("template"))
    container = first(template.get("containers"))
    expected: Sequence[tuple[str, Any, Any]] = (
        ("ingress", service.get("ingress"), "INGRESS_TRAFFIC_INTERNAL_LOAD_BALANCER"),
        ("invoker_iam_disabled", service.get("invoker_iam_disabled"), True),
        ("service_account", template.get("service_account"), "${google_service_account.function[each.key].email}"),
        (
            "min_instance_count",
            first(template.get("scaling")).get("min_instance_count"),
            "${lookup(var.min_instances, each.value.folder, 0)}",
        ),
        ("startup_cpu_boost", first(container.get("resources")).get("startup_cpu_boost"), True),
        ("startup_probe", first(first(container.get("startup_probe")).get("http_get")).get("path"), "/health"),
        (
            "max_instance_request_concurrency",
            str(template.get("max_instance_request_concurrency")),
            deployment.table["settings"]["every"].get("THREADS"),
        ),
    )
    yield from (f"{what} is {found!r} and not {right!r}" for what, found, right in expected if found != right)
    if "512 + 2 *" not in deployment.text:
        yield "memory is not twice the release and 512 MiB"


def every_bucket_is_closed_and_keeps_versions(deployment: Deployment) -> Iterator[str]:
    """No object is public, nobody has rights on a single one, and what is replaced can be had back."""
    for name, bucket in deployment.resources("google_storage_bucket"):
        if bucket.get("uniform_bucket_level_access") is not True:
            yield f"bucket {name}: rights on single objects"
        if bucket.get("public_access_prevention") != "enforced":
            yield f"bucket {name}: may be public"
        if first(bucket.get("versioning")).get("enabled") is not True:
            yield f"bucket {name}: keeps no versions"


def every_function_only_reads_releases(deployment: Deployment) -> Iterator[str]:
    """X03: a function gets and lists objects of one bucket, writes none there, and writes counters only.

    It lists nothing, but who may not list is told 403 of an object that is not there, and not 404.
    """
    role = deployment.resource("google_project_iam_custom_role", "reader")
    if role.get("permissions") != ["storage.objects.get", "storage.objects.list"]:
        yield f"reader may {role.get('permissions')}"
    function = "google_service_account.function"
    for name, member in deployment.resources("google_storage_bucket_iam_member"):
        right = {
            "google_storage_bucket.releases": "${google_project_iam_custom_role.reader.id}",
            "google_storage_bucket.stats": "roles/storage.objectUser",
        }
        bucket = str(member.get("bucket")).removeprefix("${").removesuffix(".name}")
        if function in str(member.get("member")) and member.get("role") != right.get(bucket):
            yield f"{name}: functions have {member.get('role')} on {bucket}"
    for kind in ("google_project_iam_member", "google_project_iam_binding"):
        yield from (f"{name}: an account has rights on the whole project" for name, _ in deployment.resources(kind))


def every_job_runs_a_command_that_there_is(deployment: Deployment) -> Iterator[str]:
    """The command line takes what a job gives it, and the plan is of as many tasks as there will be."""
    for name, job in deployment.jobs.items():
        command = [word.replace("<kind>", FILLED["SITE"]) for word in job["command"]]
        if said := refused(command):
            yield f"{name}: {said}"
        if job["tasks"] > 1 and "--no-merge" not in command:
            yield f"{name}: {job['tasks']} tasks would each publish"
    plan, tasks = deployment.jobs["plan"]["command"], deployment.jobs["map"]["tasks"]
    if plan[plan.index("--of") + 1] != str(tasks):
        yield f"plan is of {plan[plan.index('--of') + 1]} tasks, and map has {tasks}"


def every_job_says_when_it_starts(deployment: Deployment) -> Iterator[str]:
    """By itself at a time that cron knows, the release after what it is made of; the plan by hand alone."""
    starts = {name: job.get("schedule") for name, job in deployment.jobs.items()}
    for name, schedule in starts.items():
        if (schedule is None) != (name == "plan"):
            yield f"{name}: starts {'never' if schedule is None else 'by itself'}"
        elif schedule and not re.fullmatch(
            r"[0-5]?\d (1?\d|2[0-3]) (\*|[1-9]|[12]\d|3[01]) (\*|[1-9]|1[0-2]) [*0-7]", schedule
        ):
            yield f"{name}: {schedule!r} is no schedule"
    if deployment.resource("google_cloud_scheduler_job", "job").get("for_each") != "${local.scheduled}":
        yield "no scheduler for the jobs that have a schedule"


def every_job_is_as_its_table_says(deployment: Deployment) -> Iterator[str]:
    """Tasks, retries, time and size come from the table; it runs as the builder, which alone writes releases."""
    job = deployment.resource("google_cloud_run_v2_job", "job")
    outer = first(job.get("template"))
    inner = first(outer.get("template"))
    limits = first(first(inner.get("containers")).get("resources")).get("limits", {})
    expected: Sequence[tuple[str, Any, str]] = (
        ("task_count", outer.get("task_count"), "${each.value.tasks}"),
        ("parallelism", outer.get("parallelism"), "${each.value.tasks}"),
        ("max_retries", inner.get("max_retries"), "${each.value.retries}"),
        ("timeout", inner.get("timeout"), "${each.value.timeout_s}s"),
        ("service_account", inner.get("service_account"), "${google_service_account.builder.email}"),
        ("args", first(inner.get("containers")).get("args"), "${each.value.command}"),
        ("memory", limits.get("memory"), "${each.value.memory_mib}Mi"),
    )
    yield from (f"a job's {what} is {found!r} and not {right!r}" for what, found, right in expected if found != right)
    writers = {
        name for name, member in deployment.resources("google_storage_bucket_iam_member")
        if "google_storage_bucket.releases" in str(member.get("bucket")) and "roles/storage" in str(member.get("role"))
    }  # fmt: skip
    if writers != {"builds"}:
        yield f"who writes releases: {', '.join(sorted(writers)) or 'nobody'}"


def only_a_job_has_the_key_that_writes_items(deployment: Deployment) -> Iterator[str]:
    """A site asks Cosmos DB with the key that reads, and its account has rights on no other."""
    values = deployment.locals()
    for what, key in (("secrets", "read"), ("job_secrets", "write")):
        if f'google_secret_manager_secret.cosmos["{key}"]' not in str(values.get(what)):
            yield f"{what}: COSMOS_KEY is not the one that may {key}"
    version = deployment.resource("google_secret_manager_secret_version", "cosmos").get("secret_data_wo")
    if version != "${var.cosmos_keys[each.key]}":
        yield "a secret is not the key of its name"
    given = str(deployment.roots["cosmos"].named("output").get("keys", {}).get("value"))
    for name, right in (("read", r"\w+_readonly_key"), ("write", r"(primary|secondary)_key")):
        found = re.findall(rf"\b{name}\s*=\s*\S*\.(\w+)", given)
        if len(found) != 2 or not all(re.fullmatch(right, key) for key in found):
            yield f"the key `{name}` is {', '.join(found)}"
    for name, job in deployment.jobs.items():
        if ("store" in job["needs"]) != (job["command"][:2] == ["build", "items"]):
            yield f"{name}: only a build of items has the key that writes"
    for what in ("job_environment", "job_secrets"):
        if 'contains(job.needs, "store") && contains(local.in_cosmos, job.kind)' not in str(deployment.locals()[what]):
            yield f"{what}: a job without `store` is told of Cosmos DB"


def everything_waits_for_the_interfaces_of_the_platform(deployment: Deployment) -> Iterator[str]:
    """In an empty project nothing can be made before its interface is on: each thing waits, or names what does."""
    blocks = {**dict(deployment.blocks()), **{f"local.{name}": value for name, value in deployment.locals().items()}}
    names = {
        address: set(re.findall(r"(?:data\.)?\w+\.\w+", json.dumps(body))) & blocks.keys()
        for address, body in blocks.items()
    }
    waits = {"google_project_service.api"}
    while more := {address for address, named in names.items() if address not in waits and named & waits}:
        waits |= more
    for address in sorted(blocks.keys() - waits):
        if address.removeprefix("data.").startswith("google_"):
            yield f"{address} does not wait for google_project_service.api"


def every_variable_is_used(deployment: Deployment) -> Iterator[str]:
    """What can be set changes something."""
    for root in deployment.roots.values():
        for name in root.named("variable"):
            used = re.sub(rf'^variable "{name}" \{{$.*?^\}}$', "", root.text, flags=re.MULTILINE | re.DOTALL)
            if not re.search(rf"\bvar\.{name}\b", used):
                yield f"nothing reads var.{name}"


RULES: Sequence[Rule] = (
    every_folder_is_deployed,
    every_setting_is_one,
    every_function_starts_with_what_it_is_given,
    every_route_leads_to_its_function,
    every_deadline_is_the_first_to_end,
    every_service_is_reached_and_started_as_it_must_be,
    every_bucket_is_closed_and_keeps_versions,
    every_function_only_reads_releases,
    every_job_runs_a_command_that_there_is,
    every_job_says_when_it_starts,
    every_job_is_as_its_table_says,
    only_a_job_has_the_key_that_writes_items,
    everything_waits_for_the_interfaces_of_the_platform,
    every_variable_is_used,
)


def refused(command: Sequence[str]) -> str:
    """What the command line has against these words; empty where it takes them."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            parser().parse_args(list(command))
    except SystemExit:
        return said.getvalue().strip().splitlines()[-1]
    return ""


def environment_of(deployment: Deployment, function: Mapping[str, Any]) -> dict[str, str]:
    """A function's settings and secrets, with stand-ins for what a deployment fills in."""
    groups = deployment.table["settings"]
    given = dict(groups["every"])
    for group in function["settings"]:
        given |= groups[group]
    given["AGENT_FINDER_SELF"] = FILLED["AGENT_FINDER_SELF"]
    filled = {
        "releases": ("BUCKET_URL", "ARD_CATALOGS"), "stats": ("STATS_URL",), "models": ("OPENROUTER_API_KEY",),
    }  # fmt: skip
    given |= {name: FILLED[name] for need in function["needs"] for name in filled[need]}
    return given | ({"SITE": FILLED["SITE"]} if function["folder"] == "ask_site" else {})


def create(folder: str, environment: Mapping[str, str]) -> App[Any]:
    """The function's app. Raises SettingsError."""
    app: App[Any] = import_module(f"functions.{folder}.service").create(Settings.from_env(environment))
    return app


def routes_of(folder: str, environment: Mapping[str, str]) -> Sequence[str]:
    """The paths that a function answers; none where it does not start."""
    try:
        return [re.sub(r"\{\w+\}", "x", path) for path in create(folder, environment).paths]
    except (SettingsError, ModuleNotFoundError):
        return []


def leads_to(deployment: Deployment, path: str) -> str | None:
    """Where the address sends a path: by the longest route that covers it."""
    found = [
        (len(route), name) for name, each in deployment.functions.items() for route in each["routes"]
        if covers(route, path)
    ]  # fmt: skip
    return max(found)[1] if found else None


def covers(route: str, path: str) -> bool:
    """Whether a route is this path, or everything below a part of it."""
    return path == route or (route.endswith("/*") and path.startswith(route[:-1]))


def first(blocks: Any) -> dict[str, Any]:
    """The one block of its kind; empty where there is none."""
    found: dict[str, Any] = blocks[0] if isinstance(blocks, list) and blocks else {}
    return found
