// Reductions of anything else.
// RUN: lamina-opt %s -p convert-dsl-to-stablehlo,canonicalize,cse | filecheck %s

// Softmax: each value has the axes it depends on.
// CHECK-LABEL: func.func @softmax(
// CHECK-NEXT: %0 = stablehlo.constant dense<0xff800000> : tensor<f32>
// CHECK-NEXT: %1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %m = stablehlo.reduce(%x init: %0) applies stablehlo.maximum across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
// CHECK-NEXT: %2 = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: %v7 = stablehlo.subtract %x, %2 : tensor<4x8xf32>
// CHECK-NEXT: %v8 = stablehlo.exponential %v7 : tensor<4x8xf32>
// CHECK-NEXT: %3 = stablehlo.reduce(%v8 init: %1) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
// CHECK-NEXT: %4 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: %v14 = stablehlo.divide %v8, %4 : tensor<4x8xf32>
// CHECK-NEXT: func.return %v14 : tensor<4x8xf32>
func.func @softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %m = dsl.comprehension [4] {
  ^bb0(%i: tensor<i64>):
    %v1 = dsl.reduce max [8] {
    ^bb0(%j: tensor<i64>):
      %v2 = dsl.access %x[%i, %j] : tensor<4x8xf32>
      dsl.yield %v2 : tensor<f32>
    } : tensor<f32>
    dsl.yield %v1 : tensor<f32>
  } : tensor<4xf32>
  %e = dsl.comprehension [4, 8] {
  ^bb0(%v3: tensor<i64>, %v4: tensor<i64>):
    %v5 = dsl.access %x[%v3, %v4] : tensor<4x8xf32>
    %v6 = dsl.access %m[%v3] : tensor<4xf32>
    %v7 = stablehlo.subtract %v5, %v6 : tensor<f32>
    %v8 = stablehlo.exponential %v7 : tensor<f32>
    dsl.yield %v8 : tensor<f32>
  } : tensor<4x8xf32>
  %y = dsl.comprehension [4, 8] {
  ^bb0(%v9: tensor<i64>, %v10: tensor<i64>):
    %v11 = dsl.access %e[%v9, %v10] : tensor<4x8xf32>
    %v12 = dsl.reduce sum [8] {
    ^bb0(%k: tensor<i64>):
      %v13 = dsl.access %e[%v9, %k] : tensor<4x8xf32>
      dsl.yield %v13 : tensor<f32>
    } : tensor<f32>
    %v14 = stablehlo.divide %v11, %v12 : tensor<f32>
    dsl.yield %v14 : tensor<f32>
  } : tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}

// Distances: the elements over all indices, then one reduction.
// CHECK-LABEL: func.func @distances(
// CHECK-NEXT: %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<5x3xf32>) -> tensor<5x4x3xf32>
// CHECK-NEXT: %2 = stablehlo.broadcast_in_dim %c, dims = [1, 2] : (tensor<4x3xf32>) -> tensor<5x4x3xf32>
// CHECK-NEXT: %v4 = stablehlo.subtract %1, %2 : tensor<5x4x3xf32>
// CHECK-NEXT: %v5 = stablehlo.abs %v4 : tensor<5x4x3xf32>
// CHECK-NEXT: %y = stablehlo.reduce(%v5 init: %0) applies stablehlo.add across dimensions = [2] : (tensor<5x4x3xf32>, tensor<f32>) -> tensor<5x4xf32>
// CHECK-NEXT: func.return %y : tensor<5x4xf32>
func.func @distances(%x: tensor<5x3xf32>, %c: tensor<4x3xf32>) -> tensor<5x4xf32> {
  %y = dsl.comprehension [5, 4] {
  ^bb0(%i: tensor<i64>, %k: tensor<i64>):
    %v1 = dsl.reduce sum [3] {
    ^bb0(%d: tensor<i64>):
      %v2 = dsl.access %x[%i, %d] : tensor<5x3xf32>
      %v3 = dsl.access %c[%k, %d] : tensor<4x3xf32>
      %v4 = stablehlo.subtract %v2, %v3 : tensor<f32>
      %v5 = stablehlo.abs %v4 : tensor<f32>
      dsl.yield %v5 : tensor<f32>
    } : tensor<f32>
    dsl.yield %v1 : tensor<f32>
  } : tensor<5x4xf32>
  func.return %y : tensor<5x4xf32>
}

