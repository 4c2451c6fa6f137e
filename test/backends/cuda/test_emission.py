"""PTX of the version asked for, and machine code whose needs are known; both refused where they are not right."""

import re
import stat
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp

from lamina.backends import Options
from lamina.backends.cuda import assembler, build
from lamina.backends.cuda.architectures import ARCHITECTURES, architecture
from lamina.backends.cuda.assembler import assemble, check_report, find_ptxas
from lamina.backends.cuda.build import device_text
from lamina.backends.cuda.emit import check_version, ptx_of
from lamina.backends.cuda.target import CudaTarget
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.program import Program
from lamina.tools.cuda.programs import product
from lamina.tools.sources import read_program

KERNEL = """target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr noalias %x) "nvvm.maxntid"="128" {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr float, ptr %x, i32 %t
  %v = load float, ptr %p
  %s = fadd float %v, 1.0
  store float %s, ptr %p
  ret void
}"""
REPORT = """ptxas info    : Compiling entry function 'k' for 'sm_90a'
ptxas info    : Function properties for k
    {stack} bytes stack frame, {spills} bytes spill stores, 0 bytes spill loads
ptxas info    : Used 255 registers, used 2 barriers, 1536 bytes smem
"""
TURN = """
func.func public @main(%x: tensor<64x48xf32>) -> (tensor<48x64xf32>, tensor<64x48xf32>) {
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<64x48xf32>) -> tensor<48x64xf32>
  %e = stablehlo.exponential %x : tensor<64x48xf32>
  return %t, %e : tensor<48x64xf32>, tensor<64x48xf32>
}
"""
needs_ptxas = pytest.mark.skipif(find_ptxas() is None, reason="no ptxas")


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_version_and_target_are_those_asked_for(name: str) -> None:
    wanted = architecture(name)
    ptx = ptx_of(KERNEL, wanted)
    assert f".version {wanted.ptx // 10}.{wanted.ptx % 10}\n.target {name}\n" in ptx
    assert ".maxntid 128" in ptx and "ld.global.b32" in ptx and "st.global.b32" in ptx


def test_an_older_version_is_an_error() -> None:
    with pytest.raises(LaminaError, match=r"LLVM wrote PTX 7\.8, 8\.0 was asked for"):
        check_version(".version 7.8\n.target sm_80", architecture("sm_80"))


@needs_ptxas
def test_machine_code_and_its_needs() -> None:
    made = assemble(ptx_of(KERNEL, architecture("sm_80")), "sm_80")
    assert made.cubin[:4] == b"\x7fELF"
    assert 0 < made.resources["k"].registers < 32 and made.resources["k"].spill_bytes == 0
    with pytest.raises(LaminaError, match=r"ptxas refuses the code.*error"):
        assemble(".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { nonsense; }", "sm_80")


def test_rather_one_block_at_a_time_than_spills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "m.mlir").write_text(product(20, 24, 40, "f32").text)
    program = read_program(tmp_path / "m.mlir")
    assert isinstance(program, Program)
    seen: list[str] = []

    def refuses(ptx: str, name: str) -> assembler.Assembled:
        seen.append(ptx)
        if stubborn or ".minnctapersm 1\n" not in ptx:
            raise assembler.SpilledRegisters("kernel k spills 20 bytes of registers")
        return assembler.Assembled(b"code")

    monkeypatch.setattr(build, "assemble", refuses)
    stubborn = False
    [kernel] = CudaTarget("sm_80").built(program, Options(cache=False))[1].kernels.values()
    assert kernel.cubin == b"code" and kernel.ptx == seen[1] and ".minnctapersm" not in seen[0]
    stubborn = True
    with pytest.raises(assembler.SpilledRegisters):
        CudaTarget("sm_80").built(program, Options(cache=False))


def test_spills_and_lost_performance_are_errors() -> None:
    check_report(REPORT.format(stack=8, spills=0))
    with pytest.raises(LaminaError, match="kernel k spills 24 bytes"):
        check_report(REPORT.format(stack=0, spills=24))
    lost = "ptxas info : (C7504) Potential Performance Loss: 'setmaxnreg' ignored"
    with pytest.raises(LaminaError, match=r"C7504.*setmaxnreg"):
        check_report(REPORT.format(stack=0, spills=0) + lost)


def test_where_the_assembler_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find_ptxas.cache_clear()
    ptxas = tmp_path / "bin" / "ptxas"
    ptxas.parent.mkdir()
    ptxas.write_text("#!/bin/sh\n")
    ptxas.chmod(ptxas.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    try:
        assert find_ptxas() == str(ptxas)
        find_ptxas.cache_clear()
        monkeypatch.setattr(assembler, "find_ptxas", lambda: None)
        assert assemble("anything", "sm_80").cubin == b""  # PTX is left to the driver
    finally:
        find_ptxas.cache_clear()


def test_what_is_written_for_one_architecture_is_taken_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their PTX differs in its head; kernels are lowered to LLVM's IR once, under no name."""
    monkeypatch.setenv("LAMINA_CACHE", str(tmp_path))
    monkeypatch.setenv("LAMINA_JOBS", "1")
    (tmp_path / "turn.mlir").write_text(TURN)
    whole = read_program(tmp_path / "turn.mlir")
    assert isinstance(whole, Program)
    lowered: list[ModuleOp] = []
    monkeypatch.setattr(build, "device_text", lambda *given: lowered.append(given[0]) or device_text(*given))  # pyright: ignore
    options = Options(emulate=True)
    texts = [[k.ptx for k in CudaTarget(name).built(whole, options)[1].kernels.values()] for name in ARCHITECTURES]
    assert 0 < len(lowered) == len(texts[0]) == len(texts[1])
    heads = [
        [re.sub(r"kernel_\w+", "k", re.sub(r"\.(version|target) .*", "", text)) for text in each] for each in texts
    ]
    assert heads[0] == heads[1] and "no_name" not in texts[0][0]
