"""Calls with no Python between the caller and the code: arguments checked and results made by `lamina_call`.

Each function of Python's on the way takes 3 to 4 microseconds where the code has filled the caches, and there are some
ten. `lamina_call` (runtime/call.ll) does what they do for the calls that nearly all are: arrays of NumPy's own, dense,
of the right dtype and shape, while no other call is under way. It leaves all else to `NativeModel.run`.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from ...compiler.signature import Array, Signature, dtype_named
from .memory import alignment_of, fresh
from .outputs import KEPT, PAGE, OutputMemory

NAME = "lamina_call"
Call = Callable[..., "list[Array] | None"]

_POINTER = ctypes.c_void_p
_WORD = ctypes.c_int64
_FASTCALL = 0x80  # METH_FASTCALL
_PYTHON = ("Py_IncRef", "Py_DecRef", "PyList_New", "PyList_SetItem", "PyEval_SaveThread", "PyEval_RestoreThread")
_NUMPY = (94, 282)  # PyArray_NewFromDescr and PyArray_SetBaseObject in NumPy's table, whose order is part of its ABI
_HEADER = 16  # bytes of PyObject, but where Python was built to count references in other ways


class _Kind(ctypes.Structure):
    _fields_ = [("dtype", ctypes.py_object), ("rank", _WORD), ("extents", ctypes.POINTER(_WORD))]


class _Output(ctypes.Structure):
    _fields_ = [("kind", _Kind), ("owners", _POINTER), ("alignment", _WORD)]


class _Plan(ctypes.Structure):
    """What `lamina_call` reads; call.ll says what each field is."""

    _fields_ = [
        ("process", _WORD),
        ("busy", _WORD),
        ("process_now", _POINTER),
        ("inputs", _WORD),
        ("input", ctypes.POINTER(_Kind)),
        ("outputs", _WORD),
        ("output", ctypes.POINTER(_Output)),
        ("largest", _WORD),
        ("entry", _POINTER * 6),
        ("functions", _POINTER * (2 + len(_PYTHON) + len(_NUMPY))),
    ]


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = [("name", ctypes.c_char_p), ("function", _POINTER), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]


class _ArrayObject(ctypes.Structure):
    """PyArrayObject_fields."""

    _fields_ = [
        ("references", ctypes.c_ssize_t),
        ("type", _POINTER),
        ("data", _POINTER),
        ("rank", ctypes.c_int),
        ("extents", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", _POINTER),
        ("base", _POINTER),
        ("dtype", _POINTER),
        ("flags", ctypes.c_int),
    ]


def possible() -> bool:
    """Whether objects of Python and NumPy lie in this process's memory as call.ll takes them to."""
    return _functions() is not None


@cache
def _functions() -> tuple[int, ...] | None:
    """What a plan has of Python and NumPy; None where it is not possible."""
    if sys.implementation.name != "cpython" or object.__basicsize__ != _HEADER:
        return None
    probe = np.zeros((2, 3), np.int16)
    read = _ArrayObject.from_address(id(probe))
    shown = (read.type, read.data, read.rank, read.dtype, read.flags & probe.flags.num)
    if shown != (id(np.ndarray), probe.ctypes.data, 2, id(probe.dtype), probe.flags.num):
        return None
    if tuple(read.extents[:2]) != probe.shape:
        return None
    numpy = import_module("numpy._core._multiarray_umath" if hasattr(np, "_core") else "numpy.core._multiarray_umath")
    opened = ctypes.PYFUNCTYPE(_POINTER, ctypes.py_object, _POINTER)(("PyCapsule_GetPointer", ctypes.pythonapi))
    table = (_POINTER * (1 + max(_NUMPY))).from_address(opened(numpy._ARRAY_API, None) or 0)
    python = [ctypes.cast(getattr(ctypes.pythonapi, name), _POINTER).value or 0 for name in _PYTHON]
    return (id(np.ndarray), id(None), *python, *(table[i] or 0 for i in _NUMPY))


class _Results:
    """Memory of an output that is used again: arrays that own it, referred to from here alone while it is unused."""

    def __init__(self, nbytes: int):
        self.size = nbytes + PAGE  # to begin at any place in a page
        self.owners = (ctypes.py_object * KEPT)(*[None] * KEPT)
        self._oldest = 0

    def offer(self) -> None:
        """Sees to it that there is some; what the caller has held longest is the caller's then."""
        if not any(sys.getrefcount(self.owners[place]) == 2 for place in range(KEPT)):
            self.owners[self._oldest] = fresh(self.size)[0]
            self._oldest = (self._oldest + 1) % KEPT


class DirectCall:
    """`call(*inputs)` makes a list of results, or is None where `NativeModel.run` is to make, or refuse, the call.

    `function` is the address of `lamina_call`, `process` where the number of this process stands: a child made by fork
    has no threads, so that what was made ready before is not ready there. `keep` is what all that has to outlive calls.
    """

    def __init__(
        self,
        function: int,
        signature: Signature,
        outputs: Sequence[OutputMemory],
        largest: int,
        process: ctypes.c_int64,
        keep: object,
    ):
        functions = _functions()
        assert functions is not None
        self._process = process
        self._results: list[_Results] = []
        inputs = [_kind(tuple(int(d) for d in spec.shape), dtype_named(spec.dtype)) for spec in signature.inputs]
        made = [self._output(memory) for memory in outputs]
        self._plan = plan = _Plan(
            process_now=ctypes.addressof(process),
            inputs=len(inputs),
            input=(_Kind * len(inputs))(*inputs),
            outputs=len(made),
            output=(_Output * len(made))(*made),
            largest=largest,
            functions=functions,
        )
        method = _Method(b"call", function, _FASTCALL, None)
        self._kept: list[object] = [method, process, keep, self._results]
        plan.kept = self._kept  # the plan lives as long as the call does
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype, make.argtypes = ctypes.py_object, (_POINTER, ctypes.py_object, _POINTER)
        self.call: Call = make(ctypes.addressof(method), np.frombuffer(memoryview(plan), np.uint8), None)

    def _output(self, memory: OutputMemory) -> _Output:
        kind = _kind(memory.shape, memory.dtype)
        if not memory.recycles:
            return _Output(kind)
        results = _Results(memory.nbytes)
        self._results.append(results)
        return _Output(kind, ctypes.addressof(results.owners), alignment_of(results.size))

    @property
    def ready(self) -> bool:
        """Whether this process has prepared it."""
        return self._plan.process == self._process.value

    def prepare(self, arguments: Sequence[Any], keep: object) -> None:
        """`arguments` are the address of the entry and, after it, what it takes. Not while a call is under way."""
        self._kept.append(keep)
        for place, argument in enumerate(arguments):
            self._plan.entry[place] = ctypes.cast(argument, _POINTER)
        self._plan.busy = 0
        self._plan.process = self._process.value

    def offer(self) -> None:
        """Sees to it that there is memory for results."""
        for results in self._results:
            results.offer()


def _kind(shape: tuple[int, ...], dtype: np.dtype[Any]) -> _Kind:
    return _Kind(dtype, len(shape), (ctypes.c_int64 * len(shape))(*shape))
