"""Instructions, words and text are three forms of one thing."""

import io
import random
from collections.abc import Iterator

import pytest

from lamina.compiler.context import LaminaContext
from lamina.compiler.diagnostics import LaminaError
from lamina.dialects.systolic.encoding import (
    RECORDS,
    Instruction,
    check,
    configure,
    decode,
    decode_all,
    encode,
    encode_all,
    instruction,
    layout_fields,
)
from lamina.dialects.systolic.fields import NONE
from lamina.dialects.systolic.instructions import SPECS
from lamina.dialects.systolic.ops import OPS


def random_instructions(count: int, seed: int) -> Iterator[Instruction]:
    """Legal instructions with values from the whole range of every field."""
    rng = random.Random(seed)
    while count:
        spec = SPECS[rng.choice(list(SPECS))]
        values = {f.name: rng.choice([f.low, f.high, rng.randint(f.low, f.high)]) for f in spec.fields}
        for pair in (("wait0", "wait1"), ("signal0", "signal1")):
            if pair[0] in values:
                told = sorted({v for v in (values[pair[0]], values[pair[1]]) if v != NONE}) + [NONE, NONE]
                values[pair[0]], values[pair[1]] = told[:2]
        made = RECORDS[spec.name](values.values())
        try:
            check(made)
        except LaminaError:
            continue  # fields that do not go together
        count -= 1
        yield made


def text(instructions: list[Instruction]) -> str:
    """The assembly of instructions, which need not be a program."""
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.printer import Printer

    stream = io.StringIO()
    Printer(stream).print_op(ModuleOp([OPS[i.spec.name](i) for i in instructions]))
    return stream.getvalue()


def parsed(source: str) -> list[Instruction]:
    """The instructions in an assembly."""
    from xdsl.dialects.builtin import Builtin
    from xdsl.parser import Parser

    from lamina.dialects.systolic import SYSTOLIC, InstructionOp

    context = LaminaContext()
    context.load_dialect(Builtin)
    context.load_dialect(SYSTOLIC)
    return [op.instruction for op in Parser(context, source).parse_module().ops if isinstance(op, InstructionOp)]


def round_trip(count: int, seed: int) -> None:
    made = list(random_instructions(count, seed))
    assert {i.spec.name for i in made} == set(SPECS)
    data = encode_all(made)
    assert decode_all(data) == made
    again = parsed(text(made))
    assert again == made and encode_all(again) == data


def test_words_and_text_give_the_instruction_back() -> None:
    round_trip(1000, 0)


@pytest.mark.slow
def test_words_and_text_give_100_000_instructions_back() -> None:
    for seed in range(100):
        round_trip(1000, seed + 1)


def test_illegal_words_are_refused() -> None:
    for word, message in (
        (0, "no instruction has opcode 0"),
        (15, "no instruction has opcode 15"),
        (encode(instruction("halt")) | 1 << 127, "reserved bits of halt are not 0"),
        (encode(instruction("halt")) | 1 << 5, "reserved bits of halt are not 0"),
        (SPECS["loop"].opcode, "'count' of loop is 0"),
        (encode(instruction("wl", src=0, rows=1)) | 1 << 4, "reserved|'wait0'"),
    ):
        with pytest.raises(LaminaError, match=message):
            decode(word)


def test_fields_out_of_range_are_told() -> None:
    with pytest.raises(LaminaError, match=r"'n0' of mm is 1024 \(from 1 to 1023"):
        instruction("mm", a=0, acc=0, n0=1024)
    with pytest.raises(LaminaError, match="mm has no 'b'"):
        instruction("mm", a=0, acc=0, n0=1, b=0)
    with pytest.raises(LaminaError, match="'to' of ld is 'dram'"):
        instruction("ld", to="dram", dst=0, src=0, n0=1, len=1, stride=0)
    with pytest.raises(LaminaError, match="one of ld, wl, mm"):
        instruction("add")


def test_configuration_is_read_as_written() -> None:
    cfg = configure(3, "post", table=200, zero=-5, lo=-128, hi=127, offset=0.5)
    fields = layout_fields("post", cfg.value)
    assert fields == {"table": 200, "zero": -5, "lo": -128, "hi": 127, "offset": 0x3F000000}
