"""The askbucket command.

Each verb's module is imported for its flags alone: what a verb needs is imported when it runs, so that
`--help` and a typo answer at once.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from cli import ask, cosmos, doctor, evaluate, jobs, search, serve, site
from cli.bench import command as bench
from shared.errors import AskbucketError
from shared.version import VERSION


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb. Returns the exit status: 0, 1 for an error said in one line, 2 for wrong flags, 130 for Ctrl-C."""
    args = parser().parse_args(argv)
    try:
        return int(args.run(args) or 0)
    except AskbucketError as error:
        print(f"askbucket: {error.message}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # `askbucket search … | head` closed its end; nothing more may be written there, also not at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def parser() -> argparse.ArgumentParser:
    """The whole command line: one sub-parser a verb, each with `run(args) -> int | None` as its default."""
    top = argparse.ArgumentParser(prog="askbucket", description="Answers questions from what you keep in a bucket.")
    top.add_argument("--version", action="version", version=f"askbucket {VERSION}")
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")
    serve.add_parser(verbs)
    search.add_parser(verbs)
    ask.add_parser(verbs)
    jobs.add_parsers(verbs)
    cosmos.add_parser(verbs)
    evaluate.add_parser(verbs)
    bench.add_parser(verbs)
    doctor.add_parser(verbs)
    site.add_parser(verbs)
    return top


if __name__ == "__main__":
    sys.exit(main())
