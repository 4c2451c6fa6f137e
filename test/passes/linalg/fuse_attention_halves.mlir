// RUN: lamina-opt %s --machine sm_90a -p 'convert-stablehlo-to-linalg,canonicalize,cse,linalg-fuse-elementwise,linalg-fuse-attention{queries=2}' | filecheck %s
// RUN: lamina-opt %s -p 'convert-stablehlo-to-linalg,canonicalize,cse,linalg-fuse-elementwise,linalg-fuse-attention{queries=2}' | filecheck %s --check-prefix WIDE

// Where warps do not multiply matrices, nothing of this is fused.
// WIDE-NOT: linalg_ext.attention


// All in bf16: scores, scale, mask and softmax are f32, and what is left of bf16 are operands and result.
// CHECK-LABEL: func.func @masked
// CHECK-NOT: linalg.generic
// CHECK: "linalg_ext.attention"(%q, %k, %v, %mask, %{{.*}}) <{
// CHECK-NEXT: ^{{.*}}(%[[S:.*]]: f32, %[[M:.*]]: bf16):
// CHECK-NEXT: %[[W:.*]] = arith.extf %[[M]] : bf16 to f32
// CHECK-NEXT: %[[C:.*]] = arith.constant 5.0{{.*}} : f32
// CHECK-NEXT: %[[T:.*]] = arith.mulf %[[S]], %[[C]] : f32
// CHECK-NEXT: %[[R:.*]] = arith.addf %[[T]], %[[W]] : f32
// CHECK-NEXT: "linalg_ext.yield"(%[[R]])
// CHECK-NEXT: tensor<4x6xbf16>, tensor<2x4x8xbf16>) -> tensor<2x4x8xbf16>
// CHECK-NOT: linalg.generic
func.func @masked(%q: tensor<2x4x8xbf16>, %k: tensor<2x6x8xbf16>, %v: tensor<2x6x8xbf16>, %mask: tensor<4x6xbf16>) -> tensor<2x4x8xbf16> {
  %low = stablehlo.constant dense<0xFF80> : tensor<bf16>
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %a = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x4x8xbf16>, tensor<2x6x8xbf16>) -> tensor<2x4x6xbf16>
  %c = stablehlo.constant dense<0.5> : tensor<2x4x6xbf16>
  %b = stablehlo.multiply %a, %c : tensor<2x4x6xbf16>
  %mask3 = stablehlo.broadcast_in_dim %mask, dims = [1, 2] : (tensor<4x6xbf16>) -> tensor<2x4x6xbf16>
  %s = stablehlo.add %b, %mask3 : tensor<2x4x6xbf16>
  %m = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<2x4x6xbf16>, tensor<bf16>) -> tensor<2x4xbf16>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<2x4xbf16>) -> tensor<2x4x6xbf16>
  %d = stablehlo.subtract %s, %mb : tensor<2x4x6xbf16>
  %e = stablehlo.exponential %d : tensor<2x4x6xbf16>
  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x4x6xbf16>, tensor<bf16>) -> tensor<2x4xbf16>
  %tb = stablehlo.broadcast_in_dim %t, dims = [0, 1] : (tensor<2x4xbf16>) -> tensor<2x4x6xbf16>
  %p = stablehlo.divide %e, %tb : tensor<2x4x6xbf16>
  %o = stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x6xbf16>, tensor<2x6x8xbf16>) -> tensor<2x4x8xbf16>
  func.return %o : tensor<2x4x8xbf16>
}

