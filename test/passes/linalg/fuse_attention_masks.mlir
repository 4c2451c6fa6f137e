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
