// REQUIRES: mlir-opt
// RUN: lamina-opt %s --mlir-print-debuginfo | mlir-opt --mlir-print-debuginfo > %t
// RUN: lamina-opt %t --mlir-print-debuginfo --print-large-constants | filecheck %s
// RUN: lamina-opt %s --print-large-constants | mlir-opt | lamina-opt --print-large-constants | filecheck %s --check-prefix=BYTES

// What we print upstream reads, and what upstream prints (locations as aliases, defined after their use) we read.
// CHECK: arith.constant dense_resource<"conv1/w"> : tensor<2xf32> loc("node"("m.onnx":7:1))
// CHECK: func.return {{.*}} loc("{{.*}}upstream.mlir":11:3)
func.func @f() -> tensor<2xf32> {
  %w = arith.constant dense_resource<"conv1/w"> : tensor<2xf32> loc("node"("m.onnx":7:1))
  return %w : tensor<2xf32>
}

// BYTES: "conv1/w": "0x040000000000803F00000040"
{-#
  dialect_resources: {
    builtin: {
      "conv1/w": "0x040000000000803F00000040"
    }
  }
#-}
