"""What the tests of infra/ have in common."""

from __future__ import annotations

import pytest
from deployment import Deployment, read


@pytest.fixture(scope="session")
def deployment() -> Deployment:
    """The deployment as it stands here."""
    return read()
