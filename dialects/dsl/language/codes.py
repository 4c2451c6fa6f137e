"""Every kind of mistake has a code that never changes, with a page of its own made from this table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Code:
    """A kind of mistake: what it is called, why it is one, a program that makes it and the same one put right."""

    title: str
    explanation: str
    wrong: str
    right: str


# 0xx reading, 1xx names, 2xx dtypes, 3xx dimensions and shapes, 4xx index notation, 5xx calls and functions,
# 6xx control flow, 7xx imports and files, 8xx tests, W9xx warnings.
CODES: dict[str, Code] = {
    "E001": Code(
        "unknown character",
        "The character does not belong to the language outside of strings and comments.",
        "let y = x $ 2",
        "let y = x * 2",
    ),
    "E002": Code(
        "not what was expected here",
        "At this place the language allows other words or signs; the message names them.",
        "fn f(x f32[N]) = x",
        "fn f[N](x: f32[N]) = x",
    ),
    # built-in functions
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
}
