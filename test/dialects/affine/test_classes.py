"""What the parser builds are the dialect's own classes, which passes ask for."""

from xdsl.parser import Parser

from lamina.compiler.context import LaminaContext
from lamina.dialects import all_dialects
from lamina.dialects.affine import Affine

TEXT = """
func.func @f(%x: memref<64xf32>, %y: memref<64xf32>) {
  affine.parallel (%p) = (0) to (4) {
    affine.for %i = 0 to 8 {
      %a = affine.apply affine_map<(d0) -> (d0 + 1)>(%i)
      %b = affine.min affine_map<(d0) -> (d0, 8)>(%a)
      %c = affine.max affine_map<(d0) -> (d0, 0)>(%b)
      affine.if affine_set<(d0) : (d0 - 1 >= 0)>(%c) {
        %v = affine.load %x[%c] : memref<64xf32>
        affine.store %v, %y[%c] : memref<64xf32>
      }
      %w = affine.vector_load %x[%i * 8] : memref<64xf32>, vector<8xf32>
      affine.vector_store %w, %y[%i * 8] : memref<64xf32>, vector<8xf32>
    }
  }
  func.return
}"""


def test_parsed_ops_are_of_the_dialects_classes() -> None:
    ctx = LaminaContext()
    for name, factory in all_dialects().items():
        ctx.register_dialect(name, factory)
    found = {type(op) for op in Parser(ctx, TEXT).parse_module().walk() if op.name.startswith("affine.")}
    assert found == set(Affine.operations)
