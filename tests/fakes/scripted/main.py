"""The scripted site as a deployed function."""

from fakes.scripted.script import create
from shared.edge.framework import target
from shared.settings import Settings

app = create(Settings.from_env())
handle = target(app)
