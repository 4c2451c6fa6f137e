// The instructions of the main kernels: accesses of 16 bytes, no local memory, loops that multiply and do little else.
// RUN: lamina compile %s --target cuda:sm_80 -o %t.ptx
// RUN: cat %t.ptx | filecheck %s --check-prefixes CHECK,SM80
// RUN: cat %t.ptx | filecheck %s --check-prefix MEMORY
// RUN: lamina compile %s --target cuda:sm_90a -o %t.ptx
// RUN: cat %t.ptx | filecheck %s --check-prefixes CHECK,SM90
// RUN: cat %t.ptx | filecheck %s --check-prefix MEMORY
// MEMORY: .target
// MEMORY-NOT: .local

// Elementwise: 16 bytes of each source, 16 of the result.
// CHECK-LABEL: .entry kernel_0_0(
// CHECK-COUNT-2: ld.global.nc.v4.b32
// CHECK-NOT: ld.global
// CHECK: st.global.v4.b32
// CHECK-NOT: st.global

// Softmax: a row in registers; read once, two reductions over a warp, written once.
// CHECK-LABEL: .entry kernel_1_0(
// CHECK-COUNT-2: ld.global.nc.v4.b32
// CHECK-NOT: ld.global
// CHECK-COUNT-10: shfl.sync.bfly.b32
// CHECK-NOT: bar.sync
// CHECK-COUNT-2: st.global.v4.b32
// CHECK-NOT: st.global

// A norm: the same with one reduction.
// CHECK-LABEL: .entry kernel_2_0(
// CHECK-COUNT-2: ld.global.nc.v4.b32
// CHECK-NOT: ld.global
// CHECK-COUNT-5: shfl.sync.bfly.b32
// CHECK-NOT: shfl
// CHECK-COUNT-2: st.global.v4.b32
// CHECK-NOT: st.global

// A transpose: neighbours read, turned in shared memory, neighbours written.
// CHECK-LABEL: .entry kernel_3_0(
// CHECK-COUNT-16: st.shared.b32
// CHECK: bar.sync
// CHECK-NOT: ld.global
// CHECK-COUNT-16: st.global.b32
// CHECK-NOT: st.global

// A product of f32, whose sum eight blocks share: copies go on while threads multiply, all of 16 bytes but those that
// turn a tile; one barrier a step, 64 multiplications in the loop; then the parts are added.
// CHECK-LABEL: .entry kernel_4_0(
// CHECK-NOT: ld.global
// CHECK-COUNT-8: cp.async.ca.shared.global [%{{.*}}, 4;
// CHECK-COUNT-2: cp.async.cg.shared.global [%{{.*}}, 16;
// CHECK: cp.async.wait_group
// CHECK: bar.sync
// CHECK-NOT: bar.sync
// CHECK-NOT: ld.shared.b32
// CHECK: ld.shared.v4.b32
// CHECK-COUNT-64: fma.rn.f32
// CHECK-NOT: fma.rn.f32
// CHECK-COUNT-4: st.global.v4.b32
// CHECK-NOT: st.global
// CHECK-LABEL: .entry kernel_4_sums_0(
// CHECK-COUNT-8: ld.global.nc.b32
// CHECK-NOT: ld.global
// CHECK: st.global.b32

// A product of bf16 by warps: a loop begins two stages before that of the products; in it, one barrier and one
// more stage.
// CHECK-LABEL: .entry kernel_5_0(
// SM80-COUNT-8: cp.async.cg.shared.global
// SM80-COUNT-3: ldmatrix.sync.aligned.m8n8.x4
// SM80-COUNT-16: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// SM80-NOT: mma.sync
// SM80: cp.async.wait_group
// SM80: bar.sync
// SM80-COUNT-8: cp.async.cg.shared.global
// SM80-NOT: cp.async.cg
// SM80-COUNT-8: st.global.v2.b32
// SM80-NOT: st.global

// By warpgroups: four multiplications follow each other with addresses alone between; the copy engine brings two boxes.
// SM90: wgmma.fence.sync.aligned
// SM90: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16
// SM90-NEXT: // end inline asm
// SM90-NEXT: {{(add|or)\.[bs]64}}
// SM90-NEXT: {{(add|or)\.[bs]64}}
// SM90-NEXT: // begin inline asm
// SM90-NEXT: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16
// SM90-NEXT: // end inline asm
// SM90-NEXT: {{(add|or)\.[bs]64}}
// SM90-NEXT: {{(add|or)\.[bs]64}}
// SM90-NEXT: // begin inline asm
// SM90-NEXT: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16
// SM90-NEXT: // end inline asm
// SM90-NEXT: {{(add|or)\.[bs]64}}
// SM90-NEXT: {{(add|or)\.[bs]64}}
// SM90-NEXT: // begin inline asm
// SM90-NEXT: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16
// SM90-NEXT: // end inline asm
// SM90-NEXT: wgmma.commit_group.sync.aligned
// SM90-NOT: wgmma.mma_async
// SM90-COUNT-2: cp.async.bulk.tensor.2d
// SM90-NOT: cp.async

