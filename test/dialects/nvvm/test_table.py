"""Each row of the table is an instruction that LLVM knows, for the version and architecture that it says."""

import pytest

from lamina.backends.cuda.architectures import architecture
from lamina.backends.cuda.emit import ptx_of
from lamina.dialects.llvm.literals import type_text
from lamina.dialects.nvvm import ROWS, Row, op_class

PTX = {
    "read.ptx.sreg.tid.x": "%tid.x",
    "barrier0": "bar.sync",
    "barrier.cta.sync.aligned.count": "bar.sync",
    "barrier.cta.arrive.aligned.count": "bar.arrive",
    "wgmma.fence.sync.aligned": "wgmma.fence.sync.aligned",
    "shfl.sync.bfly.f32": "shfl.sync.bfly.b32",
    "ldmatrix.x4": "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
    "ldmatrix.x4.trans": "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16",
    "mma.m16n8k16.f32.bf16": "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
    "mma.m16n8k16.f32.f16": "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    "mma.m16n8k8.f32.tf32": "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
    "cp.async.cg.shared.global.16": "cp.async.cg.shared.global",
    "cp.async.ca.shared.global.4.s": "cp.async.ca.shared.global",
    "cp.async.mbarrier.arrive.noinc": "cp.async.mbarrier.arrive.noinc.shared.b64",
    "fence.proxy.async.shared_cta": "fence.proxy.async.shared::cta",
    "shfl.sync.idx.i32": "shfl.sync.idx.b32",
    "mbarrier.init": "mbarrier.init.shared.b64",
    "mbarrier.arrive.expect_tx": "mbarrier.arrive.expect_tx",
    "mbarrier.try_wait.parity": "mbarrier.try_wait.parity",
    "fence.mbarrier_init": "fence.mbarrier_init.release.cluster",
    "cp.async.bulk.tensor.3d": "cp.async.bulk.tensor.3d.shared::cta.global.tile.mbarrier::complete_tx::bytes",
    "setmaxnreg.inc.232": "setmaxnreg.inc.sync.aligned.u32 \t232",
    "f2tf32.rna": "cvt.rna.tf32.f32",
    "cp.async.wait.group.2": "cp.async.wait_group \t2",
    "ex2.approx.f32": "ex2.approx.f32",
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_llvm_knows_it(row: Row) -> None:
    """A kernel that does nothing else, its result stored so that it is not dropped."""
    arguments = [f"{type_text(type_)} %a{i}" for i, type_ in enumerate(row.operands)]
    given = ", ".join([*arguments, *row.immediates])
    result = "void" if row.result is None else type_text(row.result)
    call = f"call {result} @llvm.nvvm.{row.call}({given})"
    body = call if row.result is None else f"%r = {call}\n  store {result} %r, ptr %out"
    parameters = ", ".join(["ptr %out", *arguments])
    text = (
        f'target triple = "nvptx64-nvidia-cuda"\ndefine ptx_kernel void @k({parameters}) {{\n  {body}\n  ret void\n}}'
    )
    ptx = ptx_of(text, architecture("sm_90a" if row.sm >= 90 else "sm_80"))
    assert PTX.get(row.name, "") in ptx and "call" not in ptx
    assert row.meaning in (op_class(row.name).__doc__ or "")
