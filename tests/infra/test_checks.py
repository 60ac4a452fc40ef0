"""What infra/ and the locks are checked with: nothing to be said, and each check is able to fail."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from checkers import CHECKS, check
from wire import ROOT

sys.path.insert(0, str(CHECKS))
sys.path.insert(0, str(ROOT / "infra"))

import licences
import needs

IMAGES = [ROOT / "infra" / "Dockerfile", ROOT / "infra" / "jobs" / "Dockerfile"]
SHIPPED = [ROOT / "requirements.txt", ROOT / "requirements-local.txt"]
LOCKS = [*SHIPPED, ROOT / "requirements-dev.txt", CHECKS / "requirements.txt"]


def wrong_with(image: str) -> Iterator[str]:
    """Our own rules for an image: small, by digest, compiled, and nobody's who could write to it."""
    if image.count("\nFROM ") != 2 or not all("-slim-" in line for line in re.findall("^FROM .*", image, re.MULTILINE)):
        yield "not two slim stages"
    users = re.findall(r"^USER (.*)$", image, re.MULTILINE)
    if not users or not users[-1].isdigit() or int(users[-1]) < 10_000:
        yield "runs as no number of its own"
    for line in re.findall(r"pip .*install.*", image):
        if "--require-hashes" not in line:
            yield f"installs without digests: {line.strip()}"
    if not re.search(r"COPY (shared|functions).*[\s\S]*compileall[\s\S]*\nUSER", image):
        yield "does not compile what it has copied"
    if re.search(
        r"^COPY \.|^ADD |^COPY functions functions",
        image.replace("COPY functions functions\nCOPY build_jobs", ""),
        re.MULTILINE,
    ):
        yield "copies more than it needs"


@pytest.mark.parametrize("path", IMAGES, ids=lambda path: path.parent.name)
def test_nothing_is_to_be_said_about_an_image(path: Path) -> None:
    assert list(wrong_with(path.read_text(encoding="utf-8"))) == []
    linted = check("hadolint", path)
    assert (linted.returncode, linted.stdout) == (0, "")


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("\nUSER 10001", "\nUSER root", "runs as no number of its own"),
        (" --require-hashes", "", "installs without digests"),
        ("RUN /venv/bin/python -m compileall -q /app\n", "", "does not compile what it has copied"),
        ("COPY functions/$FUNCTION functions/$FUNCTION", "COPY functions functions", "copies more than it needs"),
        ("python:3.11-slim-bookworm AS", "python:3.11 AS", "not two slim stages"),
    ],
)
def test_a_mistake_in_an_image_is_found(right: str, wrong: str, said: str) -> None:
    text = IMAGES[0].read_text(encoding="utf-8")
    assert right in text
    assert any(each.startswith(said) for each in wrong_with(text.replace(right, wrong)))


def test_hadolint_finds_a_seeded_mistake() -> None:
    text = IMAGES[0].read_text(encoding="utf-8")
    for right, wrong, rule in (
        ("python:3.11-slim-bookworm", "python", "DL3006"),
        ("WORKDIR /app", "RUN cd /app", "DL3003"),
    ):
        assert rule in check("hadolint", "-", stdin=text.replace(right, wrong)).stdout


def test_checkov_has_nothing_to_say_and_finds_seeded_mistakes(tmp_path: Path) -> None:
    config = ["--config-file", CHECKS / "checkov.yaml"]
    clean = check("checkov", *config)
    assert clean.returncode == 0, clean.stdout
    shutil.copytree(ROOT / "infra", tmp_path / "infra", ignore=shutil.ignore_patterns("load", "checks"))
    for name, right, wrong in (
        (
            "terraform/storage.tf",
            'public_access_prevention    = "enforced"',
            'public_access_prevention    = "inherited"',
        ),
        ("terraform/storage.tf", "uniform_bucket_level_access = true", "uniform_bucket_level_access = false"),
        ("terraform/balancer.tf", '"TLS_1_2"', '"TLS_1_0"'),
        ("terraform/cosmos/cosmos.tf", "metadata_writes_enabled = false", "metadata_writes_enabled = true"),
        ("Dockerfile", "USER 10001\nHEALTHCHECK", "HEALTHCHECK"),
    ):
        text = (tmp_path / "infra" / name).read_text(encoding="utf-8")
        assert right in text
        (tmp_path / "infra" / name).write_text(text.replace(right, wrong, 1), encoding="utf-8")
    mistaken = check("checkov", *config, cwd=tmp_path)
    assert mistaken.returncode == 1
    found = set(re.findall(r"Check: (CKV\w+)", mistaken.stdout))
    assert {"CKV_GCP_114", "CKV_GCP_29", "CKV_DOCKER_3", "CKV_AZURE_132"} <= found


