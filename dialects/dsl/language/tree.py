"""The syntax tree of a `.lam` file: what the parser makes and everything else reads.

Every node knows its `Span`, so that a message can point at exactly the characters it speaks of. Nodes compare by
identity: the same text in two places is two nodes.

Precedence, loosest first: `=>` and `if`, `or`, `and`, `not`, comparisons, `|`, `^`, `&`, shifts, `+ -`,
reductions (`sum[k] x[k] * w[k] + b` is `(sum[k] x[k] * w[k]) + b`), `* / // % @`, unary `-` and `~`, `**`, and what
follows an operand: calls, subscripts and tuple items.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from functools import cache
from typing import NamedTuple, TypeAlias


class Span(NamedTuple):
    """Characters `start` to `end` (offsets) of a file; `line` and `column` of the first one count from 1."""

    file: str
    start: int
    end: int
    line: int
    column: int


@cache
def _names(kind: type[Node]) -> tuple[str, ...]:
    """The fields of a class of nodes but for its span."""
    return tuple(each.name for each in fields(kind) if each.name != "span")


@dataclass(frozen=True, eq=False, kw_only=True)
class Node:
    """Anything in the tree."""

    span: Span

    def children(self) -> Iterator[Node]:
        """The nodes directly below this one, in the order of the text."""
        for name in _names(type(self)):
            value = getattr(self, name)
            for item in value if isinstance(value, tuple) and not isinstance(value, Span) else (value,):
                if isinstance(item, Node):
                    yield item

    def walk(self) -> Iterator[Node]:
        """This node and all below it, outside first."""
        waiting: list[Node] = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed(list(node.children()))


@dataclass(frozen=True, eq=False, kw_only=True)
class Identifier(Node):
    """A name where it is introduced: its own characters, for labels and go to definition."""

    text: str


# Expressions ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class Number(Node):
    """`12`, `0xff`, `1.5e-3`, `inf`, `nan`: the value is an int exactly when the text has no point or exponent."""

    value: int | float


@dataclass(frozen=True, eq=False, kw_only=True)
class Bool(Node):
    """`true`, `false`."""

    value: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class String(Node):
    """`"b (h d) -> b h d"`: an argument that is known when compiling; never a value."""

    value: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Name(Node):
    """A use of a name; dotted through an import or a namespace: `att.flash`, `stablehlo.add`, `onnx.Gemm`."""

    text: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Unary(Node):
    """`-x`, `~x`, `not x`."""

    operator: str
    operand: Expression


@dataclass(frozen=True, eq=False, kw_only=True)
class Binary(Node):
    """`a + b`: `or and == != < <= > >= | ^ & << >> + - * / // % @ **`."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, eq=False, kw_only=True)
class Argument(Node):
    """An argument of a call; `name` is None for one by position."""

    name: Identifier | None
    value: Expression


