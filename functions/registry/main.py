"""The deployed function: what there is, entry by entry, and what the registry says of itself."""

from functions.registry.service import create
from shared.edge.framework import target
from shared.settings import Settings

app = create(Settings.from_env())
handle = target(app)
