// RUN: lamina-opt %s -p gpu-fuse-points,convert-affine-to-gpu | filecheck %s

// Parts side by side are one launch: the first blocks do the first part.
func.func private @parts(%x: memref<300xf32>, %z: memref<20xf32>, %y: memref<320xf32>) attributes {lamina.kernel = "copy"} {
  affine.parallel (%i) = (0) to (300) {
    %a = affine.load %x[%i] : memref<300xf32>
    affine.store %a, %y[%i] : memref<320xf32>
  }
  affine.parallel (%i) = (0) to (20) {
    %a = affine.load %z[%i] : memref<20xf32>
    affine.store %a, %y[%i + 300] : memref<320xf32>
  }
  func.return
}
// CHECK-LABEL: func.func private @parts(
// CHECK-NEXT: gpu.launch_func @parts_0(%x, %y, %z) {blocks = array<i64: 4, 1, 1>, threads = array<i64: 128, 1, 1>}
// CHECK-NEXT: func.return
// CHECK: func.func private @parts_0(%x: memref<300xf32>, %y: memref<320xf32>, %z: memref<20xf32>)
// CHECK: [[B:%.*]] = gpu.block_id x
// CHECK: [[T:%.*]] = gpu.thread_id x
// CHECK: affine.if affine_set<(d0, d1) : (((d0 * -1) + 2) >= 0)>([[B]], [[T]])
// CHECK: affine.store {{.*}}, %y
// CHECK: affine.if affine_set<(d0, d1) : ((d0 + -3) >= 0, ((d1 * -1) + 31) >= 0)>([[B]], [[T]])
// CHECK: affine.apply affine_map<(d0) -> ((d0 + -3))> ([[B]])
// CHECK: affine.store {{.*}}, %y
// CHECK-NOT: @parts_1

// Blocks cannot wait for each other: not what overlaps, nor what is read and written.
// CHECK-LABEL: func.func private @after_each_other(
func.func private @after_each_other(%x: memref<300xf32>, %y: memref<320xf32>, %z: memref<300xf32>) attributes {lamina.kernel = "copy"} {
  affine.parallel (%i) = (0) to (300) {
    %a = affine.load %x[%i] : memref<300xf32>
    affine.store %a, %y[%i] : memref<320xf32>
  }
  affine.parallel (%i) = (0) to (300) {
    %a = affine.load %x[-%i + 299] : memref<300xf32>
    affine.store %a, %y[%i + 20] : memref<320xf32>
  }
  affine.parallel (%i) = (0) to (300) {
    %a = affine.load %y[-%i + 299] : memref<320xf32>
    affine.store %a, %z[%i] : memref<300xf32>
  }
  func.return
}
// CHECK: gpu.launch_func @after_each_other_0
// CHECK: gpu.launch_func @after_each_other_1
// CHECK: gpu.launch_func @after_each_other_2
