"""A generator of requests reads /openapi.json and finds nothing: what is described is what is answered.

20 examples an operation here; for more, beside a running `make demo`:

    .venv/bin/schemathesis run http://127.0.0.1:8080/openapi.json --max-examples 500 \
        --phases examples,coverage,fuzzing --exclude-checks positive_data_acceptance
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from wire import Service

# A request may fit its schema and still be refused: which sources exist, or which page token is good, is data.
NOT_CHECKED = "positive_data_acceptance"


def test_a_generator_of_requests_finds_no_reply_that_is_not_described(demo_gateway: Service, tmp_path: Path) -> None:
    command = shutil.which("schemathesis", path=str(Path(sys.executable).parent))
    if command is None:
        pytest.skip("schemathesis is not installed")
    given = [
        "--max-examples", "20", "--phases", "examples,coverage,fuzzing", "--exclude-checks", NOT_CHECKED,
        "--continue-on-failure", "--no-color", "--seed", "1",
    ]  # fmt: skip
    done = subprocess.run(
        [command, "run", f"{demo_gateway.url}/openapi.json", *given],
        cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6_000:]
