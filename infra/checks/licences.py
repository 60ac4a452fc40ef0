"""Whether every package of a lock may be shipped with ours: `python infra/checks/licences.py LOCK…`.

Read from what is installed, so it is run by the environment that the locks were installed into. A licence that is
not in ALLOWED, or that a package says in no way this knows, is a failure: somebody looks, and adds it or does without.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

# Their terms are met by naming the package and keeping its notice, which every wheel brings along. MPL-2.0 asks for the
# changes to its own files, and we change none.
ALLOWED = {
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "CNRI-Python", "ISC", "MIT", "MIT-0", "MPL-2.0",
    "PSF-2.0", "Zlib",
}  # fmt: skip
# How packages write them that have no SPDX expression.
SPELLINGS = {
    "apache 2": "Apache-2.0", "apache 2.0": "Apache-2.0", "apache license 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0", "3-clause bsd license": "BSD-3-Clause", "bsd": "BSD-3-Clause",
    "bsd license": "BSD-3-Clause", "mit license": "MIT", "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "python software foundation license": "PSF-2.0",
}  # fmt: skip


def complaints(locks: Sequence[Path]) -> Iterator[str]:
    """A sentence for each package whose licence nobody has allowed."""
    for name in sorted({name for lock in locks for name in names_in(lock.read_text(encoding="utf-8"))}):
        try:
            said = licence_of(name)
        except PackageNotFoundError:  # the lock has it for another platform
            continue
        if not allowed(said):
            yield f"{name}: {said or 'says no licence'}"


def names_in(lock: str) -> list[str]:
    """Every package that a lock names."""
    return re.findall(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==", lock, re.MULTILINE)


def licence_of(name: str) -> str:
    """An SPDX expression, or what the package says instead; empty where it says nothing."""
    said = metadata(name)
    if expression := said.get("License-Expression"):
        return expression
    last = [line.rpartition(" :: ")[2] for line in said.get_all("Classifier") or [] if line.startswith("License :: ")]
    named = [each for each in last if each != "OSI Approved"] or [(said.get("License") or "").split("\n")[0]]
    return " AND ".join(SPELLINGS.get(each.lower(), each) for each in named)


def allowed(expression: str) -> bool:
    """Whether one of the alternatives is made of allowed licences only. Brackets are left to a person."""
    return any(set(each.split(" AND ")) <= ALLOWED for each in expression.split(" OR "))


def main(locks: Sequence[str]) -> int:
    """Print what is wrong; 1 where anything is, 2 where nothing can be looked at."""
    absent = [lock for lock in locks if not Path(lock).is_file()]
    if absent or not locks:
        sys.stderr.write(f"licences.py: needs a LOCK or more; not there: {', '.join(absent) or 'any'}\n")
        return 2
    found = list(complaints([Path(lock) for lock in locks]))
    sys.stderr.write("".join(f"{line}\n" for line in found))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
