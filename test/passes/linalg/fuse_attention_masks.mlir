// RUN: lamina-opt %s -p 'convert-stablehlo-to-linalg,canonicalize,cse,linalg-fuse-elementwise,linalg-fuse-attention{queries=2}' | filecheck %s

// A constant mask that was written out for all heads, as exporters do, is seen through.
// CHECK-LABEL: func.func @same_for_all_heads
// CHECK: "linalg_ext.attention"(%q, %k, %v, %{{[a-z0-9]*}}) <{{{.*}} causal = 2 : i64
// CHECK-NEXT: ^{{.*}}(%{{.*}}: f32):
func.func @same_for_all_heads(%q: tensor<2x4x8xf32>, %k: tensor<2x6x8xf32>, %v: tensor<2x6x8xf32>) -> tensor<2x4x8xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x4x8xf32>, tensor<2x6x8xf32>) -> tensor<2x4x6xf32>
  %mask = stablehlo.constant dense<[[[0.0, 0.0, 0.0, 0xFF7FFFFF, 0xFF7FFFFF, 0xFF7FFFFF], [0.0, 0.0, 0.0, 0.0, 0xFF7FFFFF, 0xFF7FFFFF], [0.0, 0.0, 0.0, 0.0, 0.0, 0xFF7FFFFF], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]], [[0.0, 0.0, 0.0, 0xFF7FFFFF, 0xFF7FFFFF, 0xFF7FFFFF], [0.0, 0.0, 0.0, 0.0, 0xFF7FFFFF, 0xFF7FFFFF], [0.0, 0.0, 0.0, 0.0, 0.0, 0xFF7FFFFF], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]]> : tensor<2x4x6xf32>
  %s = stablehlo.add %a, %mask : tensor<2x4x6xf32>
  %m = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<2x4x6xf32>, tensor<f32>) -> tensor<2x4xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x6xf32>
  %d = stablehlo.subtract %s, %mb : tensor<2x4x6xf32>
  %e = stablehlo.exponential %d : tensor<2x4x6xf32>
  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x4x6xf32>, tensor<f32>) -> tensor<2x4xf32>
  %tb = stablehlo.broadcast_in_dim %t, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x6xf32>
  %p = stablehlo.divide %e, %tb : tensor<2x4x6xf32>
  %o = stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x6xf32>, tensor<2x6x8xf32>) -> tensor<2x4x8xf32>
  func.return %o : tensor<2x4x8xf32>
}

// One that is not the same is read.
// CHECK-LABEL: func.func @other_for_each_head
// CHECK: "linalg_ext.attention"(%q, %k, %v, %mask, %{{.*}}) <{indexing_maps
func.func @other_for_each_head(%q: tensor<2x4x8xf32>, %k: tensor<2x6x8xf32>, %v: tensor<2x6x8xf32>) -> tensor<2x4x8xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x4x8xf32>, tensor<2x6x8xf32>) -> tensor<2x4x6xf32>
  %mask = stablehlo.constant dense<[[[0.0, 0.0, 0xFF7FFFFF, 0xFF7FFFFF, 0xFF7FFFFF, 0xFF7FFFFF], [0.0, 0.0, 0.0, 0.0, 0xFF7FFFFF, 0xFF7FFFFF], [0.0, 0.0, 0.0, 0.0, 0.0, 0xFF7FFFFF], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]], [[0.0, 0.0, 0.0, 0xFF7FFFFF, 0xFF7FFFFF, 0xFF7FFFFF], [0.0, 0.0, 0.0, 0.0, 0xFF7FFFFF, 0xFF7FFFFF], [0.0, 0.0, 0.0, 0.0, 0.0, 0xFF7FFFFF], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]]> : tensor<2x4x6xf32>
  %s = stablehlo.add %a, %mask : tensor<2x4x6xf32>
  %m = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<2x4x6xf32>, tensor<f32>) -> tensor<2x4xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x6xf32>
  %d = stablehlo.subtract %s, %mb : tensor<2x4x6xf32>
  %e = stablehlo.exponential %d : tensor<2x4x6xf32>
  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x4x6xf32>, tensor<f32>) -> tensor<2x4xf32>
  %tb = stablehlo.broadcast_in_dim %t, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x6xf32>
  %p = stablehlo.divide %e, %tb : tensor<2x4x6xf32>
  %o = stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x6xf32>, tensor<2x6x8xf32>) -> tensor<2x4x8xf32>
  func.return %o : tensor<2x4x8xf32>
}

