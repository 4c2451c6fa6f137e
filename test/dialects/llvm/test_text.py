"""The llvm dialect as LLVM IR text, judged by LLVM's own reader."""

from pathlib import Path

import llvmlite.binding as binding
import pytest
from xdsl.parser import Parser

from lamina.compiler.context import LaminaContext
from lamina.compiler.diagnostics import LaminaError
from lamina.dialects import all_dialects
from lamina.dialects.llvm.text import print_module


def printed(text: str, *, as_told: bool = False) -> str:
    ctx = LaminaContext()
    for name, load in all_dialects().items():
        ctx.register_dialect(name, load)
    return print_module(Parser(ctx, text).parse_module(), as_told=as_told)


def test_llvm_reads_every_op():
    text = printed((Path(__file__).parent / "ops.mlir").read_text())
    module = binding.parse_assembly(text)
    module.verify()
    assert "call reassoc float @llvm.vector.reduce.fadd(float %v4, <8 x float> %v0)" in text
    assert "getelementptr inbounds nuw float, ptr %v2, <8 x i64> %v8" in text
    assert "call void @llvm.masked.store(<8 x float> %v10, ptr align 4 %v2, <8 x i1> %v1)" in text


def test_block_arguments_are_phis_and_constants_stand_where_used():
    text = printed("""
      llvm.func internal @sum(%n: i64, %p: !llvm.ptr {llvm.noalias, llvm.align = 4 : i64}) -> f32 {
        %zero = llvm.mlir.constant(0) : i64
        %one = llvm.mlir.constant(1) : i64
        %init = llvm.mlir.constant(-0.0 : f32) : f32
        llvm.br ^head(%zero, %init : i64, f32)
      ^head(%i: i64, %acc: f32):
        %more = llvm.icmp "slt" %i, %n : i64
        llvm.cond_br %more, ^body, ^exit
      ^body:
        %q = llvm.getelementptr inbounds %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
        %x = llvm.load %q {alignment = 4 : i64} : !llvm.ptr -> f32
        %next = llvm.fadd %acc, %x {fastmathFlags = #llvm.fastmath<contract,reassoc>} : f32
        %j = llvm.add %i, %one overflow<nsw, nuw> : i64
        llvm.br ^head(%j, %next : i64, f32)
      ^exit:
        llvm.return %acc : f32
      }""")
    binding.parse_assembly(text).verify()
    assert "define internal float @sum(i64 %v0, ptr noalias align 4 %v1)" in text
    assert "phi i64 [ 0, %b0 ], [ %v8, %b2 ]" in text
    assert "phi float [ 0x8000000000000000, %b0 ], [ %v7, %b2 ]" in text
    assert "fadd contract reassoc float" in text
    assert "add nuw nsw i64" in text


@pytest.mark.parametrize(
    ("value", "type_", "literal"),
    [
        ("0.1", "f32", "float 0x3FB99999A0000000"),
        ("0.1", "f64", "double 0x3FB999999999999A"),
        ("1.5", "f16", "half 0xH3E00"),
        ("-2.0", "bf16", "bfloat 0xRC000"),
        ("0x7F800000", "f32", "float 0x7FF0000000000000"),
        ("dense<[1, -2]>", "vector<2xi8>", "<2 x i8> <i8 1, i8 -2>"),
        ("dense<[true, false]>", "vector<2xi1>", "<2 x i1> <i1 true, i1 false>"),
        ("dense<-1>", "vector<4xi8>", "<4 x i8> splat (i8 -1)"),
    ],
)
def test_constants_keep_every_bit(value: str, type_: str, literal: str):
    text = printed(f"""
      llvm.func @f() -> {type_} {{
        %c = llvm.mlir.constant({value} : {type_}) : {type_}
        llvm.return %c : {type_}
      }}""")
    binding.parse_assembly(text).verify()
    assert f"ret {literal}" in text


def test_other_dialects_are_refused_with_their_place():
    with pytest.raises(LaminaError, match="no LLVM IR text is known for this operation"):
        printed("llvm.func @f() { %c = arith.constant 1 : i32 llvm.return }")


@pytest.mark.parametrize("count", ["0 : i64", '"four"'])
def test_rounds_that_are_no_number_are_refused(count: str):
    with pytest.raises(LaminaError, match="is no number of rounds"):
        printed(f"""
          llvm.func @count() {{
            llvm.br ^body
          ^body:
            "llvm.br"() [^body] {{lamina.unroll = {count}}} : () -> ()
          }}""")


COUNT = """
  llvm.func @count(%n: i64) -> i64 {
    %zero = llvm.mlir.constant(0) : i64
    %one = llvm.mlir.constant(1) : i64
    llvm.br ^head(%zero : i64)
  ^head(%i: i64):
    %more = llvm.icmp "slt" %i, %n : i64
    llvm.cond_br %more, ^body, ^exit
  ^body:
    %next = llvm.add %i, %one : i64
    "llvm.br"(%next) [^head] {ROUNDS} : (i64) -> ()
  ^exit:
    llvm.return %i : i64
  }"""


@pytest.mark.parametrize("as_told", [False, True])
def test_a_branch_back_tells_how_many_rounds_code_has_at_once(as_told: bool):
    text = printed(COUNT.replace("ROUNDS", "lamina.unroll = 4 : i64"), as_told=as_told)
    binding.parse_assembly(text).verify()
    assert "br label %b1, !llvm.loop !20" in text
    assert '!20 = distinct !{!20, !{!"llvm.loop.unroll.count", i32 4}}' in text


def test_where_loops_are_as_told_one_that_says_nothing_is_not_unrolled():
    assert "!llvm.loop" not in printed(COUNT.replace(" {ROUNDS}", ""))
    text = printed(COUNT.replace(" {ROUNDS}", ""), as_told=True)
    binding.parse_assembly(text).verify()
    assert "br label %b1, !llvm.loop !1\n" in text and text.count("!llvm.loop ") == 1
    assert '!{!"llvm.loop.unroll.disable"}' in text