// A convolution is that product of windows: threads gather them, weights come in a box, products are the same. Its
// stages are more, so that the first copies are a loop.
// CHECK-LABEL: .entry kernel_6_0(
// SM80-COUNT-8: cp.async.cg.shared.global
// SM80-COUNT-3: ldmatrix.sync.aligned.m8n8.x4
// SM80-COUNT-16: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// SM80-NOT: mma.sync
// SM80: cp.async.wait_group
// SM80: bar.sync
// SM80-COUNT-8: cp.async.cg.shared.global
// SM80-NOT: cp.async.cg
// SM80-COUNT-8: st.global.v2.b32
// SM80-NOT: st.global
// SM90: mbarrier.try_wait.parity
// SM90: fence.proxy.async.shared::cta
// SM90: wgmma.fence.sync.aligned
// SM90: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16
// SM90-NEXT: // end inline asm
// SM90-NEXT: {{(add|or)\.[bs]64}}
// SM90-NEXT: {{(add|or)\.[bs]64}}
// SM90-NEXT: // begin inline asm
// SM90-NEXT: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16
// SM90-NEXT: // end inline asm
// SM90-NEXT: {{(add|or)\.[bs]64}}
// SM90-NEXT: {{(add|or)\.[bs]64}}
// SM90-NEXT: // begin inline asm
// SM90-NEXT: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16
// SM90-NEXT: // end inline asm
// SM90-NEXT: {{(add|or)\.[bs]64}}
// SM90-NEXT: {{(add|or)\.[bs]64}}
// SM90-NEXT: // begin inline asm
// SM90-NEXT: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16
// SM90-NEXT: // end inline asm
// SM90-NEXT: wgmma.commit_group.sync.aligned
// SM90-NOT: wgmma.mma_async
// SM90-COUNT-4: cp.async.cg.shared.global
// SM90-NOT: cp.async.cg
// SM90: cp.async.mbarrier.arrive.noinc.shared.b64
// SM90: cp.async.bulk.tensor.2d
// SM90: cp.async.wait_group 0
// SM90-COUNT-16: st.global.v2.b32
// SM90-NOT: st.global
func.func public @main(
  %x: tensor<24x128xf32>, %y: tensor<24x128xf32>, %s: tensor<8x256xf32>, %n: tensor<8x256xf32>, %t: tensor<4x256x192xf32>,
  %a: tensor<64x256xf32>, %b: tensor<256x64xf32>, %a2: tensor<64x256xbf16>, %b2: tensor<256x64xbf16>,
  %image: tensor<1x18x18x64xbf16>, %window: tensor<3x3x64x64xbf16>
) -> (tensor<24x128xf32>, tensor<8x256xf32>, tensor<8x256xf32>, tensor<4x192x256xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<1x16x16x64xf32>) {
  %e = stablehlo.multiply %x, %y : tensor<24x128xf32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<8x256xf32>, tensor<f32>) -> tensor<8xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<8xf32>) -> tensor<8x256xf32>
  %d = stablehlo.subtract %s, %mb : tensor<8x256xf32>
  %p = stablehlo.exponential %d : tensor<8x256xf32>
  %q = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x256xf32>, tensor<f32>) -> tensor<8xf32>
  %qb = stablehlo.broadcast_in_dim %q, dims = [0] : (tensor<8xf32>) -> tensor<8x256xf32>
  %softmax = stablehlo.divide %p, %qb : tensor<8x256xf32>
  %sq = stablehlo.multiply %n, %n : tensor<8x256xf32>
  %ss = stablehlo.reduce(%sq init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x256xf32>, tensor<f32>) -> tensor<8xf32>
  %r = stablehlo.rsqrt %ss : tensor<8xf32>
  %rb = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<8xf32>) -> tensor<8x256xf32>
  %norm = stablehlo.multiply %n, %rb : tensor<8x256xf32>
  %turned = stablehlo.transpose %t, dims = [0, 2, 1] : (tensor<4x256x192xf32>) -> tensor<4x192x256xf32>
  %fma = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<64x256xf32>, tensor<256x64xf32>) -> tensor<64x64xf32>
  %mma = stablehlo.dot_general %a2, %b2, contracting_dims = [1] x [0] : (tensor<64x256xbf16>, tensor<256x64xbf16>) -> tensor<64x64xf32>
  %conv = stablehlo.convolution(%image, %window) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x18x18x64xbf16>, tensor<3x3x64x64xbf16>) -> tensor<1x16x16x64xf32>
  return %e, %softmax, %norm, %turned, %fma, %mma, %conv : tensor<24x128xf32>, tensor<8x256xf32>, tensor<8x256xf32>, tensor<4x192x256xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<1x16x16x64xf32>
}
