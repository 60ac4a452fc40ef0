"""X01: /okf/file is asked for what is no document of the release, in every spelling that ever reached a file system."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from building import TINY_LEAVES, build_tiny
from wire import Service, serving

from build_jobs.collect import collect
from shared.errors import BuildError

REAL = "sources/census/_access.md"
# Each as it stands behind `path=`: already percent-encoded where it has to be.
HOSTILE = [
    "../../etc/passwd",
    "../../../../../../../../etc/passwd",
    "..%2f..%2fetc%2fpasswd",
    "..%2F..%2F..%2Fetc%2Fpasswd",
    "%2e%2e/%2e%2e/etc/passwd",
    "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "%252e%252e%252fetc%252fpasswd",
    "%252e%252e/%252e%252e/etc/passwd",
    "..%255c..%255cetc%255cpasswd",
    "..%5c..%5cetc%5cpasswd",
    "..\\..\\etc\\passwd",
    "....//....//etc/passwd",
    "..;/..;/etc/passwd",
    "%c0%ae%c0%ae/etc/passwd".replace("%c0%ae", quote("․")),
    quote("．．／．．／etc/passwd"),
    quote("..∕..∕etc∕passwd"),
    "/etc/passwd",
    "//etc/passwd",
    "/proc/self/environ",
    "/dev/null",
    "file:///etc/passwd",
    "file:sources/census/_access.md",
    "http://169.254.169.254/latest/meta-data/",
    "gopher://127.0.0.1/",
    "C:\\Windows\\win.ini",
    "C:/Windows/win.ini",
    "\\\\host\\share\\file.md",
    "%00",
    "sources/census/_access.md%00",
    "sources/census/_access.md%00.md",
    "sources%00/census/_access.md",
    "sources/../sources/census/_access.md",
    "sources/../../x",
    "sources/./census/_access.md",
    "./sources/census/_access.md",
    "sources//census/_access.md",
    "sources/census//_access.md",
    "/sources/census/_access.md",
    "sources/census/_access.md/",
    "sources/census/_access.md%20",
    "%20%20x",
    "sources/census/_access.md%0a",
    "sources/census/_access.md?x=1".replace("?", "%3f"),
    "sources/census/_access.md%23",
    "sources/census/_access.MD",
    "Sources/census/_access.md",
    "sources/census/_access",
    "sources/census/_access.md.bak",
    "sources_private/secret.md",
    "sources/census_private/secret.md",
    "sources/census/link.md",
    "sources/census/notes.txt",
    "sources/census/index.md",
    "sources/census",
    "sources/census/",
    "sources",
    ".",
    "..",
    "~/.ssh/id_rsa",
    "open-data:sources/census/_access.md",
    "built-in:sources/census/_access.md",
    ":sources/census/_access.md",
    "built-in/current.json",
    "current.json",
    "sources/*/_access.md",
    "sources/census/%25",
    "' OR '1'='1".replace(" ", "%20"),
    "a" * 5_000,
    "../" * 1_600 + "etc/passwd",
    "sources/" * 600 + "x.md",
]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A release built beside files that are not to be had: a private folder, a link out, a note, an index."""
    root = tmp_path_factory.mktemp("x01")
    leaves = root / "leaves"
    for source in TINY_LEAVES.rglob("*.md"):
        target = leaves / source.relative_to(TINY_LEAVES)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
    (leaves / "sources_private").mkdir()
    (leaves / "sources_private/secret.md").write_text("secret")
    (leaves / "sources/census_private").mkdir()
    (leaves / "sources/census_private/secret.md").write_text("secret")
    (leaves / "sources/census/notes.txt").write_text("secret")
    (leaves / "sources/census/index.md").write_text("secret")
    (leaves / "sources/census/link.md").symlink_to(root / "outside.md")
    (root / "outside.md").write_text("secret")
    with serving(build_tiny(root / "bucket", leaves)) as running:
        yield running


def test_X01_there_are_sixty_of_them_and_all_differ() -> None:
    assert len(set(HOSTILE)) == len(HOSTILE) >= 60


@pytest.mark.parametrize("path", HOSTILE, ids=range(len(HOSTILE)))
def test_X01_a_path_that_is_no_document_is_a_404_with_one_constant_body(service: Service, path: str) -> None:
    headers = {"X-Request-Id": "same"}
    expected = service.get("/okf/file?path=nowhere", headers)
    for prefix in ("/okf/file?path=", "/okf/file/?path="):
        answer = service.get(prefix + path.replace(" ", "%20"), headers)
        assert (answer.status, answer.content) == (404, expected.content)


def test_X01_nothing_of_a_path_is_routed_to_a_file(service: Service) -> None:
    for path in ("/okf/file/../../etc/passwd", "/okf/../../etc/passwd", "/okf/%2e%2e/%2e%2e/etc/passwd", "/okf/file/x"):
        answer = service.get(path)
        assert (answer.status, answer.json["code"]) == (404, "not_found")


def test_X01_the_documents_beside_them_are_served(service: Service) -> None:
    assert service.get(f"/okf/file?path={REAL}").content == (TINY_LEAVES / REAL).read_bytes()
    assert service.get(f"/okf/file?path={quote(REAL, safe='')}").status == 200


def test_X01_an_entry_is_looked_up_the_same_way(service: Service) -> None:
    for path in HOSTILE:
        answer = service.get(f"/agents/entry?id={path.replace(' ', '%20')}")
        assert answer.status == 404, path


def test_X01_a_folder_is_looked_up_the_same_way(service: Service) -> None:
    folders = {"sources/census", "sources/census/", "sources"}
    for path in set(HOSTILE) - folders:
        answer = service.get(f"/okf/index?dir={path.replace(' ', '%20')}")
        assert answer.status == 404, path


def test_X01_a_link_out_of_a_source_is_never_published(tmp_path: Path) -> None:
    """A file with an opening delimiter alone is an unreadable leaf, and would be sent whole to who asks for it."""
    sources = tmp_path / "sources/census"
    sources.mkdir(parents=True)
    for name in ("_access.md", "dp03-0062e.md"):
        (sources / name).write_bytes((TINY_LEAVES / "sources/census" / name).read_bytes())
    (tmp_path / "secrets.yaml").write_text("---\npassword: hunter2\n")
    (sources / "secrets.md").symlink_to(tmp_path / "secrets.yaml")
    (sources / "twin.md").symlink_to(sources / "dp03-0062e.md")
    collected = collect([tmp_path])
    assert sorted(path.rpartition("/")[2] for path in collected.files) == ["_access.md", "dp03-0062e.md", "twin.md"]
    assert "outside of its source directory" in collected.report.unreadable["sources/census/secrets.md"]


def test_X01_an_access_document_that_is_a_link_outside_is_none(tmp_path: Path) -> None:
    sources = tmp_path / "sources/census"
    sources.mkdir(parents=True)
    (sources / "dp03-0062e.md").write_bytes((TINY_LEAVES / "sources/census/dp03-0062e.md").read_bytes())
    (tmp_path / "outside.md").write_text("---\npublisher: census.gov\n---\n")
    (sources / "_access.md").symlink_to(tmp_path / "outside.md")
    with pytest.raises(BuildError, match="no access document names a publisher"):
        collect([tmp_path])
