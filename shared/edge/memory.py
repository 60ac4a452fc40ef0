"""How much memory is free, by what the kernel says of the machine and of the control groups around this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def memory_allows(needed_bytes: int, proc: Path = Path("/proc"), cgroup: Path = Path("/sys/fs/cgroup")) -> bool:
    """Whether this many bytes more fit into memory. Where nothing says (not Linux), they do."""
    free = available_bytes(proc, cgroup)
    return free is None or needed_bytes <= free


def available_bytes(proc: Path = Path("/proc"), cgroup: Path = Path("/sys/fs/cgroup")) -> int | None:
    """What the machine and every control group around this process leave free, or None where nothing says."""
    known = [_machine(proc), *(_headroom(folder) for folder in _memory_groups(proc, cgroup))]
    return min((value for value in known if value is not None), default=None)


def _machine(proc: Path) -> int | None:
    kilobytes = _fields(proc / "meminfo").get("MemAvailable")
    return None if kilobytes is None else kilobytes * 1024


def _memory_groups(proc: Path, cgroup: Path) -> Iterator[Path]:
    """Every folder that may limit this process: its own group's and those above, version 2 or 1.

    Inside a container the group's path is often the host's; then only the root exists, and it is the container's.
    """
    for line in _text(proc / "self" / "cgroup").splitlines():
        _, controllers, group = line.split(":", 2)
        if controllers in ("", "memory"):
            root = cgroup / controllers
            own = root / group.lstrip("/")
            yield from (folder for folder in (own, *own.parents) if folder.is_relative_to(root))


def _headroom(group: Path) -> int | None:
    """A group's limit less what it uses; file pages not used lately count as free, as the kernel takes those first."""
    for limit_name, usage_name, idle_name in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        limit, usage = _text(group / limit_name).strip(), _text(group / usage_name).strip()
        if limit.isdigit() and usage.isdigit():
            return max(0, int(limit) - int(usage) + _fields(group / "memory.stat").get(idle_name, 0))
    return None


def _fields(path: Path) -> dict[str, int]:
    """The `name number` lines of a kernel file."""
    lines = (line.replace(":", " ").split() for line in _text(path).splitlines())
    return {line[0]: int(line[1]) for line in lines if len(line) >= 2 and line[1].isdigit()}


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
