// RUN: lamina-opt %s -p gpu-expand-reductions | filecheck %s

// CHECK-LABEL: func.func @kernel
// CHECK: %[[A:.*]] = gpu.shuffle xor %x, 4 : f32
// CHECK-NEXT: %[[B:.*]] = arith.addf %x, %[[A]] : f32
// CHECK-NEXT: %[[C:.*]] = gpu.shuffle xor %[[B]], 2 : f32
// CHECK-NEXT: %[[D:.*]] = arith.addf %[[B]], %[[C]] : f32
// CHECK-NEXT: gpu.shuffle xor %[[D]], 1 : f32
// CHECK-COUNT-5: arith.maxsi
// CHECK: memref.view %{{.*}} : memref<256xi8, 3 : i32> to memref<4xi32, 3 : i32>
// CHECK: affine.if affine_set<(d0) : ((d0 mod 32) == 0)>
// CHECK-NEXT: affine.store %{{.*}}, %{{.*}}[%{{.*}} floordiv 32] : memref<4xi32, 3 : i32>
// CHECK: gpu.barrier
// CHECK: affine.load
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: gpu.shuffle xor %{{.*}}, 2 : i32
// CHECK: gpu.shuffle xor %{{.*}}, 1 : i32
func.func @kernel(%x: f32, %n: i32, %y: memref<f32>, %m: memref<i32>) attributes {gpu.kernel, gpu.known_block_size = array<i32: 128, 1, 1>} {
  %s = gpu.subgroup_reduce add %x cluster(size = 8) : f32
  %h = gpu.all_reduce maxsi %n : i32
  memref.store %s, %y[] : memref<f32>
  memref.store %h, %m[] : memref<i32>
  func.return
}
