"""What the parser makes of texts: told in short form, so that a test is a text and what it is."""

from dataclasses import fields

import pytest

from lamina.dialects.dsl.language import tree
from lamina.dialects.dsl.language.parsing import parse
from lamina.dialects.dsl.language.problems import Problems


def read(text: str) -> tree.File:
    problems = Problems()
    file = parse(text, "t.lam", problems)
    assert not problems.found, problems.found
    return file


def short(node: object) -> str:
    """A node as `(Class field field ...)`, leaving out what is not there."""
    match node:
        case tree.Name() | tree.Identifier():
            return node.text
        case tree.Number() | tree.Bool() | tree.String():
            return repr(node.value)
        case tree.Pack():
            return f"..{node.text}"
        case tree.Binary():
            return f"({short(node.left)} {node.operator} {short(node.right)})"
        case tree.Unary():
            return f"({node.operator} {short(node.operand)})"
        case tree.Node():
            parts = [short(getattr(node, f.name)) for f in fields(node) if f.name not in ("span", "doc")]
            return f"({' '.join([type(node).__name__, *filter(None, parts)])})"
        case tuple():
            return f"[{' '.join(short(item) for item in node)}]" if node else ""
        case None | False:
            return ""
        case _:
            return str(node)


def expression(text: str) -> str:
    (constant,) = read(f"const x = {text}").items
    assert isinstance(constant, tree.Const)
    return short(constant.value)


def statement(text: str) -> str:
    (function,) = read(f"fn f() {{\n{text}\n}}").items
    assert isinstance(function, tree.Function)
    return " ".join(short(each) for each in function.body.statements)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("1 + 2 * 3 - 4", "((1 + (2 * 3)) - 4)"),
        ("-a ** -b ** c", "(- (a ** (- (b ** c))))"),
        ("a or b and not c == d", "(a or (b and (not (c == d))))"),
        ("a | b ^ c & d << 1 + e", "(a | (b ^ (c & (d << (1 + e)))))"),
        ("a // b % c @ d", "(((a // b) % c) @ d)"),
        ("(a + b) * c", "((a + b) * c)"),
        ("sum[k] x[k] * w[k] + b", "((Reduction sum [(Binder k)] ((Subscript x [k]) * (Subscript w [k]))) + b)"),
        ("a / -sum[k] b * c", "(a / (- (Reduction sum [(Binder k)] (b * c))))"),
        ("a ** max[k: 2..N where k < 3] b", "(a ** (Reduction max [(Binder k 2 N)] (k < 3) b))"),
        ("[i, j: 4, ..b] => i + j", "(Comprehension [(Binder i) (Binder j 4) (Binder b True)] (i + j))"),
        ("if a { b } else if c { d } else { e }", "(Conditional a b (Conditional c d e))"),
        ("x[i + 1, ..b, 2:, ::-1 ? 0]", "(Subscript x [(i + 1) ..b (Slice 2) (Slice (- 1))] 0)"),
        ("x[0].1.0[2]", "(Subscript (Item (Item (Subscript x [0]) 1) 0) [2])"),
        ("f[N=4](x, axis=1, max=2,)", "(Call f [(Argument x) (Argument axis 1) (Argument max 2)] [(Argument N 4)])"),
        ("max(a, sum(b, axis=0))", "(Call max [(Argument a) (Argument (Call sum [(Argument b) (Argument axis 0)]))])"),
        (
            "stablehlo.add(x, att.max(y))",
            "(Call stablehlo.add [(Argument x) (Argument (Call att.max [(Argument y)]))])",
        ),
        ("zeros(f32[B, 2*K, ..S])", "(Call zeros [(Argument (Subscript f32 [B (2 * K) ..S]))])"),
        ("[[1, 2], [3, 4],]", "(Array [(Array [1 2]) (Array [3 4])])"),
        ("(a, (b,), (c, d,))", "(Tuple [a (Tuple [b]) (Tuple [c d])])"),
        ("0xff + 1_000 + 1.5e-3 + 2e3 + inf", "((((255 + 1000) + 0.0015) + 2000.0) + inf)"),
        (r'"a \"b\" \\n\n"', repr('a "b" \\n\n')),
        ("key + step.0", "(key + (Item step 0))"),
    ],
)
def test_expressions(text: str, meaning: str) -> None:
    assert expression(text) == meaning


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("let a, b = f(x)", "(Let let [a b] (Call f [(Argument x)]))"),
        ("var h: f32[N] = 0; h = 1, 2", "(Let var [h] (TensorType f32 [N]) 0) (Let [h] (Tuple [1 2]))"),
        ("y[i, j: 0..N, k: 3, ..b] = 1", "(Define y [(Binder i) (Binder j 0 N) (Binder k 3) (Binder b True)] 1)"),
        ("let y[i]: f32[M] = 1", "(Define let y [(Binder i)] (TensorType f32 [M]) 1)"),
        ("y[idx[i], j] += v where i < 3", "(Update y [(Subscript idx [i]) j] += v (i < 3))"),
        ("y[1:3] = 0", "(Update y [(Slice 1 3)] = 0)"),
        ("y[i] max= 2; y += 2", "(Update y [i] max= 2) (Let [y] (y + 2))"),
        ("for t in 0..N - 1 step 2 { h = t }", "(For t 0 (N - 1) 2 (Block [(Let [h] t)]))"),
        ("while a < 1 { }", "(While (a < 1) (Block))"),
        ("if a { } else if b { x = 1 }\nelse\n{ }", "(If a (Block) (Block [(If b (Block [(Let [x] 1)]) (Block))]))"),
        ("expect a == b", "(Expect a == b)"),
        ("expect (a == b)", "(Expect (a == b))"),
        ("expect (a) == (b)", "(Expect a == b)"),
        ("expect a ~= b within 1e-5", "(Expect a ~= b 1e-05)"),
        ("let x = key\nstep = x", "(Let let [x] key) (Let [step] x)"),
        ("let x = a # more\n  + b", "(Let let [x] (a + b))"),
        ("return a, b", "(Return (Tuple [a b]))"),
        ("return (a +\n b\n * c)", "(Return (a + (b * c)))"),
    ],
)
def test_statements(text: str, meaning: str) -> None:
    assert statement(text) == meaning


