"""`askbucket ask`: a question to a site, its items as they are found and the answer to read."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from cli.search import LOCAL_URL

Message = Mapping[str, Any]


def add_parser(verbs: Any) -> None:
    """Add the verb and its flags."""
    verb = verbs.add_parser("ask", help="find items on a site; prints them as they are found")
    verb.add_argument("site", metavar="SITE", help="recipes, movies, reviews, trails or homes")
    verb.add_argument("text", nargs="+", metavar="TEXT", help="what to find")
    where = verb.add_mutually_exclusive_group()
    where.add_argument("--url", help=f"a running service, or a site's own …/ask (default: {LOCAL_URL})")
    where.add_argument("--bucket", metavar="URL", help="ask the release there, in this process")
    verb.add_argument("--mode", choices=("list", "summarize", "generate"), default="summarize")
    verb.add_argument("--max-results", type=int, default=10, metavar="N", help="at most so many items (default: 10)")
    verb.add_argument("--model", default="", metavar="ID", help="the chat model that ranks (default: the service's)")
    verb.add_argument("--json", action="store_true", help="print each message as one line of JSON")
    verb.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Ask and print. 1 where the stream says that something failed."""
    failed = False
    place = 0
    conditions: dict[str, str] = {}
    for message in messages(args):
        if message["message_type"] == "restrictions":
            conditions = {each["id"]: each["text"] for each in message["content"]["constraints"]}
        failed = failed or message["message_type"] == "error"
        place += message["message_type"] == "result"
        for line in [json.dumps(message)] if args.json else lines(message, place, conditions):
            print(line, flush=True)
    return int(failed)


def messages(args: argparse.Namespace) -> Iterable[Message]:
    """The stream of the service at `--url`, or of the pipeline run here over `--bucket`."""
    from cli.options import settings_of

    settings = settings_of(args)
    if args.url or not settings.bucket_url:
        from cli.client import stream

        return stream(address(args.url or LOCAL_URL, args.site), request_of(args))
    from cli.local import ask_here

    return ask_here(settings, args.site, request_of(args))


def request_of(args: argparse.Namespace) -> dict[str, Any]:
    """The body of POST /ask."""
    model = {"ranking_model": args.model} if args.model else {}
    return {"query": " ".join(args.text), "mode": args.mode, "max_results": args.max_results, **model}


def address(url: str, site: str) -> str:
    """Where a site is asked, at a service that has several or at its own function."""
    base = url.rstrip("/")
    return base if base.endswith("/ask") else f"{base}/sites/{site}/ask"


def lines(message: Message, place: int, conditions: Mapping[str, str]) -> Iterator[str]:
    """A message as people read it; `place` is a result's own, `conditions` are the words of each by its id."""
    content = message["content"]
    match message["message_type"]:
        case "decontextualized_query":
            yield f"Interpreted as: {content}"
        case "restrictions" if content["constraints"] or content["order"]:
            read = [each["text"] for each in (*content["constraints"], content["order"]) if each]
            yield f"Held to: {', '.join(dict.fromkeys(read))}"
        case "candidate":
            yield from (f"  + {item['name']}" for item in content)
        case "result":
            for item in content:
                yield from card(
                    item, place, [conditions[each] for each in item.get("unknown", ()) if each in conditions]
                )
        case "nlws" if content["answer"]:
            yield f"\n{content['answer']}"
        case "intermediate_message":
            yield f"Note: {content}"
        case "error":
            yield f"Error: {content}"


def card(item: Mapping[str, Any], place: int, unsaid: Sequence[str]) -> Iterator[str]:
    """One item: its place and score, why it is here, which conditions it says nothing of, and where it lies."""
    yield f"{place:3}. {item.get('score', '')!s:>3}  {item['name']}"
    open_ = f"(does not say: {', '.join(unsaid)})" if unsaid else ""
    for line in (item.get("description"), open_, item.get("url")):
        if line:
            yield f"          {line}"
