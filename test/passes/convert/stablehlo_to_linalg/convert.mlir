// RUN: lamina-opt %s -p convert-stablehlo-to-linalg | filecheck %s

// Signs move from types into ops.
// CHECK-LABEL: func.func @unsigned
// CHECK-SAME: (%x: tensor<4xi8>, %y: tensor<4xi8>) -> tensor<4xi8>
// CHECK: arith.maxui %{{.*}}, %{{.*}} : i8
func.func @unsigned(%x: tensor<4xui8>, %y: tensor<4xui8>) -> tensor<4xui8> {
  %0 = stablehlo.maximum %x, %y : tensor<4xui8>
  func.return %0 : tensor<4xui8>
}

// A matrix product: loops m, n, k, sums from zero.
// CHECK-LABEL: func.func @dot
// CHECK: %[[ZERO:.*]] = linalg.fill
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<2x3xf32>, tensor<5x3xf32>) outs(%[[ZERO]] : tensor<2x5xf32>)
// CHECK: arith.mulf
// CHECK: arith.addf
func.func @dot(%x: tensor<2x3xf32>, %w: tensor<5x3xf32>) -> tensor<2x5xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<2x3xf32>, tensor<5x3xf32>) -> tensor<2x5xf32>
  func.return %0 : tensor<2x5xf32>
}

// A slice is read in place where MLIR's rules allow, through a view of rows where they do not.
// CHECK-LABEL: func.func @slices
// CHECK: affine_map<(d0, d1) -> (d0, (d1 + 3))>
// CHECK: tensor.expand_shape %x {{.*}} : tensor<2x6xf32> into tensor<2x2x3xf32>
// CHECK: affine_map<(d0, d1) -> (d0, 0, d1)>
func.func @slices(%x: tensor<2x6xf32>) -> (tensor<2x2xf32>, tensor<2x3xf32>) {
  %0 = stablehlo.slice %x [0:2, 3:5] : (tensor<2x6xf32>) -> tensor<2x2xf32>
  %1 = stablehlo.slice %x [0:2, 0:3] : (tensor<2x6xf32>) -> tensor<2x3xf32>
  func.return %0, %1 : tensor<2x2xf32>, tensor<2x3xf32>
}

// Nothing is computed for tensors without elements.
// CHECK-LABEL: func.func @nothing
// CHECK-NOT: linalg.generic
// CHECK: func.return
func.func @nothing(%x: tensor<0x4xf32>) -> tensor<0x4xf32> {
  %0 = stablehlo.exponential %x : tensor<0x4xf32>
  func.return %0 : tensor<0x4xf32>
}

// A window over all that came before is a scan; one whose initial value counts is not.
// CHECK-LABEL: func.func @cumulative
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "reduction"]
// CHECK: %[[S:.*]] = arith.addf
// CHECK-NEXT: linalg.yield %[[S]], %[[S]]
func.func @cumulative(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 1, 5>, padding = dense<[[0, 0], [4, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
  func.return %y : tensor<3x5xf32>
}

// CHECK-LABEL: func.func @cumulative_from_one
// CHECK: tensor.pad
func.func @cumulative_from_one(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %y = "stablehlo.reduce_window"(%x, %one) <{window_dimensions = array<i64: 1, 5>, padding = dense<[[0, 0], [4, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<3x5xf32>, tensor<f32>) -> tensor<3x5xf32>
  func.return %y : tensor<3x5xf32>
}

// A constant that was moved out of a body is made anew in it.
// CHECK-LABEL: func.func @constant_from_outside
// CHECK: linalg.generic
// CHECK: arith.constant 2.000000e+00 : f32
// CHECK: arith.mulf
// CHECK: linalg.yield
func.func @constant_from_outside(%x: tensor<3x5xf32>) -> tensor<3xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %two = stablehlo.constant dense<2.0> : tensor<f32>
  %y = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %t = stablehlo.multiply %b, %two : tensor<f32>
    %s = stablehlo.add %a, %t : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<3x5xf32>, tensor<f32>) -> tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// Others are brought between its bounds first, of which float32 has not the upper one; NaN becomes 0.
// CHECK-LABEL: func.func @saturating
// CHECK:       [[M:%.*]] = arith.constant 2.14748352e+09 : f32
// CHECK-NEXT:  [[C:%.*]] = arith.cmpf olt, [[X:%.*]], [[M]] : f32
// CHECK-NEXT:  [[A:%.*]] = arith.select [[C]], [[X]], [[M]] : f32
// CHECK-NEXT:  [[L:%.*]] = arith.constant -2.14748365e+09 : f32
// CHECK-NEXT:  [[D:%.*]] = arith.cmpf ogt, [[A]], [[L]] : f32
// CHECK-NEXT:  [[B:%.*]] = arith.select [[D]], [[A]], [[L]] : f32
// CHECK-NEXT:  [[N:%.*]] = arith.cmpf uno, [[X]], [[X]] : f32
// CHECK-NEXT:  [[I:%.*]] = arith.fptosi [[B]] : f32 to i32
// CHECK:       arith.cmpf oge, [[X]]
// CHECK:       arith.select [[N]]
// CHECK-NEXT:  linalg.yield
func.func @saturating(%x: tensor<4xf32>) -> tensor<4xi32> {
  %y = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xi32>
  func.return %y : tensor<4xi32>
}

// Numbers that were clamped to what the integer holds need not be compared with its bounds again.
// CHECK-LABEL: func.func @clamped
// CHECK-NOT: arith.cmpf o
// CHECK: arith.cmpf uno
// CHECK: arith.fptosi
// CHECK-NEXT: arith.trunci
// CHECK-NEXT: linalg.yield
func.func @clamped(%x: tensor<4xf32>) -> tensor<4xui8> {
  %0 = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.constant dense<255.0> : tensor<f32>
  %2 = stablehlo.clamp %0, %x, %1 : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = stablehlo.convert %2 : (tensor<4xf32>) -> tensor<4xui8>
  func.return %3 : tensor<4xui8>
}

// Depthwise windows of an image have two loops over taps, also where one has a single step: it is what kernels know.
// CHECK-LABEL: func.func @across
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, (d1 + d4), (d2 + d5), d3)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d5, d3)>
func.func @across(%x: tensor<1x8x8x16xf32>, %w: tensor<1x3x1x16xf32>) -> tensor<1x8x6x16xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 16 : i64} : (tensor<1x8x8x16xf32>, tensor<1x3x1x16xf32>) -> tensor<1x8x6x16xf32>
  func.return %y : tensor<1x8x6x16xf32>
}

// Edges that are cut off are not read: nothing is copied.
// CHECK-LABEL: func.func @cut
// CHECK-NOT: tensor.extract_slice
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, ((d1 + d4) + 1), (d2 + d5), d6)>
func.func @cut(%x: tensor<1x8x8x4xf32>, %w: tensor<2x2x4x6xf32>) -> tensor<1x6x5x6xf32> {
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[-1, 0], [0, -2]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<2x2x4x6xf32>) -> tensor<1x6x5x6xf32>
  func.return %y : tensor<1x6x5x6xf32>
}
