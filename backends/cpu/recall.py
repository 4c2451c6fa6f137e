"""A model compiled before from the same files is found and loaded without reading them, and without the compiler.

What decides is told by a note beside the artefacts: the state of each file that was read, and the key of the artefact.
The note's name stands for the rest: the path, the sizes given to dimensions, and `identity_of` the target.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from ...compiler.artefact import Artefact
from ...compiler.diagnostics import LaminaError
from ...compiler.folders import cache_folder
from .. import Options, Source
from ..kernel_cache import compiler_fingerprint
from .executable import NativeExecutable

CPU_FACTS = Path("/proc/cpuinfo")


def recall(detail: str, source: Source, options: Options) -> NativeExecutable | None:
    """The machine code of this source for target `cpu:detail`, if it was kept and the files have not changed."""
    if not options.cache or options.schedules is not None:
        return None
    folder = models_folder()
    try:
        told = json.loads(note_of(folder, source, identity_of(detail, options)).read_text())
        unchanged = all(state_of(file) == state for file, state in told["files"].items())
    except (OSError, ValueError, KeyError):
        return None
    artefact = kept(folder, told["key"]) if unchanged else None
    return None if artefact is None else NativeExecutable(artefact, options.threads)


def models_folder(folder: Path | None = None) -> Path:
    """Where artefacts and notes are kept."""
    return (folder or cache_folder()) / "models"


def path_of(folder: Path, key: str) -> Path:
    """The file of the artefact under `key`."""
    return folder / f"{key}.lamx"


def note_of(folder: Path, source: Source, identity: str) -> Path:
    """The file that tells what `source` was compiled to."""
    told = f"{source.path.resolve()}|{sorted(source.shapes.items())}|{sorted(source.aliases.items())}|{identity}"
    return folder / f"{hashlib.sha256(told.encode()).hexdigest()}.json"


def kept(folder: Path, key: str) -> Artefact | None:
    """The artefact under `key`, its constants memory-mapped; None when there is none that is whole."""
    path = path_of(folder, key)
    try:
        found = Artefact.load(path)
    except LaminaError:
        return None
    with suppress(OSError):
        os.utime(path)  # recently used: the last to be dropped
    return found


def state_of(file: str) -> list[int]:
    """Changes when the file is written to or replaced."""
    status = os.stat(file)
    return [status.st_ino, status.st_size, status.st_mtime_ns]


def identity_of(detail: str, options: Options) -> str:
    """Changes with whatever else decides what code is made: options, compiler, LLVM, processor, what was tuned."""
    chosen = replace(options, source=None, on_level=None, times=None)
    return f"{detail}|{chosen!r}|{_this_machine()}|{compiler_fingerprint()}|{_llvm()}|{_tuned()}"


def _this_machine() -> str:
    """The first processor as Linux tells of it, without what varies from moment to moment, and how many there are."""
    try:
        first = CPU_FACTS.read_text().partition("\n\n")[0]
    except OSError:
        first = str(platform.uname())
    lines = [line for line in first.splitlines() if "MHz" not in line and "bogomips" not in line.lower()]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return hashlib.sha256("\n".join([*lines, str(cores)]).encode()).hexdigest()


def _llvm() -> str:
    """LLVM's library, found and not loaded: that takes longer than all else here."""
    spec = find_spec("llvmlite")
    if spec is None or spec.origin is None:
        return ""
    return str([state_of(entry.path) for entry in os.scandir(Path(spec.origin).parent / "binding") if entry.is_file()])


def _tuned() -> str:
    """The state of the tuning database's files, and of what was measured of machines."""
    folders = [cache_folder() / name for name in ("tuning", "machines")]
    return str([(p.name, state_of(str(p))) for folder in folders for p in sorted(folder.glob("*"))])
