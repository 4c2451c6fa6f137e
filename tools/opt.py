"""`lamina-opt`: IR in, passes, IR out. `lamina-opt --help` lists the options and the passes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .. import __version__

if TYPE_CHECKING:
    from ..compiler.driver import Driver


def main() -> int:
    """The command. `--version` answers before anything is imported."""
    if sys.argv[1:] == ["--version"]:
        print(f"lamina-opt {__version__}")
        return 0
    from ..compiler.driver import main as run

    return run(driver())


def driver() -> Driver:
    """The opt driver with all that this installation knows: our dialects and passes and the plug-ins'."""
    from ..compiler.driver import Driver
    from .registry import registry

    return Driver(registry, __version__)


def run() -> int:
    """`main` as all that a process does."""
    from ..compiler.collector import without_collector

    return without_collector(main)


if __name__ == "__main__":
    sys.exit(run())
