"""Files that a program names: only those below its own folder are read."""

from __future__ import annotations

import os
from pathlib import Path

from .diagnostics import LaminaError


def file_below(location: str, base: Path | None, what: str, owner: str, where: str) -> Path:
    """The file `location` below the folder `base`, also after links are followed.

    `what` opens the messages (`external data 'w.bin'`), `owner` is whose folder it is (`model`); `base` is None
    where the owner is no file. Raises LaminaError for absolute paths, `..`, links that leave the folder, and files
    that do not exist.
    """
    if base is None:
        raise LaminaError(f"{what} of a {owner} that is not a file", where=where, hint=f"give the path of the {owner}")
    relative = Path(location.replace("\\", "/"))
    if not location or relative.is_absolute() or location[1:2] == ":" or ".." in relative.parts:
        raise LaminaError(f"{what} must lie below the {owner}'s folder", where=where)
    path, root = base / relative, Path(os.path.realpath(base))
    if not os.path.exists(path):  # Path.exists raises where a name is too long
        raise LaminaError(f"{what} does not exist in {base}", where=where)
    if not Path(os.path.realpath(path)).is_relative_to(root):
        raise LaminaError(f"{what} is a link that leaves the {owner}'s folder", where=where)
    if not path.is_file():
        raise LaminaError(f"{what} is not a file", where=where)
    return path
