// A scan is a loop that reads and writes a slice in each round; backwards from the last.
// RUN: lamina-opt %s -p stablehlo-decompose-chlo | filecheck %s
// RUN: lamina run %s --check

// CHECK-LABEL: func.func public @main(
// CHECK-NOT: chlo
// CHECK: stablehlo.while
// CHECK: %[[AT:.*]] = stablehlo.subtract
// CHECK: stablehlo.dynamic_slice %x, %{{.*}}, %[[AT]], sizes = [2, 1]
// CHECK: stablehlo.maximum
// CHECK: stablehlo.dynamic_update_slice
func.func public @main(%x: tensor<2x3xf32>, %zero: tensor<2xf32>) -> (tensor<2x3xf32>, tensor<2xf32>) {
  %most, %last = chlo.scan(%x) inits (%zero) dimension=1 attributes {is_reverse = true} {
  ^bb0(%slice: tensor<2xf32>, %so_far: tensor<2xf32>):
    %s = stablehlo.maximum %slice, %so_far : tensor<2xf32>
    %half = stablehlo.multiply %s, %s : tensor<2xf32>
    stablehlo.return %s, %half : tensor<2xf32>, tensor<2xf32>
  } : (tensor<2x3xf32>, tensor<2xf32>) -> (tensor<2x3xf32>, tensor<2xf32>)
  func.return %most, %last : tensor<2x3xf32>, tensor<2xf32>
}