// The softmax is computed in f32 and rounded back. What f16's lowest number hides is hidden.
// CHECK-LABEL: func.func @in_f32
// CHECK-NOT: linalg.generic
// CHECK: "linalg_ext.attention"(%q, %k, %v, %{{.*}}) <{{{.*}} causal = 2 : i64
// CHECK-NEXT: ^{{.*}}(%{{.*}}: f32):
// CHECK-NOT: arith.addf
// CHECK: -> tensor<2x4x8xf16>
// CHECK-NOT: linalg.generic
func.func @in_f32(%q: tensor<2x4x8xf16>, %k: tensor<2x6x8xf16>, %v: tensor<2x6x8xf16>) -> tensor<2x4x8xf16> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x4x8xf16>, tensor<2x6x8xf16>) -> tensor<2x4x6xf16>
  %mask = stablehlo.constant dense<[[0.0, 0.0, 0.0, -65504.0, -65504.0, -65504.0], [0.0, 0.0, 0.0, 0.0, -65504.0, -65504.0], [0.0, 0.0, 0.0, 0.0, 0.0, -65504.0], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]> : tensor<4x6xf16>
  %c = stablehlo.constant dense<0.5> : tensor<2x4x6xf16>
  %b = stablehlo.multiply %a, %c : tensor<2x4x6xf16>
  %mask3 = stablehlo.broadcast_in_dim %mask, dims = [1, 2] : (tensor<4x6xf16>) -> tensor<2x4x6xf16>
  %s = stablehlo.add %b, %mask3 : tensor<2x4x6xf16>
  %x = stablehlo.convert %s : (tensor<2x4x6xf16>) -> tensor<2x4x6xf32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<2x4x6xf32>, tensor<f32>) -> tensor<2x4xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x6xf32>
  %d = stablehlo.subtract %x, %mb : tensor<2x4x6xf32>
  %e = stablehlo.exponential %d : tensor<2x4x6xf32>
  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x4x6xf32>, tensor<f32>) -> tensor<2x4xf32>
  %tb = stablehlo.broadcast_in_dim %t, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x6xf32>
  %p = stablehlo.divide %e, %tb : tensor<2x4x6xf32>
  %w = stablehlo.convert %p : (tensor<2x4x6xf32>) -> tensor<2x4x6xf16>
  %o = stablehlo.dot_general %w, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x6xf16>, tensor<2x6x8xf16>) -> tensor<2x4x8xf16>
  func.return %o : tensor<2x4x8xf16>
}

// So it is by bf16's lowest number, in a mask that was written out for all heads.
// CHECK-LABEL: func.func @same_for_all_heads
// CHECK: "linalg_ext.attention"(%q, %k, %v, %{{.*}}) <{{{.*}} causal = 2 : i64
// CHECK-NEXT: ^{{.*}}(%{{.*}}: f32):
func.func @same_for_all_heads(%q: tensor<2x4x8xbf16>, %k: tensor<2x6x8xbf16>, %v: tensor<2x6x8xbf16>) -> tensor<2x4x8xbf16> {
  %low = stablehlo.constant dense<0xFF80> : tensor<bf16>
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %a = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x4x8xbf16>, tensor<2x6x8xbf16>) -> tensor<2x4x6xbf16>
  %mask = stablehlo.constant dense<[[[0.0, 0.0, 0.0, 0xFF7F, 0xFF7F, 0xFF7F], [0.0, 0.0, 0.0, 0.0, 0xFF7F, 0xFF7F], [0.0, 0.0, 0.0, 0.0, 0.0, 0xFF7F], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]], [[0.0, 0.0, 0.0, 0xFF7F, 0xFF7F, 0xFF7F], [0.0, 0.0, 0.0, 0.0, 0xFF7F, 0xFF7F], [0.0, 0.0, 0.0, 0.0, 0.0, 0xFF7F], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]]> : tensor<2x4x6xbf16>
  %s = stablehlo.add %a, %mask : tensor<2x4x6xbf16>
  %m = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<2x4x6xbf16>, tensor<bf16>) -> tensor<2x4xbf16>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<2x4xbf16>) -> tensor<2x4x6xbf16>
  %d = stablehlo.subtract %s, %mb : tensor<2x4x6xbf16>
  %e = stablehlo.exponential %d : tensor<2x4x6xbf16>
  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x4x6xbf16>, tensor<bf16>) -> tensor<2x4xbf16>
  %tb = stablehlo.broadcast_in_dim %t, dims = [0, 1] : (tensor<2x4xbf16>) -> tensor<2x4x6xbf16>
  %p = stablehlo.divide %e, %tb : tensor<2x4x6xbf16>
  %o = stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x6xbf16>, tensor<2x6x8xbf16>) -> tensor<2x4x8xbf16>
  func.return %o : tensor<2x4x8xbf16>
}