// What is computed of numbers that are known is evaluated: the same for two layers, neither of which reads it. So it is
// not computed at all.
// CHECK-LABEL: func.func @computed
// CHECK-NOT: arith.cmpi
// CHECK: "linalg_ext.attention"(%q, %k, %v, %{{[a-z0-9]*}}) <{{{.*}} causal = 2 : i64
// CHECK: "linalg_ext.attention"(%u, %v, %k, %{{[a-z0-9]*}}) <{{{.*}} causal = 2 : i64
// CHECK: return
func.func @computed(%q: tensor<2x4x8xf32>, %k: tensor<2x6x8xf32>, %v: tensor<2x6x8xf32>, %u: tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %places = stablehlo.iota dim = 2 : tensor<2x4x6xi32>
  %now = stablehlo.constant dense<[2, 3, 4, 5]> : tensor<4xi32>
  %nows = stablehlo.broadcast_in_dim %now, dims = [1] : (tensor<4xi32>) -> tensor<2x4x6xi32>
  %later = stablehlo.compare GT, %places, %nows : (tensor<2x4x6xi32>, tensor<2x4x6xi32>) -> tensor<2x4x6xi1>
  %lows = stablehlo.broadcast_in_dim %low, dims = [] : (tensor<f32>) -> tensor<2x4x6xf32>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<2x4x6xf32>
  %mask = stablehlo.select %later, %lows, %zeros : tensor<2x4x6xi1>, tensor<2x4x6xf32>
  %a1 = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x4x8xf32>, tensor<2x6x8xf32>) -> tensor<2x4x6xf32>
  %s1 = stablehlo.add %a1, %mask : tensor<2x4x6xf32>
  %m1 = stablehlo.reduce(%s1 init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<2x4x6xf32>, tensor<f32>) -> tensor<2x4xf32>
  %mb1 = stablehlo.broadcast_in_dim %m1, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x6xf32>
  %d1 = stablehlo.subtract %s1, %mb1 : tensor<2x4x6xf32>
  %e1 = stablehlo.exponential %d1 : tensor<2x4x6xf32>
  %t1 = stablehlo.reduce(%e1 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x4x6xf32>, tensor<f32>) -> tensor<2x4xf32>
  %tb1 = stablehlo.broadcast_in_dim %t1, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x6xf32>
  %p1 = stablehlo.divide %e1, %tb1 : tensor<2x4x6xf32>
  %o1 = stablehlo.dot_general %p1, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x6xf32>, tensor<2x6x8xf32>) -> tensor<2x4x8xf32>
  %a2 = stablehlo.dot_general %u, %v, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x4x8xf32>, tensor<2x6x8xf32>) -> tensor<2x4x6xf32>
  %s2 = stablehlo.add %a2, %mask : tensor<2x4x6xf32>
  %m2 = stablehlo.reduce(%s2 init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<2x4x6xf32>, tensor<f32>) -> tensor<2x4xf32>
  %mb2 = stablehlo.broadcast_in_dim %m2, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x6xf32>
  %d2 = stablehlo.subtract %s2, %mb2 : tensor<2x4x6xf32>
  %e2 = stablehlo.exponential %d2 : tensor<2x4x6xf32>
  %t2 = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x4x6xf32>, tensor<f32>) -> tensor<2x4xf32>
  %tb2 = stablehlo.broadcast_in_dim %t2, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x6xf32>
  %p2 = stablehlo.divide %e2, %tb2 : tensor<2x4x6xf32>
  %o2 = stablehlo.dot_general %p2, %k, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x6xf32>, tensor<2x6x8xf32>) -> tensor<2x4x8xf32>
  func.return %o1, %o2 : tensor<2x4x8xf32>, tensor<2x4x8xf32>
}

