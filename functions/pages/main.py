"""The deployed function: every HTML page, and what they are made of."""

from functions.pages.service import create
from shared.edge.framework import target
from shared.settings import Settings

app = create(Settings.from_env())
handle = target(app)
