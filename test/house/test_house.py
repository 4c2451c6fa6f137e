"""The rules of the house that a machine can check."""

import ast
import functools
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FLOORS = ("compiler", "dialects", "passes", "backends", "tools")
LONGEST = 500


def modules() -> list[Path]:
    """Every Python file of the package."""
    return sorted(path for floor in FLOORS for path in (ROOT / floor).rglob("*.py"))


@functools.cache
def syntax(path: Path) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse(path.read_text())


def imports(path: Path) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The imports of a module of this package: line and path from the root; a relative one is resolved."""
    package = path.relative_to(ROOT).parts[:-1]
    for node in ast.walk(syntax(path)):
        if isinstance(node, ast.ImportFrom):
            name = tuple(filter(None, (node.module or "").split(".")))
            if node.level:
                base = package[: len(package) - node.level + 1]
                names = [()] if name else [(alias.name,) for alias in node.names]
                for extra in names:
                    yield node.lineno, (*base, *name, *extra)
            else:
                yield node.lineno, ("*", *name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, ("*", *alias.name.split("."))


def test_imports_run_down() -> None:
    faults: list[str] = []
    for path in modules():
        floor = FLOORS.index(path.relative_to(ROOT).parts[0])
        for line, target in imports(path):
            if target[0] in FLOORS and FLOORS.index(target[0]) > floor:
                faults.append(f"{path.relative_to(ROOT)}:{line} imports {'.'.join(target)}")
    assert not faults, "imports that run up:\n" + "\n".join(faults)


def test_backends_do_not_know_each_other() -> None:
    backends = {path.parent.name for path in (ROOT / "backends").glob("*/__init__.py")}
    faults = [
        f"{path.relative_to(ROOT)}:{line}"
        for name in sorted(backends)
        for path in (ROOT / "backends" / name).rglob("*.py")
        for line, target in imports(path)
        if target[0] == "backends" and len(target) > 1 and target[1] in backends - {name}
    ]
    assert not faults, faults


def test_no_absolute_import_of_the_package_inside_it() -> None:
    faults = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in [ROOT / "__init__.py", *modules()]
        for line, target in imports(path)
        if target[:2] == ("*", "lamina")
    ]
    assert not faults, "absolute imports of lamina inside lamina:\n" + "\n".join(faults)


def test_packages_listed_are_the_packages_there_are() -> None:
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    found = {"lamina"} | {
        ".".join(("lamina", *path.parent.relative_to(ROOT).parts)) for path in modules() if path.name == "__init__.py"
    }
    assert stated == sorted(stated), "keep the list sorted"
    assert set(stated) == found
    without = {path.parent for path in modules()} - {p.parent for p in modules() if p.name == "__init__.py"}
    assert not without, "folders without __init__.py"


def test_files_are_short_and_named_for_what_they_do() -> None:
    assert not [path for path in modules() if path.stem in ("utils", "util", "helpers", "misc", "common")]
    long = {str(p.relative_to(ROOT)): n for p in modules() if (n := len(p.read_text().splitlines())) > LONGEST}
    assert not long, long


def test_no_python_at_the_root_but_the_face() -> None:
    assert [path.name for path in ROOT.glob("*.py")] == ["__init__.py"]
    assert not list((ROOT / "test").rglob("__init__.py")) or all(
        "plugin" in str(path) for path in (ROOT / "test").rglob("__init__.py")
    )


@pytest.mark.parametrize("word", ["TODO", "FIXME", "XXX"])
def test_nothing_is_left_for_later(word: str) -> None:
    pattern = re.compile(rf"\b{word}\b")
    assert not [str(path.relative_to(ROOT)) for path in modules() if pattern.search(path.read_text())]


def test_every_module_says_what_it_is() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in modules()
        if path.read_text().strip() and not ast.get_docstring(syntax(path))
    ]
    assert not silent, silent


def test_passes_are_where_their_names_say() -> None:
    from lamina.passes import PASSES

    for heading in PASSES.values():
        for name, path in heading.items():
            module = path.partition(":")[0].split(".")[1:]
            stated = "-".join(module).replace("_", "-")
            assert stated.endswith(name.removeprefix("affine-").removeprefix("convert-")) or name in (
                "affine-scalrep",
                "math-expand",
                "bufferize",
            ), f"pass {name} is in {'.'.join(module)}"
