"""Which Askbucket this is. A test holds it to pyproject.toml."""

VERSION = "0.1.0"