def test_what_checkov_is_told_to_pass_over_has_a_reason_each() -> None:
    text = "\n".join(
        path.read_text(encoding="utf-8") for path in [*(ROOT / "infra" / "terraform").rglob("*.tf"), *IMAGES]
    )
    skips = re.findall(r"checkov:skip=(\w+)(.*)", text)
    assert skips
    assert [name for name, reason in skips if not re.fullmatch(r":.{20,}", reason)] == []
    assert "skip-check" not in (CHECKS / "checkov.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: str(path.relative_to(ROOT)))
def test_X08_every_entry_of_a_lock_has_a_version_and_a_digest(lock: Path) -> None:
    entries = re.findall(r"^[A-Za-z0-9].*(?:\n[ \t].*)*", lock.read_text(encoding="utf-8"), re.MULTILINE)
    assert entries
    assert [entry for entry in entries if "==" not in entry or "--hash=sha256:" not in entry] == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lock: re.sub(r" \\\n\s+--hash=\S+", "", lock), "Hashes are required"),
        (lambda lock: re.sub(r"sha256:[0-9a-f]{8}", "sha256:00000000", lock), "DO NOT MATCH"),
    ],
    ids=["without", "another"],
)  # fmt: skip
def test_X08_a_lock_changed_without_its_digest_fails_the_install(tmp_path: Path, change: object, said: str) -> None:
    folder = wheel(tmp_path)
    digest = subprocess.run(
        [sys.executable, "-m", "pip", "hash", folder / "widget-1-py3-none-any.whl"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\n")[1]
    lock = tmp_path / "lock.txt"

    def install(text: str) -> subprocess.CompletedProcess[str]:
        lock.write_text(text, encoding="utf-8")
        flags = ["--disable-pip-version-check", "--no-index", "--find-links", folder, "--target", tmp_path / "to"]
        command = [sys.executable, "-m", "pip", "install", *flags, "--require-hashes", "--requirement", lock]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    locked = f"widget==1 \\\n    {digest}\n"
    assert install(locked).returncode == 0
    refused = install(change(locked))  # type: ignore[operator]
    assert refused.returncode != 0
    assert said in refused.stderr


def wheel(folder: Path) -> Path:
    """A folder with one small package in it, so that an install needs no network."""
    import zipfile

    with zipfile.ZipFile(folder / "widget-1-py3-none-any.whl", "w") as file:
        file.writestr("widget.py", "")
        file.writestr("widget-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: widget\nVersion: 1\n")
        file.writestr("widget-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr("widget-1.dist-info/RECORD", "")
    return folder


def test_X08_every_package_has_a_licence_that_somebody_allowed() -> None:
    assert list(licences.complaints(LOCKS[:3])) == []


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("License-Expression: AGPL-3.0-only", "widget: AGPL-3.0-only"),
        ("License-Expression: MIT AND GPL-2.0-only", "widget: MIT AND GPL-2.0-only"),
        ("Classifier: License :: OSI Approved :: MIT License\nClassifier: License :: Other/Proprietary License",
         "widget: MIT AND Other/Proprietary License"),
        ("License: see LICENSE", "widget: see LICENSE"),
        ("Summary: small", "widget: says no licence"),
        ("License-Expression: MIT OR GPL-2.0-only", ""),
        ("Classifier: License :: OSI Approved :: BSD License", ""),
    ],
)  # fmt: skip
def test_X08_an_unknown_licence_fails_the_check(tmp_path: Path, said: str, found: str) -> None:
    installed = tmp_path / "widget-1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text(f"Metadata-Version: 2.4\nName: widget\nVersion: 1\n{said}\n", encoding="utf-8")
    lock = tmp_path / "lock.txt"
    lock.write_text("widget==1\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, CHECKS / "licences.py", lock],
        env={"PYTHONPATH": str(tmp_path)},
        check=False,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr.strip()) == (int(bool(found)), found)


@pytest.mark.parametrize("locks", [[], ["nowhere.txt"]])
def test_X08_a_check_of_no_lock_is_no_check(locks: list[str]) -> None:
    done = subprocess.run([sys.executable, CHECKS / "licences.py", *locks], check=False, capture_output=True, text=True)
    assert (done.returncode, "needs a LOCK" in done.stderr) == (2, True)


def test_X08_the_bill_of_materials_names_every_locked_package_with_its_digests(tmp_path: Path) -> None:
    check("cyclonedx-py", "--version")
    subprocess.run([CHECKS / "sbom", tmp_path], check=True, capture_output=True)
    bills = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in tmp_path.glob("*.json")}
    assert bills.keys() == {"askbucket", *(path.parent.name for path in (ROOT / "functions").glob("*/main.py"))}
    for name, bill in bills.items():
        text = (
            "".join(lock.read_text(encoding="utf-8") for lock in SHIPPED)
            if name == "askbucket"
            else needs.lock(name, [])
        )
        assert bill["bomFormat"] == "CycloneDX"
        named = {(needs.canonical(each["name"]), each["version"]) for each in bill["components"]}
        assert named == {(needs.canonical(a), b) for a, b in re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE)}
        assert all("hashes" in json.dumps(each) for each in bill["components"])
