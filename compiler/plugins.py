"""Plug-ins: packages that add dialects, passes, frontends, targets, ONNX lowerings or meanings by being installed.

Dialects and passes come through xDSL's own mechanism, an entry point of group `xdsl.universe`. What xDSL does not
name has a group of the same shape: `lamina.frontends`, `lamina.targets`, `lamina.lowerings`, `lamina.semantics`.
A plug-in that breaks is a warning that names its package, never the end of the run; two packages that claim one name
are an error that names both. The scan for entry points is kept in a file, so that start-up does not pay for it.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe

from .diagnostics import Diagnostic, LaminaError

T = TypeVar("T")
UNIVERSE = "xdsl.universe"
GROUPS = (UNIVERSE, "lamina.frontends", "lamina.targets", "lamina.lowerings", "lamina.semantics")
ENVIRONMENT = "LAMINA_PLUGINS"  # module:NAME, several joined by commas
_BUILT_IN = frozenset({"xdsl", "lamina"})  # packages whose dialects and passes the tools list themselves


@dataclass(frozen=True)
class PluginPoint:
    """One entry point: `value` is `module` or `module:NAME`, `package` the distribution it came with."""

    group: str
    name: str
    value: str
    package: str

    def load(self) -> Any:
        """The object it names. Raises LaminaError that names the package when that fails."""
        module, _, attribute = self.value.partition(":")
        try:
            found = import_module(module)
            for part in filter(None, attribute.split(".")):
                found = getattr(found, part)
        except (Exception, SystemExit) as error:
            raise LaminaError(
                f"plug-in '{self.name}' of package '{self.package}' does not load: {type(error).__name__}: {error}"
            ) from error
        return found

    def guarded(self, kind: str, run: Callable[[], T], where: str | None = None) -> T:
        """What `run` gives, which is code of the plug-in. Raises LaminaError that names the package when it fails."""
        try:
            return run()
        except LaminaError:
            raise
        except Exception as error:
            message = f"{kind} '{self.name}' of package '{self.package}' fails: {type(error).__name__}: {error}"
            raise LaminaError(message, where=where) from error


@dataclass
class Plugins:
    """What plug-ins bring, by name, with the package each came from, and what went wrong while looking."""

    dialects: dict[str, Callable[[], Dialect]] = field(default_factory=dict[str, Callable[[], Dialect]])
    passes: dict[str, dict[str, Callable[[], type[ModulePass]]]] = field(
        default_factory=dict[str, dict[str, Callable[[], type[ModulePass]]]]
    )  # by package
    warnings: list[Diagnostic] = field(default_factory=list[Diagnostic])


def installed(group: str) -> list[PluginPoint]:
    """The entry points of `group` that packages other than xDSL and this one have. Nothing is imported.

    Raises LaminaError naming both packages when two use one name.
    """
    seen: dict[str, PluginPoint] = {}
    for point in _scan():
        if point.group != group or point.package in _BUILT_IN:
            continue
        other = seen.setdefault(point.name, point)
        if other.value != point.value:
            raise clash(f"{group} entry", point.name, other.package, point.package)
    return list(seen.values())


def load_group(group: str, warn: Callable[[Diagnostic], None]) -> dict[str, Any]:
    """The loaded objects of `group` by entry name; one that does not load is a warning, the others stay."""
    loaded: dict[str, Any] = {}
    for point in installed(group):
        try:
            loaded[point.name] = point.load()
        except LaminaError as error:
            warn(Diagnostic("warning", error.message))
    return loaded


def load_universes(named: Sequence[str], known_dialects: Iterable[str], known_passes: Iterable[str]) -> Plugins:
    """The dialects and passes of all installed universes, of those in LAMINA_PLUGINS, and of `named` ones.

    `known_*` are the names already taken by lamina and xDSL. Raises LaminaError for a clash, naming both packages,
    and for a `named` plug-in that does not load (who names one wants it); an installed one is a warning.
    """
    plugins = Plugins()
    asked = [value for value in os.environ.get(ENVIRONMENT, "").split(",") if value] + list(named)
    points = installed(UNIVERSE)
    extra = [PluginPoint(UNIVERSE, value, value, value.partition(":")[0]) for value in asked]
    dialects = dict.fromkeys(known_dialects, "lamina")
    passes = dict.fromkeys(known_passes, "lamina")
    done: set[str] = set()
    for point in [*points, *extra]:
        if point.value in done:
            continue
        done.add(point.value)
        try:
            universe = point.load()
            if not isinstance(universe, Universe):
                raise LaminaError(
                    f"plug-in '{point.name}' of package '{point.package}' is a {type(universe).__name__}, "
                    "expected an xdsl.universe.Universe"
                )
        except LaminaError as error:
            if point in extra:
                raise
            plugins.warnings.append(Diagnostic("warning", error.message))
            continue
        for name, load in universe.all_dialects.items():
            _claim(dialects, "dialect", name, point.package)
            plugins.dialects[name] = _guarded(load, "dialect", name, point.package)
        for name, load in universe.all_passes.items():
            _claim(passes, "pass", name, point.package)
            plugins.passes.setdefault(point.package, {})[name] = _guarded(load, "pass", name, point.package)
    return plugins


def _claim(taken: dict[str, str], kind: str, name: str, package: str) -> None:
    if name in taken:
        raise clash(kind, name, taken[name], package)
    taken[name] = package


def clash(kind: str, name: str, first: str, second: str) -> LaminaError:
    """What is told of two packages that claim one name."""
    return LaminaError(f"packages '{first}' and '{second}' both have a {kind} '{name}'", hint="uninstall one of them")


def _guarded(load: Callable[[], Any], kind: str, name: str, package: str) -> Callable[[], Any]:
    """`load`, whose failure names the plug-in's package."""

    def guarded() -> Any:
        try:
            return load()
        except Exception as error:
            message = f"{kind} '{name}' of plug-in package '{package}' does not load: {type(error).__name__}: {error}"
            raise LaminaError(message) from error

    return guarded


# The scan


def _scan() -> list[PluginPoint]:
    """All entry points of our groups, from the file of the last scan where the search path has not changed."""
    path = _cache_file()
    state = _search_path_state()
    try:
        stored = json.loads(path.read_text())
        if stored["state"] == state:
            return [PluginPoint(*row) for row in stored["points"]]
    except (OSError, ValueError, KeyError, TypeError):
        pass  # no usable file: scan
    points = _scan_metadata()
    temporary = path.with_suffix(f".{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps({"state": state, "points": [astuple(point) for point in points]}))
        temporary.replace(path)
    except OSError:  # a cache that cannot be written costs time, nothing else
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    return points


def _scan_metadata() -> list[PluginPoint]:
    from importlib.metadata import distributions

    points: dict[PluginPoint, None] = {}
    for distribution in distributions():
        for point in distribution.entry_points:
            if point.group in GROUPS:
                package = distribution.metadata["Name"] or "unknown"
                points[PluginPoint(point.group, point.name, point.value, package)] = None
    return sorted(points, key=astuple)


def _search_path_state() -> list[list[object]]:
    """What changes when a package is installed or removed: the search path and when its folders were last written."""
    state: list[list[object]] = [["python", sys.version]]
    for entry in sys.path:
        try:
            state.append([entry, os.stat(entry or ".").st_mtime_ns])
        except OSError:
            state.append([entry, 0])
    return state


def _cache_file() -> Path:
    root = os.environ.get("LAMINA_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "lamina"
    )
    name = hashlib.sha256("\n".join([sys.executable, *sys.path]).encode()).hexdigest()[:16]
    return Path(root) / "plugins" / f"{name}.json"
