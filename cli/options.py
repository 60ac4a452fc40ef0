"""The settings that a verb works with."""

from __future__ import annotations

import argparse
import dataclasses

from shared.settings import Settings


def settings_of(args: argparse.Namespace) -> Settings:
    """The environment's settings, with `--bucket` in the place of BUCKET_URL where it is given."""
    settings = Settings.from_env()
    return dataclasses.replace(settings, bucket_url=args.bucket) if args.bucket else settings
