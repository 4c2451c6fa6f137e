// RUN: lamina-opt %s -p convert-stablehlo-to-linalg | filecheck %s

// A constant that canonicalisation moved out of a comparator goes back in as a scalar.
// CHECK-LABEL: func.func @main
// CHECK: linalg.generic
// CHECK: arith.constant 0.000000e+00 : f32
// CHECK: arith.cmpf oeq
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare EQ, %a, %zero : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
