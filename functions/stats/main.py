"""The deployed function: GET /stats.json and /status.json."""

from functions.stats.service import create
from shared.edge.framework import target
from shared.settings import Settings

app = create(Settings.from_env())
handle = target(app)
