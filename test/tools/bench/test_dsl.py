"""Index notation becomes the very kernels of the hub's own ops."""

from __future__ import annotations

import pytest

import lamina
from lamina.backends.cpu.build import split
from lamina.backends.cpu.pipeline import KERNEL_PHASES
from lamina.tools.bench.dsl import CASES, from_hub, from_notation
from lamina.tools.sources import new_context


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_same_kernels(case):
    keys = []
    for program in (from_notation(case, new_context()), from_hub(case, new_context())):
        lowered = lamina.lower(program, to="buffers")
        _, kernels = split(lowered.module, lowered.context, KERNEL_PHASES)
        keys.append(sorted(kernel.key for kernel in kernels))
    assert keys[0] == keys[1]
