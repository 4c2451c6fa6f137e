// RUN: lamina-opt %s --machine x86-64-avx512 -p 'convert-stablehlo-to-linalg,canonicalize,cse,linalg-fuse-elementwise,linalg-fuse-attention' | filecheck %s

// Eight queries, half a vector: one read of many keys is what counts.
// CHECK-LABEL: func.func @many_keys
// CHECK: linalg_ext.attention
func.func @many_keys(%q: tensor<2x8x64xf32>, %k: tensor<2x300x64xf32>, %v: tensor<2x300x64xf32>) -> tensor<2x8x64xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x8x64xf32>, tensor<2x300x64xf32>) -> tensor<2x8x300xf32>
  %m = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<2x8x300xf32>, tensor<f32>) -> tensor<2x8xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<2x8xf32>) -> tensor<2x8x300xf32>
  %d = stablehlo.subtract %s, %mb : tensor<2x8x300xf32>
  %e = stablehlo.exponential %d : tensor<2x8x300xf32>
  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x8x300xf32>, tensor<f32>) -> tensor<2x8xf32>
  %tb = stablehlo.broadcast_in_dim %t, dims = [0, 1] : (tensor<2x8xf32>) -> tensor<2x8x300xf32>
  %w = stablehlo.divide %e, %tb : tensor<2x8x300xf32>
  %y = stablehlo.dot_general %w, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x8x300xf32>, tensor<2x300x64xf32>) -> tensor<2x8x64xf32>
  func.return %y : tensor<2x8x64xf32>
}

// Of few keys it is not.
// CHECK-LABEL: func.func @few_keys
// CHECK-NOT: linalg_ext.attention
func.func @few_keys(%q: tensor<2x8x64xf32>, %k: tensor<2x200x64xf32>, %v: tensor<2x200x64xf32>) -> tensor<2x8x64xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x8x64xf32>, tensor<2x200x64xf32>) -> tensor<2x8x200xf32>
  %m = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<2x8x200xf32>, tensor<f32>) -> tensor<2x8xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<2x8xf32>) -> tensor<2x8x200xf32>
  %d = stablehlo.subtract %s, %mb : tensor<2x8x200xf32>
  %e = stablehlo.exponential %d : tensor<2x8x200xf32>
  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x8x200xf32>, tensor<f32>) -> tensor<2x8xf32>
  %tb = stablehlo.broadcast_in_dim %t, dims = [0, 1] : (tensor<2x8xf32>) -> tensor<2x8x200xf32>
  %w = stablehlo.divide %e, %tb : tensor<2x8x200xf32>
  %y = stablehlo.dot_general %w, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x8x200xf32>, tensor<2x200x64xf32>) -> tensor<2x8x64xf32>
  func.return %y : tensor<2x8x64xf32>
}
