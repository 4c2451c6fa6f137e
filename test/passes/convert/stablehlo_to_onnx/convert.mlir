// RUN: lamina-opt %s -p convert-stablehlo-to-onnx | filecheck %s

// CHECK: onnx.opsets = {ai.onnx = 21 : i64}

// CHECK-LABEL: func.func @rsqrt
// CHECK: [[s:%.*]] = "onnx.Sqrt"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK: "onnx.Reciprocal"([[s]])
func.func @rsqrt(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.rsqrt %x : tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// A product in the plain order is one MatMul.
// CHECK-LABEL: func.func @product
// CHECK-NEXT: "onnx.MatMul"(%x, %y) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
func.func @product(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}

// A loop without a trip count, which computes its condition at the end of each step.
// CHECK-LABEL: func.func @loop
// CHECK: "onnx.Less"
// CHECK: "onnx.Loop"
// CHECK: "onnx.Add"
// CHECK: "onnx.Less"
// CHECK: "onnx.Yield"
// CHECK: onnx.regions = ["body"]
func.func @loop(%x: tensor<i64>) -> tensor<i64> {
  %ten = stablehlo.constant dense<10> : tensor<i64>
  %0 = stablehlo.while(%i = %x) : tensor<i64>
  cond {
    %go = stablehlo.compare LT, %i, %ten : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  } do {
    %next = stablehlo.add %i, %x : tensor<i64>
    stablehlo.return %next : tensor<i64>
  }
  func.return %0 : tensor<i64>
}
