// RUN: lamina-opt %s --mlir-print-debuginfo | filecheck %s

// CHECK: @f(%a: i32 loc("{{.*}}locations.mlir":4:14)) -> i32
func.func @f(%a: i32) -> i32 {
  // CHECK: arith.addi %a, %a : i32 loc("{{.*}}locations.mlir":6:8)
  %b = arith.addi %a, %a : i32
  // CHECK: arith.muli %b, %b : i32 loc("conv1"("model.onnx":7:1))
  %c = arith.muli %b, %b : i32 loc(#loc1)
  // CHECK: arith.muli %c, %b : i32 loc(unknown)
  %d = arith.muli %c, %b : i32 loc(unknown)
  // CHECK: arith.addi %d, %d : i32 loc("model.py":3:1)
  %e = arith.addi %d, %d : i32 loc("model.py":3:1 to :35)
  // CHECK: arith.addi %d, %e : i32 loc("model.py":3:7)
  %f = arith.addi %d, %e : i32 loc("model.py":3:7 to 5:2)
  // CHECK: return %d : i32 loc("{{.*}}locations.mlir":16:3)
  return %d : i32
} loc(#loc)
// CHECK: } loc("model.onnx":7:1)

#loc = loc("model.onnx":7:1)
#loc1 = loc("conv1"(#loc))