// One that is not the same is read.
// CHECK-LABEL: func.func @other_for_each_head
// CHECK: "linalg_ext.attention"(%q, %k, %v, %mask, %{{.*}}) <{indexing_maps
func.func @other_for_each_head(%q: tensor<2x4x8xbf16>, %k: tensor<2x6x8xbf16>, %v: tensor<2x6x8xbf16>) -> tensor<2x4x8xbf16> {
  %low = stablehlo.constant dense<0xFF80> : tensor<bf16>
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %a = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x4x8xbf16>, tensor<2x6x8xbf16>) -> tensor<2x4x6xbf16>
  %mask = stablehlo.constant dense<[[[0.0, 0.0, 0.0, 0xFF7F, 0xFF7F, 0xFF7F], [0.0, 0.0, 0.0, 0.0, 0xFF7F, 0xFF7F], [0.0, 0.0, 0.0, 0.0, 0.0, 0xFF7F], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]], [[0.0, 0.0, 0xFF7F, 0xFF7F, 0xFF7F, 0xFF7F], [0.0, 0.0, 0.0, 0xFF7F, 0xFF7F, 0xFF7F], [0.0, 0.0, 0.0, 0.0, 0xFF7F, 0xFF7F], [0.0, 0.0, 0.0, 0.0, 0.0, 0xFF7F]]]> : tensor<2x4x6xbf16>
  %s = stablehlo.add %a, %mask : tensor<2x4x6xbf16>
  %m = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<2x4x6xbf16>, tensor<bf16>) -> tensor<2x4xbf16>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<2x4xbf16>) -> tensor<2x4x6xbf16>
  %d = stablehlo.subtract %s, %mb : tensor<2x4x6xbf16>
  %e = stablehlo.exponential %d : tensor<2x4x6xbf16>
  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x4x6xbf16>, tensor<bf16>) -> tensor<2x4xbf16>
  %tb = stablehlo.broadcast_in_dim %t, dims = [0, 1] : (tensor<2x4xbf16>) -> tensor<2x4x6xbf16>
  %p = stablehlo.divide %e, %tb : tensor<2x4x6xbf16>
  %o = stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x6xbf16>, tensor<2x6x8xbf16>) -> tensor<2x4x8xbf16>
  func.return %o : tensor<2x4x8xbf16>
}

