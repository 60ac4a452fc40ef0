"""The tables' real search and the scripted site behind one port, on the server of `askbucket serve`."""

from __future__ import annotations

from cli.gateway import Gateway
from cli.serve import announce
from cli.servers import serve
from fakes.scripted.script import create as scripted
from functions.search.service import create as search
from shared.settings import Settings


def main() -> None:
    settings = Settings.from_env()
    gateway = Gateway({"search": search(settings)}, {"recipes": scripted(settings)})
    serve(gateway, "127.0.0.1", 0, lambda url: announce(url, ["recipes"], as_json=False), lambda error: error.message)


if __name__ == "__main__":
    main()
