// Reads at subscripts that depend on data.
// RUN: lamina-opt %s -p convert-dsl-to-stablehlo,canonicalize,cse | filecheck %s

// Rows of a table.
// CHECK-LABEL: func.func @rows(
// CHECK-NEXT: %y = "stablehlo.gather"(%t, %ids) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4>, indices_are_sorted = false}> : (tensor<10x4xf32>, tensor<3x2xi64>) -> tensor<3x2x4xf32>
// CHECK-NEXT: func.return %y : tensor<3x2x4xf32>
func.func @rows(%t: tensor<10x4xf32>, %ids: tensor<3x2xi64>) -> tensor<3x2x4xf32> {
  %y = dsl.comprehension [3, 2, 4] {
  ^bb0(%i: tensor<i64>, %j: tensor<i64>, %d: tensor<i64>):
    %v1 = dsl.access %ids[%i, %j] : tensor<3x2xi64>
    %v2 = dsl.access %t[%v1, %d] : tensor<10x4xf32>
    dsl.yield %v2 : tensor<f32>
  } : tensor<3x2x4xf32>
  func.return %y : tensor<3x2x4xf32>
}

// Two subscripts are one vector of indices.
// CHECK-LABEL: func.func @points(
// CHECK-NEXT: %0 = stablehlo.reshape %p : (tensor<3xi64>) -> tensor<3x1xi64>
// CHECK-NEXT: %1 = stablehlo.reshape %q : (tensor<3xi64>) -> tensor<3x1xi64>
// CHECK-NEXT: %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<3x1xi64>, tensor<3x1xi64>) -> tensor<3x2xi64>
// CHECK-NEXT: %y = "stablehlo.gather"(%x, %2) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>, indices_are_sorted = false}> : (tensor<5x6xf32>, tensor<3x2xi64>) -> tensor<3xf32>
// CHECK-NEXT: func.return %y : tensor<3xf32>
func.func @points(%x: tensor<5x6xf32>, %p: tensor<3xi64>, %q: tensor<3xi64>) -> tensor<3xf32> {
  %y = dsl.comprehension [3] {
  ^bb0(%i: tensor<i64>):
    %v1 = dsl.access %p[%i] : tensor<3xi64>
    %v2 = dsl.access %q[%i] : tensor<3xi64>
    %v3 = dsl.access %x[%v1, %v2] : tensor<5x6xf32>
    dsl.yield %v3 : tensor<f32>
  } : tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// An index that a place depends on is a place too.
// CHECK-LABEL: func.func @along(
// CHECK-NEXT: %0 = stablehlo.iota dim = 0 : tensor<3xi64>
// CHECK-NEXT: %1 = stablehlo.reshape %0 : (tensor<3xi64>) -> tensor<3x1xi64>
// CHECK-NEXT: %2 = stablehlo.reshape %p : (tensor<3xi64>) -> tensor<3x1xi64>
// CHECK-NEXT: %3 = stablehlo.concatenate %1, %2, dim = 1 : (tensor<3x1xi64>, tensor<3x1xi64>) -> tensor<3x2xi64>
// CHECK-NEXT: %y = "stablehlo.gather"(%x, %3) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>, indices_are_sorted = false}> : (tensor<3x5xf32>, tensor<3x2xi64>) -> tensor<3xf32>
// CHECK-NEXT: func.return %y : tensor<3xf32>
func.func @along(%x: tensor<3x5xf32>, %p: tensor<3xi64>) -> tensor<3xf32> {
  %y = dsl.comprehension [3] {
  ^bb0(%i: tensor<i64>):
    %v1 = dsl.access %p[%i] : tensor<3xi64>
    %v2 = dsl.access %x[%i, %v1] : tensor<3x5xf32>
    dsl.yield %v2 : tensor<f32>
  } : tensor<3xf32>
  func.return %y : tensor<3xf32>
}

// A mask tells what is outside.
// CHECK-LABEL: func.func @masked(
// CHECK-NEXT: %c0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %0 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %1 = stablehlo.constant dense<5> : tensor<i64>
// CHECK-NEXT: %2 = "stablehlo.gather"(%x, %p) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>, indices_are_sorted = false}> : (tensor<5x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
// CHECK-NEXT: %3 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i64>) -> tensor<3xi64>
// CHECK-NEXT: %4 = stablehlo.compare GE, %p, %3 : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
// CHECK-NEXT: %5 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<i64>) -> tensor<3xi64>
// CHECK-NEXT: %6 = stablehlo.compare LT, %p, %5 : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
// CHECK-NEXT: %7 = stablehlo.and %4, %6 : tensor<3xi1>
// CHECK-NEXT: %8 = stablehlo.broadcast_in_dim %7, dims = [0] : (tensor<3xi1>) -> tensor<3x4xi1>
// CHECK-NEXT: %9 = stablehlo.broadcast_in_dim %c0, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK-NEXT: %y = stablehlo.select %8, %2, %9 : tensor<3x4xi1>, tensor<3x4xf32>
// CHECK-NEXT: func.return %y : tensor<3x4xf32>
func.func @masked(%x: tensor<5x4xf32>, %p: tensor<3xi64>) -> tensor<3x4xf32> {
  %c0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %y = dsl.comprehension [3, 4] {
  ^bb0(%i: tensor<i64>, %j: tensor<i64>):
    %v1 = dsl.access %p[%i] : tensor<3xi64>
    %v2 = dsl.access %x[%v1, %j] outside %c0 : tensor<5x4xf32>
    dsl.yield %v2 : tensor<f32>
  } : tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}

// A scalar from outside, such as the counter of a loop, is a dynamic slice.
// CHECK-LABEL: func.func @row(
// CHECK-NEXT: %c0 = stablehlo.constant dense<1> : tensor<i64>
// CHECK-NEXT: %0 = stablehlo.constant dense<0> : tensor<i64>
// CHECK-NEXT: %v1 = stablehlo.subtract %t, %c0 : tensor<i64>
// CHECK-NEXT: %1 = stablehlo.dynamic_slice %x, %v1, %0, sizes = [1, 4] : (tensor<5x4xf32>, tensor<i64>, tensor<i64>) -> tensor<1x4xf32>
// CHECK-NEXT: %y = stablehlo.reshape %1 : (tensor<1x4xf32>) -> tensor<4xf32>
// CHECK-NEXT: func.return %y : tensor<4xf32>
func.func @row(%x: tensor<5x4xf32>, %t: tensor<i64>) -> tensor<4xf32> {
  %c0 = stablehlo.constant dense<1> : tensor<i64>
  %y = dsl.comprehension [4] {
  ^bb0(%j: tensor<i64>):
    %v1 = stablehlo.subtract %t, %c0 : tensor<i64>
    %v2 = dsl.access %x[%v1, %j] : tensor<5x4xf32>
    dsl.yield %v2 : tensor<f32>
  } : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// With an index beside it, a gather.
// CHECK-LABEL: func.func @shifted(
// CHECK-NEXT: %0 = stablehlo.iota dim = 0 : tensor<3xi64>
// CHECK-NEXT: %1 = stablehlo.broadcast_in_dim %t, dims = [] : (tensor<i64>) -> tensor<3xi64>
// CHECK-NEXT: %v1 = stablehlo.add %0, %1 : tensor<3xi64>
// CHECK-NEXT: %y = "stablehlo.gather"(%x, %v1) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>, indices_are_sorted = false}> : (tensor<5xf32>, tensor<3xi64>) -> tensor<3xf32>
// CHECK-NEXT: func.return %y : tensor<3xf32>
func.func @shifted(%x: tensor<5xf32>, %t: tensor<i64>) -> tensor<3xf32> {
  %y = dsl.comprehension [3] {
  ^bb0(%i: tensor<i64>):
    %v1 = stablehlo.add %i, %t : tensor<i64>
    %v2 = dsl.access %x[%v1] : tensor<5xf32>
    dsl.yield %v2 : tensor<f32>
  } : tensor<3xf32>
  func.return %y : tensor<3xf32>
}