// Truth values that choose become numbers, once for all that read them.
// CHECK-LABEL: func.func @chosen
// CHECK: %[[N:.*]] = linalg.generic {{.*}} ins(%mask : tensor<4x6xi1>)
// CHECK: arith.uitofp %{{.*}} : i1 to bf16
// CHECK-NOT: linalg.generic
// CHECK: "linalg_ext.attention"(%q, %k, %v, %[[N]], %{{.*}}) <{
// CHECK-NEXT: ^{{.*}}(%[[S:.*]]: f32, %[[M:.*]]: bf16):
// CHECK-NEXT: %[[Z:.*]] = arith.constant 0.0{{.*}} : f32
// CHECK-NEXT: %[[W:.*]] = arith.extf %[[M]] : bf16 to f32
// CHECK-NEXT: %[[H:.*]] = arith.cmpf one, %[[W]], %[[Z]] : f32
// CHECK-NEXT: %[[L:.*]] = arith.constant -3.38953139e+38 : f32
// CHECK-NEXT: %[[R:.*]] = arith.select %[[H]], %[[S]], %[[L]] : f32
// CHECK-NEXT: "linalg_ext.yield"(%[[R]])
// CHECK-NOT: linalg.generic
func.func @chosen(%q: tensor<2x4x8xbf16>, %k: tensor<2x6x8xbf16>, %v: tensor<2x6x8xbf16>, %mask: tensor<4x6xi1>) -> tensor<2x4x8xbf16> {
  %low = stablehlo.constant dense<0xFF80> : tensor<bf16>
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %a = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x4x8xbf16>, tensor<2x6x8xbf16>) -> tensor<2x4x6xbf16>
  %hidden = stablehlo.constant dense<0xFF7F> : tensor<2x4x6xbf16>
  %sees = stablehlo.broadcast_in_dim %mask, dims = [1, 2] : (tensor<4x6xi1>) -> tensor<2x4x6xi1>
  %s = stablehlo.select %sees, %a, %hidden : tensor<2x4x6xi1>, tensor<2x4x6xbf16>
  %m = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<2x4x6xbf16>, tensor<bf16>) -> tensor<2x4xbf16>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<2x4xbf16>) -> tensor<2x4x6xbf16>
  %d = stablehlo.subtract %s, %mb : tensor<2x4x6xbf16>
  %e = stablehlo.exponential %d : tensor<2x4x6xbf16>
  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x4x6xbf16>, tensor<bf16>) -> tensor<2x4xbf16>
  %tb = stablehlo.broadcast_in_dim %t, dims = [0, 1] : (tensor<2x4xbf16>) -> tensor<2x4x6xbf16>
  %p = stablehlo.divide %e, %tb : tensor<2x4x6xbf16>
  %o = stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x6xbf16>, tensor<2x6x8xbf16>) -> tensor<2x4x8xbf16>
  func.return %o : tensor<2x4x8xbf16>
}

// In f32, too.
// CHECK-LABEL: func.func @chosen_f32
// CHECK: arith.uitofp %{{.*}} : i1 to f32
// CHECK: "linalg_ext.attention"
// CHECK-NEXT: ^{{.*}}(%{{.*}}: f32, %[[M:.*]]: f32):
// CHECK-NEXT: %[[Z:.*]] = arith.constant 0.0{{.*}} : f32
// CHECK-NEXT: arith.cmpf one, %[[M]], %[[Z]] : f32
func.func @chosen_f32(%q: tensor<2x4x8xf32>, %k: tensor<2x6x8xf32>, %v: tensor<2x6x8xf32>, %mask: tensor<4x6xi1>) -> tensor<2x4x8xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x4x8xf32>, tensor<2x6x8xf32>) -> tensor<2x4x6xf32>
  %hidden = stablehlo.constant dense<-1.0e9> : tensor<2x4x6xf32>
  %sees = stablehlo.broadcast_in_dim %mask, dims = [1, 2] : (tensor<4x6xi1>) -> tensor<2x4x6xi1>
  %s = stablehlo.select %sees, %a, %hidden : tensor<2x4x6xi1>, tensor<2x4x6xf32>
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

// Constant ones that choose what is not behind the query are the op's own.
// CHECK-LABEL: func.func @chosen_causal
// CHECK: "linalg_ext.attention"(%q, %k, %v, %{{.*}}) <{{{.*}} causal = 1 : i64
// CHECK-NEXT: ^{{.*}}(%[[S:.*]]: f32):
// CHECK-NOT: arith.select
// CHECK: "linalg_ext.yield"(%[[S]])
func.func @chosen_causal(%q: tensor<2x4x8xf16>, %k: tensor<2x6x8xf16>, %v: tensor<2x6x8xf16>) -> tensor<2x4x8xf16> {
  %low = stablehlo.constant dense<0xFC00> : tensor<f16>
  %zero = stablehlo.constant dense<0.0> : tensor<f16>
  %a = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x4x8xf16>, tensor<2x6x8xf16>) -> tensor<2x4x6xf16>
  %mask = stablehlo.constant dense<[[true, true, false, false, false, false], [true, true, true, false, false, false], [true, true, true, true, false, false], [true, true, true, true, true, false]]> : tensor<4x6xi1>
  %hidden = stablehlo.constant dense<-65504.0> : tensor<2x4x6xf16>
  %sees = stablehlo.broadcast_in_dim %mask, dims = [1, 2] : (tensor<4x6xi1>) -> tensor<2x4x6xi1>
  %s = stablehlo.select %sees, %a, %hidden : tensor<2x4x6xi1>, tensor<2x4x6xf16>
  %m = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<2x4x6xf16>, tensor<f16>) -> tensor<2x4xf16>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<2x4xf16>) -> tensor<2x4x6xf16>
  %d = stablehlo.subtract %s, %mb : tensor<2x4x6xf16>
  %e = stablehlo.exponential %d : tensor<2x4x6xf16>
  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x4x6xf16>, tensor<f16>) -> tensor<2x4xf16>
  %tb = stablehlo.broadcast_in_dim %t, dims = [0, 1] : (tensor<2x4xf16>) -> tensor<2x4x6xf16>
  %p = stablehlo.divide %e, %tb : tensor<2x4x6xf16>
  %o = stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x6xf16>, tensor<2x6x8xf16>) -> tensor<2x4x8xf16>
  func.return %o : tensor<2x4x8xf16>
}

