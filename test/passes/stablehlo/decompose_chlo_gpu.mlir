// RUN: lamina-opt %s --machine sm_80 -p stablehlo-decompose-chlo | filecheck %s

// Of many, on a GPU: blocks by their first numbers, and what is in those that come first.
// CHECK-LABEL: func.func @top_k_of_many
func.func @top_k_of_many(%x: tensor<3x1000xi32>) -> (tensor<3x4xi32>, tensor<3x4xi32>) {
  // CHECK: stablehlo.reduce{{.*}} stablehlo.minimum across dimensions = [1] : (tensor<3x8x125xi64>, tensor<i64>) -> tensor<3x125xi64>
  // CHECK: stablehlo.reduce{{.*}} stablehlo.minimum across dimensions = [1] : (tensor<3x8x16xi64>, tensor<i64>) -> tensor<3x16xi64>
  // CHECK: stablehlo.remainder
  // CHECK: "stablehlo.gather"
  // CHECK-SAME: (tensor<3x8x16xi64>, tensor<3x8x4x3xi64>) -> tensor<3x8x4xi64>
  // CHECK: "stablehlo.gather"
  // CHECK-SAME: (tensor<3x8x125xi64>, tensor<3x8x4x3xi64>) -> tensor<3x8x4xi64>
  // CHECK-NOT: stablehlo.sort
  // CHECK: "stablehlo.gather"(%x
  %v, %i = chlo.top_k(%x, k = 4) : tensor<3x1000xi32> -> (tensor<3x4xi32>, tensor<3x4xi32>)
  func.return %v, %i : tensor<3x4xi32>, tensor<3x4xi32>
}