// What depends on an input is read.
// CHECK-LABEL: func.func @of_an_input
// CHECK: "linalg_ext.attention"(%q, %k, %v, %{{[a-z0-9]*}}, %{{[a-z0-9]*}}) <{indexing_maps = {{.*}}, operandSegmentSizes = array<i32: 4, 1>
func.func @of_an_input(%q: tensor<2x4x8xf32>, %k: tensor<2x6x8xf32>, %v: tensor<2x6x8xf32>, %u: tensor<2x4x8xf32>, %now: tensor<4xi32>) -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %places = stablehlo.iota dim = 2 : tensor<2x4x6xi32>
  %nows = stablehlo.broadcast_in_dim %now, dims = [1] : (tensor<4xi32>) -> tensor<2x4x6xi32>
  %later = stablehlo.compare GT, %places, %nows : (tensor<2x4x6xi32>, tensor<2x4x6xi32>) -> tensor<2x4x6xi1>
  %lows = stablehlo.broadcast_in_dim %low, dims = [] : (tensor<f32>) -> tensor<2x4x6xf32>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<2x4x6xf32>
  %mask = stablehlo.select %later, %lows, %zeros : tensor<2x4x6xi1>, tensor<2x4x6xf32>
  %a1 = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x4x8xf32>, tensor<2x6x8xf32>) -> tensor<2x4x6xf32>
  %s1 = stablehlo.add %a1, %mask : tensor<2x4x6xf32>
  %m1 = stablehlo.reduce(%s1 init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<2x4x6xf32>, tensor<f32>) -> tensor<2x4xf32>
  %mb1 = stablehlo.broadcast_in_dim %m1, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x6xf32>
  %d1 = stablehlo.subtract %s1, %mb1 : tensor<2x4x6xf32>
  %e1 = stablehlo.exponential %d1 : tensor<2x4x6xf32>
  %t1 = stablehlo.reduce(%e1 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x4x6xf32>, tensor<f32>) -> tensor<2x4xf32>
  %tb1 = stablehlo.broadcast_in_dim %t1, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x6xf32>
  %p1 = stablehlo.divide %e1, %tb1 : tensor<2x4x6xf32>
  %o1 = stablehlo.dot_general %p1, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x6xf32>, tensor<2x6x8xf32>) -> tensor<2x4x8xf32>
  %a2 = stablehlo.dot_general %u, %v, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x4x8xf32>, tensor<2x6x8xf32>) -> tensor<2x4x6xf32>
  %s2 = stablehlo.add %a2, %mask : tensor<2x4x6xf32>
  %m2 = stablehlo.reduce(%s2 init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<2x4x6xf32>, tensor<f32>) -> tensor<2x4xf32>
  %mb2 = stablehlo.broadcast_in_dim %m2, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x6xf32>
  %d2 = stablehlo.subtract %s2, %mb2 : tensor<2x4x6xf32>
  %e2 = stablehlo.exponential %d2 : tensor<2x4x6xf32>
  %t2 = stablehlo.reduce(%e2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x4x6xf32>, tensor<f32>) -> tensor<2x4xf32>
  %tb2 = stablehlo.broadcast_in_dim %t2, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x6xf32>
  %p2 = stablehlo.divide %e2, %tb2 : tensor<2x4x6xf32>
  %o2 = stablehlo.dot_general %p2, %k, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x6xf32>, tensor<2x6x8xf32>) -> tensor<2x4x8xf32>
  func.return %o1, %o2 : tensor<2x4x8xf32>, tensor<2x4x8xf32>
}

// So it is where a function of repeated layers is always given the same; @one_of_two is not.
// CHECK-LABEL: func.func private @layer(%q: tensor<2x4x8xf32>, %k: tensor<2x6x8xf32>) -> tensor<2x4x8xf32>
// CHECK: "linalg_ext.attention"(%q, %k, %k, %{{[a-z0-9]*}}) <{{{.*}} causal = 2 : i64
func.func private @layer(%q: tensor<2x4x8xf32>, %k: tensor<2x6x8xf32>, %mask: tensor<2x4x6xf32>) -> tensor<2x4x8xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %a1 = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x4x8xf32>, tensor<2x6x8xf32>) -> tensor<2x4x6xf32>
  %s1 = stablehlo.add %a1, %mask : tensor<2x4x6xf32>
  %m1 = stablehlo.reduce(%s1 init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<2x4x6xf32>, tensor<f32>) -> tensor<2x4xf32>
  %mb1 = stablehlo.broadcast_in_dim %m1, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x6xf32>
  %d1 = stablehlo.subtract %s1, %mb1 : tensor<2x4x6xf32>
  %e1 = stablehlo.exponential %d1 : tensor<2x4x6xf32>
  %t1 = stablehlo.reduce(%e1 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x4x6xf32>, tensor<f32>) -> tensor<2x4xf32>
  %tb1 = stablehlo.broadcast_in_dim %t1, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x6xf32>
  %p1 = stablehlo.divide %e1, %tb1 : tensor<2x4x6xf32>
  %o1 = stablehlo.dot_general %p1, %k, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x6xf32>, tensor<2x6x8xf32>) -> tensor<2x4x8xf32>
  func.return %o1 : tensor<2x4x8xf32>
}

