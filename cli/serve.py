"""`askbucket serve`: every function behind one local port."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any


def add_parser(verbs: Any) -> None:
    """Add the verb and its flags."""
    verb = verbs.add_parser("serve", help="serve all functions on one port; says `ready <url>` once they can answer")
    verb.add_argument("--bucket", metavar="URL", help="where the releases lie (default: BUCKET_URL)")
    verb.add_argument("--port", type=int, default=8080, help="0 picks a free one (default: 8080)")
    verb.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    verb.add_argument(
        "--only",
        metavar="FUNCTION,…",
        help="some of the functions: pages, search, variable, registry, mcp, stats, ask_site",
    )
    verb.add_argument("--log", action="store_true", help="write one JSON line a request to standard error")
    verb.add_argument("--json", action="store_true", help='print {"ready": "<url>", "sites": {…}} instead')
    verb.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Serve until stopped. Raises what the release or the settings refuse to start with."""
    import logging

    from cli.gateway import gateway
    from cli.options import advised, settings_of
    from cli.servers import serve
    from shared.edge import log
    from shared.settings import secrets_of

    settings = settings_of(args)
    log.to_stderr(logging.INFO if args.log else logging.ERROR, secrets_of(settings))
    served = gateway(settings, args.only.split(",") if args.only else None)
    serve(
        served,
        args.host,
        args.port,
        lambda url: announce(url, list(served.sites), args.json),
        lambda error: advised(error, settings),
    )


def announce(url: str, kinds: Sequence[str], as_json: bool) -> None:
    """Say that the service answers, and where its sites do."""
    import json

    sites = {kind: f"{url}/sites/{kind}/ask" for kind in kinds}
    if as_json:
        print(json.dumps({"ready": url, "sites": sites}), flush=True)
        return
    print("\n".join([f"ready {url}", *(f"      {kind}: {at}" for kind, at in sites.items())]), flush=True)
