"""The settings that a verb works with."""

from __future__ import annotations

import argparse
import dataclasses

from shared.errors import AskbucketError, ReleaseMissing
from shared.settings import Settings, without_userinfo


def settings_of(args: argparse.Namespace) -> Settings:
    """The environment's settings, with `--bucket` in the place of BUCKET_URL where it is given."""
    settings = Settings.from_env()
    return dataclasses.replace(settings, bucket_url=args.bucket) if args.bucket else settings


def advised(error: AskbucketError, settings: Settings) -> str:
    """The error's message; where the bucket has no release yet, with the command that makes one."""
    if not isinstance(error, ReleaseMissing) or settings.ard_catalogs:
        return error.message
    bucket = without_userinfo(settings.bucket_url)
    return f"{error.message}; make one with `askbucket build tables --leaves DIR --bucket {bucket}`"