// CHECK-LABEL: func.func private @one_of_two
// CHECK: operandSegmentSizes = array<i32: 4, 1>
func.func private @one_of_two(%q: tensor<2x4x8xf32>, %k: tensor<2x6x8xf32>, %mask: tensor<2x4x6xf32>) -> tensor<2x4x8xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %a1 = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x4x8xf32>, tensor<2x6x8xf32>) -> tensor<2x4x6xf32>
  %s1 = stablehlo.add %a1, %mask : tensor<2x4x6xf32>
  %m1 = stablehlo.reduce(%s1 init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<2x4x6xf32>, tensor<f32>) -> tensor<2x4xf32>
  %mb1 = stablehlo.broadcast_in_dim %m1, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x6xf32>
  %d1 = stablehlo.subtract %s1, %mb1 : tensor<2x4x6xf32>
  %e1 = stablehlo.exponential %d1 : tensor<2x4x6xf32>
  %t1 = stablehlo.reduce(%e1 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x4x6xf32>, tensor<f32>) -> tensor<2x4xf32>
  %tb1 = stablehlo.broadcast_in_dim %t1, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x6xf32>
  %p1 = stablehlo.divide %e1, %tb1 : tensor<2x4x6xf32>
  %o1 = stablehlo.dot_general %p1, %k, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x6xf32>, tensor<2x6x8xf32>) -> tensor<2x4x8xf32>
  func.return %o1 : tensor<2x4x8xf32>
}

// CHECK-LABEL: func.func @layers
// CHECK: %a = func.call @layer(%q, %k) : (tensor<2x4x8xf32>, tensor<2x6x8xf32>) -> tensor<2x4x8xf32>
// CHECK: %b = func.call @layer(%a, %k) :
// CHECK: %c = func.call @one_of_two(%b, %k, %{{.*}}) :
func.func @layers(%q: tensor<2x4x8xf32>, %k: tensor<2x6x8xf32>) -> tensor<2x4x8xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %places = stablehlo.iota dim = 2 : tensor<2x4x6xi32>
  %now = stablehlo.constant dense<[2, 3, 4, 5]> : tensor<4xi32>
  %nows = stablehlo.broadcast_in_dim %now, dims = [1] : (tensor<4xi32>) -> tensor<2x4x6xi32>
  %later = stablehlo.compare GT, %places, %nows : (tensor<2x4x6xi32>, tensor<2x4x6xi32>) -> tensor<2x4x6xi1>
  %lows = stablehlo.broadcast_in_dim %low, dims = [] : (tensor<f32>) -> tensor<2x4x6xf32>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<2x4x6xf32>
  %mask = stablehlo.select %later, %lows, %zeros : tensor<2x4x6xi1>, tensor<2x4x6xf32>
  %a = func.call @layer(%q, %k, %mask) : (tensor<2x4x8xf32>, tensor<2x6x8xf32>, tensor<2x4x6xf32>) -> tensor<2x4x8xf32>
  %b = func.call @layer(%a, %k, %mask) : (tensor<2x4x8xf32>, tensor<2x6x8xf32>, tensor<2x4x6xf32>) -> tensor<2x4x8xf32>
  %c = func.call @one_of_two(%b, %k, %mask) : (tensor<2x4x8xf32>, tensor<2x6x8xf32>, tensor<2x4x6xf32>) -> tensor<2x4x8xf32>
  %d = func.call @one_of_two(%c, %k, %zeros) : (tensor<2x4x8xf32>, tensor<2x6x8xf32>, tensor<2x4x6xf32>) -> tensor<2x4x8xf32>
  func.return %d : tensor<2x4x8xf32>
}
