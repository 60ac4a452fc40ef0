"""What holds between infra/ and the code. Each rule yields a sentence for each thing that is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from importlib import import_module
from typing import Any, TypeAlias

from deployment import Deployment
from wire import ROOT

from shared.edge.app import App
from shared.errors import SettingsError
from shared.settings import Settings

Rule: TypeAlias = Callable[[Deployment], Iterator[str]]

NAMES = {row.metadata["name"]: row for row in fields(Settings)}
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
    yield from (f"{name} is set and is no setting" for name in sorted(named - NAMES.keys() - SERVERS))


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
        ("service_account", template.get("service_account"), "${google_service_account.function[each.key].email}"),
        ("min_instance_count", first(template.get("scaling")).get("min_instance_count"), 0),
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
    """X03: a function gets objects of one bucket, lists and writes none there, and writes counters only."""
    role = deployment.resource("google_project_iam_custom_role", "reader")
    if role.get("permissions") != ["storage.objects.get"]:
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


RULES: Sequence[Rule] = (
    every_folder_is_deployed,
    every_setting_is_one,
    every_function_starts_with_what_it_is_given,
    every_route_leads_to_its_function,
    every_deadline_is_the_first_to_end,
    every_service_is_reached_and_started_as_it_must_be,
    every_bucket_is_closed_and_keeps_versions,
    every_function_only_reads_releases,
)


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
