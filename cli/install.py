"""Put the `askbucket` command into the environment that runs this file; the checkout itself is what it imports.

A `.pth` line and a four-line script do what an editable install does, without a build backend to fetch.
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

_SCRIPT = """#!{python}
import sys
from cli.main import main
sys.exit(main())
"""


def install() -> Path:
    """Write the command and return its path."""
    checkout = Path(__file__).resolve().parent.parent
    Path(sysconfig.get_path("purelib"), "askbucket.pth").write_text(f"{checkout}\n", encoding="utf-8")
    command = Path(sysconfig.get_path("scripts"), "askbucket")
    command.write_text(_SCRIPT.format(python=sys.executable), encoding="utf-8")
    command.chmod(0o755)
    return command


if __name__ == "__main__":
    print(install())
