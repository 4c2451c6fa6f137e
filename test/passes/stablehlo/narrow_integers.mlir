// RUN: lamina-opt %s -p stablehlo-narrow-integers | filecheck %s

// A quantised product: 8 bits less a zero point fit into 16.
// CHECK-LABEL: func.func @dot
func.func @dot(%0: tensor<4x64xui8>, %w: tensor<64x8xi8>) -> tensor<4x8xi32> {
  // CHECK-NEXT: %[[X:.*]] = stablehlo.convert %0 : (tensor<4x64xui8>) -> tensor<4x64xi16>
  // CHECK-NEXT: %[[C:.*]] = stablehlo.constant dense<12> : tensor<i16>
  // CHECK-NEXT: %[[Z:.*]] = stablehlo.broadcast_in_dim %[[C]], dims = [] : (tensor<i16>) -> tensor<4x64xi16>
  // CHECK-NEXT: %[[D:.*]] = stablehlo.subtract %[[X]], %[[Z]] : tensor<4x64xi16>
  // CHECK-NEXT: %[[W:.*]] = stablehlo.convert %w : (tensor<64x8xi8>) -> tensor<64x8xi16>
  // CHECK-NEXT: %y = stablehlo.dot_general %[[D]], %[[W]], contracting_dims = [1] x [0] : (tensor<4x64xi16>, tensor<64x8xi16>) -> tensor<4x8xi32>
  %x = stablehlo.convert %0 : (tensor<4x64xui8>) -> tensor<4x64xi32>
  %z = stablehlo.constant dense<12> : tensor<4x64xi32>
  %d = stablehlo.subtract %x, %z : tensor<4x64xi32>
  %v = stablehlo.convert %w : (tensor<64x8xi8>) -> tensor<64x8xi32>
  %y = stablehlo.dot_general %d, %v, contracting_dims = [1] x [0] : (tensor<4x64xi32>, tensor<64x8xi32>) -> tensor<4x8xi32>
  func.return %y : tensor<4x8xi32>
}

// The zero point is known at run time only, and weights are constant: their elements tell the range.
// CHECK-LABEL: func.func @convolution
func.func @convolution(%0: tensor<1x5x5x2xi8>, %zero: tensor<i8>) -> tensor<1x5x5x1xi32> {
  // CHECK: stablehlo.convert %zero : (tensor<i8>) -> tensor<i16>
  // CHECK: stablehlo.constant dense<{{.*}}> : tensor<1x1x2x1xi16>
  // CHECK: stablehlo.convolution({{.*}} : (tensor<1x5x5x2xi16>, tensor<1x1x2x1xi16>) -> tensor<1x5x5x1xi32>
  %x = stablehlo.convert %0 : (tensor<1x5x5x2xi8>) -> tensor<1x5x5x2xi32>
  %y = stablehlo.convert %zero : (tensor<i8>) -> tensor<i32>
  %z = stablehlo.broadcast_in_dim %y, dims = [] : (tensor<i32>) -> tensor<1x5x5x2xi32>
  %d = stablehlo.subtract %x, %z : tensor<1x5x5x2xi32>
  %w = stablehlo.constant dense<[[[[-32768], [3]]]]> : tensor<1x1x2x1xi32>
  %r = stablehlo.convolution(%d, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x5x5x2xi32>, tensor<1x1x2x1xi32>) -> tensor<1x5x5x1xi32>
  func.return %r : tensor<1x5x5x1xi32>
}

// Twice a number of 16 bits needs 17; and a weight that is one too large.
// CHECK-LABEL: func.func @too_wide
func.func @too_wide(%0: tensor<4x64xi16>, %w: tensor<64x2xi8>) -> tensor<4x2xi32> {
  // CHECK: stablehlo.dot_general %d, %v, contracting_dims = [1] x [0] : (tensor<4x64xi32>
  %x = stablehlo.convert %0 : (tensor<4x64xi16>) -> tensor<4x64xi32>
  %d = stablehlo.add %x, %x : tensor<4x64xi32>
  %v = stablehlo.convert %w : (tensor<64x2xi8>) -> tensor<64x2xi32>
  %y = stablehlo.dot_general %d, %v, contracting_dims = [1] x [0] : (tensor<4x64xi32>, tensor<64x2xi32>) -> tensor<4x2xi32>
  func.return %y : tensor<4x2xi32>
}
// CHECK-LABEL: func.func @weight_too_large
func.func @weight_too_large(%0: tensor<4x2xi8>) -> tensor<4x1xi32> {
  // CHECK: stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x2xi32>
  %x = stablehlo.convert %0 : (tensor<4x2xi8>) -> tensor<4x2xi32>
  %w = stablehlo.constant dense<[[1], [32768]]> : tensor<2x1xi32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x2xi32>, tensor<2x1xi32>) -> tensor<4x1xi32>
  func.return %y : tensor<4x1xi32>
}
