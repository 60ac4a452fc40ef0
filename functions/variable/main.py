"""The deployed function: GET /variable and GET /variables."""

from functions.variable.service import create
from shared.edge.framework import target
from shared.settings import Settings

app = create(Settings.from_env())
handle = target(app)
