"""Code for processors with AVX512-BF16: LLVM has their vectors only where a kernel multiplies them."""

from lamina.backends.cpu.emit import assembly, object_code, optimise, with_target
from lamina.compiler.machine import Machine

MACHINE = Machine.preset("x86-64-amx")
EVERY_FOURTH = ", ".join(f"i32 {4 * i}" for i in range(9))
COPY = f"""
define void @copy(ptr %from, ptr %to) {{
  %all = load <38 x bfloat>, ptr %from, align 2
  %some = shufflevector <38 x bfloat> %all, <38 x bfloat> poison, <9 x i32> <{EVERY_FOURTH}>
  store <9 x bfloat> %some, ptr %to, align 2
  ret void
}}"""
PRODUCT = """
declare <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float>, <32 x bfloat>, <32 x bfloat>)
define void @product(ptr %a, ptr %y) {
  %x = load <32 x bfloat>, ptr %a
  %s = load <16 x float>, ptr %y
  %t = call <16 x float> @llvm.x86.avx512bf16.dpbf16ps.512(<16 x float> %s, <32 x bfloat> %x, <32 x bfloat> %x)
  store <16 x float> %t, ptr %y
  ret void
}"""


def test_what_llvm_takes_apart_has_no_vectors_of_bfloat16():
    assert object_code(optimise(with_target(COPY, MACHINE), MACHINE), MACHINE)


def test_products_have_the_instruction():
    assert "vdpbf16ps" in assembly(optimise(with_target(PRODUCT, MACHINE), MACHINE), MACHINE)
