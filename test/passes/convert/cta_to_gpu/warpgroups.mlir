// RUN: lamina-opt %s -p "convert-contraction-to-cta{unit=wgmma},cta-pipeline,convert-cta-to-gpu" | filecheck %s

// The host describes both operands. One thread copies; four products follow each other, and the stage before is given back.
// CHECK-LABEL: func.func private @product
// CHECK-NEXT: nvgpu.tma.create.descriptor %a {sizes = array<i64: 64, 256>, strides = array<i64: 256, 1>} : memref<64x256xbf16> to !nvgpu.tensormap<64x64xbf16, 128>
// CHECK-NEXT: nvgpu.tma.create.descriptor %b {sizes = array<i64: 256, 64>, strides = array<i64: 64, 1>} : memref<256x64xbf16> to !nvgpu.tensormap<64x64xbf16, 128>
// CHECK-NEXT: gpu.launch_func @product_0(%a, %b, %c, %{{.*}}, %{{.*}}) {blocks = array<i64: 1, 1, 1>, threads = array<i64: 256, 1, 1>}
// CHECK-LABEL: func.func private @product_0
// CHECK: gpu.dynamic_shared_memory : memref<65600xi8, 3 : i32>
// CHECK: gpu.subgroup_broadcast
// CHECK-COUNT-8: nvgpu.mbarrier.init
// CHECK: nvgpu.fence.mbarrier.init
// CHECK: gpu.barrier
// CHECK: nvgpu.mbarrier.try_wait.parity
// CHECK: nvgpu.mbarrier.arrive.expect_tx %{{.*}} {bytes = 16384 : i64}
// CHECK: nvgpu.tma.async.load
// CHECK: nvgpu.tma.async.load
// CHECK: nvgpu.mbarrier.try_wait.parity
// CHECK: nvgpu.warpgroup.fence
// CHECK-NEXT: nvgpu.warpgroup.mma {{.*}} {kind = "bf16", offsets = array<i64: 0, 0>, leading = array<i64: 16, 8192>, turned = array<i1: false, true>}
// CHECK-NEXT: nvgpu.warpgroup.mma {{.*}} offsets = array<i64: 32, 2048>
// CHECK-NEXT: nvgpu.warpgroup.mma {{.*}} offsets = array<i64: 64, 4096>
// CHECK-NEXT: nvgpu.warpgroup.mma {{.*}} offsets = array<i64: 96, 6144>
// CHECK-NEXT: nvgpu.warpgroup.commit
// CHECK-NEXT: nvgpu.warpgroup.wait {{.*}} {groups = 1 : i64}
// CHECK: arith.cmpi ne
// CHECK: nvgpu.mbarrier.arrive
// CHECK: affine.yield
// CHECK: nvgpu.warpgroup.wait {{.*}} {groups = 0 : i64}
// CHECK: nvgpu.mbarrier.arrive
func.func private @product(%a: memref<64x256xbf16>, %b: memref<256x64xbf16>, %c: memref<64x64xf32>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<64x64xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a, %b : memref<64x256xbf16>, memref<256x64xbf16>) outs(%c : memref<64x64xf32>) {
  ^bb0(%x: bf16, %y: bf16, %acc: f32):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %p = arith.mulf %xw, %yw : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
