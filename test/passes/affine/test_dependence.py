"""The dependence test against brute force: it may say yes too often, never no when there is a dependence."""

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from lamina.compiler.context import LaminaContext
from lamina.dialects import all_dialects
from lamina.dialects.affine import ForOp
from lamina.passes.affine.accesses import accesses, variable_range
from lamina.passes.affine.dependence import Iterations, Order, Relation, is_parallel, permutation_is_legal


def parse(text: str) -> ModuleOp:
    ctx = LaminaContext()
    for name, factory in all_dialects().items():
        ctx.register_dialect(name, factory)
    return Parser(ctx, text).parse_module()


def nest(bounds: tuple[int, int], store: str, load: str) -> tuple[ForOp, ForOp]:
    module = parse(f"""
    func.func @f(%m: memref<100x100xf32>) {{
      affine.for %i = 0 to {bounds[0]} {{
        affine.for %j = 0 to {bounds[1]} {{
          %v = affine.load %m[{load}] : memref<100x100xf32>
          affine.store %v, %m[{store}] : memref<100x100xf32>
        }}
      }}
      func.return
    }}""")
    outer, inner = (op for op in module.walk() if isinstance(op, ForOp))
    return outer, inner


def subscript(coefficients: tuple[int, int, int]) -> str:
    return f"%i * {coefficients[0]} + %j * {coefficients[1]} + {coefficients[2]}"


forms = st.tuples(st.integers(-2, 3), st.integers(-2, 3), st.integers(-3, 3))
places = st.tuples(forms, forms)
orders = st.sampled_from([Order.SAME, Order.BEFORE, Order.AFTER])
signs = {Order.SAME: lambda a, b: a == b, Order.BEFORE: lambda a, b: a < b, Order.AFTER: lambda a, b: a > b}


def value(form: tuple[int, int, int], point: tuple[int, int]) -> int:
    return form[0] * point[0] + form[1] * point[1] + form[2]


@settings(max_examples=150, deadline=None)
@given(
    st.tuples(st.integers(1, 5), st.integers(1, 5)),
    places,
    places,
    st.sampled_from(list(signs)),
    st.sampled_from(list(signs)),
)
def test_never_misses_a_dependence(bounds, store, load, first, second):
    outer, inner = nest(bounds, ", ".join(map(subscript, store)), ", ".join(map(subscript, load)))
    read, write = accesses([outer])
    relations = [
        Relation(outer.variable, outer.variable, first),
        Relation(inner.variable, inner.variable, second),
    ]
    points = list(product(range(bounds[0]), range(bounds[1])))
    truth = any(
        signs[first](p[0], q[0])
        and signs[second](p[1], q[1])
        and all(value(a, p) == value(b, q) for a, b in zip(store, load, strict=True))
        for p in points
        for q in points
    )
    assert Iterations(relations).may_depend(write, read) or not truth


def test_exact_for_uniform_accesses():
    outer, inner = nest((10, 10), "%i, %j", "%i, %j - 1")
    assert is_parallel(outer)
    assert not is_parallel(inner)


def test_parity_keeps_writes_and_reads_apart():
    outer, inner = nest((10, 10), "%i * 2, %j", "%i * 2 + 1, %j")
    assert is_parallel(outer) and is_parallel(inner)


def test_bounds_keep_accesses_apart():
    outer, inner = nest((10, 10), "%i, %j", "%i + 10, %j")
    assert is_parallel(outer) and is_parallel(inner)


def test_wavefront_cannot_be_interchanged():
    loops = nest((10, 10), "%i, %j", "%i - 1, %j + 1")
    assert not permutation_is_legal(loops, [1, 0])
    assert permutation_is_legal(nest((10, 10), "%i, %j", "%i - 1, %j - 1"), [1, 0])


def test_division_counts_as_dependent():
    outer, _ = nest((10, 10), "%i floordiv 2, %j", "%i, %j")
    assert not is_parallel(outer)


def test_an_edge_is_within_its_constant():
    module = parse("""
    func.func @f(%m: memref<100xf32>) {
      affine.for %i = 0 to 4 {
        affine.for %j = 0 to min affine_map<(d0) -> (32, d0 * -32 + 100)>(%i) {
          %v = affine.load %m[%i * 32 + %j] : memref<100xf32>
          affine.store %v, %m[%i * 32 + %j] : memref<100xf32>
        }
        affine.for %j = 0 to min affine_map<(d0) -> (33, d0 * -32 + 100)>(%i) {
          %v = affine.load %m[%i * 32 + %j] : memref<100xf32>
          affine.store %v, %m[%i * 32 + %j] : memref<100xf32>
        }
      }
      func.return
    }""")
    _, within, beyond = (op for op in module.walk() if isinstance(op, ForOp))
    outer = within.parent_op()
    assert within.outer_bounds() == (0, 32, 1) and within.constant_bounds() is None
    assert isinstance(outer, ForOp) and not is_parallel(outer)
    beyond.detach()
    assert is_parallel(outer)


def test_steps_from_a_first_value_that_is_not_known_have_no_range():
    module = parse("""
    func.func @f(%m: memref<100xf32>) {
      affine.for %i = 0 to 4 {
        affine.for %j = max affine_map<(d0) -> (0, d0)>(%i) to 10 step 4 {
          %v = affine.load %m[%j] : memref<100xf32>
          affine.store %v, %m[%j] : memref<100xf32>
        }
      }
      func.return
    }""")
    _, inner = (op for op in module.walk() if isinstance(op, ForOp))
    assert inner.outer_bounds() is None and variable_range(inner.variable) is None