@dataclass(frozen=True, eq=False, kw_only=True)
class Call(Node):
    """`f(x, axis=1)`, `f[N=4](x)`; a reducer by name is a call too: `sum(x, axis=0)`, `max(a, b)`.

    `dims` are the dimensions given in brackets, each an `Argument` with a name.
    """

    function: Name
    arguments: tuple[Argument, ...]
    dims: tuple[Argument, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Slice(Node):
    """`a:b:c` between the brackets of a subscript; what is left out is None."""

    start: Expression | None
    stop: Expression | None
    step: Expression | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Pack(Node):
    """`..b` between brackets: the indices, or the dimensions, that the pack of this name stands for."""

    text: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Subscript(Node):
    """`x[i + 1, ..b, 2:, idx[i] ? 0]`; `outside` is the value read outside the bounds, `? v`, or None.

    A type is a subscript as well where one is expected: `f32[M, 2*K, ..B]`.
    """

    value: Expression
    items: tuple[Expression | Slice | Pack, ...]
    outside: Expression | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Item(Node):
    """`pair.0`: an item of a tuple."""

    value: Expression
    number: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Binder(Node):
    """An index where it is bound: `i`, `i: N` (from 0), `i: 2..N`, `..b` (`pack`); `stop` is None to infer it."""

    name: Identifier
    start: Expression | None = None
    stop: Expression | None = None
    pack: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Reduction(Node):
    """`sum[k, c: 3 where k <= i] e`; `reducer` is sum, prod, max, min, any, all, argmax or argmin."""

    reducer: str
    binders: tuple[Binder, ...]
    guard: Expression | None
    body: Expression


@dataclass(frozen=True, eq=False, kw_only=True)
class Comprehension(Node):
    """`[i, j: 4] => e`: the tensor whose element at (i, j) is e."""

    binders: tuple[Binder, ...]
    body: Expression


@dataclass(frozen=True, eq=False, kw_only=True)
class Conditional(Node):
    """`if c { a } else { b }` as an expression: one arm is evaluated when c is a scalar."""

    condition: Expression
    then: Expression
    otherwise: Expression


@dataclass(frozen=True, eq=False, kw_only=True)
class Array(Node):
    """`[[1, 2], [3, 4]]`: a tensor written out; in arguments also a list of tensors, `concat([a, b])`."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Tuple(Node):
    """`(a, b)`."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Hole(Node):
    """Where the parser could not make sense of the text: it has been reported; stay silent about it."""


Expression: TypeAlias = (
    Number
    | Bool
    | String
    | Name
    | Unary
    | Binary
    | Call
    | Subscript
    | Item
    | Reduction
    | Comprehension
    | Conditional
    | Array
    | Tuple
    | Hole
)

# Types ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class TensorType(Node):
    """`f32`, `f32[M, 2*K, ..B]`, `T[N]`, `const int`: `dtype` is the name of a dtype or of a type parameter.

    `const` marks what must be known when compiling; its dtype is `int`, `float` or `bool`.
    """

    dtype: Identifier
    dims: tuple[Expression | Pack, ...] = ()
    const: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class TupleType(Node):
    """`(f32[N], i64)`."""

    items: tuple[Type, ...]


Type: TypeAlias = TensorType | TupleType

# Statements ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class Let(Node):
    """`let y = e`, `var y = e`, `y = e`, `let a, b = e`, each with an optional `: type` when there is one target.

    `keyword` is let, var or "" (an assignment: of a `var`, otherwise a definition that shadows).
    """

    keyword: str
    targets: tuple[Identifier, ...]
    type: Type | None
    value: Expression


@dataclass(frozen=True, eq=False, kw_only=True)
class Define(Node):
    """`let y[i, j: 0..N, ..b]: f32[M, N] = e`: index notation; the keyword may be left out.

    A use of `y` inside `e` is a recurrence.
    """

    keyword: str
    target: Identifier
    binders: tuple[Binder, ...]
    type: Type | None
    value: Expression


@dataclass(frozen=True, eq=False, kw_only=True)
class Update(Node):
    """`y[idx[i], j] += v[i, j]`: y with some elements changed; `operator` is `=`, `+=`, `*=`, `max=` or `min=`.

    A `=` whose subscripts are all plain indices is a `Define` instead.
    """

    target: Name
    items: tuple[Expression | Slice | Pack, ...]
    operator: str
    value: Expression
    guard: Expression | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Return(Node):
    """`return e`; several values are a `Tuple`."""

    value: Expression


@dataclass(frozen=True, eq=False, kw_only=True)
class For(Node):
    """`for t in a..b step s { … }`: `var`s of outside that the body assigns are carried from turn to turn."""

    index: Identifier
    start: Expression
    stop: Expression
    step: Expression | None
    body: Block


@dataclass(frozen=True, eq=False, kw_only=True)
class While(Node):
    """`while c { … }`; c is a scalar."""

    condition: Expression
    body: Block


@dataclass(frozen=True, eq=False, kw_only=True)
class If(Node):
    """`if c { … } else { … }`; c is a scalar; with a `const` condition the other arm is left out when compiling."""

    condition: Expression
    then: Block
    otherwise: Block | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Expect(Node):
    """`expect a == b`, `expect a ~= b within 1e-5`, `expect c`: in a test; `operator` is "" for the last form."""

    left: Expression
    operator: str
    right: Expression | None
    within: Expression | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Block(Node):
    """`{ … }`: statements in order. What is defined inside is not seen outside."""

    statements: tuple[Statement, ...]


Statement: TypeAlias = Let | Define | Update | Return | For | While | If | Expect | Hole

# Items ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class DimParameter(Node):
    """`N`, `..B` (`pack`), `T: float` (`kind` names a class of dtypes: any, number, float, int, complex)."""

    name: Identifier
    pack: bool = False
    kind: Identifier | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Parameter(Node):
    """`x: f32[M, K]`, `stride: const int = 1`."""

    name: Identifier
    type: Type
    default: Expression | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Function(Node):
    """`fn f[M, K](x: f32[M, K]) -> f32[M] where K % 8 == 0 { … }` or `fn f(x: f32) -> f32 = e`.

    The short form has one `Return` as its body. Functions of one name that differ in dtypes are overloads.
    `doc` is the run of `#` comment lines directly above, without the marks.
    """

    name: Identifier
    dims: tuple[DimParameter, ...]
    parameters: tuple[Parameter, ...]
    result: Type | None
    constraints: tuple[Expression, ...]
    body: Block
    doc: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class Import(Node):
    """`import "attention.lam" as att`; without `as` its functions are seen under their own names.

    `std/…` is the library that comes with the language.
    """

    path: String
    alias: Identifier | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Const(Node):
    """`const EPS: f32 = 1e-5`, `const N = 2 * 4`."""

    name: Identifier
    type: Type | None
    value: Expression


@dataclass(frozen=True, eq=False, kw_only=True)
class Param(Node):
    """`param w: f32[K, N] from "w.npy"`, `param w from "m.safetensors" key "layer.weight"`."""

    name: Identifier
    type: Type | None
    path: String
    key: String | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Model(Node):
    """`model resnet from "r.onnx"`: an ONNX model as a function."""

    name: Identifier
    path: String


@dataclass(frozen=True, eq=False, kw_only=True)
class Test(Node):
    """`test "softmax sums to one" { … }`."""

    name: String
    body: Block


Definition: TypeAlias = Import | Const | Param | Model | Function | Test | Hole


@dataclass(frozen=True, eq=False, kw_only=True)
class File(Node):
    """A whole file. `text` is what was parsed, `comments` the comments in it, in order."""

    text: str
    items: tuple[Definition, ...]
    comments: tuple[Identifier, ...] = field(default=())
