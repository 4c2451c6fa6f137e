// What ops do besides giving results: nothing for most, what the region or the decomposition does for some.
// RUN: lamina-opt %s -p cse,dce | filecheck %s

// CHECK-LABEL: func.func @unused(
func.func @unused(%x: tensor<2x3xf32>, %c: tensor<f32>, %p: tensor<i1>) {
  // CHECK-NEXT: stablehlo.custom_call @effect
  // CHECK-NEXT: stablehlo.composite "test.impure"
  // CHECK-NEXT: stablehlo.composite "test.endless"
  // CHECK-NEXT: check.expect_eq
  // CHECK-NEXT: func.return
  %sum = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  %one = stablehlo.constant dense<1.0> : tensor<2xf32>
  %call = stablehlo.custom_call @pure(%x) : (tensor<2x3xf32>) -> tensor<2xf32>
  %effect = stablehlo.custom_call @effect(%x) {has_side_effect = true} : (tensor<2x3xf32>) -> tensor<2xf32>
  %if = "stablehlo.if"(%p) ({
    stablehlo.return %x : tensor<2x3xf32>
  }, {
    stablehlo.return %x : tensor<2x3xf32>
  }) : (tensor<i1>) -> tensor<2x3xf32>
  %double = stablehlo.composite "test.pure" %x {decomposition = @pure} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %impure = stablehlo.composite "test.impure" %x {decomposition = @impure} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %endless = stablehlo.composite "test.endless" %x {decomposition = @endless} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  check.expect_eq %x, %x : tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @equal(
func.func @equal(%x: tensor<2xf32>, %shape: tensor<1xi64>, %a: tensor<f32>) -> (tensor<2xf32>, tensor<2xf32>) {
  // CHECK: stablehlo.sqrt
  // CHECK-NOT: stablehlo.sqrt
  // CHECK-COUNT-2: stablehlo.rng
  %0 = stablehlo.sqrt %x : tensor<2xf32>
  %1 = stablehlo.sqrt %x : tensor<2xf32>
  %2 = stablehlo.add %0, %1 : tensor<2xf32>
  %3 = stablehlo.rng %a, %a, %shape, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<2xf32>
  %4 = stablehlo.rng %a, %a, %shape, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<2xf32>
  %5 = stablehlo.add %3, %4 : tensor<2xf32>
  func.return %2, %5 : tensor<2xf32>, tensor<2xf32>
}

func.func @pure(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.add %x, %x : tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

func.func @impure(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  check.expect_eq %x, %x : tensor<2x3xf32>
  func.return %x : tensor<2x3xf32>
}

func.func @endless(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.composite "test.endless" %x {decomposition = @endless} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
