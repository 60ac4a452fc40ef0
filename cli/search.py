"""`askbucket search`: one question, a ranked answer to read."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from typing import Any

from shared.contracts.leaf import code_of
from shared.errors import ReleaseMissing

LOCAL_URL = "http://127.0.0.1:8080"


def add_parser(verbs: Any) -> None:
    """Add the verb and its flags."""
    verb = verbs.add_parser("search", help="which published tables describe this?")
    verb.add_argument("text", nargs="+", metavar="TEXT", help="what to look for")
    where = verb.add_mutually_exclusive_group()
    where.add_argument("--url", help=f"a running service (default: {LOCAL_URL}, unless BUCKET_URL is set)")
    where.add_argument("--bucket", metavar="URL", help="search the releases there, in this process")
    verb.add_argument("--sources", metavar="A,B", help="only these sources")
    verb.add_argument("--page-size", type=int, default=10, metavar="N", help="how many results (default: 10)")
    verb.add_argument("--json", action="store_true", help="print the reply as the service sends it")
    verb.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Search and print."""
    reply = ask(args, request_of(args))
    if args.json:
        print(json.dumps(reply, ensure_ascii=False, indent=2))
    else:
        print("\n".join(lines(reply)))


def request_of(args: argparse.Namespace) -> dict[str, Any]:
    """The body of POST /search."""
    sources = [name.strip() for name in args.sources.split(",") if name.strip()] if args.sources else None
    return {"query": {"text": " ".join(args.text)}, "pageSize": args.page_size, "sources": sources}


def ask(args: argparse.Namespace, body: Mapping[str, Any]) -> dict[str, Any]:
    """The reply of the service at `--url`, or of the search run here over `--bucket`."""
    from cli.options import advised, settings_of

    if args.url:
        from cli.client import post

        return post(f"{args.url.rstrip('/')}/search", body)
    settings = settings_of(args)
    if settings.bucket_url:
        from cli.local import search_here

        try:
            return search_here(settings, body)
        except ReleaseMissing as error:
            raise ReleaseMissing(advised(error, settings)) from error
    from cli.client import post

    return post(f"{LOCAL_URL}/search", body)


def lines(reply: Mapping[str, Any]) -> Iterator[str]:
    """A reply as people read it."""
    for place, entry in enumerate(reply["results"], start=1):
        code = code_of(entry, "okf:")
        yield f"{place:3}. {entry['score']:3}  {entry['displayName']}"
        yield f"          {entry['okf:sourceDirectory']}{f' · {code}' if code else ''}"
        yield f"          {entry['identifier']}"
    if "eligibility" in reply:
        yield no_match(reply["eligibility"])
    for notice in reply.get("notices", []):
        yield f"Note: {notice['message']}"


def no_match(eligibility: Mapping[str, Any]) -> str:
    """Why nothing was found, in a sentence."""
    if eligibility["topScore"] is None:
        return "No match: the sources and filters given leave no table to look at."
    return (
        f"No match: the best table scores {eligibility['topScore']} of 100, "
        f"and {eligibility['threshold']} are needed to be called an answer."
    )
