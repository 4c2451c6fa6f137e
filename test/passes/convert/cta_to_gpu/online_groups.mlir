// RUN: lamina-opt %s -p "convert-attention-to-cta,cta-pipeline,convert-cta-to-gpu" | filecheck %s

// The host describes queries, keys and values. One thread brings queries, then keys and values, each of which a stage
// has barriers for. The loop begins the scores of a step and the sums of the one before, and gives keys back first.
// CHECK-LABEL: func.func private @attention(
// CHECK-COUNT-2: nvgpu.tma.create.descriptor {{.*}} to !nvgpu.tensormap<1x64x64xbf16, 128>
// CHECK-NEXT: nvgpu.tma.create.descriptor %q {{.*}} to !nvgpu.tensormap<1x128x64xbf16, 128>
// CHECK-NEXT: gpu.launch_func @attention_0({{.*}}) {blocks = array<i64: 32, 1, 1>, threads = array<i64: 384, 1, 1>}
// CHECK-LABEL: func.func private @attention_0(
// CHECK: gpu.dynamic_shared_memory : memref<49224xi8, 3 : i32>
// CHECK: affine.min affine_map<(d0) -> ((d0 + 128), 1024)>
// CHECK-COUNT-9: nvgpu.mbarrier.init
// CHECK-NEXT: nvgpu.fence.mbarrier.init
// CHECK: gpu.barrier
// CHECK: nvgpu.set_max_registers {count = 40 : i64}
// CHECK: nvgpu.mbarrier.arrive.expect_tx %{{.*}} {bytes = 16384 : i64}
// CHECK: nvgpu.tma.async.load
// CHECK: affine.for
// CHECK: nvgpu.mbarrier.try_wait.parity
// CHECK: nvgpu.mbarrier.arrive.expect_tx %{{.*}} {bytes = 8192 : i64}
// CHECK: nvgpu.tma.async.load
// CHECK: nvgpu.mbarrier.try_wait.parity
// CHECK: nvgpu.mbarrier.arrive.expect_tx %{{.*}} {bytes = 8192 : i64}
// CHECK: nvgpu.tma.async.load
// CHECK: nvgpu.set_max_registers {count = 232 : i64, more}
// CHECK-COUNT-4: nvgpu.warpgroup.mma %
// CHECK-NEXT: nvgpu.warpgroup.commit
// CHECK-NEXT: nvgpu.warpgroup.wait {{.*}} {groups = 0 : i64}
// CHECK: nvgpu.mbarrier.arrive
// CHECK: arith.cmpi slt
// CHECK: nvgpu.exp2
// CHECK: nvgpu.round_pair
// CHECK: affine.for
// CHECK: nvgpu.mbarrier.try_wait.parity
// CHECK: nvgpu.warpgroup.fence : () -> ()
// CHECK-NEXT: nvgpu.warpgroup.mma %{{.*}}[%{{.*}}, %{{.*}}] {kind = "bf16", offsets = array<i64: 0, 0>, leading = array<i64: 16, 16>, turned = array<i1: false, false>}
// CHECK-NEXT: nvgpu.warpgroup.mma {{.*}} offsets = array<i64: 32, 32>
// CHECK-NEXT: nvgpu.warpgroup.mma {{.*}} offsets = array<i64: 64, 64>
// CHECK-NEXT: nvgpu.warpgroup.mma {{.*}} offsets = array<i64: 96, 96>
// CHECK-NEXT: nvgpu.warpgroup.commit
// CHECK: nvgpu.mbarrier.try_wait.parity
// CHECK: nvgpu.warpgroup.fence
// CHECK: nvgpu.warpgroup.mma.registers {{.*}} {kind = "bf16", offset = 0 : i64, leading = 8192 : i64, turned}
// CHECK-NEXT: nvgpu.warpgroup.mma.registers {{.*}} offset = 2048 : i64
// CHECK-NEXT: nvgpu.warpgroup.mma.registers {{.*}} offset = 4096 : i64
// CHECK-NEXT: nvgpu.warpgroup.mma.registers {{.*}} offset = 6144 : i64
// CHECK-NEXT: nvgpu.warpgroup.commit
// CHECK-NEXT: nvgpu.warpgroup.wait {{.*}} {groups = 1 : i64}
// CHECK: nvgpu.mbarrier.arrive
// CHECK: nvgpu.exp2
// CHECK: nvgpu.warpgroup.wait {{.*}} {groups = 0 : i64}
// CHECK: nvgpu.mbarrier.arrive
// CHECK: nvgpu.round_pair
// CHECK: affine.yield
// CHECK-COUNT-4: nvgpu.warpgroup.mma.registers
// CHECK-NEXT: nvgpu.warpgroup.commit
// CHECK-NEXT: nvgpu.warpgroup.wait {{.*}} {groups = 0 : i64}
// CHECK: affine.vector_store {{.*}} vector<2xf32>
func.func private @attention(%q: memref<4x1024x64xbf16>, %k: memref<4x1024x64xbf16>, %v: memref<4x1024x64xbf16>, %o: memref<4x1024x64xf32>) attributes {lamina.kernel = "attention", cta.schedule = {unit = "wgmma", rows = 128 : i64, columns = 64 : i64, depth = 64 : i64, down = 2 : i64, across = 1 : i64, stages = 2 : i64}} {
  "linalg_ext.attention"(%q, %k, %v, %o) <{causal = 0 : i64, indexing_maps = [
      affine_map<(h, m, d, s, n) -> (h, m, d)>, affine_map<(h, m, d, s, n) -> (h, s, d)>,
      affine_map<(h, m, d, s, n) -> (h, s, n)>, affine_map<(h, m, d, s, n) -> (h, m, n)>], operandSegmentSizes = array<i32: 3, 1>}> ({
  ^bb0(%s: f32):
    "linalg_ext.yield"(%s) : (f32) -> ()
  }) : (memref<4x1024x64xbf16>, memref<4x1024x64xbf16>, memref<4x1024x64xbf16>, memref<4x1024x64xf32>) -> ()
  func.return
}