def test_items() -> None:
    file = read(
        'import "attention.lam" as att; import "b.lam"\n'
        'param w: f32[K, N] from "w.npy"\nparam v from "m.safetensors" key "layer.weight"\n'
        'model resnet from "r.onnx"\n\nconst EPS: f32 = 1e-5\n'
        "fn f[M, ..B, T: float](x: (f32[M], i64), s: const int = 1) -> T[..B]\n where M > 1, M < 5 {\n return x }\n"
        'test "a b" { expect true }\n'
    )
    assert [short(item) for item in file.items] == [
        "(Import 'attention.lam' att)",
        "(Import 'b.lam')",
        "(Param w (TensorType f32 [K N]) 'w.npy')",
        "(Param v 'm.safetensors' 'layer.weight')",
        "(Model resnet 'r.onnx')",
        "(Const EPS (TensorType f32) 1e-05)",
        "(Function f [(DimParameter M) (DimParameter B True) (DimParameter T float)] "
        "[(Parameter x (TupleType [(TensorType f32 [M]) (TensorType i64)])) (Parameter s (TensorType int True) 1)] "
        "(TensorType T [..B]) [(M > 1) (M < 5)] (Block [(Return x)]))",
        "(Test 'a b' (Block [(Expect True)]))",
    ]


def test_comments_and_documentation() -> None:
    file = read("# about the file\n\n# twice\n#  as much\nfn f(x: f32) -> f32 = 2 * x # here\n# end")
    assert [c.text for c in file.comments] == ["# about the file", "# twice", "#  as much", "# here", "# end"]
    (function,) = file.items
    assert isinstance(function, tree.Function)
    assert function.doc == "twice\n as much"


def test_spans_are_exact() -> None:
    text = "fn f(x: f32[N]) {\n\tlet y[i] = (x[i] +\n 1) * 2\n}"
    spans = {(type(n).__name__, text[n.span.start : n.span.end], n.span.line, n.span.column) for n in read(text).walk()}
    assert {
        ("Define", "let y[i] = (x[i] +\n 1) * 2", 2, 2),
        ("Binary", "(x[i] +\n 1) * 2", 2, 13),
        ("Binary", "x[i] +\n 1", 2, 14),
        ("Number", "1", 3, 2),
        ("TensorType", "f32[N]", 1, 9),
        ("Identifier", "f", 1, 4),
        ("Binder", "i", 2, 8),
    } <= spans


def test_empty_files() -> None:
    assert [read(text).items for text in ("", "\n\n", "# only\n", "; ;")] == [()] * 4
