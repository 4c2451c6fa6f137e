"""Every kind of mistake has a code that never changes, with a page of its own made from this table."""

from __future__ import annotations

from .code import Code
from .codes_checking import CHECKING
from .codes_notation import NOTATION

# 0xx reading, 1xx names, 2xx dtypes, 3xx dimensions and shapes, 4xx index notation, 5xx calls and functions,
# 6xx control flow, 7xx imports and files, 8xx tests, W9xx warnings.
CODES: dict[str, Code] = {
    "E001": Code(
        "unknown character",
        "Outside of strings and comments the character does not belong to the language. Signs that were copied from "
        "a text with typography, or that other languages use, are named with the sign that is written here.",
        "fn f(x: f32) -> f32 = x × 2",
        "fn f(x: f32) -> f32 = x * 2",
    ),
    "E002": Code(
        "not what was expected here",
        "At this place the language allows other words or signs; the message names them.",
        "fn f[N](x f32[N]) -> f32[N] = x",
        "fn f[N](x: f32[N]) -> f32[N] = x",
    ),
    "E003": Code(
        "brackets do not match",
        "Every `(`, `[` and `{` is closed by its own counterpart. A line that begins a statement shows that a "
        "parenthesis above is not closed, a line that begins a definition shows the same of a brace.",
        "fn f(x: f32) -> f32 {\n  let y = (x + 1\n  return y\n}",
        "fn f(x: f32) -> f32 {\n  let y = (x + 1)\n  return y\n}",
    ),
    "E004": Code(
        "misspelt word",
        "A word of the language was meant, or one that another language has in its place.",
        "def f(x: f32) -> f32 = x",
        "fn f(x: f32) -> f32 = x",
    ),
    "E005": Code(
        "string without end",
        "A string ends on the line on which it begins.",
        'test "sum { expect true }',
        'test "sum" { expect true }',
    ),
    "E006": Code(
        "malformed number",
        "Numbers are written `12`, `0xff`, `0b101`, `1_000`, `1.5` and `1.5e-3`. A product needs its `*`.",
        "fn f(x: f32) -> f32 = 2x",
        "fn f(x: f32) -> f32 = 2 * x",
    ),
    "E007": Code(
        "number too large",
        "Whole numbers have at most 64 bits, others are at most 1.8e308; infinity is written `inf`.",
        "const LIMIT = 1e999",
        "const LIMIT = inf",
    ),
    "E008": Code(
        "unknown escape in a string",
        r'In a string `\` stands before `\`, `"`, `n` (a new line) and `t` (a tab) only.',
        r'param w: f32[2] from "data\weights.npy"',
        'param w: f32[2] from "data/weights.npy"',
    ),
    "E009": Code(
        "not an index",
        "Where indices are bound stand names: `i` with a range that is inferred, `i: N` from 0 to below N, `i: 2..N`, "
        "or `..b` for several. Index arithmetic belongs into the subscripts.",
        "fn f[N](x: f32[N]) -> f32 = sum[i + 1] x[i]",
        "fn f[N](x: f32[N]) -> f32 = sum[i: N - 1] x[i + 1]",
    ),
    "E010": Code(
        "does not belong between these brackets",
        "Slices and `..b` choose elements of a tensor, ranges `i: a..b` bind an index, `N = 4` gives a dimension of a "
        "call: each has its place.",
        "fn f() -> i64[2] = [1:3]",
        "fn f() -> i64[2] = [1, 2]",
    ),
    "E011": Code(
        "not a function",
        "A call begins with the name of a function.",
        "fn f(x: f32) -> f32 = (x + 1)(x)",
        "fn f(x: f32) -> f32 = (x + 1) * x",
    ),
    "E012": Code(
        "dimension without its name",
        "The dimensions of a function that its arguments do not determine are given by name.",
        "fn zero[N]() -> f32[N] = zeros(f32[N])\nfn f() -> f32[4] = zero[4]()",
        "fn zero[N]() -> f32[N] = zeros(f32[N])\nfn f() -> f32[4] = zero[N = 4]()",
    ),
    "E013": Code(
        "type where there can be none",
        "A type follows the one name that is defined. Several names take the types of their values, and an update "
        "keeps the type of what it changes.",
        "fn f(x: f32) -> f32 {\n  let a, b: f32 = x, x\n  return a\n}",
        "fn f(x: f32) -> f32 {\n  let a, b = x, x\n  return a\n}",
    ),
    "E014": Code(
        "no such update",
        "Elements of a tensor are updated by `=`, `+=`, `*=`, `max=` and `min=`, for which the order of several "
        "updates of one element does not matter.",
        "fn f(x: f32[4]) -> f32[4] {\n  var y = x\n  y[0] -= 1.0\n  return y\n}",
        "fn f(x: f32[4]) -> f32[4] {\n  var y = x\n  y[0] += -1.0\n  return y\n}",
    ),
    "E015": Code(
        "too deep",
        "Brackets, operators and statements may stand 200 deep inside each other.",
        "const A = " + "-" * 210 + "1",
        "const A = 1",
    ),
    "E016": Code(
        "not UTF-8",
        "Files are text in UTF-8.",
        "# caf\\xe9 in Latin-1",
        "# caf\\xc3\\xa9 in UTF-8",
    ),
    "E017": Code(
        "value without effect",
        "A statement defines, changes, repeats, chooses or returns something. A value alone does nothing.",
        "fn f(x: f32) -> f32 {\n  exp(x)\n  return x\n}",
        "fn f(x: f32) -> f32 {\n  let y = exp(x)\n  return y\n}",
    ),
    "E018": Code(
        "statement outside of a function",
        "A file consists of definitions: `fn`, `const`, `param`, `model`, `import` and `test`.",
        "let EPS = 1e-5",
        "const EPS = 1e-5",
    ),
    "E019": Code(
        "chained comparison",
        "A comparison gives a bool, which is not compared further.",
        "fn f(x: f32) -> bool = 0.0 < x < 1.0",
        "fn f(x: f32) -> bool = 0.0 < x and x < 1.0",
    ),
    "E250": Code(
        "elements a function does not take",
        "A built-in function takes only some kinds of elements: exp takes floats and complex numbers, popcount "
        "integers, any booleans. Nothing is cast silently; write the cast.",
        "fn f(x: i32[4]) = exp(x)",
        "fn f(x: i32[4]) = exp(f32(x))",
    ),
    "E251": Code(
        "dtypes that differ",
        "The tensors given to a function must have one dtype. Nothing is cast silently; write the cast.",
        "fn f(x: f32[4], y: f64[4]) = concat([x, y])",
        "fn f(x: f32[4], y: f64[4]) = concat([f64(x), y])",
    ),
    "E350": Code(
        "shapes that do not fit",
        "A built-in function needs tensors, or numbers, that fit each other: concat tensors that agree in the other "
        "axes, dot axes of one size, split parts that add up.",
        "fn f(x: f32[2, 3], y: f32[2, 4]) = concat([x, y], axis=0)",
        "fn f(x: f32[2, 3], y: f32[2, 4]) = concat([x, y], axis=1)",
    ),
    "E351": Code(
        "no such axis",
        "Axes count from 0, negative ones from the end: a tensor of rank 2 has the axes 0 and 1, or -2 and -1. Where "
        "several are given, each is given once.",
        "fn f(x: f32[2, 3]) = sum(x, axis=2)",
        "fn f(x: f32[2, 3]) = sum(x, axis=1)",
    ),
    "E352": Code(
        "a pattern that does not fit",
        'A pattern such as "b (h d) -> b h d" names every axis of the tensor on its left side and every axis of the '
        "result on its right side. rearrange keeps all names, reduce may drop some, repeat may add some, whose sizes "
        "are given. A group must be the product of its axes.",
        'fn f(x: f32[2, 12]) = rearrange(x, "b (h d) -> b h d")',
        'fn f(x: f32[2, 12]) = rearrange(x, "b (h d) -> b h d", h=3)',
    ),
    "E353": Code(
        "a reshape to another number of elements",
        "reshape keeps the elements, so the sizes of both shapes have one product. One size may be -1: it follows "
        "from the others.",
        "fn f(x: f32[2, 3]) = reshape(x, [4])",
        "fn f(x: f32[2, 3]) = reshape(x, [-1])",
    ),
    "E355": Code(
        "a hub op that is not valid",
        "The op exists and its arguments were read, but it may not be used like this; the message is that of the op's "
        "verifier and names the constraint of the StableHLO specification.",
        "fn f(x: f32[2, 3]) = stablehlo.transpose(x, permutation=[0, 0])",
        "fn f(x: f32[2, 3]) = stablehlo.transpose(x, permutation=[1, 0])",
    ),
    "E550": Code(
        "too few or too many arguments",
        "A built-in function needs the arguments that its signature names without a default.",
        "fn f(x: f32[4]) = maximum(x)",
        "fn f(x: f32[4]) = maximum(x, 0)",
    ),
    "E551": Code(
        "no parameter of this name",
        "The built-in function, hub op or ONNX operator has no parameter of this name.",
        "fn f(x: f32[4]) = sum(x, axes=0)",
        "fn f(x: f32[4]) = sum(x, axis=0)",
    ),
    "E552": Code(
        "an argument that is given twice",
        "The parameter has got its argument already, by position or by name.",
        "fn f(x: f32[4]) = sum(x, 0, axis=0)",
        "fn f(x: f32[4]) = sum(x, axis=0)",
    ),
    "E553": Code(
        "an argument of another kind",
        "The parameter takes something else: a tensor, a list of tensors in brackets, a whole number, text in quotes, "
        "a type, a function's name.",
        "fn f(x: f32[4], y: f32[4]) = concat(x, axis=0)",
        "fn f(x: f32[4], y: f32[4]) = concat([x, y], axis=0)",
    ),
    "E554": Code(
        "an argument that is not known when compiling",
        "Axes, sizes and the like decide the type of the result, so they cannot be computed from tensors: numbers, "
        "dimensions and consts are known when compiling.",
        "fn f(x: f32[4], n: i64) = sum(x, axis=n)",
        "fn f(x: f32[4], n: const int) = sum(x, axis=n)",
    ),
    "E555": Code(
        "no such hub op",
        "The ops of the hub are called by their names in the StableHLO specification, stablehlo.add or chlo.erf. A few "
        "cannot be called because the language says the same in its own way.",
        "fn f(x: f32[4]) = stablehlo.absolute(x)",
        "fn f(x: f32[4]) = stablehlo.abs(x)",
    ),
    "E556": Code(
        "no such ONNX operator",
        "The operators of ONNX are called by their names there, onnx.Gemm, in their newest version. Those with graphs "
        "as attributes (If, Loop, Scan) cannot be called: the language has control flow of its own.",
        "fn f(x: f32[4]) = onnx.Relux(x)",
        "fn f(x: f32[4]) = onnx.Relu(x)",
    ),
    "E557": Code(
        "an ONNX operator or model that cannot be used like this",
        "The operator exists, but not for these inputs and attributes; or the model of the file cannot take the "
        "arguments, or has no way down to the hub.",
        "fn f(x: f32[4], w: f32[3, 2]) = onnx.Gemm(x, w)",
        "fn f(x: f32[4, 3], w: f32[3, 2]) = onnx.Gemm(x, w)",
    ),
    # files
    "E720": Code(
        "a file that is not there, or may not be read",
        "Files are named relative to the program that names them and lie below its folder: no absolute paths, no '..', "
        "no links that lead out.",
        'param w from "../weights.npy"',
        'param w from "weights.npy"',
    ),
    "E721": Code(
        "a file of another kind",
        "Params come from .npy and .safetensors files, models from .onnx files.",
        'param w from "weights.txt"',
        'param w from "weights.npy"',
    ),
    "E722": Code(
        "no such array in the file",
        "A safetensors file holds arrays by key, so a param says which it means; a .npy file holds one array.",
        'param w: f32[4] from "model.safetensors" key "layer.wieght"',
        'param w: f32[4] from "model.safetensors" key "layer.weight"',
    ),
    "E723": Code(
        "a damaged file",
        "The file is there, but is not what its name says, or is cut short.",
        'param w from "notes.npy"',
        'param w from "weights.npy"',
    ),
    "E724": Code(
        "an array of another type than declared",
        "The dtype or shape that the program declares for a param is not that of the array in the file.",
        'param w: f32[4, 3] from "weights.npy"',
        'param w: f32[3, 4] from "weights.npy"',
    ),
    **CHECKING,
    **NOTATION,
}

__all__ = ["CODES", "Code"]
