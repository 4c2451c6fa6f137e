// RUN: lamina-opt %s -p stablehlo-fold-constants | filecheck %s

// CHECK-LABEL: @arithmetic
// CHECK-NEXT:  %0 = stablehlo.constant dense<[3.000000e+00, 6.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:  func.return %0
func.func @arithmetic() -> tensor<2xf32> {
  %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %s = stablehlo.constant dense<3.0> : tensor<f32>
  %b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<2xf32>
  %0 = stablehlo.multiply %a, %b : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// Large broadcasts stay; what is computed from them alone is computed on views.
// CHECK-LABEL: @broadcast_stays
// CHECK-NEXT:  %a = stablehlo.constant
// CHECK-NEXT:  %0 = stablehlo.broadcast_in_dim %a
// CHECK-NEXT:  %1 = stablehlo.add %x, %0
// CHECK-NEXT:  func.return %1
func.func @broadcast_stays(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %a = stablehlo.constant dense<[1.0]> : tensor<1xf32>
  %0 = stablehlo.broadcast_in_dim %a, dims = [0] : (tensor<1xf32>) -> tensor<1024x1024xf32>
  %1 = stablehlo.add %x, %0 : tensor<1024x1024xf32>
  return %1 : tensor<1024x1024xf32>
}

// A large result of small operands is cheaper to compute than to load.
// CHECK-LABEL: @iota_stays
// CHECK-NEXT:  %0 = stablehlo.iota dim = 0
// CHECK-NEXT:  func.return %0
func.func @iota_stays() -> tensor<1024xi32> {
  %0 = stablehlo.iota dim = 0 : tensor<1024xi32>
  return %0 : tensor<1024xi32>
}

// CHECK-LABEL: @reduction
// CHECK-NEXT:  %0 = stablehlo.constant dense<6> : tensor<i32>
// CHECK-NEXT:  func.return %0
func.func @reduction() -> tensor<i32> {
  %a = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<i32>
  return %0 : tensor<i32>
}

// -----

// A loop of constants may never end, and what a view repeats without memory is not computed with.

// CHECK-LABEL: func.func @stays
// CHECK:         stablehlo.while
// CHECK:         stablehlo.reduce
func.func @stays() -> (tensor<i1>, tensor<f32>) {
  %true = stablehlo.constant dense<true> : tensor<i1>
  %0 = "stablehlo.while"(%true) ({
  ^bb0(%a: tensor<i1>):
    stablehlo.return %a : tensor<i1>
  }, {
  ^bb0(%a: tensor<i1>):
    stablehlo.return %a : tensor<i1>
  }) : (tensor<i1>) -> tensor<i1>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %many = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<f32>) -> tensor<10000000000xf32>
  %1 = stablehlo.reduce(%many init: %one) applies stablehlo.add across dimensions = [0] : (tensor<10000000000xf32>, tensor<f32>) -> tensor<f32>
  return %0, %1 : tensor<i1>, tensor<f32>
}

// What has a size that is not known yet stays.
// CHECK-LABEL: @unknown
// CHECK: stablehlo.broadcast_in_dim
func.func @unknown() -> tensor<?xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %many = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<f32>) -> tensor<?xf32>
  return %many : tensor<?xf32>
}
