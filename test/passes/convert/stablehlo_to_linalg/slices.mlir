// RUN: lamina-opt %s -p 'convert-stablehlo-to-linalg{slices=true}' | filecheck %s
// RUN: lamina-opt %s -p convert-stablehlo-to-linalg | filecheck %s --check-prefix COPIES

// Rows of a constant from a computed one on are a view of it, moved into bounds; so is what functions are given as one.

builtin.module {
  // CHECK-LABEL: @matrix
  // CHECK:         %[[I:.*]] = tensor.extract %i[] : tensor<i32>
  // CHECK:         %[[LOW:.*]] = arith.maxsi
  // CHECK:         %[[AT:.*]] = arith.minsi %[[LOW]], %{{.*}} : index
  // CHECK:         %[[M:.*]] = tensor.extract_slice %w[%[[AT]], 0, 0] [1, 3, 16] [1, 1, 1] : tensor<4x3x16xf32> to tensor<1x3x16xf32>
  // CHECK-NEXT:    func.return %[[M]]
  // COPIES-LABEL: @matrix
  // COPIES-NOT:     tensor.extract_slice
  // COPIES:         func.return
  func.func @matrix(%i: tensor<i32>) -> tensor<1x3x16xf32> {
    %w = stablehlo.constant dense_resource<w> : tensor<4x3x16xf32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %m = stablehlo.dynamic_slice %w, %i, %zero, %zero, sizes = [1, 3, 16] : (tensor<4x3x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x3x16xf32>
    func.return %m : tensor<1x3x16xf32>
  }

  // CHECK-LABEL: @rows
  // CHECK:         tensor.extract_slice %w[2, %{{.*}}, 0] [1, 2, 16] [1, 1, 1]
  func.func @rows(%i: tensor<i32>, %w: tensor<4x3x16xf32>) -> tensor<1x2x16xf32> attributes {lamina.constant_args = 1 : i64} {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %two = stablehlo.constant dense<2> : tensor<i32>
    %m = stablehlo.dynamic_slice %w, %two, %i, %zero, sizes = [1, 2, 16] : (tensor<4x3x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x16xf32>
    func.return %m : tensor<1x2x16xf32>
  }

  // What is no constant, or is in several pieces, is copied.
  // CHECK-LABEL: @copied
  // CHECK-NOT:     tensor.extract_slice
  // CHECK:         func.return
  func.func @copied(%i: tensor<i32>, %x: tensor<4x3x16xf32>) -> (tensor<1x3x16xf32>, tensor<2x2x16xf32>) {
    %w = stablehlo.constant dense_resource<w> : tensor<4x3x16xf32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 3, 16] : (tensor<4x3x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x3x16xf32>
    %1 = stablehlo.dynamic_slice %w, %i, %i, %zero, sizes = [2, 2, 16] : (tensor<4x3x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x2x16xf32>
    func.return %0, %1 : tensor<1x3x16xf32>, tensor<2x2x16xf32>
  }
}
