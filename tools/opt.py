"""`lamina-opt`: IR in, passes, IR out. `lamina-opt --help` lists the options and the passes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
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

    return Driver(_registry, __version__)


def _registry(plugins: Sequence[str]):
    from xdsl.dialects import get_all_dialects

    from ..compiler.driver import Registry
    from ..dialects import all_dialects
    from ..passes import PASSES, load_pass

    passes = {
        heading: {name: (lambda path=path: load_pass(path)) for name, path in group.items()}
        for heading, group in PASSES.items()
    }
    return Registry({**get_all_dialects(), **all_dialects()}, passes)


if __name__ == "__main__":
    sys.exit(main())
