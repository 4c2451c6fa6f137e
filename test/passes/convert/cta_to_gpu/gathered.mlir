// RUN: lamina-opt %s -p "convert-contraction-to-cta{unit=wgmma},cta-pipeline" | filecheck %s --check-prefix TILES
// RUN: lamina-opt %s -p "convert-contraction-to-cta{unit=wgmma},cta-pipeline,convert-cta-to-gpu" | filecheck %s

// Windows of an image lie in shared memory as a plain matrix does.
// TILES-LABEL: func.func private @convolution
// TILES: schedule = {unit = "wgmma", rows = 64 : i64, columns = 64 : i64, depth = 64 : i64, down = 1 : i64, across = 1 : i64, stages = 4 : i64}
// TILES: cta.view %x : memref<1x12x12x16xbf16> to !cta.view<bf16, (1,(10,10),(48,3)):(0,(16,192),(1,192))>
// TILES: cta.view %w : memref<3x3x16x64xbf16> to !cta.view<bf16, (1,144,64):(0,64,1)>
// TILES: cta.pipeline({{.*}}) {size = 144 : i64, step = 64 : i64, stages = 4 : i64}
// TILES: cta.load {{.*}} to tensor<64x64xbf16, #cta.shared<(64,64):(64,1), swizzle<3,4,3>>>
// TILES-NEXT: cta.load {{.*}} to tensor<64x64xbf16, #cta.shared<(64,64):(64,1), swizzle<3,4,3>>>

// The host describes the weights alone. A stage is full when one thread's box has come, and what 128 threads gathered;
// these stay until then. Who multiplies has a fence between what threads copied and the first product.
// CHECK-LABEL: func.func private @convolution
// CHECK-NEXT: nvgpu.tma.create.descriptor %w {sizes = array<i64: 144, 64>, strides = array<i64: 64, 1>} : memref<3x3x16x64xbf16> to !nvgpu.tensormap<64x64xbf16, 128>
// CHECK-NEXT: gpu.launch_func @convolution_0(%x, %w, %y, %{{.*}}) {blocks = array<i64: 2, 1, 1>, threads = array<i64: 256, 1, 1>}
// CHECK-LABEL: func.func private @convolution_0
// CHECK: gpu.dynamic_shared_memory : memref<65600xi8, 3 : i32>
// CHECK: nvgpu.mbarrier.init %{{.*}} {count = 129 : i64}
// CHECK: nvgpu.mbarrier.init %{{.*}} {count = 1 : i64}
// CHECK: gpu.barrier
// CHECK: nvgpu.mbarrier.try_wait.parity
// CHECK: scf.if
// CHECK-NEXT: nvgpu.mbarrier.arrive.expect_tx %{{.*}} {bytes = 8192 : i64}
// CHECK: nvgpu.tma.async.load
// CHECK-NOT: nvgpu.tma.async.load
// CHECK-COUNT-4: nvgpu.device_async_copy {{.*}} {bytes = 16 : i64} : memref<2304xbf16> to memref<65600xi8, 3 : i32>
// CHECK-NOT: nvgpu.device_async_copy
// CHECK: nvgpu.device_async_arrive
// CHECK: nvgpu.device_async_create_group
// CHECK-NEXT: nvgpu.device_async_wait {groups = 0 : i64}
// CHECK: nvgpu.mbarrier.try_wait.parity
// CHECK: nvgpu.fence.proxy.async
// CHECK: nvgpu.warpgroup.fence
// CHECK-NEXT: nvgpu.warpgroup.mma {{.*}} offsets = array<i64: 0, 0>, leading = array<i64: 16, 8192>, turned = array<i1: false, true>}
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
func.func private @convolution(%x: memref<1x12x12x16xbf16>, %w: memref<3x3x16x64xbf16>, %y: memref<1x10x10x64xf32>) attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<1x10x10x64xf32>)
  linalg.generic {indexing_maps = [affine_map<(b, h, w, o, i, j, c) -> (b, h + i, w + j, c)>, affine_map<(b, h, w, o, i, j, c) -> (i, j, c, o)>, affine_map<(b, h, w, o, i, j, c) -> (b, h, w, o)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
    ins(%x, %w : memref<1x12x12x16xbf16>, memref<3x3x16x64xbf16>) outs(%y : memref<1x10x10x64xf32>) {
  ^bb0(%l: bf16, %r: bf16, %acc: f32):
    %lw = arith.extf %l : bf16 to f32
    %rw = arith.extf %r : bf16 to f32
    %p = arith.mulf %lw, %rw : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
