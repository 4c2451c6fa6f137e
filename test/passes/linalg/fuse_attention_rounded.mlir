// RUN: lamina-opt %s --machine x86-64-amx -p 'convert-stablehlo-to-linalg,canonicalize,cse,linalg-fuse-elementwise,linalg-fuse-attention{precision=bf16}' | filecheck %s
// RUN: lamina-opt %s --machine x86-64-amx -p 'convert-stablehlo-to-linalg,canonicalize,cse,linalg-fuse-elementwise,linalg-fuse-attention' | filecheck %s --check-prefix EXACT

// With --precision bf16, scores that the second cache does not hold are fused, of what was rounded.
// CHECK-LABEL: func.func @rounded_2000
// CHECK: arith.truncf
// CHECK: [[Q:%[0-9]+]] = linalg.generic {{.*}} ins(%qb : tensor<1x2000x8xbf16>)
// CHECK: arith.extf
// CHECK: "linalg_ext.attention"([[Q]], %{{.*}}, %{{.*}}, %{{.*}}) {{.*}}
// CHECK: (tensor<1x2000x8xf32>, tensor<1x2000x8xf32>, tensor<1x2000x8xf32>, tensor<1x2000x8xf32>) -> tensor<1x2000x8xf32>
// CHECK-NOT: 2000x2000

// EXACT-NOT: linalg_ext.attention
func.func @rounded_2000(%q: tensor<1x2000x8xf32>, %k: tensor<1x2000x8xf32>, %v: tensor<1x2000x8xf32>) -> tensor<1x2000x8xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %qb = stablehlo.convert %q : (tensor<1x2000x8xf32>) -> tensor<1x2000x8xbf16>
  %kb = stablehlo.convert %k : (tensor<1x2000x8xf32>) -> tensor<1x2000x8xbf16>
  %vb = stablehlo.convert %v : (tensor<1x2000x8xf32>) -> tensor<1x2000x8xbf16>
  %s = stablehlo.dot_general %qb, %kb, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<1x2000x8xbf16>, tensor<1x2000x8xbf16>) -> tensor<1x2000x2000xf32>
  %m = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<1x2000x2000xf32>, tensor<f32>) -> tensor<1x2000xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<1x2000xf32>) -> tensor<1x2000x2000xf32>
  %d = stablehlo.subtract %s, %mb : tensor<1x2000x2000xf32>
  %e = stablehlo.exponential %d : tensor<1x2000x2000xf32>
  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<1x2000x2000xf32>, tensor<f32>) -> tensor<1x2000xf32>
  %tb = stablehlo.broadcast_in_dim %t, dims = [0, 1] : (tensor<1x2000xf32>) -> tensor<1x2000x2000xf32>
  %p = stablehlo.divide %e, %tb : tensor<1x2000x2000xf32>
  %pb = stablehlo.convert %p : (tensor<1x2000x2000xf32>) -> tensor<1x2000x2000xbf16>
  %o = stablehlo.dot_general %pb, %vb, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<1x2000x2000xbf16>, tensor<1x2000x8xbf16>) -> tensor<1x2000x8xf32>
  func.return %o : tensor<1x2000x8xf32>
}

// Those that it holds are multiplied in bfloat16.
// CHECK-LABEL: func.func @rounded_64
// CHECK-NOT: linalg_ext.attention
func.func @rounded_64(%q: tensor<1x64x8xf32>, %k: tensor<1x64x8xf32>, %v: tensor<1x64x8xf32>) -> tensor<1x64x8xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %qb = stablehlo.convert %q : (tensor<1x64x8xf32>) -> tensor<1x64x8xbf16>
  %kb = stablehlo.convert %k : (tensor<1x64x8xf32>) -> tensor<1x64x8xbf16>
  %vb = stablehlo.convert %v : (tensor<1x64x8xf32>) -> tensor<1x64x8xbf16>
  %s = stablehlo.dot_general %qb, %kb, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<1x64x8xbf16>, tensor<1x64x8xbf16>) -> tensor<1x64x64xf32>
  %m = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<1x64x64xf32>, tensor<f32>) -> tensor<1x64xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<1x64x64xf32>
  %d = stablehlo.subtract %s, %mb : tensor<1x64x64xf32>
  %e = stablehlo.exponential %d : tensor<1x64x64xf32>
  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<1x64x64xf32>, tensor<f32>) -> tensor<1x64xf32>
  %tb = stablehlo.broadcast_in_dim %t, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<1x64x64xf32>
  %p = stablehlo.divide %e, %tb : tensor<1x64x64xf32>
  %pb = stablehlo.convert %p : (tensor<1x64x64xf32>) -> tensor<1x64x64xbf16>
  %o = stablehlo.dot_general %pb, %vb, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<1x64x64xbf16>, tensor<1x64x8xbf16>) -> tensor<1x64x8xf32>
  func.return %o : tensor<1x64x8xf32>
}
