"""Which functions keep a frame pointer, by processor."""

from __future__ import annotations

from dataclasses import replace

import pytest
from xdsl.parser import Parser

from lamina.compiler.context import LaminaContext
from lamina.compiler.machine import Machine
from lamina.dialects import all_dialects
from lamina.passes.convert.to_llvm.frames import describe_functions


@pytest.mark.parametrize(("cpu", "kept"), [("x86-64-v4", False), ("znver4", False), ("emeraldrapids", True)])
def test_processors_that_are_slow_at_loads_by_the_frame_pointer(cpu: str, kept: bool) -> None:
    machine = replace(Machine.preset("x86-64-avx512"), cpu=cpu)
    ctx = LaminaContext(machine=machine)
    for name, factory in all_dialects().items():
        ctx.register_dialect(name, factory)
    text = "llvm.func @declared() llvm.func @f() { llvm.return }"
    module = Parser(ctx, text).parse_module()
    describe_functions(module, machine)
    declared, function = map(str, module.ops)
    assert "frame-pointer" not in declared
    assert ("frame-pointer" in function) == kept
