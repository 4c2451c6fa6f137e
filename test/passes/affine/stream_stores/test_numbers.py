"""Stores past the caches write what others do, wherever a buffer begins, and leave its surroundings alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from xdsl.parser import Parser

from lamina.compiler.context import LaminaContext
from lamina.compiler.machine import Machine
from lamina.compiler.pipelines import parse_pipeline
from lamina.dialects import all_dialects
from lamina.passes import all_passes
from lamina.passes.affine.stream_stores import StreamStores


@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.parametrize("columns", [256, 391, 1000])
@pytest.mark.parametrize("machine", ["", "x86-64-avx2"])
def test_numbers(kernel: Callable[..., None], rows: int, columns: int, machine: str):
    shape = f"memref<{rows}x{columns}xf32>"
    text = f"""
    func.func public @kernel(%x: {shape}, %y: {shape}) {{
      affine.parallel (%i) = (0) to ({rows}) {{
        affine.for %j = 0 to {columns} {{
          %a = affine.load %x[%i, %j] : {shape}
          %b = arith.addf %a, %a : f32
          affine.store %b, %y[%i, %j] : {shape}
        }}
      }}
      func.return
    }}"""
    x = np.random.default_rng(0).standard_normal((rows, columns), dtype=np.float32)
    for start in (0, 1, 8, 16):
        room = np.full(x.size + 64, -7, np.float32)
        first = -(room.ctypes.data // 4) % 16 + start
        y = room[first : first + x.size].reshape(x.shape)
        kernel(text, "affine-vectorize,affine-stream-stores{bytes=64}", [x, y], machine=machine)
        np.testing.assert_array_equal(y, x + x)
        assert (room[:first] == -7).all() and (room[first + x.size :] == -7).all()


@pytest.mark.parametrize("shape", [(64, 96), (48, 400), (40, 96)])
@pytest.mark.parametrize("machine", ["", "x86-64-avx2"])
def test_lines_of_a_transpose(kernel: Callable[..., None], shape: tuple[int, int], machine: str):
    rows, columns = shape
    source, target = f"memref<{columns}x{rows}xf32>", f"memref<{rows}x{columns}xf32>"
    text = f"""
    func.func public @kernel(%x: {source}, %y: {target}) {{
      affine.for %i = 0 to {rows} {{
        affine.for %j = 0 to {columns} {{
          %a = affine.load %x[%j, %i] : {source}
          affine.store %a, %y[%i, %j] : {target}
        }}
      }}
      func.return
    }}"""
    x = np.random.default_rng(0).standard_normal((columns, rows), dtype=np.float32)
    for start in (0, 1, 8):
        room = np.full(x.size + 64, -7, np.float32)
        first = -(room.ctypes.data // 4) % 16 + start
        y = room[first : first + x.size].reshape(shape)
        kernel(text, "affine-loop-tile,affine-vectorize,affine-stream-stores{bytes=64}", [x, y], machine=machine)
        np.testing.assert_array_equal(y, x.T)
        assert (room[:first] == -7).all() and (room[first + x.size :] == -7).all()


@pytest.mark.skipif("avx2" not in Machine.host().features, reason="this machine has no AVX2")
@pytest.mark.parametrize("shape", [(2048, 2112), (2064, 2080), (2056, 2064), (2052, 2056)])
def test_half_lines_side_by_side(kernel: Callable[..., None], shape: tuple[int, int]):
    """With AVX2, of results as large as half of the last cache; not all of these have whole lines."""
    rows, columns = shape
    source, target = f"memref<{columns}x{rows}xf32>", f"memref<{rows}x{columns}xf32>"
    text = f"""
    func.func public @kernel(%x: {source}, %z: {target}, %y: {target}) {{
      affine.for %i = 0 to {rows} {{
        affine.for %j = 0 to {columns} {{
          %a = affine.load %x[%j, %i] : {source}
          %b = affine.load %z[%i, %j] : {target}
          %c = arith.addf %a, %b : f32
          affine.store %c, %y[%i, %j] : {target}
        }}
      }}
      func.return
    }}"""
    rng = np.random.default_rng(0)
    x, z = rng.standard_normal((columns, rows), dtype=np.float32), rng.standard_normal(shape, dtype=np.float32)
    for start in (0, 1, 8):
        room = np.full(x.size + 64, -7, np.float32)
        first = -(room.ctypes.data // 4) % 16 + start
        y = room[first : first + x.size].reshape(shape)
        kernel(text, "affine-loop-tile,affine-vectorize,affine-stream-stores", [x, z, y], machine="x86-64-avx2")
        np.testing.assert_array_equal(y, x.T + z)
        assert (room[:first] == -7).all() and (room[first + x.size :] == -7).all()


@pytest.mark.parametrize(
    "mib, last, cores, cpu, streams",
    [
        (64, 32, 2, "x86-64-v4", True),
        (8, 32, 2, "x86-64-v4", False),
        (64, 480, 1, "x86-64-v4", True),
        (8, 32, 1, "znver4", False),
        (12, 32, 1, "znver4", True),  # three eighths
        (16, 32, 2, "znver4", False),
        (24, 32, 2, "znver4", True),  # three quarters, as threads together write no faster past the caches
    ],
)
@pytest.mark.parametrize("reads", [1, 4])
def test_half_of_a_fair_part_of_the_last_cache(mib: int, last: int, cores: int, cpu: str, streams: bool, reads: int):
    """A virtual machine shows the whole cache of a processor of which it has two cores."""
    shape = f"memref<{mib << 18}xf32>"
    loads = "\n".join(f"%v{n} = affine.vector_load %x{n}[%i] : {shape}, vector<16xf32>" for n in range(reads))
    arguments = ", ".join(f"%x{n}: {shape}" for n in range(reads))
    text = f"""
    func.func @kernel({arguments}, %y: {shape}) {{
      affine.for %i = 0 to {mib << 18} step 16 {{
        {loads}
        affine.vector_store %v0, %y[%i] : {shape}, vector<16xf32>
      }}
      func.return
    }}"""
    ctx = LaminaContext(machine=replace(Machine.preset("x86-64-avx512"), l3_bytes=last << 20, cores=cores, cpu=cpu))
    for name, factory in all_dialects().items():
        ctx.register_dialect(name, factory)
    module = Parser(ctx, text).parse_module()
    StreamStores().apply(ctx, module)
    assert ("nontemporal" in str(module)) == streams


@pytest.mark.parametrize(
    ("rows", "columns", "streams"),
    [(8192, 64, True), (8192, 32, False), (12544, 64, False), (12544, 128, True), (12544, 32, False)],
)
def test_lines_far_apart_by_the_sets_of_a_cache_that_they_share(rows: int, columns: int, streams: bool):
    """Transposes on a machine whose L2 has 1 MB."""
    source, target = f"memref<{rows}x{columns}xf32>", f"memref<{columns}x{rows}xf32>"
    text = f"""
    func.func @kernel(%x: {source}, %y: {target}) {{
      affine.for %i = 0 to {columns} {{
        affine.for %j = 0 to {rows} {{
          %v = affine.load %x[%j, %i] : {source}
          affine.store %v, %y[%i, %j] : {target}
        }}
      }}
      func.return
    }}"""
    machine = replace(Machine.preset("x86-64-avx512"), l2_bytes=1 << 20, l3_bytes=32 << 20, cores=2)
    ctx = LaminaContext(machine=machine)
    for name, factory in all_dialects().items():
        ctx.register_dialect(name, factory)
    module = Parser(ctx, text).parse_module()
    for each in parse_pipeline("affine-loop-tile,affine-vectorize,affine-stream-stores", all_passes()):
        each.apply(ctx, module)
    assert ("nontemporal" in str(module)) == streams


SHAPE = "memref<4096x1024xf32>"
ALL = ("znver3", "znver4", "znver5")


@pytest.mark.parametrize(
    ("body", "on"),
    [
        ("%b = math.exp %a : vector<16xf32>", ALL),
        ("%b = math.tanh %a : vector<16xf32>", ("znver5",)),
        ("%b = math.erf %a : vector<16xf32>", ("znver5",)),
        ("%b = math.log %a : vector<16xf32>", ()),
        ("%e = math.exp %a : vector<16xf32> %b = math.exp %e : vector<16xf32>", ()),
        ("%e = math.exp %a : vector<16xf32> %b = arith.divf %a, %e : vector<16xf32>", ()),
        ("%e = math.exp %a : vector<16xf32> %b = arith.divf %e, %same : vector<16xf32>", ALL),
        ("%e = math.exp %a : vector<16xf32> %b = arith.divf %e, %two : vector<16xf32>", ALL),
    ],
    ids=["exp", "tanh", "erf", "log", "exp of exp", "quotient", "quotient by a broadcast", "quotient by a constant"],
)
def test_functions_that_are_as_fast_as_memory(body: str, on: Sequence[str]):
    text = f"""
    func.func @f(%x: {SHAPE}, %y: {SHAPE}) {{
      %three = arith.constant 3.0 : f32
      %two = arith.constant dense<2.0> : vector<16xf32>
      affine.parallel (%i) = (0) to (4096) {{
        %same = vector.broadcast %three : f32 to vector<16xf32>
        affine.for %j = 0 to 1024 step 16 {{
          %a = affine.vector_load %x[%i, %j] : {SHAPE}, vector<16xf32>
          {body}
          affine.vector_store %b, %y[%i, %j] : {SHAPE}, vector<16xf32>
        }}
      }}
      func.return
    }}"""
    for cpu in ("x86-64-v4", "znver3", "znver4", "znver5"):
        ctx = LaminaContext(machine=replace(Machine.preset("x86-64-avx512"), cpu=cpu), allow_unregistered=True)
        for name, factory in all_dialects().items():
            ctx.register_dialect(name, factory)
        module = Parser(ctx, text).parse_module()
        StreamStores(bytes=1 << 20).apply(ctx, module)
        assert ("nontemporal" in str(module)) == (cpu in on)


@pytest.mark.parametrize(("rows", "cores", "streams"), [(4096, 1, True), (4096, 2, False), (8192, 2, True)])
def test_two_threads_of_zen_5_write_more_into_the_last_cache(rows: int, cores: int, streams: bool):
    """16 MB go past the caches for one thread, 32 MB for two."""
    shape = f"memref<{rows}x1024xf32>"
    text = f"""
    func.func @f(%x: {shape}, %y: {shape}) {{
      affine.parallel (%i) = (0) to ({rows}) {{
        affine.for %j = 0 to 1024 step 16 {{
          %a = affine.vector_load %x[%i, %j] : {shape}, vector<16xf32>
          affine.vector_store %a, %y[%i, %j] : {shape}, vector<16xf32>
        }}
      }}
      func.return
    }}"""
    machine = replace(Machine.preset("x86-64-avx512"), cpu="znver5", l3_bytes=32 << 20, cores=cores)
    ctx = LaminaContext(machine=machine)
    for name, factory in all_dialects().items():
        ctx.register_dialect(name, factory)
    module = Parser(ctx, text).parse_module()
    StreamStores().apply(ctx, module)
    assert ("nontemporal" in str(module)) == streams