// A result that is not rounded is f32.
// CHECK-LABEL: func.func @wide_result
// CHECK: "linalg_ext.attention"
// CHECK: -> tensor<2x4x8xf32>
func.func @wide_result(%q: tensor<2x4x8xbf16>, %k: tensor<2x6x8xbf16>, %v: tensor<2x6x8xbf16>) -> tensor<2x4x8xf32> {
  %low = stablehlo.constant dense<0xFF80> : tensor<bf16>
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %a = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x4x8xbf16>, tensor<2x6x8xbf16>) -> tensor<2x4x6xbf16>
  %c = stablehlo.constant dense<0.5> : tensor<2x4x6xbf16>
  %b = stablehlo.multiply %a, %c : tensor<2x4x6xbf16>
  %m = stablehlo.reduce(%b init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<2x4x6xbf16>, tensor<bf16>) -> tensor<2x4xbf16>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<2x4xbf16>) -> tensor<2x4x6xbf16>
  %d = stablehlo.subtract %b, %mb : tensor<2x4x6xbf16>
  %e = stablehlo.exponential %d : tensor<2x4x6xbf16>
  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x4x6xbf16>, tensor<bf16>) -> tensor<2x4xbf16>
  %tb = stablehlo.broadcast_in_dim %t, dims = [0, 1] : (tensor<2x4xbf16>) -> tensor<2x4x6xbf16>
  %p = stablehlo.divide %e, %tb : tensor<2x4x6xbf16>
  %o = stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x6xbf16>, tensor<2x6x8xbf16>) -> tensor<2x4x8xf32>
  func.return %o : tensor<2x4x8xf32>
}

// Roundings to another type of 16 bits stay.
// CHECK-LABEL: func.func @two_types
// CHECK-NOT: linalg_ext.attention
func.func @two_types(%q: tensor<2x4x8xbf16>, %k: tensor<2x6x8xbf16>, %v: tensor<2x6x8xbf16>) -> tensor<2x4x8xbf16> {
  %low = stablehlo.constant dense<0xFC00> : tensor<f16>
  %zero = stablehlo.constant dense<0.0> : tensor<f16>
  %a = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x4x8xbf16>, tensor<2x6x8xbf16>) -> tensor<2x4x6xbf16>
  %c = stablehlo.constant dense<0.5> : tensor<2x4x6xbf16>
  %b = stablehlo.multiply %a, %c : tensor<2x4x6xbf16>
  %x = stablehlo.convert %b : (tensor<2x4x6xbf16>) -> tensor<2x4x6xf16>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<2x4x6xf16>, tensor<f16>) -> tensor<2x4xf16>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<2x4xf16>) -> tensor<2x4x6xf16>
  %d = stablehlo.subtract %x, %mb : tensor<2x4x6xf16>
  %e = stablehlo.exponential %d : tensor<2x4x6xf16>
  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x4x6xf16>, tensor<f16>) -> tensor<2x4xf16>
  %tb = stablehlo.broadcast_in_dim %t, dims = [0, 1] : (tensor<2x4xf16>) -> tensor<2x4x6xf16>
  %p = stablehlo.divide %e, %tb : tensor<2x4x6xf16>
  %w = stablehlo.convert %p : (tensor<2x4x6xf16>) -> tensor<2x4x6xbf16>
  %o = stablehlo.dot_general %w, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x6xbf16>, tensor<2x6x8xbf16>) -> tensor<2x4x8xbf16>
  func.return %o : tensor<2x4x8xbf16>
}

