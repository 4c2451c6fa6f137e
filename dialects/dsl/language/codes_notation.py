"""The mistakes of index notation: its indices, their ranges, subscripts, recurrences and updates."""

from __future__ import annotations

from .code import Code

NOTATION: dict[str, Code] = {
    "E401": Code(
        "an index that is not bound",
        "An index is bound on the left of `=` or `=>`, or by a reduction. One that stands only on the right would "
        "leave open which of its values is meant: nothing is summed silently.",
        "fn f(x: f32[3, 4]) -> f32[3] = [i] => x[i, j]",
        "fn f(x: f32[3, 4]) -> f32[3] = [i] => sum[j] x[i, j]",
    ),
    "E402": Code(
        "an index that is never used",
        "An index of a reduction that nothing depends on only counts the same several times, which is seldom meant; "
        "if it is, a name that begins with _ says so. Elsewhere the index needs a range, since no tensor tells it.",
        "fn f(x: f32[3]) -> f32 = sum[i, j: 4] x[i]",
        "fn f(x: f32[3]) -> f32 = sum[i] 4 * x[i]",
    ),
    "E403": Code(
        "an index on axes of different sizes",
        "An index that subscripts axes by itself runs over all of each. If only a part of the longer one is meant, the "
        "range is written: `i: 3`.",
        "fn f(x: f32[3], y: f32[5]) -> f32[3] = [i] => x[i] + y[i]",
        "fn f(x: f32[3], y: f32[5]) -> f32[3] = [i: 3] => x[i] + y[i]",
    ),
    "E404": Code(
        "a range that is not obvious",
        "The range of an index is that of the axes it subscripts by itself, `x[i]`, or what a declared type says. "
        "Ranges are not solved from `x[2*i]` or `x[i + 1]`: write them.",
        "fn f(x: f32[8]) -> f32[4] {\n  let y[i] = x[2*i]\n  return y\n}",
        "fn f(x: f32[8]) -> f32[4] {\n  let y[i: 4] = x[2*i]\n  return y\n}",
    ),
    "E405": Code(
        "a subscript that can leave the bounds",
        "Elements are counted from 0 to one less than the size of the axis. What is read outside is said by `? v`, or "
        "the range of an index is made shorter. Conditions around count too: `if i > 0 { x[i - 1] } else { 0 }`. "
        "Subscripts that depend on data are clamped.",
        "fn f(x: f32[8]) -> f32[8] = [i: 8] => x[i + 1]",
        "fn f(x: f32[8]) -> f32[8] = [i: 8] => x[i + 1 ? 0]",
    ),
    "E406": Code(
        "too many or too few subscripts",
        "Index notation is about single elements, so a tensor has one subscript per axis there. A pack `..b` stands "
        "for several.",
        "fn f(x: f32[3, 4]) -> f32[3] = [i] => 2 * x[i]",
        "fn f(x: f32[3, 4]) -> f32[3, 4] = [i, j] => 2 * x[i, j]",
    ),
    "E407": Code(
        "not a single value",
        "What stands behind `=>`, a reduction or the `=` of index notation is a single value for each index.",
        "fn f(x: f32[3], y: f32[3]) -> f32[3] = [i] => x[i] * y",
        "fn f(x: f32[3], y: f32[3]) -> f32[3] = [i] => x[i] * y[i]",
    ),
    "E408": Code(
        "an index that is bound already",
        "Every index around has a name of its own, so that it is clear which one a subscript means.",
        "fn f(x: f32[3, 3]) -> f32[3] = [i] => sum[i] x[i, i]",
        "fn f(x: f32[3, 3]) -> f32[3] = [i] => sum[j] x[i, j]",
    ),
    "E409": Code(
        "a recurrence that reads what is not known yet",
        "A tensor that is told by its own elements is computed in the order of one index, from 0 on: every use must be "
        "earlier at that index by a constant, `y[n - 1]`.",
        "fn f(x: f32[8]) -> f32[8] {\n  let y[n] = x[n] + y[n + 1 ? 0]\n  return y\n}",
        "fn f(x: f32[8]) -> f32[8] {\n  let y[n] = x[n] + y[n - 1 ? 0]\n  return y\n}",
    ),
    "E410": Code(
        "a recurrence without a beginning",
        "Before the first element there is none: `? v` says what is read there, or a condition keeps from reading it.",
        "fn f() -> i64[8] {\n  let y[n: 8] = 2 * y[n - 1]\n  return y\n}",
        "fn f() -> i64[8] {\n  let y[n: 8] = 2 * y[n - 1 ? 1]\n  return y\n}",
    ),
    "E411": Code(
        "an element that is written several times",
        "Several values of the indices change the same element, so `=` does not say which of them stays. `+=`, `*=`, "
        "`max=` and `min=` do not depend on the order. (Subscripts that depend on data are not looked into.)",
        "fn f(x: f32[8]) -> f32[4] {\n  var y = zeros(f32[4])\n  y[i // 2] = x[i]\n  return y\n}",
        "fn f(x: f32[8]) -> f32[4] {\n  var y = zeros(f32[4])\n  y[i // 2] += x[i]\n  return y\n}",
    ),
    "E412": Code(
        "a subscript that is no whole number",
        "Subscripts are single whole numbers. Nothing is rounded silently; write the cast.",
        "fn f(x: f32[8], at: f32[3]) -> f32[3] = [i] => x[at[i]]",
        "fn f(x: f32[8], at: f32[3]) -> f32[3] = [i] => x[i64(at[i])]",
    ),
    "E413": Code(
        "a slice in index notation",
        "Slices are for whole tensors, index notation is about single elements: an index runs over the part that the "
        "slice would take.",
        "fn f(x: f32[3, 8]) -> f32[3, 4] = [i, j] => x[i, 4:][j]",
        "fn f(x: f32[3, 8]) -> f32[3, 4] = [i, j: 4] => x[i, 4 + j]",
    ),
    "E414": Code(
        "subscripts of what depends on an index",
        "In index notation everything is a single value but what does not depend on an index. A tensor for each index "
        "is defined before, with that index as an axis.",
        "fn f(x: f32[3]) -> f32[3] = [i] => [x[i], 2 * x[i]][i % 2]",
        "fn f(x: f32[3]) -> f32[3] {\n  let pair[i, j: 2] = if j == 0 { x[i] } else { 2 * x[i] }\n"
        "  return [i] => pair[i, i % 2]\n}",
    ),
    "E415": Code(
        "an update of what does not change",
        "Only a `var` changes. What `let` defines, and what a function is given, stays as it is: copy it into a `var`.",
        "fn f(x: f32[8]) -> f32[8] {\n  x[0] += 1\n  return x\n}",
        "fn f(x: f32[8]) -> f32[8] {\n  var y = x\n  y[0] += 1\n  return y\n}",
    ),
    "E416": Code(
        "a guard that is no condition",
        "What stands behind `where` is a single bool for each index.",
        "fn f(x: f32[8]) -> f32 = sum[i where x[i]] x[i]",
        "fn f(x: f32[8]) -> f32 = sum[i where x[i] > 0] x[i]",
    ),
    "E417": Code(
        "a range that depends on an index",
        "The ranges of indices are known when compiling, so that the result has a shape. What is too much of the "
        "longest range is left out by `where`.",
        "fn f(x: f32[8]) -> f32[8] = [i] => sum[j: i] x[j]",
        "fn f(x: f32[8]) -> f32[8] = [i] => sum[j where j < i] x[j]",
    ),
    "E418": Code(
        "elements that cannot be combined so",
        "sum and prod combine numbers, any and all bools, max, min, argmax and argmin what has an order. Nothing is "
        "cast silently.",
        "fn f(x: f32[8]) -> i64 = sum[i] (x[i] > 0)",
        "fn f(x: f32[8]) -> i64 = sum[i] i64(x[i] > 0)",
    ),
    "E419": Code(
        "argmax over several indices",
        "argmax and argmin give the value of an index, so they have exactly one.",
        "fn f(x: f32[3, 4]) -> i64 = argmax[i, j] x[i, j]",
        "fn f(x: f32[3, 4]) -> i64[3] = [i] => argmax[j] x[i, j]",
    ),
    "E422": Code(
        "a recurrence that is too much",
        "The elements of a tensor that is being defined can be used, not all of it; its indices count from 0; and its "
        "dtype must follow from its body, or be written.",
        "fn f() -> i64[8] {\n  let y[n: 8] = n + sum(y)\n  return y\n}",
        "fn f() -> i64[8] {\n  let y[n: 8] = n + y[n - 1 ? 0]\n  return y\n}",
    ),
    "E423": Code(
        "a value that does not fit where it is put",
        "What is assigned to a part of a tensor has the shape of that part, or broadcasts to it.",
        "fn f(x: f32[8]) -> f32[8] {\n  var y = x\n  y[2:4] = [1.0, 2.0, 3.0]\n  return y\n}",
        "fn f(x: f32[8]) -> f32[8] {\n  var y = x\n  y[2:5] = [1.0, 2.0, 3.0]\n  return y\n}",
    ),
}
