"""What verbs have in common: the settings they work with, the flags they share, how they answer."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import structs

from shared.errors import AskbucketError, ReleaseMissing, SettingsError
from shared.settings import Settings, without_userinfo

_MOST_SHOWN = 10


def settings_of(args: argparse.Namespace) -> Settings:
    """The environment's settings, with `--bucket` in the place of BUCKET_URL where it is given."""
    settings = Settings.from_env()
    return structs.replace(settings, bucket_url=args.bucket) if args.bucket else settings


def add_bucket(parser: argparse.ArgumentParser) -> None:
    """The bucket that a verb works on."""
    parser.add_argument(
        "--bucket", metavar="URL", help="where releases lie: file:///…, gs://… or s3://…; default: BUCKET_URL"
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """One document for programs in the place of lines for people."""
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")


def listed(what: str, items: Sequence[str]) -> list[str]:
    """What was found, how often, and the first of it; nothing where nothing was."""
    return [f"{len(items):,} {what}:", *some([f"  {item}" for item in items])] if items else []


def some(lines: Sequence[str]) -> list[str]:
    """The first ten lines, and how many more there are."""
    more = len(lines) - _MOST_SHOWN
    return [*lines[:_MOST_SHOWN], f"  … and {more:,} more (--json lists all)"] if more > 0 else list(lines)


def bucket_url(url: str) -> str:
    """The bucket's address. Raises SettingsError where there is none."""
    if not url:
        raise SettingsError("no bucket: give --bucket file:///…, gs://… or s3://…, or set BUCKET_URL")
    return url


def answer(args: argparse.Namespace, document: Mapping[str, Any], text: Sequence[str]) -> None:
    """One JSON object for programs, or lines for people."""
    print(json.dumps(document, ensure_ascii=False) if args.json else "\n".join(text))


def advised(error: AskbucketError, settings: Settings) -> str:
    """The error's message; where the bucket has no release yet, with the command that makes one."""
    if not isinstance(error, ReleaseMissing) or settings.ard_catalogs:
        return error.message
    bucket = without_userinfo(settings.bucket_url)
    return f"{error.message}; make one with `askbucket build tables --leaves DIR --bucket {bucket}`"
