// RUN: lamina-opt %s | lamina-opt | filecheck %s

// CHECK-LABEL: func.func @host
// CHECK: gpu.launch_func @kernel(%x) {blocks = array<i64: 2, 1, 1>, threads = array<i64: 64, 1, 1>} : memref<128xf32>
func.func @host(%x: memref<128xf32>) {
  gpu.launch_func @kernel(%x) {blocks = array<i64: 2, 1, 1>, threads = array<i64: 64, 1, 1>} : memref<128xf32>
  func.return
}

// CHECK: attributes {gpu.kernel}
// CHECK-NEXT: gpu.block_id x
// CHECK-NEXT: gpu.thread_id y
// CHECK: gpu.dynamic_shared_memory : memref<512xi8, 3 : i32>
// CHECK: gpu.shuffle xor %{{.*}}, 16 : f32
// CHECK: gpu.subgroup_reduce maximumf %{{.*}} cluster(size = 8) : f32
// CHECK: gpu.all_reduce add %{{.*}} : f32
// CHECK: gpu.barrier
func.func @kernel(%x: memref<128xf32>) attributes {gpu.kernel} {
  %b = gpu.block_id x
  %t = gpu.thread_id y
  %smem = gpu.dynamic_shared_memory : memref<512xi8, 3 : i32>
  %v = memref.load %x[%t] : memref<128xf32>
  %s = gpu.shuffle xor %v, 16 : f32
  %m = gpu.subgroup_reduce maximumf %s cluster(size = 8) : f32
  %a = gpu.all_reduce add %m : f32
  gpu.barrier
  memref.store %a, %x[%b] : memref<128xf32>
  func.return
}
