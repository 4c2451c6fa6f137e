"""Every model that the tests run, by name: what the commands of this folder take.

Light models, those of $LAMINA_MODELS, small networks, programs of the language, and, where PyTorch and transformers are
installed, the architectures at the size of the tests, whose ONNX files are kept.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ...compiler.diagnostics import LaminaError
from ...compiler.folders import cache_folder
from ...compiler.program import Program
from ...compiler.signature import Array, Signature
from ...dialects.dsl.load import check, instantiate_test, load_file
from .. import light_models, tiny_models
from ..architectures.export import write
from ..architectures.table import ARCHITECTURES
from ..inputs import complete, read_named
from ..sources import new_context, read_program, whole, with_shapes

Load = Callable[[], Program]
TESTS = next(  # of a checkout; an installation has none, but one may stand in a checkout
    (top / "test" for top in (Path(__file__).resolve().parents[2], Path.cwd()) if (top / "test" / "samples").is_dir()),
    Path("test"),
)
FORMATS = ("float", "int8")
SIZE = 8  # of each dimension of a function in the language that no test gives sizes


def every_model() -> dict[str, Load]:
    """All of them, those that take longest first, for an even end where several are worked on at once."""
    folder = os.environ.get("LAMINA_MODELS")
    return {
        **{name: partial(_read, light_models.path_of(name)) for name in light_models.NAMES},
        **{path.stem: partial(_read, path) for path in (sorted(Path(folder).glob("*.onnx")) if folder else [])},
        **(_architectures() if find_spec("torch") and find_spec("transformers") else {}),
        **{f"{name} {kind}": partial(_tiny, name, kind) for name in tiny_models.MODELS for kind in FORMATS},
        **_samples(),
    }


def models_named(names: list[str]) -> dict[str, Load]:
    """Those of these names, which may be of files, too; all where there are none."""
    known = every_model()
    found: dict[str, Load] = {}
    for name in names:
        if name in known:
            found[name] = known[name]
        elif Path(name).suffix == ".lam" and "::" not in name:
            found |= _programs_of(Path(name))
        else:
            found[Path(name).stem] = partial(_read, name)
    return found or known


def inputs_of(name: str, signature: Signature) -> list[Array]:
    """Inputs of a model: those that lie beside its file, random ones for the rest."""
    folder = os.environ.get("LAMINA_MODELS")
    given = Path(folder) / f"{name.partition('.')[0]}.npz" if folder else Path()
    if name in ARCHITECTURES:
        given = write(name, "test", cache_folder() / "architectures").with_suffix(".npz")
    return complete(signature, read_named([str(given)]) if given.is_file() else {}, 0)


def _read(source: str | Path) -> Program:
    return whole(read_program(source))


def _architectures() -> Mapping[str, Load]:
    folder = cache_folder() / "architectures"
    return {name: lambda name=name: _read(write(name, "test", folder)) for name in ARCHITECTURES}


def _tiny(name: str, kind: str) -> Program:
    if kind == FORMATS[0]:
        return _from_onnx(tiny_models.MODELS[name]())
    folder = cache_folder() / "tiny"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.int8.onnx"
    return _read(path if path.is_file() else tiny_models.write(name, folder))


def _from_onnx(model: Any) -> Program:
    return whole(read_program(model))


def _samples() -> Mapping[str, Load]:
    """What lies in the folder of the tests: networks, and programs of the language."""
    found: dict[str, Load] = {}
    models = TESTS / "levels" / "models.py"
    if models.is_file():
        for name in ("conv_net", "transformer"):
            found[name] = partial(_made_by, models, name)
    for path in sorted((TESTS / "samples" / "dsl").glob("*.lam")):
        found |= _programs_of(path)
    return found


def _made_by(file: Path, name: str) -> Program:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return _from_onnx(getattr(module, name)())


def _programs_of(path: Path) -> Mapping[str, Load]:
    """The tests of a file in the language; where it has none its last function, which calls those before it."""
    files = load_file(path)
    if files.main.tests:
        return {f"{path.name}{f' {i}' if i else ''}": partial(_test, path, i) for i in range(len(files.main.tests))}
    return {path.name: partial(_function, path, files.function_names()[-1])}


def _test(path: Path, number: int) -> Program:
    files = load_file(path)
    if errors := check(files).errors:
        raise LaminaError(errors[0].message, where=str(path))
    context = new_context()
    return Program(instantiate_test(files, files.main.tests[number], context).module, context)


def _function(path: Path, name: str) -> Program:
    template = read_program(f"{path}::{name}")
    return whole(with_shapes(template, dict.fromkeys(template.signature.symbols, SIZE)))
