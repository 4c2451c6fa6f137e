// Attention by warpgroups: runs of products with addresses alone between, weights in registers, nothing in local memory.
// RUN: lamina compile %s --target cuda:sm_90a -o %t.ptx
// RUN: cat %t.ptx | filecheck %s
// RUN: cat %t.ptx | filecheck %s --check-prefix MEMORY
// MEMORY: .target
// MEMORY-NOT: .local
// MEMORY-NOT: {{(ld|st)\.shared}}

// CHECK: bar.sync
// CHECK: wgmma.wait_group.sync.aligned 0
// CHECK-COUNT-2: shfl.sync.bfly.b32
// CHECK: ex2.approx.ftz.f32
// CHECK: wgmma.fence.sync.aligned
// CHECK: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{.*}}, 0, 1, 1, 0, 0;
// CHECK-NEXT: // end inline asm
// CHECK-NEXT: {{(add|or)\.[bs]64}}
// CHECK-NEXT: // begin inline asm
// CHECK-NEXT: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{.*}}, 1, 1, 1, 0, 0;
// CHECK: wgmma.commit_group.sync.aligned
// CHECK: wgmma.fence.sync.aligned
// CHECK: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{.*}}, 1, 1, 1, 1;
// CHECK-NEXT: // end inline asm
// CHECK-NEXT: {{(add|or)\.[bs]64}}
// CHECK-NEXT: // begin inline asm
// CHECK-NEXT: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{.*}}, 1, 1, 1, 1;
// CHECK-NEXT: // end inline asm
// CHECK-NEXT: {{(add|or)\.[bs]64}}
// CHECK-NEXT: // begin inline asm
// CHECK-NEXT: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{.*}}, 1, 1, 1, 1;
// CHECK-NEXT: // end inline asm
// CHECK-NEXT: {{(add|or)\.[bs]64}}
// CHECK-NEXT: // begin inline asm
// CHECK-NEXT: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{.*}}, 1, 1, 1, 1;
// CHECK-NEXT: // end inline asm
// CHECK-NEXT: wgmma.commit_group.sync.aligned
// CHECK: wgmma.wait_group.sync.aligned 1
// CHECK: ex2.approx.ftz.f32
// CHECK: wgmma.wait_group.sync.aligned 0
// CHECK: st.global.v2.b32
// CHECK-COUNT-3: cp.async.bulk.tensor.3d
// CHECK-NOT: cp.async
func.func public @main(%q: tensor<2x70x64xbf16>, %k: tensor<2x300x64xbf16>, %v: tensor<2x300x64xbf16>, %o: tensor<2x70x64xf32>) -> tensor<2x70x64xf32> {
  %y = func.call @attention(%q, %k, %v, %o) : (tensor<2x70x64xbf16>, tensor<2x300x64xbf16>, tensor<2x300x64xbf16>, tensor<2x70x64xf32>) -> tensor<2x70x64xf32>
  func.return %y : tensor<2x70x64xf32>
}

func.func private @attention(%q: tensor<2x70x64xbf16>, %k: tensor<2x300x64xbf16>, %v: tensor<2x300x64xbf16>, %o: tensor<2x70x64xf32>) -> tensor<2x70x64xf32> attributes {lamina.kernel = "attention", cta.schedule = {unit = "wgmma", rows = 64 : i64, columns = 64 : i64, depth = 64 : i64, down = 1 : i64, across = 1 : i64, stages = 2 : i64}} {
  %y = "linalg_ext.attention"(%q, %k, %v, %o) <{causal = 230 : i64, indexing_maps = [
      affine_map<(h, m, d, s, n) -> (h, m, d)>, affine_map<(h, m, d, s, n) -> (h, s, d)>,
      affine_map<(h, m, d, s, n) -> (h, s, n)>, affine_map<(h, m, d, s, n) -> (h, m, n)>], operandSegmentSizes = array<i32: 3, 1>}> ({
  ^bb0(%s: f32):
    "linalg_ext.yield"(%s) : (f32) -> ()
  }) : (tensor<2x70x64xbf16>, tensor<2x300x64xbf16>, tensor<2x300x64xbf16>, tensor<2x70x64xf32>) -> tensor<2x70x64xf32>
  func.return %y : tensor<2x70x64xf32>
}
