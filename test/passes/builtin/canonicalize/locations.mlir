// RUN: lamina-opt %s -p canonicalize --mlir-print-debuginfo | filecheck %s

// What replaces an op stands where the op stood.
// CHECK: arith.cmpi sgt, %i, %c : i32 loc("node7")
func.func @f(%i: i32) -> i1 {
  %c = arith.constant 3 : i32
  %0 = arith.cmpi slt, %c, %i : i32 loc("node7")
  return %0 : i1
}
