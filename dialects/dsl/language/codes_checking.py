"""The mistakes that the walk of a program finds: names, dtypes, shapes, functions, control flow, imports."""

from __future__ import annotations

from .code import Code

CHECKING: dict[str, Code] = {
    "E101": Code(
        "no such name",
        "Nothing of this name can be seen here. A name is seen behind its definition, until the end of its block; "
        "dimensions are declared in brackets behind the name of their function.",
        "fn f(weight: f32[4]) = 2 * wieght",
        "fn f(weight: f32[4]) = 2 * weight",
    ),
    "E102": Code(
        "no such function",
        "Functions come from this file, from imports, from the standard library, or are built in.",
        "fn f(x: f32[4]) = sofmax(x)",
        "fn f(x: f32[4]) = softmax(x)",
    ),
    "E104": Code(
        "two of one name",
        "The name is taken. Functions may share a name when their parameters differ in dtype or rank.",
        "fn f(x: f32, x: f32) = x",
        "fn f(x: f32, y: f32) = x + y",
    ),
    "E105": Code(
        "not a tensor",
        "Here a tensor is needed: a function is to be called, a type to be filled, a tuple to be taken apart.",
        "fn f(x: f32[4]) = 2 * relu",
        "fn f(x: f32[4]) = 2 * relu(x)",
    ),
    "E106": Code(
        "an assignment to what is no var",
        "A block of a loop or an `if` changes values of outside only if they are `var`s: what `let` defines never "
        "changes.",
        "fn f(x: f32[4]) {\n  let s = 0.0\n  for i in 0..4 { s = s + x[i] }\n  return s\n}",
        "fn f(x: f32[4]) {\n  var s = 0.0\n  for i in 0..4 { s = s + x[i] }\n  return s\n}",
    ),
    "E107": Code(
        "no such dtype",
        "The dtypes are bool, i4 to i64, u4 to u64, f16, bf16, f32, f64, c64, c128 and the float8 types; type "
        "parameters are declared in brackets, `fn f[T: float](x: T)`, as one of any, number, float, int, complex.",
        "fn f(x: float32[4]) = x",
        "fn f(x: f32[4]) = x",
    ),
    "E110": Code(
        "a const defined by itself",
        "The value of a const cannot depend on itself.",
        "const A = B + 1\nconst B = A\nfn f(x: f32) = x * A",
        "const A = B + 1\nconst B = 2\nfn f(x: f32) = x * A",
    ),
    "E201": Code(
        "dtypes that differ",
        "Tensors that meet have one dtype: nothing is cast silently. Numbers written out, dimensions and consts take "
        "the dtype of what they meet, but a number with a fraction no integer one.",
        "fn f(x: f32[4], n: i32[4]) = x + n",
        "fn f(x: f32[4], n: i32[4]) = x + f32(n)",
    ),
    "E202": Code(
        "an operator that does not take this dtype",
        "Arithmetic is for numbers, `and`, `or` and `not` for bools, `/` for floats and complex numbers: the quotient "
        "of integers is `//`. For a type parameter it must hold for every dtype that it may be.",
        "fn f(n: i32[4]) = n / 2",
        "fn f(n: i32[4]) = n // 2",
    ),
    "E203": Code(
        "a number that the dtype does not have",
        "Integers have limits: a u8 is 0 to 255.",
        "fn f(x: u8[4]) = x + 300",
        "fn f(x: u8[4]) = i32(x) + 300",
    ),
    "E204": Code(
        "a cast that does not exist",
        "A complex number has two parts; which is meant must be said.",
        "fn f(x: c64[4]) = f32(x)",
        "fn f(x: c64[4]) = real(x)",
    ),
    "E205": Code(
        "a dtype that is not of the class asked for",
        "A type parameter may be restricted: `T: float` takes floats only.",
        "fn twice[T: float](x: T) -> T = x + x\nfn f(n: i32) = twice(n)",
        "fn twice[T: float](x: T) -> T = x + x\nfn f(n: i32) = twice(f32(n))",
    ),
    "E206": Code(
        "not a bool",
        "`and`, `or`, `not` and conditions take bools; a number is no condition.",
        "fn f(n: i64) -> bool = not n",
        "fn f(n: i64) -> bool = n == 0",
    ),
    "E301": Code(
        "a dimension with two values",
        "A dimension stands for one number throughout a function's head; here two arguments give it different ones.",
        "fn mm[M, K, N](x: f32[M, K], w: f32[K, N]) -> f32[M, N] = x @ w\n"
        "fn f(x: f32[2, 64], w: f32[128, 3]) = mm(x, w)",
        "fn mm[M, K, N](x: f32[M, K], w: f32[K, N]) -> f32[M, N] = x @ w\n"
        "fn f(x: f32[2, 64], w: f32[64, 3]) = mm(x, w)",
    ),
    "E302": Code(
        "shapes that do not broadcast",
        "Whole tensors are combined element by element by NumPy's rule: counted from the last, axes are equal, or one "
        "of them is 1 or missing. Symbols are equal only to themselves.",
        "fn f[M, N](x: f32[M, N], b: f32[M]) = x + b",
        "fn f[M, N](x: f32[M, N], b: f32[N]) = x + b",
    ),
    "E303": Code(
        "not a dimension",
        "A dimension is a whole number, 0 or more: written out, of symbols, consts, and `+ - * // % min max` of them.",
        "fn f(x: f32[1.5]) = x",
        "fn f(x: f32[3]) = x",
    ),
    "E304": Code(
        "a tensor of another rank",
        "The number of axes is not the one that is asked for.",
        "fn norm[M, N](x: f32[M, N]) = sum(x * x)\nfn f(v: f32[4]) = norm(v)",
        "fn norm[M, N](x: f32[M, N]) = sum(x * x)\nfn f(v: f32[4]) = norm(reshape(v, [2, 2]))",
    ),
    "E305": Code(
        "a dimension that cannot be known when compiling",
        "Dimensions and constraints are known when a function is bound: they follow from the arguments, are given in "
        "brackets, `f[N=4](x)`, or are numbers and consts. They cannot be computed from tensors.",
        "fn start[N](x: f32) -> f32[N] = zeros(f32[N]) + x\nfn f(x: f32) = start(x)",
        "fn start[N](x: f32) -> f32[N] = zeros(f32[N]) + x\nfn f(x: f32) = start[N=4](x)",
    ),
    "E306": Code(
        "not a single value",
        "Here a tensor of rank 0 is needed.",
        "fn f(n: i64[2]) {\n  var s = 0\n  for i in 0..n { s = s + i }\n  return s\n}",
        "fn f(n: i64[2]) {\n  var s = 0\n  for i in 0..n[0] { s = s + i }\n  return s\n}",
    ),
    "E307": Code(
        "another shape than declared",
        "The value has not the shape that its declaration says.",
        "fn f[M, N](x: f32[M, N]) -> f32[N, M] = x",
        "fn f[M, N](x: f32[M, N]) -> f32[N, M] = transpose(x, [1, 0])",
    ),
    "E308": Code(
        "rows of different lengths",
        "The items of a tensor that is written out all have one shape.",
        "fn f(x: f32) = x * [[1, 2], [3]]",
        "fn f(x: f32) = x * [[1, 2], [3, 4]]",
    ),
    "E309": Code(
        "a subscript that does not fit",
        "Subscripts of a whole tensor are single whole numbers and slices, at most one for each axis, and lie within "
        "the axis; negative ones count from its end. A slice is not cut short silently.",
        "fn f(x: f32[3]) = x[3]",
        "fn f(x: f32[3]) = x[2]",
    ),
    "E310": Code(
        "a matrix product of axes that differ",
        "`x @ w` joins the last axis of x with the last but one of w, or its only one.",
        "fn f(x: f32[2, 3], w: f32[4, 5]) = x @ w",
        "fn f(x: f32[2, 3], w: f32[3, 5]) = x @ w",
    ),
    "E311": Code(
        "a constraint that does not hold",
        "A function says behind `where` what its dimensions must fulfil.",
        "fn half[N](x: f32[N]) -> f32[N] where N % 2 == 0 = x / 2\nfn f(x: f32[3]) = half(x)",
        "fn half[N](x: f32[N]) -> f32[N] where N % 2 == 0 = x / 2\nfn f(x: f32[4]) = half(x)",
    ),
    "E312": Code(
        "a division by zero",
        "A number known when compiling is divided by 0.",
        "fn f(x: f32[4 // 0]) = x",
        "fn f(x: f32[4 // 2]) = x",
    ),
    "E501": Code(
        "too many arguments",
        "The function has fewer parameters.",
        "fn f(x: f32[4]) = relu(x, 0.1)",
        "fn f(x: f32[4]) = relu(x)",
    ),
    "E502": Code(
        "no parameter of this name",
        "Arguments by name use the names of the function's head.",
        "fn scale(x: f32, by: f32) = x * by\nfn f(x: f32) = scale(x, times=2)",
        "fn scale(x: f32, by: f32) = x * by\nfn f(x: f32) = scale(x, by=2)",
    ),
    "E503": Code(
        "an argument given twice, or out of order",
        "Arguments by position come first, each parameter gets one.",
        "fn scale(x: f32, by: f32) = x * by\nfn f(x: f32) = scale(x, 2, by=2)",
        "fn scale(x: f32, by: f32) = x * by\nfn f(x: f32) = scale(x, by=2)",
    ),
    "E504": Code(
        "a missing argument",
        "Parameters without a default need an argument.",
        "fn scale(x: f32, by: f32) = x * by\nfn f(x: f32) = scale(x)",
        "fn scale(x: f32, by: f32 = 2) = x * by\nfn f(x: f32) = scale(x)",
    ),
    "E505": Code(
        "no overload that fits",
        "Of the functions of this name none takes these arguments.",
        "fn bits(x: f32) = 32\nfn bits(x: f64) = 64\nfn f(x: i8) = bits(x)",
        "fn bits(x: f32) = 32\nfn bits(x: f64) = 64\nfn f(x: i8) = bits(f32(x))",
    ),
    "E506": Code(
        "an argument of another kind",
        "A tensor is taken where a tensor is declared, a tuple where a tuple is, a number for a const.",
        "fn f(x: f32) = x\nfn g(x: f32) = f((x, x))",
        "fn f(x: f32) = x\nfn g(x: f32) = f(x)",
    ),
    "E507": Code(
        "not known when compiling",
        "The argument of a `const` parameter is a number, a dimension or a const: functions are compiled for it.",
        "fn power(x: f32, n: const int) = x ** n\nfn f(x: f32, n: i64) = power(x, n)",
        "fn power(x: f32, n: const int) = x ** n\nfn f(x: f32, n: const int) = power(x, n)",
    ),
    "E508": Code(
        "recursion without an end, or without a declared result",
        "Recursion unrolls when compiling: every call must have other dimensions or consts, until an `if` on these "
        "ends it. The result of a function that calls itself is declared.",
        "fn f[N](x: f32[N]) = if N == 1 { x } else { f(x[:N // 2]) }",
        "fn f[N](x: f32[N]) -> f32 = if N == 1 { x[0] } else { f(x[:N // 2]) }",
    ),
    "E509": Code(
        "another number of values than declared",
        "A tuple is declared where one value is given, or the other way round, or one of another length.",
        "fn f(x: f32) -> (f32, f32) = x",
        "fn f(x: f32) -> (f32, f32) = (x, x)",
    ),
    "E510": Code(
        "a function that does not return",
        "Every way through a function ends with `return`.",
        "fn f(x: f32) -> f32 {\n  if x > 0 { return x }\n}",
        "fn f(x: f32) -> f32 {\n  if x > 0 { return x }\n  return -x\n}",
    ),
    "E511": Code(
        "not a function",
        "Only functions and dtypes are called. Products are written with `*`.",
        "fn f(a: f32, b: f32) = a(b + 1)",
        "fn f(a: f32, b: f32) = a * (b + 1)",
    ),
    "E512": Code(
        "no dimension of this name",
        "In brackets before the arguments stand dimensions of the function's head, by name.",
        "fn start[N](x: f32) -> f32[N] = zeros(f32[N]) + x\nfn f(x: f32) = start[M=4](x)",
        "fn start[N](x: f32) -> f32[N] = zeros(f32[N]) + x\nfn f(x: f32) = start[N=4](x)",
    ),
    "E513": Code(
        "names for another number of values",
        "As many names are defined as there are values.",
        "fn f(x: f32) {\n  let a, b = (x, x, x)\n  return a + b\n}",
        "fn f(x: f32) {\n  let a, b, _c = (x, x, x)\n  return a + b\n}",
    ),
    "E514": Code(
        "no such item",
        "The items of a tuple count from 0: `t.0`, `t.1`.",
        "fn f(x: f32) {\n  let t = (x, x)\n  return t.2\n}",
        "fn f(x: f32) {\n  let t = (x, x)\n  return t.1\n}",
    ),
    "E601": Code(
        "a condition that is not a single bool",
        "`if` and `while` take one bool; element by element chooses `select(c, a, b)`.",
        "fn f(x: f32[4]) -> f32[4] = if x > 0 { x } else { -x }",
        "fn f(x: f32[4]) -> f32[4] = select(x > 0, x, -x)",
    ),
    "E602": Code(
        "a return inside a loop",
        "A loop runs to its end; what it finds is carried in a `var`.",
        "fn f(x: f32) -> f32 {\n  var y = x\n  while y < 9 {\n    y = 2 * y\n    return y\n  }\n  return y\n}",
        "fn f(x: f32) -> f32 {\n  var y = x\n  while y < 9 { y = 2 * y }\n  return y\n}",
    ),
    "E603": Code(
        "a var that changes its type",
        "A `var` keeps its dtype and shape, so that loops can carry it.",
        "fn f(x: f32[2]) {\n  var y = x\n  y = concat([x, x])\n  return y\n}",
        "fn f(x: f32[2]) {\n  var y = concat([x, x])\n  y = 2 * y\n  return y\n}",
    ),
    "E604": Code(
        "a loop that does not count whole numbers",
        "The bounds of a `for` are whole numbers; its step is one known when compiling, other than 0.",
        "fn f(n: f32) {\n  var s = 0\n  for i in 0..n { s = s + i }\n  return s\n}",
        "fn f(n: f32) {\n  var s = 0\n  for i in 0..i64(n) { s = s + i }\n  return s\n}",
    ),
    "E605": Code(
        "arms of different types",
        "Both arms of an `if` give the same type, and leave each `var` with its type.",
        "fn f(x: f32, n: i64) = if x > 0 { x } else { n }",
        "fn f(x: f32, n: i64) = if x > 0 { x } else { f32(n) }",
    ),
    "E606": Code(
        "a loop without an end",
        "The body of this `while` assigns no `var` of outside, so its condition never changes.",
        "fn f(x: f32) {\n  var y = x\n  while y < 9 { let y = 2 * y }\n  return y\n}",
        "fn f(x: f32) {\n  var y = x\n  while y < 9 { y = 2 * y }\n  return y\n}",
    ),
    "E607": Code(
        "what belongs to tests, or does not",
        "`expect` stands in `test` blocks, outside of loops; tests return nothing.",
        "fn f(x: f32) {\n  expect x > 0\n  return x\n}",
        'fn f(x: f32) = x\ntest "f" { expect f(1) > 0 }',
    ),
    "E608": Code(
        "too many ways to return",
        "An `if` that returns in one arm only makes two ways of all that is behind it, so many in a row are too many.",
        "fn f(x: f32) -> f32 {\n" + "  if x > 1 { if x < 2 { return x } }\n" * 9 + "  return 0\n}",
        "fn f(x: f32) -> f32 {\n  var y = 0.0\n" + "  if x > 1 { if x < 2 { y = x } }\n" * 9 + "  return y\n}",
    ),
    "E701": Code(
        "imports in a circle",
        "A file that another one imports cannot import that one, not even by a third.",
        'import "circle.lam" as circle  # which is this file itself',
        'import "std/softmax.lam" as soft\nfn f(x: f32[3]) = soft.softmax(x)',
    ),
    "E702": Code(
        "an import that cannot be found",
        "Imports are named relative to the file and lie below its folder; `std/…` is the library of the language.",
        'import "std/attentoin.lam" as att',
        'import "std/attention.lam" as att',
    ),
    "W901": Code(
        "never used",
        "The value is defined but nothing uses it: often another name was meant. A name that begins with `_` is left "
        "in peace.",
        "fn f(x: f32) {\n  let y = 2 * x\n  return x\n}",
        "fn f(x: f32) {\n  let y = 2 * x\n  return y\n}",
    ),
    "W902": Code(
        "a dimension or dtype never used",
        "The name in brackets is used nowhere in the function.",
        "fn f[M, N](x: f32[N]) = x",
        "fn f[N](x: f32[N]) = x",
    ),
    "W903": Code(
        "never reached",
        "What stands behind a `return` in its block is never run.",
        "fn f(x: f32) {\n  return x\n  let y = 2 * x\n}",
        "fn f(x: f32) {\n  let y = 2 * x\n  return y\n}",
    ),
    "W904": Code(
        "a loop that changes nothing",
        "The body assigns no `var` of outside, so nothing is left of it.",
        "fn f(x: f32[4]) {\n  for i in 0..4 { let y = x[i] }\n  return x\n}",
        "fn f(x: f32[4]) {\n  var y = 0.0\n  for i in 0..4 { y = y + x[i] }\n  return y\n}",
    ),
    "W905": Code(
        "a quotient of whole numbers",
        "Dimensions, consts and numbers without a point are whole, and so is their quotient: 1 / N is 0. One operand "
        "with a point or a cast gives a fraction; `//` says that rounding down is meant.",
        "fn f[N](x: f32[N]) = sum(x) * (1 / N)",
        "fn f[N](x: f32[N]) = sum(x) * (1.0 / N)",
    ),
}
