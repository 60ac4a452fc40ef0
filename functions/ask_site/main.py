"""The deployed function: one site's GET and POST /ask, and its POST /mcp; SITE says which."""

from functions.ask_site.service import create
from shared.edge.framework import target
from shared.settings import Settings

app = create(Settings.from_env())
handle = target(app)