// Two warpgroups take turns: the second one lets the first begin, each lets the other one go on.
// CHECK-LABEL: func.func private @turns_0(
// CHECK: nvgpu.barrier.arrive %{{.*}} {threads = 256 : i64}
// CHECK: affine.for {{.*}} iter_args
// CHECK: nvgpu.barrier.sync %{{.*}} {threads = 256 : i64}
// CHECK-NEXT: nvgpu.warpgroup.fence
// CHECK: nvgpu.warpgroup.mma.registers
// CHECK: nvgpu.barrier.arrive %{{.*}} {threads = 256 : i64}
// CHECK-NEXT: nvgpu.warpgroup.wait {{.*}} {groups = 1 : i64}
// CHECK: affine.yield
// CHECK: nvgpu.barrier.sync
// CHECK: nvgpu.barrier.arrive
// CHECK: nvgpu.warpgroup.wait {{.*}} {groups = 0 : i64}
func.func private @turns(%q: memref<1024x128xbf16>, %k: memref<1024x128xbf16>, %v: memref<1024x128xbf16>, %o: memref<1024x128xf32>) attributes {lamina.kernel = "attention", cta.schedule = {unit = "wgmma", rows = 128 : i64, columns = 128 : i64, depth = 64 : i64, down = 2 : i64, across = 1 : i64, stages = 2 : i64}} {
  "linalg_ext.attention"(%q, %k, %v, %o) <{indexing_maps = [
      affine_map<(m, d, s, n) -> (m, d)>, affine_map<(m, d, s, n) -> (s, d)>,
      affine_map<(m, d, s, n) -> (s, n)>, affine_map<(m, d, s, n) -> (m, n)>], operandSegmentSizes = array<i32: 3, 1>}> ({
  ^bb0(%s: f32):
    "linalg_ext.yield"(%s) : (f32) -> ()
  }) : (memref<1024x128xbf16>, memref<1024x128xbf16>, memref<1024x128xbf16>, memref<1024x128xf32>) -> ()
  func.return
}
