// Sums of products.
// RUN: lamina-opt %s -p convert-dsl-to-stablehlo,canonicalize,cse | filecheck %s

// A matrix product.
// CHECK-LABEL: func.func @matmul(
// CHECK-NEXT: %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %y : tensor<2x3xf32>
func.func @matmul(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>) -> tensor<2x3xf32> {
  %y = dsl.comprehension [2, 3] {
  ^bb0(%i: tensor<i64>, %j: tensor<i64>):
    %v1 = dsl.reduce sum [4] {
    ^bb0(%k: tensor<i64>):
      %v2 = dsl.access %x[%i, %k] : tensor<2x4xf32>
      %v3 = dsl.access %w[%k, %j] : tensor<4x3xf32>
      %v4 = stablehlo.multiply %v2, %v3 : tensor<f32>
      dsl.yield %v4 : tensor<f32>
    } : tensor<f32>
    dsl.yield %v1 : tensor<f32>
  } : tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// The order of the factors' axes is the contraction's; nothing is transposed.
// CHECK-LABEL: func.func @transposed(
// CHECK-NEXT: %y = stablehlo.dot_general %x, %w, contracting_dims = [0] x [1] : (tensor<4x2xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %y : tensor<2x3xf32>
func.func @transposed(%x: tensor<4x2xf32>, %w: tensor<3x4xf32>) -> tensor<2x3xf32> {
  %y = dsl.comprehension [2, 3] {
  ^bb0(%i: tensor<i64>, %j: tensor<i64>):
    %v1 = dsl.reduce sum [4] {
    ^bb0(%k: tensor<i64>):
      %v2 = dsl.access %w[%j, %k] : tensor<3x4xf32>
      %v3 = dsl.access %x[%k, %i] : tensor<4x2xf32>
      %v4 = stablehlo.multiply %v2, %v3 : tensor<f32>
      dsl.yield %v4 : tensor<f32>
    } : tensor<f32>
    dsl.yield %v1 : tensor<f32>
  } : tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// Attention's scores: two batch axes, and the scale outside of the sum.
// CHECK-LABEL: func.func @scores(
// CHECK-NEXT: %0 = stablehlo.dot_general %q, %k, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (tensor<2x4x5x8xf32>, tensor<2x4x7x8xf32>) -> tensor<2x4x5x7xf32>
// CHECK-NEXT: %1 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<2x4x5x7xf32>
// CHECK-NEXT: %y = stablehlo.multiply %0, %1 : tensor<2x4x5x7xf32>
// CHECK-NEXT: func.return %y : tensor<2x4x5x7xf32>
func.func @scores(%q: tensor<2x4x5x8xf32>, %k: tensor<2x4x7x8xf32>, %s: tensor<f32>) -> tensor<2x4x5x7xf32> {
  %y = dsl.comprehension [2, 4, 5, 7] {
  ^bb0(%b: tensor<i64>, %h: tensor<i64>, %i: tensor<i64>, %j: tensor<i64>):
    %v1 = dsl.reduce sum [8] {
    ^bb0(%d: tensor<i64>):
      %v2 = dsl.access %q[%b, %h, %i, %d] : tensor<2x4x5x8xf32>
      %v3 = dsl.access %k[%b, %h, %j, %d] : tensor<2x4x7x8xf32>
      %v4 = stablehlo.multiply %v2, %v3 : tensor<f32>
      %v5 = stablehlo.multiply %v4, %s : tensor<f32>
      dsl.yield %v5 : tensor<f32>
    } : tensor<f32>
    dsl.yield %v1 : tensor<f32>
  } : tensor<2x4x5x7xf32>
  func.return %y : tensor<2x4x5x7xf32>
}

// A quotient leaves the sum as well, and so does a sign.
// CHECK-LABEL: func.func @mean(
// CHECK-NEXT: %c0 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
// CHECK-NEXT: %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %1 = stablehlo.broadcast_in_dim %c0, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
// CHECK-NEXT: %2 = stablehlo.divide %0, %1 : tensor<2x3xf32>
// CHECK-NEXT: %y = stablehlo.negate %2 : tensor<2x3xf32>
// CHECK-NEXT: func.return %y : tensor<2x3xf32>
func.func @mean(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>) -> tensor<2x3xf32> {
  %c0 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
  %y = dsl.comprehension [2, 3] {
  ^bb0(%i: tensor<i64>, %j: tensor<i64>):
    %v1 = dsl.reduce sum [4] {
    ^bb0(%k: tensor<i64>):
      %v2 = dsl.access %x[%i, %k] : tensor<2x4xf32>
      %v3 = dsl.access %w[%k, %j] : tensor<4x3xf32>
      %v4 = stablehlo.multiply %v2, %v3 : tensor<f32>
      %v5 = stablehlo.negate %v4 : tensor<f32>
      %v6 = stablehlo.divide %v5, %c0 : tensor<f32>
      dsl.yield %v6 : tensor<f32>
    } : tensor<f32>
    dsl.yield %v1 : tensor<f32>
  } : tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// Three factors: the smaller product first.
// CHECK-LABEL: func.func @chain(
// CHECK-NEXT: %0 = stablehlo.dot_general %m, %v, contracting_dims = [1] x [0] : (tensor<9x9xf32>, tensor<9xf32>) -> tensor<9xf32>
// CHECK-NEXT: %y = stablehlo.dot_general %a, %0, contracting_dims = [1] x [0] : (tensor<2x9xf32>, tensor<9xf32>) -> tensor<2xf32>
// CHECK-NEXT: func.return %y : tensor<2xf32>
func.func @chain(%a: tensor<2x9xf32>, %m: tensor<9x9xf32>, %v: tensor<9xf32>) -> tensor<2xf32> {
  %y = dsl.comprehension [2] {
  ^bb0(%i: tensor<i64>):
    %v1 = dsl.reduce sum [9, 9] {
    ^bb0(%k: tensor<i64>, %l: tensor<i64>):
      %v2 = dsl.access %a[%i, %k] : tensor<2x9xf32>
      %v3 = dsl.access %m[%k, %l] : tensor<9x9xf32>
      %v4 = stablehlo.multiply %v2, %v3 : tensor<f32>
      %v5 = dsl.access %v[%l] : tensor<9xf32>
      %v6 = stablehlo.multiply %v4, %v5 : tensor<f32>
      dsl.yield %v6 : tensor<f32>
    } : tensor<f32>
    dsl.yield %v1 : tensor<f32>
  } : tensor<2xf32>
  func.return %y : tensor<2xf32>
}

// A factor along the summed index scales the smaller of the others.
// CHECK-LABEL: func.func @weighted(
// CHECK-NEXT: %0 = stablehlo.broadcast_in_dim %g, dims = [1] : (tensor<4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %1 = stablehlo.multiply %x, %0 : tensor<2x4xf32>
// CHECK-NEXT: %y = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %y : tensor<2x3xf32>
func.func @weighted(%x: tensor<2x4xf32>, %g: tensor<4xf32>, %w: tensor<4x3xf32>) -> tensor<2x3xf32> {
  %y = dsl.comprehension [2, 3] {
  ^bb0(%i: tensor<i64>, %j: tensor<i64>):
    %v1 = dsl.reduce sum [4] {
    ^bb0(%k: tensor<i64>):
      %v2 = dsl.access %x[%i, %k] : tensor<2x4xf32>
      %v3 = dsl.access %g[%k] : tensor<4xf32>
      %v4 = stablehlo.multiply %v2, %v3 : tensor<f32>
      %v5 = dsl.access %w[%k, %j] : tensor<4x3xf32>
      %v6 = stablehlo.multiply %v4, %v5 : tensor<f32>
      dsl.yield %v6 : tensor<f32>
    } : tensor<f32>
    dsl.yield %v1 : tensor<f32>
  } : tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// Where neither factor has an axis for itself there is no contraction, but a product to reduce.
// CHECK-LABEL: func.func @squares(
// CHECK-NEXT: %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = stablehlo.multiply %x, %x : tensor<2x4xf32>
// CHECK-NEXT: %y = stablehlo.reduce(%1 init: %0) applies stablehlo.add across dimensions = [1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2xf32>
// CHECK-NEXT: func.return %y : tensor<2xf32>
func.func @squares(%x: tensor<2x4xf32>) -> tensor<2xf32> {
  %y = dsl.comprehension [2] {
  ^bb0(%i: tensor<i64>):
    %v1 = dsl.reduce sum [4] {
    ^bb0(%k: tensor<i64>):
      %v2 = dsl.access %x[%i, %k] : tensor<2x4xf32>
      %v3 = dsl.access %x[%i, %k] : tensor<2x4xf32>
      %v4 = stablehlo.multiply %v2, %v3 : tensor<f32>
      dsl.yield %v4 : tensor<f32>
    } : tensor<f32>
    dsl.yield %v1 : tensor<f32>
  } : tensor<2xf32>
  func.return %y : tensor<2xf32>
}

// Integers are widened by the contraction itself.
// CHECK-LABEL: func.func @int8(
// CHECK-NEXT: %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x4xi8>, tensor<4x3xi8>) -> tensor<2x3xi32>
// CHECK-NEXT: func.return %y : tensor<2x3xi32>
func.func @int8(%x: tensor<2x4xi8>, %w: tensor<4x3xi8>) -> tensor<2x3xi32> {
  %y = dsl.comprehension [2, 3] {
  ^bb0(%i: tensor<i64>, %j: tensor<i64>):
    %v1 = dsl.reduce sum [4] {
    ^bb0(%k: tensor<i64>):
      %v2 = dsl.access %x[%i, %k] : tensor<2x4xi8>
      %v3 = stablehlo.convert %v2 : (tensor<i8>) -> tensor<i32>
      %v4 = dsl.access %w[%k, %j] : tensor<4x3xi8>
      %v5 = stablehlo.convert %v4 : (tensor<i8>) -> tensor<i32>
      %v6 = stablehlo.multiply %v3, %v5 : tensor<i32>
      dsl.yield %v6 : tensor<i32>
    } : tensor<i32>
    dsl.yield %v1 : tensor<i32>
  } : tensor<2x3xi32>
  func.return %y : tensor<2x3xi32>
}

// A guard on the summed index alone leaves zeros in both factors.
// CHECK-LABEL: func.func @guarded(
// CHECK-NEXT: %c0 = stablehlo.constant dense<2> : tensor<i64>
// CHECK-NEXT: %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = stablehlo.iota dim = 0 : tensor<4xi64>
// CHECK-NEXT: %2 = stablehlo.broadcast_in_dim %c0, dims = [] : (tensor<i64>) -> tensor<4xi64>
// CHECK-NEXT: %v5 = stablehlo.compare LT, %1, %2 : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>
// CHECK-NEXT: %3 = stablehlo.broadcast_in_dim %v5, dims = [1] : (tensor<4xi1>) -> tensor<2x4xi1>
// CHECK-NEXT: %4 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
// CHECK-NEXT: %5 = stablehlo.select %3, %x, %4 : tensor<2x4xi1>, tensor<2x4xf32>
// CHECK-NEXT: %6 = stablehlo.broadcast_in_dim %v5, dims = [0] : (tensor<4xi1>) -> tensor<4x3xi1>
// CHECK-NEXT: %7 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
// CHECK-NEXT: %8 = stablehlo.select %6, %w, %7 : tensor<4x3xi1>, tensor<4x3xf32>
// CHECK-NEXT: %y = stablehlo.dot_general %5, %8, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: func.return %y : tensor<2x3xf32>
func.func @guarded(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>) -> tensor<2x3xf32> {
  %c0 = stablehlo.constant dense<2> : tensor<i64>
  %y = dsl.comprehension [2, 3] {
  ^bb0(%i: tensor<i64>, %j: tensor<i64>):
    %v1 = dsl.reduce sum [4] {
    ^bb0(%k: tensor<i64>):
      %v2 = dsl.access %x[%i, %k] : tensor<2x4xf32>
      %v3 = dsl.access %w[%k, %j] : tensor<4x3xf32>
      %v4 = stablehlo.multiply %v2, %v3 : tensor<f32>
      %v5 = stablehlo.compare LT, %k, %c0 : (tensor<i64>, tensor<i64>) -> tensor<i1>
      dsl.yield %v4, %v5 : tensor<f32>, tensor<i1>
    } : tensor<f32>
    dsl.yield %v1 : tensor<f32>
  } : tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// A difference of products is one of contractions.
// CHECK-LABEL: func.func @difference(
// CHECK-NEXT: %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %1 = stablehlo.dot_general %u, %v, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %y = stablehlo.subtract %0, %1 : tensor<2x3xf32>
// CHECK-NEXT: func.return %y : tensor<2x3xf32>
func.func @difference(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>, %u: tensor<2x4xf32>, %v: tensor<4x3xf32>) -> tensor<2x3xf32> {
  %y = dsl.comprehension [2, 3] {
  ^bb0(%i: tensor<i64>, %j: tensor<i64>):
    %v1 = dsl.reduce sum [4] {
    ^bb0(%k: tensor<i64>):
      %v2 = dsl.access %x[%i, %k] : tensor<2x4xf32>
      %v3 = dsl.access %w[%k, %j] : tensor<4x3xf32>
      %v4 = stablehlo.multiply %v2, %v3 : tensor<f32>
      %v5 = dsl.access %u[%i, %k] : tensor<2x4xf32>
      %v6 = dsl.access %v[%k, %j] : tensor<4x3xf32>
      %v7 = stablehlo.multiply %v5, %v6 : tensor<f32>
      %v8 = stablehlo.subtract %v4, %v7 : tensor<f32>
      dsl.yield %v8 : tensor<f32>
    } : tensor<f32>
    dsl.yield %v1 : tensor<f32>
  } : tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// A guard that only one factor can have: a zero there does not undo an infinity of the other.
// CHECK-LABEL: func.func @causal(
// CHECK-NEXT: %0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = stablehlo.constant dense<true> : tensor<i1>
// CHECK-NEXT: %2 = stablehlo.iota dim = 0 : tensor<4xi64>
// CHECK-NEXT: %3 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<4xi64>) -> tensor<4x4xi64>
// CHECK-NEXT: %4 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<4xi64>) -> tensor<4x4xi64>
// CHECK-NEXT: %v5 = stablehlo.compare LE, %3, %4 : (tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xi1>
// CHECK-NEXT: %5 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
// CHECK-NEXT: %6 = stablehlo.select %v5, %p, %5 : tensor<4x4xi1>, tensor<4x4xf32>
// CHECK-NEXT: %7 = stablehlo.is_finite %v : (tensor<4x3xf32>) -> tensor<4x3xi1>
// CHECK-NEXT: %8 = stablehlo.reduce(%7 init: %1) applies stablehlo.and across dimensions = [0, 1] : (tensor<4x3xi1>, tensor<i1>) -> tensor<i1>
// CHECK-NEXT: %y = "stablehlo.if"(%8) ({
// CHECK-NEXT: %9 = stablehlo.dot_general %6, %v, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: stablehlo.return %9 : tensor<4x3xf32>
// CHECK-NEXT: }, {
// CHECK-NEXT: %10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %11 = stablehlo.broadcast_in_dim %p, dims = [0, 2] : (tensor<4x4xf32>) -> tensor<4x3x4xf32>
// CHECK-NEXT: %12 = stablehlo.transpose %v, dims = [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: %13 = stablehlo.broadcast_in_dim %12, dims = [1, 2] : (tensor<3x4xf32>) -> tensor<4x3x4xf32>
// CHECK-NEXT: %14 = stablehlo.multiply %11, %13 : tensor<4x3x4xf32>
// CHECK-NEXT: %15 = stablehlo.broadcast_in_dim %v5, dims = [0, 2] : (tensor<4x4xi1>) -> tensor<4x3x4xi1>
// CHECK-NEXT: %16 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<f32>) -> tensor<4x3x4xf32>
// CHECK-NEXT: %17 = stablehlo.select %15, %14, %16 : tensor<4x3x4xi1>, tensor<4x3x4xf32>
// CHECK-NEXT: %18 = stablehlo.reduce(%17 init: %10) applies stablehlo.add across dimensions = [2] : (tensor<4x3x4xf32>, tensor<f32>) -> tensor<4x3xf32>
// CHECK-NEXT: stablehlo.return %18 : tensor<4x3xf32>
// CHECK-NEXT: }) : (tensor<i1>) -> tensor<4x3xf32>
// CHECK-NEXT: func.return %y : tensor<4x3xf32>
func.func @causal(%p: tensor<4x4xf32>, %v: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %y = dsl.comprehension [4, 3] {
  ^bb0(%i: tensor<i64>, %d: tensor<i64>):
    %v1 = dsl.reduce sum [4] {
    ^bb0(%j: tensor<i64>):
      %v2 = dsl.access %p[%i, %j] : tensor<4x4xf32>
      %v3 = dsl.access %v[%j, %d] : tensor<4x3xf32>
      %v4 = stablehlo.multiply %v2, %v3 : tensor<f32>
      %v5 = stablehlo.compare LE, %j, %i : (tensor<i64>, tensor<i64>) -> tensor<i1>
      dsl.yield %v4, %v5 : tensor<f32>, tensor<i1>
    } : tensor<f32>
    dsl.yield %v1 : tensor<f32>
  } : tensor<4x3xf32>
  func.return %y : tensor<4x3xf32>
}

// Blocks of an index: two heads read one group of keys.
// CHECK-LABEL: func.func @grouped_heads(
// CHECK-NEXT: %0 = stablehlo.reshape %q : (tensor<4x5x8xf32>) -> tensor<2x2x5x8xf32>
// CHECK-NEXT: %1 = stablehlo.dot_general %0, %k, batching_dims = [0] x [0], contracting_dims = [3] x [2] : (tensor<2x2x5x8xf32>, tensor<2x7x8xf32>) -> tensor<2x2x5x7xf32>
// CHECK-NEXT: %y = stablehlo.reshape %1 : (tensor<2x2x5x7xf32>) -> tensor<4x5x7xf32>
// CHECK-NEXT: func.return %y : tensor<4x5x7xf32>
func.func @grouped_heads(%q: tensor<4x5x8xf32>, %k: tensor<2x7x8xf32>) -> tensor<4x5x7xf32> {
  %c0 = stablehlo.constant dense<2> : tensor<i64>
  %y = dsl.comprehension [4, 5, 7] {
  ^bb0(%h: tensor<i64>, %i: tensor<i64>, %j: tensor<i64>):
    %v1 = dsl.reduce sum [8] {
    ^bb0(%d: tensor<i64>):
      %v2 = dsl.access %q[%h, %i, %d] : tensor<4x5x8xf32>
      %v3 = stablehlo.divide %h, %c0 : tensor<i64>
      %v4 = dsl.access %k[%v3, %j, %d] : tensor<2x7x8xf32>
      %v5 = stablehlo.multiply %v2, %v4 : tensor<f32>
      dsl.yield %v5 : tensor<f32>
    } : tensor<f32>
    dsl.yield %v1 : tensor<f32>
  } : tensor<4x5x7xf32>
  func.return %y : tensor<4x5x7xf32>
}
