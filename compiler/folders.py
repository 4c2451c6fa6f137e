"""Where files of the user's lie that are no input: caches, measurements, what was tuned."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """`$LAMINA_CACHE`, or `lamina` below the user's cache folder."""
    told = os.environ.get("LAMINA_CACHE")
    if told:
        return Path(told)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lamina"