// So do scores that somebody else reads,
// CHECK-LABEL: func.func @returned
// CHECK-NOT: linalg_ext.attention
func.func @returned(%q: tensor<2x4x8xbf16>, %k: tensor<2x6x8xbf16>, %v: tensor<2x6x8xbf16>) -> (tensor<2x4x8xbf16>, tensor<2x4x6xbf16>) {
  %low = stablehlo.constant dense<0xFF80> : tensor<bf16>
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %a = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x4x8xbf16>, tensor<2x6x8xbf16>) -> tensor<2x4x6xbf16>
  %c = stablehlo.constant dense<0.5> : tensor<2x4x6xbf16>
  %b = stablehlo.multiply %a, %c : tensor<2x4x6xbf16>
  %m = stablehlo.reduce(%b init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<2x4x6xbf16>, tensor<bf16>) -> tensor<2x4xbf16>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<2x4xbf16>) -> tensor<2x4x6xbf16>
  %d = stablehlo.subtract %b, %mb : tensor<2x4x6xbf16>
  %e = stablehlo.exponential %d : tensor<2x4x6xbf16>
  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x4x6xbf16>, tensor<bf16>) -> tensor<2x4xbf16>
  %tb = stablehlo.broadcast_in_dim %t, dims = [0, 1] : (tensor<2x4xbf16>) -> tensor<2x4x6xbf16>
  %p = stablehlo.divide %e, %tb : tensor<2x4x6xbf16>
  %o = stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x6xbf16>, tensor<2x6x8xbf16>) -> tensor<2x4x8xbf16>
  func.return %o, %b : tensor<2x4x8xbf16>, tensor<2x4x6xbf16>
}

// and what takes the bits of a score.
// CHECK-LABEL: func.func @bits
// CHECK-NOT: linalg_ext.attention
func.func @bits(%q: tensor<2x4x8xbf16>, %k: tensor<2x6x8xbf16>, %v: tensor<2x6x8xbf16>) -> tensor<2x4x8xbf16> {
  %low = stablehlo.constant dense<0xFF80> : tensor<bf16>
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %a = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x4x8xbf16>, tensor<2x6x8xbf16>) -> tensor<2x4x6xbf16>
  %i = stablehlo.bitcast_convert %a : (tensor<2x4x6xbf16>) -> tensor<2x4x6xi16>
  %j = stablehlo.abs %i : tensor<2x4x6xi16>
  %b = stablehlo.bitcast_convert %j : (tensor<2x4x6xi16>) -> tensor<2x4x6xbf16>
  %m = stablehlo.reduce(%b init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<2x4x6xbf16>, tensor<bf16>) -> tensor<2x4xbf16>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<2x4xbf16>) -> tensor<2x4x6xbf16>
  %d = stablehlo.subtract %b, %mb : tensor<2x4x6xbf16>
  %e = stablehlo.exponential %d : tensor<2x4x6xbf16>
  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x4x6xbf16>, tensor<bf16>) -> tensor<2x4xbf16>
  %tb = stablehlo.broadcast_in_dim %t, dims = [0, 1] : (tensor<2x4xbf16>) -> tensor<2x4x6xbf16>
  %p = stablehlo.divide %e, %tb : tensor<2x4x6xbf16>
  %o = stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x6xbf16>, tensor<2x6x8xbf16>) -> tensor<2x4x8xbf16>
  func.return %o : tensor<2x4x8xbf16>
}
