"""The conversion framework: legality, types, several values for one, and what is said when something is left."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from xdsl.dialects import arith, func, test
from xdsl.dialects.builtin import ComplexType, ModuleOp, i32, i64
from xdsl.dialects.builtin import UnrealizedConversionCastOp as Cast
from xdsl.ir import Attribute, SSAValue

from lamina.compiler.context import LaminaContext
from lamina.compiler.conversion import RuleBuilder, Rules, convert
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.parsing import parse_module
from lamina.compiler.printing import PrintOptions, print_module
from lamina.compiler.verifier import verify
from lamina.tools.opt import driver


def parse(text: str) -> ModuleOp:
    ctx: LaminaContext = driver().registry([]).context()
    return parse_module(text, "t.mlir", ctx)


def body_of(module: ModuleOp) -> list[str]:
    verify(module)
    return [line.strip() for line in print_module(module).splitlines()[2:-2]]


def test_rule_sees_converted_operands_and_gives_its_location() -> None:
    rules = Rules("widen", types=lambda t: i64 if t == i32 else t)

    @rules.lowers(arith.AddiOp)
    def add(op: arith.AddiOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
        assert op.lhs.type == i32 and operands[0].type == i64
        return b(arith.MuliOp(*operands)).result

    module = parse("func.func @f(%a: i32) -> i32 {\n %0 = arith.addi %a, %a : i32\n return %0 : i32\n}")
    convert(module, rules, illegal={"arith.addi"})
    assert body_of(module) == ["%0 = arith.muli %a, %a : i64", "func.return %0 : i64"]
    assert "func.func @f(%a: i64) -> i64" in print_module(module)
    assert '%0 = arith.muli %a, %a : i64 loc("t.mlir":2:7)' in print_module(module, PrintOptions(locations=True))


def test_rules_with_another_table_do_not_remember_the_rules_of_the_first() -> None:
    general = Rules("general")
    made: list[str] = []

    def run(name: str) -> None:
        def rule(op: arith.AddiOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
            made.append(name)
            return b(arith.MuliOp(*operands)).result

        module = parse("func.func @f(%a: i32) -> i32 {\n %0 = arith.addi %a, %a : i32\n return %0 : i32\n}")
        convert(module, replace(general, table={arith.AddiOp: rule}), illegal={"arith.addi"})

    run("first")
    run("second")
    assert made == ["first", "second"]


def test_every_op_left_is_listed_with_its_place() -> None:
    module = parse("func.func @f(%a: i32) {\n %0 = arith.addi %a, %a : i32\n %1 = arith.muli %a, %a : i32\n return\n}")
    with pytest.raises(LaminaError) as caught:
        convert(module, Rules("nothing"), illegal={"arith"})
    text = str(caught.value)
    assert "t.mlir:2:7: error: 'arith.addi' op nothing: no rule lowers this operation" in text
    assert "t.mlir:3:7: note: nor 'arith.muli'" in text


def test_what_a_rule_makes_is_checked_too() -> None:
    rules = Rules("loop")

    @rules.lowers(arith.AddiOp)
    def add(op: arith.AddiOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
        return b(arith.SubiOp(*operands)).result

    module = parse("func.func @f(%a: i32) -> i32 {\n %0 = arith.addi %a, %a : i32\n return %0 : i32\n}")
    with pytest.raises(LaminaError, match=r"'arith.subi' op loop: no rule"):
        convert(module, rules, illegal={"arith"})


def test_an_op_may_be_legal_under_a_condition() -> None:
    module = parse("func.func @f(%a: i32) -> i32 {\n %0 = arith.addi %a, %a : i32\n return %0 : i32\n}")
    convert(module, Rules("some"), illegal={"arith"}, legal_if={"arith.addi": lambda op: op.results[0].type == i32})
    with pytest.raises(LaminaError):
        convert(module, Rules("some"), illegal={"arith"}, legal_if={"arith": lambda op: op.results[0].type == i64})


def complex_to_pair(type_: Attribute) -> Attribute | tuple[Attribute, ...]:
    return (type_.element_type, type_.element_type) if isinstance(type_, ComplexType) else type_


def test_one_value_may_become_two() -> None:
    rules = Rules("split", types=complex_to_pair)

    @rules.lowers(test.TestOp)
    def swap(op: test.TestOp, operands: Sequence[SSAValue], b: RuleBuilder) -> Sequence[Sequence[SSAValue]]:
        re, im = b.values(op.operands[0])
        return [(im, re)]

    module = parse(
        "func.func @f(%z: complex<f32>, %x: f32) -> (complex<f32>, f32) {\n"
        '  %w = "test.op"(%z) : (complex<f32>) -> complex<f32>\n  return %w, %x : complex<f32>, f32\n}'
    )
    convert(module, rules, illegal={"test"})
    assert "(%z: f32, %z_1: f32, %x: f32) -> (f32, f32, f32)" in print_module(module)
    assert body_of(module) == ["func.return %z_1, %z, %x : f32, f32, f32"]


def test_an_op_that_stays_gets_its_old_type_back() -> None:
    def cast(b: RuleBuilder, values: Sequence[SSAValue], type_: Attribute) -> SSAValue:
        return b(Cast.get(values, [type_])).results[0]

    rules = Rules("widen", types=lambda t: i64 if t == i32 else t, materialize=cast)
    module = parse("func.func @f(%a: i32) -> f32 {\n %0 = arith.sitofp %a : i32 to f32\n return %0 : f32\n}")
    convert(module, rules, illegal=set())
    first, second, last = body_of(module)
    assert first.endswith("builtin.unrealized_conversion_cast %a : i64 to i32")
    assert second.endswith(": i32 to f32") and last == "func.return %1 : f32"


def test_uses_before_definition_in_block_order() -> None:
    rules = Rules("negate")

    @rules.lowers(arith.AddiOp)
    def add(op: arith.AddiOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
        return b(arith.MuliOp(*operands)).result

    module = parse(
        "func.func @f(%a: i32) -> i32 {\n cf.br ^two\n^one:\n return %0 : i32\n"
        "^two:\n %0 = arith.addi %a, %a : i32\n cf.br ^one\n}"
    )
    convert(module, rules, illegal={"arith.addi"})
    verify(module)
    assert isinstance(module.ops.first, func.FuncOp)
