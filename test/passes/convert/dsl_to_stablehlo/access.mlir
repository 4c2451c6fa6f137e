// Reads at subscripts that indices determine.
// RUN: lamina-opt %s -p convert-dsl-to-stablehlo,canonicalize,cse | filecheck %s

// A plain read is the tensor itself, or its transpose.
// CHECK-LABEL: func.func @transposed(
// CHECK-NEXT: %y = stablehlo.transpose %x, dims = [1, 0] : (tensor<3x5xf32>) -> tensor<5x3xf32>
// CHECK-NEXT: func.return %y : tensor<5x3xf32>
func.func @transposed(%x: tensor<3x5xf32>) -> tensor<5x3xf32> {
  %y = dsl.comprehension [5, 3] {
  ^bb0(%i: tensor<i64>, %j: tensor<i64>):
    %v1 = dsl.access %x[%j, %i] : tensor<3x5xf32>
    dsl.yield %v1 : tensor<f32>
  } : tensor<5x3xf32>
  func.return %y : tensor<5x3xf32>
}

// One slice reads at offsets, strides and places that are fixed.
// CHECK-LABEL: func.func @sliced(
// CHECK-NEXT: %0 = stablehlo.slice %x [2:3, 1:14:2, 3:7] : (tensor<4x16x9xf32>) -> tensor<1x7x4xf32>
// CHECK-NEXT: %y = stablehlo.reshape %0 : (tensor<1x7x4xf32>) -> tensor<7x4xf32>
// CHECK-NEXT: func.return %y : tensor<7x4xf32>
func.func @sliced(%x: tensor<4x16x9xf32>) -> tensor<7x4xf32> {
  %c0 = stablehlo.constant dense<2> : tensor<i64>
  %c1 = stablehlo.constant dense<1> : tensor<i64>
  %c2 = stablehlo.constant dense<3> : tensor<i64>
  %y = dsl.comprehension [7, 4] {
  ^bb0(%i: tensor<i64>, %j: tensor<i64>):
    %v1 = stablehlo.multiply %i, %c0 : tensor<i64>
    %v2 = stablehlo.add %v1, %c1 : tensor<i64>
    %v3 = stablehlo.add %j, %c2 : tensor<i64>
    %v4 = dsl.access %x[%c0, %v2, %v3] : tensor<4x16x9xf32>
    dsl.yield %v4 : tensor<f32>
  } : tensor<7x4xf32>
  func.return %y : tensor<7x4xf32>
}

