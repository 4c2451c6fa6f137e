// RUN: lamina-opt %s -p stablehlo-inline-composites | filecheck %s

// CHECK:       func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:    %0 = stablehlo.exponential %x
// CHECK-NEXT:    %1 = stablehlo.negate %0
// CHECK-NEXT:    func.return %1
// CHECK-NOT:   func.func
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.composite "test.outer" %x {decomposition = @outer} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

func.func private @outer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.composite "test.inner" %x {decomposition = @inner} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.negate %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}

func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.exponential %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
