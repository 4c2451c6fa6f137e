// RUN: lamina-opt %s -p stablehlo-narrow-integers --machine aarch64-neon | filecheck %s
// A machine that multiplies bytes gets bytes: what the zero point adds is taken off the sums.

// CHECK-LABEL: func.func @dot
func.func @dot(%0: tensor<4x2xui8>) -> tensor<4x2xi32> {
  // CHECK: %[[X:.*]] = stablehlo.xor %0, %{{.*}} : tensor<4x2xui8>
  // CHECK-NEXT: %[[S:.*]] = stablehlo.bitcast_convert %[[X]] : (tensor<4x2xui8>) -> tensor<4x2xi8>
  // CHECK: %[[W:.*]] = stablehlo.constant dense<{{.*}}[-128, 127], [3, 4]{{.*}}> : tensor<2x2xi8>
  // CHECK: %[[P:.*]] = stablehlo.dot_general %[[S]], %[[W]], contracting_dims = [1] x [0] : (tensor<4x2xi8>, tensor<2x2xi8>) -> tensor<4x2xi32>
  // CHECK: stablehlo.constant dense<[-125, 131]> : tensor<2xi32>
  // CHECK: stablehlo.multiply
  // CHECK: %[[E:.*]] = stablehlo.broadcast_in_dim %{{.*}}, dims = [1] : (tensor<2xi32>) -> tensor<4x2xi32>
  // CHECK: stablehlo.subtract %[[P]], %[[E]] : tensor<4x2xi32>
  %x = stablehlo.convert %0 : (tensor<4x2xui8>) -> tensor<4x2xi32>
  %z = stablehlo.constant dense<12> : tensor<4x2xi32>
  %d = stablehlo.subtract %x, %z : tensor<4x2xi32>
  %w = stablehlo.constant dense<[[-128, 127], [3, 4]]> : tensor<2x2xi32>
  %y = stablehlo.dot_general %d, %w, contracting_dims = [1] x [0] : (tensor<4x2xi32>, tensor<2x2xi32>) -> tensor<4x2xi32>
  func.return %y : tensor<4x2xi32>
}

// A weight of 9 bits: pairs of 16 bits then.
// CHECK-LABEL: func.func @nine_bits
func.func @nine_bits(%0: tensor<4x2xui8>) -> tensor<4x1xi32> {
  // CHECK: stablehlo.dot_general {{.*}} : (tensor<4x2xi16>, tensor<2x1xi16>) -> tensor<4x1xi32>
  %x = stablehlo.convert %0 : (tensor<4x2xui8>) -> tensor<4x2xi32>
  %w = stablehlo.constant dense<[[-128], [128]]> : tensor<2x1xi32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x2xi32>, tensor<2x1xi32>) -> tensor<4x1xi32>
  func.return %y : tensor<4x1xi32>
}

// Padding stands for 0, which is the zero point in the data; channels fill up a group of bytes, taken times 0.
// CHECK-LABEL: func.func @padded
func.func @padded(%0: tensor<1x3x3x1xi8>) -> tensor<1x3x3x1xi32> {
  // CHECK: stablehlo.pad %0, %{{.*}}, low = [0, 1, 1, 0], high = [0, 1, 1, 3], interior = [0, 0, 0, 0] : (tensor<1x3x3x1xi8>, tensor<i8>) -> tensor<1x5x5x4xi8>
  // CHECK-NEXT: stablehlo.convolution({{.*}} window = {pad = {{..}}0, 0], [0, 0]]}
  // CHECK: stablehlo.subtract {{.*}} : tensor<1x3x3x1xi32>
  %x = stablehlo.convert %0 : (tensor<1x3x3x1xi8>) -> tensor<1x3x3x1xi32>
  %z = stablehlo.constant dense<-7> : tensor<1x3x3x1xi32>
  %d = stablehlo.subtract %x, %z : tensor<1x3x3x1xi32>
  %w = stablehlo.constant dense<1> : tensor<3x3x1x1xi32>
  %r = stablehlo.convolution(%d, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x3x1xi32>, tensor<3x3x1x1xi32>) -> tensor<1x3x3x1xi32>
  func.return %r : tensor<1x3x3x1xi32>
}

// Weights with zero points that are not folded, as folding leaves large ones: their elements fit, their types' would not.
// CHECK-LABEL: func.func @zero_points
func.func @zero_points(%0: tensor<4x2xui8>) -> tensor<4x2xi32> {
  // CHECK: %[[W:.*]] = stablehlo.constant dense<{{.*}}[0, 75], [1, 20]{{.*}}> : tensor<2x2xi8>
  // CHECK: %[[P:.*]] = stablehlo.dot_general %{{.*}}, %[[W]], contracting_dims = [1] x [0] : (tensor<4x2xi8>, tensor<2x2xi8>) -> tensor<4x2xi32>
  // CHECK: stablehlo.constant dense<[1, 95]> : tensor<2xi32>
  %x = stablehlo.convert %0 : (tensor<4x2xui8>) -> tensor<4x2xi32>
  %c = stablehlo.constant dense<[[2, 255], [3, 200]]> : tensor<2x2xui8>
  %i = stablehlo.convert %c : (tensor<2x2xui8>) -> tensor<2x2xi32>
  %z = stablehlo.constant dense<[[2, 180]]> : tensor<1x2xi32>
  %b = stablehlo.broadcast_in_dim %z, dims = [0, 1] : (tensor<1x2xi32>) -> tensor<2x2xi32>
  %w = stablehlo.subtract %i, %b : tensor<2x2xi32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x2xi32>, tensor<2x2xi32>) -> tensor<4x2xi32>
  func.return %y : tensor<4x2xi32>
}