// A negative stride is a reversal.
// CHECK-LABEL: func.func @backwards(
// CHECK-NEXT: %0 = stablehlo.slice %x [1:8:2] : (tensor<8xf32>) -> tensor<4xf32>
// CHECK-NEXT: %y = stablehlo.reverse %0, dims = [0] : tensor<4xf32>
// CHECK-NEXT: func.return %y : tensor<4xf32>
func.func @backwards(%x: tensor<8xf32>) -> tensor<4xf32> {
  %c0 = stablehlo.constant dense<2> : tensor<i64>
  %c1 = stablehlo.constant dense<7> : tensor<i64>
  %y = dsl.comprehension [4] {
  ^bb0(%i: tensor<i64>):
    %v1 = stablehlo.multiply %i, %c0 : tensor<i64>
    %v2 = stablehlo.subtract %c1, %v1 : tensor<i64>
    %v3 = dsl.access %x[%v2] : tensor<8xf32>
    dsl.yield %v3 : tensor<f32>
  } : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// Values outside are padding.
// CHECK-LABEL: func.func @padded(
// CHECK-NEXT: %c1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %0 = stablehlo.slice %x [0:4, 1:4] : (tensor<4x4xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: %y = stablehlo.pad %0, %c1, low = [1, 0], high = [1, 1], interior = [0, 0] : (tensor<4x3xf32>, tensor<f32>) -> tensor<6x4xf32>
// CHECK-NEXT: func.return %y : tensor<6x4xf32>
func.func @padded(%x: tensor<4x4xf32>) -> tensor<6x4xf32> {
  %c0 = stablehlo.constant dense<1> : tensor<i64>
  %c1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %y = dsl.comprehension [6, 4] {
  ^bb0(%i: tensor<i64>, %j: tensor<i64>):
    %v1 = stablehlo.subtract %i, %c0 : tensor<i64>
    %v2 = stablehlo.add %j, %c0 : tensor<i64>
    %v3 = dsl.access %x[%v1, %v2] outside %c1 : tensor<4x4xf32>
    dsl.yield %v3 : tensor<f32>
  } : tensor<6x4xf32>
  func.return %y : tensor<6x4xf32>
}

// Padding on a stride comes after the slice.
// CHECK-LABEL: func.func @padded_stride(
// CHECK-NEXT: %c2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: %0 = stablehlo.slice %x [1:8:2] : (tensor<8xf32>) -> tensor<4xf32>
// CHECK-NEXT: %y = stablehlo.pad %0, %c2, low = [2], high = [0], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<6xf32>
// CHECK-NEXT: func.return %y : tensor<6xf32>
func.func @padded_stride(%x: tensor<8xf32>) -> tensor<6xf32> {
  %c0 = stablehlo.constant dense<2> : tensor<i64>
  %c1 = stablehlo.constant dense<3> : tensor<i64>
  %c2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
  %y = dsl.comprehension [6] {
  ^bb0(%i: tensor<i64>):
    %v1 = stablehlo.multiply %i, %c0 : tensor<i64>
    %v2 = stablehlo.subtract %v1, %c1 : tensor<i64>
    %v3 = dsl.access %x[%v2] outside %c2 : tensor<8xf32>
    dsl.yield %v3 : tensor<f32>
  } : tensor<6xf32>
  func.return %y : tensor<6xf32>
}

// Wrap-around is two slices, whatever way it is written.
// CHECK-LABEL: func.func @rolled(
// CHECK-NEXT: %0 = stablehlo.slice %x [3:8] : (tensor<8xf32>) -> tensor<5xf32>
// CHECK-NEXT: %1 = stablehlo.slice %x [0:3] : (tensor<8xf32>) -> tensor<3xf32>
// CHECK-NEXT: %y = stablehlo.concatenate %0, %1, dim = 0 : (tensor<5xf32>, tensor<3xf32>) -> tensor<8xf32>
// CHECK-NEXT: func.return %y : tensor<8xf32>
func.func @rolled(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = stablehlo.constant dense<3> : tensor<i64>
  %c1 = stablehlo.constant dense<8> : tensor<i64>
  %y = dsl.comprehension [8] {
  ^bb0(%i: tensor<i64>):
    %v1 = stablehlo.add %i, %c0 : tensor<i64>
    %v2 = stablehlo.remainder %v1, %c1 : tensor<i64>
    %v3 = dsl.access %x[%v2] : tensor<8xf32>
    dsl.yield %v3 : tensor<f32>
  } : tensor<8xf32>
  func.return %y : tensor<8xf32>
}

// Without a value outside, subscripts are clamped: edges repeat.
// CHECK-LABEL: func.func @clamped(
// CHECK-NEXT: %0 = stablehlo.slice %x [0:1] : (tensor<4xf32>) -> tensor<1xf32>
// CHECK-NEXT: %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<1xf32>) -> tensor<3xf32>
// CHECK-NEXT: %2 = stablehlo.slice %x [1:4] : (tensor<4xf32>) -> tensor<3xf32>
// CHECK-NEXT: %3 = stablehlo.slice %x [3:4] : (tensor<4xf32>) -> tensor<1xf32>
// CHECK-NEXT: %4 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<1xf32>) -> tensor<2xf32>
// CHECK-NEXT: %y = stablehlo.concatenate %1, %2, %4, dim = 0 : (tensor<3xf32>, tensor<3xf32>, tensor<2xf32>) -> tensor<8xf32>
// CHECK-NEXT: func.return %y : tensor<8xf32>
func.func @clamped(%x: tensor<4xf32>) -> tensor<8xf32> {
  %c0 = stablehlo.constant dense<2> : tensor<i64>
  %y = dsl.comprehension [8] {
  ^bb0(%i: tensor<i64>):
    %v1 = stablehlo.subtract %i, %c0 : tensor<i64>
    %v2 = dsl.access %x[%v1] : tensor<4xf32>
    dsl.yield %v2 : tensor<f32>
  } : tensor<8xf32>
  func.return %y : tensor<8xf32>
}

// A sum over two indices without overlap is a reshape.
// CHECK-LABEL: func.func @split(
// CHECK-NEXT: %y = stablehlo.reshape %x : (tensor<2x12xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: func.return %y : tensor<2x3x4xf32>
func.func @split(%x: tensor<2x12xf32>) -> tensor<2x3x4xf32> {
  %c0 = stablehlo.constant dense<4> : tensor<i64>
  %y = dsl.comprehension [2, 3, 4] {
  ^bb0(%b: tensor<i64>, %h: tensor<i64>, %d: tensor<i64>):
    %v1 = stablehlo.multiply %h, %c0 : tensor<i64>
    %v2 = stablehlo.add %v1, %d : tensor<i64>
    %v3 = dsl.access %x[%b, %v2] : tensor<2x12xf32>
    dsl.yield %v3 : tensor<f32>
  } : tensor<2x3x4xf32>
  func.return %y : tensor<2x3x4xf32>
}

// Quotient and remainder of one index are a reshape the other way.
// CHECK-LABEL: func.func @merged(
// CHECK-NEXT: %y = stablehlo.reshape %x : (tensor<3x4xf32>) -> tensor<12xf32>
// CHECK-NEXT: func.return %y : tensor<12xf32>
func.func @merged(%x: tensor<3x4xf32>) -> tensor<12xf32> {
  %c0 = stablehlo.constant dense<4> : tensor<i64>
  %y = dsl.comprehension [12] {
  ^bb0(%i: tensor<i64>):
    %v1 = stablehlo.divide %i, %c0 : tensor<i64>
    %v2 = stablehlo.remainder %i, %c0 : tensor<i64>
    %v3 = dsl.access %x[%v1, %v2] : tensor<3x4xf32>
    dsl.yield %v3 : tensor<f32>
  } : tensor<12xf32>
  func.return %y : tensor<12xf32>
}

// So is a diagonal, with a stride.
// CHECK-LABEL: func.func @diagonal(
// CHECK-NEXT: %0 = stablehlo.reshape %x : (tensor<4x4xf32>) -> tensor<16xf32>
// CHECK-NEXT: %y = stablehlo.slice %0 [0:16:5] : (tensor<16xf32>) -> tensor<4xf32>
// CHECK-NEXT: func.return %y : tensor<4xf32>
func.func @diagonal(%x: tensor<4x4xf32>) -> tensor<4xf32> {
  %y = dsl.comprehension [4] {
  ^bb0(%i: tensor<i64>):
    %v1 = dsl.access %x[%i, %i] : tensor<4x4xf32>
    dsl.yield %v1 : tensor<f32>
  } : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// An order in many pieces is a gather of known places.
// CHECK-LABEL: func.func @permuted(
// CHECK-NEXT: %0 = stablehlo.constant dense<[0, 5, 10, 2, 7, 12, 4, 9, 1, 6, 11, 3, 8]> : tensor<13xi64>
// CHECK-NEXT: %y = "stablehlo.gather"(%x, %0) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 2, 1>, indices_are_sorted = false}> : (tensor<2x13xf32>, tensor<13xi64>) -> tensor<2x13xf32>
// CHECK-NEXT: func.return %y : tensor<2x13xf32>
func.func @permuted(%x: tensor<2x13xf32>) -> tensor<2x13xf32> {
  %c0 = stablehlo.constant dense<5> : tensor<i64>
  %c1 = stablehlo.constant dense<13> : tensor<i64>
  %y = dsl.comprehension [2, 13] {
  ^bb0(%n: tensor<i64>, %i: tensor<i64>):
    %v1 = stablehlo.multiply %i, %c0 : tensor<i64>
    %v2 = stablehlo.remainder %v1, %c1 : tensor<i64>
    %v3 = dsl.access %x[%n, %v2] : tensor<2x13xf32>
    dsl.yield %v3 : tensor<f32>
  } : tensor<2x13xf32>
  func.return %y : tensor<2x13xf32>
}

// Blocks of an index repeat what is read.
// CHECK-LABEL: func.func @upsampled(
// CHECK-NEXT: %0 = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<3x6xf32>) -> tensor<3x6x2xf32>
// CHECK-NEXT: %y = stablehlo.reshape %0 : (tensor<3x6x2xf32>) -> tensor<3x12xf32>
// CHECK-NEXT: func.return %y : tensor<3x12xf32>
func.func @upsampled(%x: tensor<3x6xf32>) -> tensor<3x12xf32> {
  %c0 = stablehlo.constant dense<2> : tensor<i64>
  %y = dsl.comprehension [3, 12] {
  ^bb0(%c: tensor<i64>, %i: tensor<i64>):
    %v1 = stablehlo.divide %i, %c0 : tensor<i64>
    %v2 = dsl.access %x[%c, %v1] : tensor<3x6xf32>
    dsl.yield %v2 : tensor<f32>
  } : tensor<3x12xf32>
  func.return %y : tensor<3x12xf32>
}

// The last block may be cut.
// CHECK-LABEL: func.func @upsampled_odd(
// CHECK-NEXT: %0 = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<3x6xf32>) -> tensor<3x6x2xf32>
// CHECK-NEXT: %1 = stablehlo.reshape %0 : (tensor<3x6x2xf32>) -> tensor<3x12xf32>
// CHECK-NEXT: %y = stablehlo.slice %1 [0:3, 0:11] : (tensor<3x12xf32>) -> tensor<3x11xf32>
// CHECK-NEXT: func.return %y : tensor<3x11xf32>
func.func @upsampled_odd(%x: tensor<3x6xf32>) -> tensor<3x11xf32> {
  %c0 = stablehlo.constant dense<2> : tensor<i64>
  %y = dsl.comprehension [3, 11] {
  ^bb0(%c: tensor<i64>, %i: tensor<i64>):
    %v1 = stablehlo.divide %i, %c0 : tensor<i64>
    %v2 = dsl.access %x[%c, %v1] : tensor<3x6xf32>
    dsl.yield %v2 : tensor<f32>
  } : tensor<3x11xf32>
  func.return %y : tensor<3x11xf32>
}

// Places in blocks tile it.
// CHECK-LABEL: func.func @tiled(
// CHECK-NEXT: %0 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<2xf32>) -> tensor<10x2xf32>
// CHECK-NEXT: %y = stablehlo.reshape %0 : (tensor<10x2xf32>) -> tensor<20xf32>
// CHECK-NEXT: func.return %y : tensor<20xf32>
func.func @tiled(%x: tensor<2xf32>) -> tensor<20xf32> {
  %c0 = stablehlo.constant dense<2> : tensor<i64>
  %y = dsl.comprehension [20] {
  ^bb0(%i: tensor<i64>):
    %v1 = stablehlo.remainder %i, %c0 : tensor<i64>
    %v2 = dsl.access %x[%v1] : tensor<2xf32>
    dsl.yield %v2 : tensor<f32>
  } : tensor<20xf32>
  func.return %y : tensor<20xf32>
}

// Depth to space is what a person writes: reshape, transpose, reshape.
// CHECK-LABEL: func.func @depth_to_space(
// CHECK-NEXT: %0 = stablehlo.reshape %x : (tensor<12x4x5xf32>) -> tensor<2x2x3x4x5xf32>
// CHECK-NEXT: %1 = stablehlo.transpose %0, dims = [2, 3, 0, 4, 1] : (tensor<2x2x3x4x5xf32>) -> tensor<3x4x2x5x2xf32>
// CHECK-NEXT: %2 = stablehlo.reshape %1 : (tensor<3x4x2x5x2xf32>) -> tensor<3x4x2x10xf32>
// CHECK-NEXT: %y = stablehlo.reshape %2 : (tensor<3x4x2x10xf32>) -> tensor<3x8x10xf32>
// CHECK-NEXT: func.return %y : tensor<3x8x10xf32>
func.func @depth_to_space(%x: tensor<12x4x5xf32>) -> tensor<3x8x10xf32> {
  %c0 = stablehlo.constant dense<2> : tensor<i64>
  %c1 = stablehlo.constant dense<6> : tensor<i64>
  %c2 = stablehlo.constant dense<3> : tensor<i64>
  %y = dsl.comprehension [3, 8, 10] {
  ^bb0(%c: tensor<i64>, %i: tensor<i64>, %j: tensor<i64>):
    %v1 = stablehlo.remainder %i, %c0 : tensor<i64>
    %v2 = stablehlo.multiply %v1, %c1 : tensor<i64>
    %v3 = stablehlo.remainder %j, %c0 : tensor<i64>
    %v4 = stablehlo.multiply %v3, %c2 : tensor<i64>
    %v5 = stablehlo.add %v2, %v4 : tensor<i64>
    %v6 = stablehlo.add %v5, %c : tensor<i64>
    %v7 = stablehlo.divide %i, %c0 : tensor<i64>
    %v8 = stablehlo.divide %j, %c0 : tensor<i64>
    %v9 = dsl.access %x[%v6, %v7, %v8] : tensor<12x4x5xf32>
    dsl.yield %v9 : tensor<f32>
  } : tensor<3x8x10xf32>
  func.return %y : tensor<3x8x10xf32>
}

// Overlapping windows that nothing reduces are one too.
// CHECK-LABEL: func.func @hankel(
// CHECK-NEXT: %0 = stablehlo.constant dense<{{\[\[}}0, 1, 2], [1, 2, 3]]> : tensor<2x3xi64>
// CHECK-NEXT: %y = "stablehlo.gather"(%x, %0) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1>, indices_are_sorted = false}> : (tensor<4xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %y : tensor<2x3xf32>
func.func @hankel(%x: tensor<4xf32>) -> tensor<2x3xf32> {
  %y = dsl.comprehension [2, 3] {
  ^bb0(%i: tensor<i64>, %j: tensor<i64>):
    %v1 = stablehlo.add %i, %j : tensor<i64>
    %v2 = dsl.access %x[%v1] : tensor<4xf32>
    dsl.yield %v2 : tensor<f32>
  } : tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// What is never inside is the value outside.
// CHECK-LABEL: func.func @beyond(
// CHECK-NEXT: %y = stablehlo.broadcast_in_dim %v, dims = [] : (tensor<f32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %y : tensor<3xf32>
func.func @beyond(%x: tensor<4xf32>, %v: tensor<f32>) -> tensor<3xf32> {
  %c0 = stablehlo.constant dense<7> : tensor<i64>
  %y = dsl.comprehension [3] {
  ^bb0(%i: tensor<i64>):
    %v1 = stablehlo.add %i, %c0 : tensor<i64>
    %v2 = dsl.access %x[%v1] outside %v : tensor<4xf32>
    dsl.yield %v2 : tensor<f32>
  } : tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// A value outside that depends on an index is chosen element by element.
// CHECK-LABEL: func.func @outside(
// CHECK-NEXT: %c0 = stablehlo.constant dense<1> : tensor<i64>
// CHECK-NEXT: %0 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %1 = stablehlo.constant dense<4> : tensor<i64>
// CHECK-NEXT: %2 = stablehlo.slice %x [0:1] : (tensor<4xf32>) -> tensor<1xf32>
// CHECK-NEXT: %3 = stablehlo.slice %x [3:4] : (tensor<4xf32>) -> tensor<1xf32>
// CHECK-NEXT: %4 = stablehlo.concatenate %2, %x, %3, dim = 0 : (tensor<1xf32>, tensor<4xf32>, tensor<1xf32>) -> tensor<6xf32>
// CHECK-NEXT: %5 = stablehlo.iota dim = 0 : tensor<6xi64>
// CHECK-NEXT: %6 = stablehlo.broadcast_in_dim %c0, dims = [] : (tensor<i64>) -> tensor<6xi64>
// CHECK-NEXT: %v1 = stablehlo.subtract %5, %6 : tensor<6xi64>
// CHECK-NEXT: %7 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i64>) -> tensor<6xi64>
// CHECK-NEXT: %8 = stablehlo.compare GE, %v1, %7 : (tensor<6xi64>, tensor<6xi64>) -> tensor<6xi1>
// CHECK-NEXT: %9 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<i64>) -> tensor<6xi64>
// CHECK-NEXT: %10 = stablehlo.compare LT, %v1, %9 : (tensor<6xi64>, tensor<6xi64>) -> tensor<6xi1>
// CHECK-NEXT: %11 = stablehlo.and %8, %10 : tensor<6xi1>
// CHECK-NEXT: %y = stablehlo.select %11, %4, %v : tensor<6xi1>, tensor<6xf32>
// CHECK-NEXT: func.return %y : tensor<6xf32>
func.func @outside(%x: tensor<4xf32>, %v: tensor<6xf32>) -> tensor<6xf32> {
  %c0 = stablehlo.constant dense<1> : tensor<i64>
  %y = dsl.comprehension [6] {
  ^bb0(%i: tensor<i64>):
    %v1 = stablehlo.subtract %i, %c0 : tensor<i64>
    %v2 = dsl.access %v[%i] : tensor<6xf32>
    %v3 = dsl.access %x[%v1] outside %v2 : tensor<4xf32>
    dsl.yield %v3 : tensor<f32>
  } : tensor<6xf32>
  func.return %y : tensor<6xf32>
}
