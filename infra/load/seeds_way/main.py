"""The plain way as a function of functions-framework: POST /search, and a /health that says it is there.

CACHE_DIR is the folder that seeds_way/export.py wrote; the models and the pool's sizes are the settings' own.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from infra.load.seeds_way.engine import Engine
from shared.settings import Settings

settings = Settings.from_env()
engine = Engine(Path(settings.cache_dir), settings)


def handle(request: Any) -> tuple[str, int, dict[str, str]]:
    """One request."""
    if request.path == "/health":
        return "{}", 200, {}
    reply = engine.search(request.get_json(force=True))
    return json.dumps(reply), 200, {"Content-Type": "application/json"}