// A guard leaves the neutral element.
// CHECK-LABEL: func.func @causal_max(
// CHECK-NEXT: %0 = stablehlo.constant dense<0xff800000> : tensor<f32>
// CHECK-NEXT: %1 = stablehlo.iota dim = 0 : tensor<4xi64>
// CHECK-NEXT: %2 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<4xi64>) -> tensor<4x4xi64>
// CHECK-NEXT: %3 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<4xi64>) -> tensor<4x4xi64>
// CHECK-NEXT: %v3 = stablehlo.compare LE, %2, %3 : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
// CHECK-NEXT: %4 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
// CHECK-NEXT: %5 = stablehlo.select %v3, %x, %4 : tensor<4x4xi1>, tensor<4x4xf32>
// CHECK-NEXT: %y = stablehlo.reduce(%5 init: %0) applies stablehlo.maximum across dimensions = [1] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
// CHECK-NEXT: func.return %y : tensor<4xf32>
func.func @causal_max(%x: tensor<4x4xf32>) -> tensor<4xf32> {
  %y = dsl.comprehension [4] {
  ^bb0(%i: tensor<i64>):
    %v1 = dsl.reduce max [4] {
    ^bb0(%j: tensor<i64>):
      %v2 = dsl.access %x[%i, %j] : tensor<4x4xf32>
      %v3 = stablehlo.compare LE, %j, %i : (tensor<i64>, tensor<i64>) -> tensor<i1>
      dsl.yield %v2, %v3 : tensor<f32>, tensor<i1>
    } : tensor<f32>
    dsl.yield %v1 : tensor<f32>
  } : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// Elements that do not depend on the index are counted.
// CHECK-LABEL: func.func @counted(
// CHECK-NEXT: %0 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<4xf32>
// CHECK-NEXT: %y = stablehlo.multiply %x, %1 : tensor<4xf32>
// CHECK-NEXT: func.return %y : tensor<4xf32>
func.func @counted(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = dsl.comprehension [4] {
  ^bb0(%i: tensor<i64>):
    %v1 = dsl.reduce sum [3] {
    ^bb0(%j: tensor<i64>):
      %v2 = dsl.access %x[%i] : tensor<4xf32>
      dsl.yield %v2 : tensor<f32>
    } : tensor<f32>
    dsl.yield %v1 : tensor<f32>
  } : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// Nothing to reduce.
// CHECK-LABEL: func.func @empty(
// CHECK-NEXT: %0 = stablehlo.constant dense<0xff800000> : tensor<f32>
// CHECK-NEXT: %y = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<4xf32>
// CHECK-NEXT: func.return %y : tensor<4xf32>
func.func @empty(%x: tensor<4x4xf32>) -> tensor<4xf32> {
  %y = dsl.comprehension [4] {
  ^bb0(%i: tensor<i64>):
    %v1 = dsl.reduce max [0] {
    ^bb0(%j: tensor<i64>):
      %v2 = dsl.access %x[%i, %j] : tensor<4x4xf32>
      dsl.yield %v2 : tensor<f32>
    } : tensor<f32>
    dsl.yield %v1 : tensor<f32>
  } : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// The place of the largest, or of the first NaN.
// CHECK-LABEL: func.func @argmax(
// CHECK-NEXT: %0 = stablehlo.constant dense<0xff800000> : tensor<f32>
// CHECK-NEXT: %1 = stablehlo.constant dense<9223372036854775807> : tensor<i64>
// CHECK-NEXT: %2 = stablehlo.iota dim = 0 : tensor<8xi64>
// CHECK-NEXT: %3 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<8xi64>) -> tensor<4x8xi64>
// CHECK-NEXT: %4, %y = stablehlo.reduce(%x init: %0), (%3 init: %1) across dimensions = [1] : (tensor<4x8xf32>, tensor<4x8xi64>, tensor<f32>, tensor<i64>) -> (tensor<4xf32>, tensor<4xi64>)
// CHECK-NEXT: reducer(%5: tensor<f32>, %6: tensor<f32>) (%7: tensor<i64>, %8: tensor<i64>) {{.*}}
// CHECK-NEXT: %9 = stablehlo.compare GT, %5, %6 : (tensor<f32>, tensor<f32>) -> tensor<i1>
// CHECK-NEXT: %10 = stablehlo.compare EQ, %5, %6 : (tensor<f32>, tensor<f32>) -> tensor<i1>
// CHECK-NEXT: %11 = stablehlo.compare NE, %5, %5 : (tensor<f32>, tensor<f32>) -> tensor<i1>
// CHECK-NEXT: %12 = stablehlo.compare NE, %6, %6 : (tensor<f32>, tensor<f32>) -> tensor<i1>
// CHECK-NEXT: %13 = stablehlo.not %12 : tensor<i1>
// CHECK-NEXT: %14 = stablehlo.and %11, %13 : tensor<i1>
// CHECK-NEXT: %15 = stablehlo.or %9, %14 : tensor<i1>
// CHECK-NEXT: %16 = stablehlo.and %11, %12 : tensor<i1>
// CHECK-NEXT: %17 = stablehlo.or %10, %16 : tensor<i1>
// CHECK-NEXT: %18 = stablehlo.compare LT, %7, %8 : (tensor<i64>, tensor<i64>) -> tensor<i1>
// CHECK-NEXT: %19 = stablehlo.and %17, %18 : tensor<i1>
// CHECK-NEXT: %20 = stablehlo.or %15, %19 : tensor<i1>
// CHECK-NEXT: %21 = stablehlo.select %20, %5, %6 : tensor<i1>, tensor<f32>
// CHECK-NEXT: %22 = stablehlo.select %20, %7, %8 : tensor<i1>, tensor<i64>
// CHECK-NEXT: stablehlo.return %21, %22 : tensor<f32>, tensor<i64>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %y : tensor<4xi64>
func.func @argmax(%x: tensor<4x8xf32>) -> tensor<4xi64> {
  %y = dsl.comprehension [4] {
  ^bb0(%i: tensor<i64>):
    %v1 = dsl.reduce argmax [8] {
    ^bb0(%j: tensor<i64>):
      %v2 = dsl.access %x[%i, %j] : tensor<4x8xf32>
      dsl.yield %v2 : tensor<f32>
    } : tensor<i64>
    dsl.yield %v1 : tensor<i64>
  } : tensor<4xi64>
  func.return %y : tensor<4xi64>
}

// Does any hold?
// CHECK-LABEL: func.func @any(
// CHECK-NEXT: %c0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %0 = stablehlo.constant dense<false> : tensor<i1>
// CHECK-NEXT: %1 = stablehlo.broadcast_in_dim %c0, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
// CHECK-NEXT: %v3 = stablehlo.compare GT, %x, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
// CHECK-NEXT: %y = stablehlo.reduce(%v3 init: %0) applies stablehlo.or across dimensions = [1] : (tensor<4x8xi1>, tensor<i1>) -> tensor<4xi1>
// CHECK-NEXT: func.return %y : tensor<4xi1>
func.func @any(%x: tensor<4x8xf32>) -> tensor<4xi1> {
  %c0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %y = dsl.comprehension [4] {
  ^bb0(%i: tensor<i64>):
    %v1 = dsl.reduce any [8] {
    ^bb0(%j: tensor<i64>):
      %v2 = dsl.access %x[%i, %j] : tensor<4x8xf32>
      %v3 = stablehlo.compare GT, %v2, %c0 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      dsl.yield %v3 : tensor<i1>
    } : tensor<i1>
    dsl.yield %v1 : tensor<i1>
  } : tensor<4xi1>
  func.return %y : tensor<4xi1>
}
