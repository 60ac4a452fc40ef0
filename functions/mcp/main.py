"""The deployed function: POST /mcp."""

from functions.mcp.service import create
from shared.edge.framework import target
from shared.settings import Settings

app = create(Settings.from_env())
handle = target(app)
