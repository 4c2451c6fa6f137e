// RUN: lamina-opt %s -p 'stablehlo-inline-composites{keep="test.known"}' | filecheck %s

// One that a target knows stays, with what it means.
// CHECK:       func.func @main
// CHECK-NEXT:    %0 = stablehlo.composite "test.known" %x {decomposition = @known}
// CHECK-NEXT:    %1 = stablehlo.exponential %0
// CHECK:       func.func private @known
// CHECK-NOT:   @other
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.composite "test.known" %x {decomposition = @known} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.composite "test.other" %0 {decomposition = @other} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

func.func private @known(%x: tensor<4xf32>) -> tensor<4xf32> {
  %1 = stablehlo.negate %x : tensor<4xf32>
  return %1 : tensor<4xf32>
}

func.func private @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.exponential %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
