// Reductions print as they are written; one that applies a commutative op has a short form.
// RUN: lamina-opt %s | filecheck %s
// RUN: lamina-opt --mlir-print-op-generic %s | lamina-opt | filecheck %s

// CHECK-LABEL: func.func @reduce(
func.func @reduce(%x: tensor<2x3xf32>, %c: tensor<f32>, %h: tensor<2x3xbf16>, %d: tensor<bf16>) {
  // CHECK-NEXT: %sum = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  %sum = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  // CHECK-NEXT: %all = stablehlo.reduce(%x init: %c) applies stablehlo.maximum across dimensions = [0, 1] {tag = 1 : i32} : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>
  %all = stablehlo.reduce(%x init: %c) applies stablehlo.maximum across dimensions = [0, 1] {tag = 1 : i32} : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>
  // CHECK-NEXT: %left, %right = stablehlo.reduce(%x init: %c), (%x init: %c) across dimensions = [0] : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>, tensor<f32>) -> (tensor<3xf32>, tensor<3xf32>)
  %left, %right = stablehlo.reduce(%x init: %c), (%x init: %c) across dimensions = [0] : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>, tensor<f32>) -> (tensor<3xf32>, tensor<3xf32>)
   // CHECK-NEXT: reducer(%e: tensor<f32>, %f: tensor<f32>) (%g: tensor<f32>, %k: tensor<f32>)  {
   reducer(%e: tensor<f32>, %f: tensor<f32>) (%g: tensor<f32>, %k: tensor<f32>)  {
    // CHECK-NEXT: %s = stablehlo.subtract %e, %g : tensor<f32>
    %s = stablehlo.subtract %e, %g : tensor<f32>
    // CHECK-NEXT: stablehlo.return %s, %k : tensor<f32>, tensor<f32>
    stablehlo.return %s, %k : tensor<f32>, tensor<f32>
  // CHECK-NEXT: }
  }
  // CHECK-NEXT: %wide = stablehlo.reduce(%h init: %d) across dimensions = [1] : (tensor<2x3xbf16>, tensor<bf16>) -> tensor<2xf32>
  %wide = stablehlo.reduce(%h init: %d) across dimensions = [1] : (tensor<2x3xbf16>, tensor<bf16>) -> tensor<2xf32>
   // CHECK-NEXT: reducer(%p: tensor<f32>, %q: tensor<f32>)  {
   reducer(%p: tensor<f32>, %q: tensor<f32>)  {
    // CHECK-NEXT: %t = stablehlo.add %p, %q : tensor<f32>
    %t = stablehlo.add %p, %q : tensor<f32>
    // CHECK-NEXT: stablehlo.return %t : tensor<f32>
    stablehlo.return %t : tensor<f32>
  // CHECK-NEXT: }
  }
  func.return
}

// CHECK-LABEL: func.func @windows(
func.func @windows(%x: tensor<4x6xf32>, %c: tensor<f32>, %s: tensor<2x3xf32>) {
  // CHECK-NEXT{LITERAL}: %pool = "stablehlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>, padding = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> ({
  %pool = "stablehlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>, padding = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> ({
  // CHECK-NEXT: ^bb0(%a: tensor<f32>, %b: tensor<f32>):
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    // CHECK-NEXT: %m = stablehlo.maximum %a, %b : tensor<f32>
    %m = stablehlo.maximum %a, %b : tensor<f32>
    // CHECK-NEXT: stablehlo.return %m : tensor<f32>
    stablehlo.return %m : tensor<f32>
  // CHECK-NEXT: }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<2x3xf32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %back = "stablehlo.select_and_scatter"(%x, %s, %c) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  %back = "stablehlo.select_and_scatter"(%x, %s, %c) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  // CHECK-NEXT: ^bb0(%d: tensor<f32>, %e: tensor<f32>):
  ^bb0(%d: tensor<f32>, %e: tensor<f32>):
    // CHECK-NEXT: %n = stablehlo.compare GE, %d, %e : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %n = stablehlo.compare GE, %d, %e : (tensor<f32>, tensor<f32>) -> tensor<i1>
    // CHECK-NEXT: stablehlo.return %n : tensor<i1>
    stablehlo.return %n : tensor<i1>
  // CHECK-NEXT: }, {
  }, {
  // CHECK-NEXT: ^bb0(%f: tensor<f32>, %g: tensor<f32>):
  ^bb0(%f: tensor<f32>, %g: tensor<f32>):
    // CHECK-NEXT: %o = stablehlo.add %f, %g : tensor<f32>
    %o = stablehlo.add %f, %g : tensor<f32>
    // CHECK-NEXT: stablehlo.return %o : tensor<f32>
    stablehlo.return %o : tensor<f32>
  // CHECK-NEXT: }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
  }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
  func.return
}

// CHECK-LABEL: func.func @order(
func.func @order(%x: tensor<4xf32>, %i: tensor<4xi32>) {
  // CHECK-NEXT: %map = "stablehlo.map"(%x, %x) <{dimensions = array<i64: 0>}> ({
  %map = "stablehlo.map"(%x, %x) <{dimensions = array<i64: 0>}> ({
  // CHECK-NEXT: ^bb0(%a: tensor<f32>, %b: tensor<f32>):
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    // CHECK-NEXT: %m = stablehlo.multiply %a, %b : tensor<f32>
    %m = stablehlo.multiply %a, %b : tensor<f32>
    // CHECK-NEXT: stablehlo.return %m : tensor<f32>
    stablehlo.return %m : tensor<f32>
  // CHECK-NEXT: }) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  }) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: %sorted, %order = "stablehlo.sort"(%x, %i) <{dimension = 0 : i64, is_stable = true}> ({
  %sorted, %order = "stablehlo.sort"(%x, %i) <{dimension = 0 : i64, is_stable = true}> ({
  // CHECK-NEXT: ^bb0(%d: tensor<f32>, %e: tensor<f32>, %j: tensor<i32>, %k: tensor<i32>):
  ^bb0(%d: tensor<f32>, %e: tensor<f32>, %j: tensor<i32>, %k: tensor<i32>):
    // CHECK-NEXT: %l = stablehlo.compare LT, %d, %e, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %l = stablehlo.compare LT, %d, %e, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    // CHECK-NEXT: stablehlo.return %l : tensor<i1>
    stablehlo.return %l : tensor<i1>
  // CHECK-NEXT: }) : (tensor<4xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>)
  }) : (tensor<4xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>)
  func.return
}

// CHECK-LABEL: func.func @batch_norm(
func.func @batch_norm(%x: tensor<2x3xf32>, %f: tensor<3xf32>) {
  // CHECK-NEXT: %y = "stablehlo.batch_norm_inference"(%x, %f, %f, %f, %f) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %y = "stablehlo.batch_norm_inference"(%x, %f, %f, %f, %f) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %o, %mean, %var = "stablehlo.batch_norm_training"(%x, %f, %f) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  %o, %mean, %var = "stablehlo.batch_norm_training"(%x, %f, %f) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  // CHECK-NEXT: %dx, %dscale, %doffset = "stablehlo.batch_norm_grad"(%x, %f, %f, %f, %x) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  %dx, %dscale, %doffset = "stablehlo.batch_norm_grad"(%x, %f, %f, %f, %x) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  func.return
}
