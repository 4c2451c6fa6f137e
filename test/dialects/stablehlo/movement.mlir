// Data movement prints as it is written; a stride of one is left out.
// RUN: lamina-opt %s | filecheck %s
// RUN: lamina-opt --mlir-print-op-generic %s | lamina-opt | filecheck %s

// CHECK-LABEL: func.func @movement(
func.func @movement(%x: tensor<2x3xf32>, %v: tensor<3xf32>, %s: tensor<f32>, %w: tensor<4xi8>) {
  // CHECK-NEXT: %reshape = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>
  %reshape = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>
  // CHECK-NEXT: %transpose = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %transpose = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  // CHECK-NEXT: %rows = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
  %rows = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %fill = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
  %fill = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %concatenate = stablehlo.concatenate %x, %x, dim = 1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  %concatenate = stablehlo.concatenate %x, %x, dim = 1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  // CHECK-NEXT: %slice = stablehlo.slice %x [0:1, 0:3:2] : (tensor<2x3xf32>) -> tensor<1x2xf32>
  %slice = stablehlo.slice %x [0:1, 0:3:2] : (tensor<2x3xf32>) -> tensor<1x2xf32>
  // CHECK-NEXT: %scalar_slice = stablehlo.slice %s [] : (tensor<f32>) -> tensor<f32>
  %scalar_slice = stablehlo.slice %s [] : (tensor<f32>) -> tensor<f32>
  // CHECK-NEXT: %pad = stablehlo.pad %x, %s, low = [1, -1], high = [0, 2], interior = [1, 0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<4x4xf32>
  %pad = stablehlo.pad %x, %s, low = [1, -1], high = [0, 2], interior = [1, 0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<4x4xf32>
  // CHECK-NEXT: %reverse = stablehlo.reverse %x, dims = [0, 1] : tensor<2x3xf32>
  %reverse = stablehlo.reverse %x, dims = [0, 1] : tensor<2x3xf32>
  // CHECK-NEXT: %narrow = stablehlo.bitcast_convert %s : (tensor<f32>) -> tensor<4xi8>
  %narrow = stablehlo.bitcast_convert %s : (tensor<f32>) -> tensor<4xi8>
  // CHECK-NEXT: %wide = stablehlo.bitcast_convert %w : (tensor<4xi8>) -> tensor<f32>
  %wide = stablehlo.bitcast_convert %w : (tensor<4xi8>) -> tensor<f32>
  // CHECK-NEXT: %size = stablehlo.get_dimension_size %x, dim = 1 : (tensor<2x3xf32>) -> tensor<i32>
  %size = stablehlo.get_dimension_size %x, dim = 1 : (tensor<2x3xf32>) -> tensor<i32>
  func.return
}
