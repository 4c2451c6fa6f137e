// RUN: lamina-opt %s -p convert-affine-to-gpu | filecheck %s

// An image of three channels is turned with its pad: a block writes rows of the result, whole. What it reads begins
// seven numbers earlier, with a sector; rows and channels lie so far apart that neither side meets a bank twice.
func.func private @image(%x: memref<3x64x64xf32>, %y: memref<66x66x3xf32>) attributes {lamina.kernel = "copy"} {
  %zero = arith.constant 0.0 : f32
  affine.parallel (%i, %j, %c) = (0, 0, 0) to (66, 66, 3) {
    %v = affine.if affine_set<(d0, d1) : (d0 - 1 >= 0, -d0 + 64 >= 0, d1 - 1 >= 0, -d1 + 64 >= 0)> (%i, %j) -> (f32) {
      %l = affine.load %x[%c, %i - 1, %j - 1] : memref<3x64x64xf32>
      affine.yield %l : f32
    } else {
      affine.yield %zero : f32
    }
    affine.store %v, %y[%i, %j, %c] : memref<66x66x3xf32>
  }
  func.return
}
// Where the first point of a block is written inside of a sector, threads begin with the points before it, which others
// do: warps write whole sectors.
// CHECK-LABEL: func.func private @image(
// CHECK: gpu.launch_func @image_0({{.*}}) {blocks = array<i64: 33, 1, 1>, threads = array<i64: 256, 1, 1>}
// CHECK: func.func private @image_0(
// CHECK: memref.view {{.*}} to memref<609xf32, 3 : i32>
// CHECK: affine.apply affine_map<(d0) -> ((d0 mod 96))>
// CHECK: [[X:%.*]] = affine.apply affine_map<(d0, d1) -> (((d0 + d1) + -7))>
// CHECK: affine.if affine_set<(d0, d1) : (((d0 * -1) + 575) >= 0, ((d1 * -1) + 65) >= 0)>(%{{.*}}, [[X]])
// CHECK-NEXT: [[V:%.*]] = affine.if affine_set<(d0, d1) : ((d0 + -1) >= 0, ((d0 * -1) + 64) >= 0, (d1 + -1) >= 0, ((d1 * -1) + 64) >= 0)>
// CHECK-NEXT: affine.load %x
// CHECK: affine.store [[V]], %{{.*}}[%{{.*}} * 203 + %{{.*}} * 98 + %{{.*}}] : memref<609xf32, 3 : i32>
// CHECK: gpu.barrier
// CHECK: [[BEFORE:%.*]] = affine.apply affine_map<(d0) -> ((d0 mod 8))>
// CHECK: [[N:%.*]] = affine.apply affine_map<(d0, d1) -> ((d0 + (d1 * -1)))> (%{{.*}}, [[BEFORE]])
// CHECK-NEXT: [[LOW:%.*]] = affine.apply affine_map<(d0) -> ((d0 * -1))> ([[N]])
// CHECK: affine.if affine_set<(d0, d1) : ((d0 * -1) >= 0, ((d1 * -1) + 395) >= 0)>([[LOW]], [[N]])
// CHECK: [[W:%.*]] = affine.load %{{.*}}[%{{.*}} * 203 + %{{.*}} * 98 + %{{.*}} + 7] : memref<609xf32, 3 : i32>
// CHECK-NEXT: affine.store [[W]], %y

// Channels shuffled by fours: a block takes whole ones, which are neighbours on both sides. No gap keeps banks apart,
// so that warps write four sectors of as many neighbours.
func.func private @shuffled(%x: memref<256x4x12xf32>, %y: memref<256x12x4xf32>) attributes {lamina.kernel = "copy"} {
  affine.parallel (%i, %j, %k) = (0, 0, 0) to (256, 12, 4) {
    %v = affine.load %x[%i, %k, %j] : memref<256x4x12xf32>
    affine.store %v, %y[%i, %j, %k] : memref<256x12x4xf32>
  }
  func.return
}
// CHECK-LABEL: func.func private @shuffled(
// CHECK: gpu.launch_func @shuffled_0({{.*}}) {blocks = array<i64: 32, 1, 1>, threads = array<i64: 256, 1, 1>}
// CHECK: affine.load %x[%{{.*}}, %{{.*}}, %{{.*}}] : memref<256x4x12xf32>
// CHECK: affine.store {{.*}}, 3 : i32>
// CHECK: gpu.barrier
// CHECK: affine.apply affine_map<(d0) -> ({{.*}} mod 32) floordiv 8) * 48{{.*}}>
// CHECK: affine.load {{.*}}, 3 : i32>
// CHECK-NEXT: affine.store {{.*}} : memref<256x12x4xf32>

// What all points read in the order in which they write has no need of shared memory.
func.func private @straight(%x: memref<256x4x12xf32>, %y: memref<256x4x12xf32>) attributes {lamina.kernel = "copy"} {
  affine.parallel (%i, %j, %k) = (0, 0, 0) to (256, 4, 12) {
    %v = affine.load %x[%i, %j, %k] : memref<256x4x12xf32>
    affine.store %v, %y[%i, %j, %k] : memref<256x4x12xf32>
  }
  func.return
}
// CHECK-LABEL: func.func private @straight(
// CHECK-NOT: gpu.dynamic_shared_memory

// Points of two rows of 102 are a warp's at times: rows lie 102 and whole banks apart, which is more than the 107 that
// they have, and are brought by four warps each, so that none brings parts of two.
func.func private @wide(%x: memref<3x96x96xf32>, %y: memref<102x102x3xf32>) attributes {lamina.kernel = "copy"} {
  %zero = arith.constant 0.0 : f32
  affine.parallel (%i, %j, %c) = (0, 0, 0) to (102, 102, 3) {
    %v = affine.if affine_set<(d0, d1) : (d0 - 3 >= 0, -d0 + 98 >= 0, d1 - 3 >= 0, -d1 + 98 >= 0)> (%i, %j) -> (f32) {
      %l = affine.load %x[%c, %i - 3, %j - 3] : memref<3x96x96xf32>
      affine.yield %l : f32
    } else {
      affine.yield %zero : f32
    }
    affine.store %v, %y[%i, %j, %c] : memref<102x102x3xf32>
  }
  func.return
}
// CHECK-LABEL: func.func private @wide_0(
// CHECK: affine.apply affine_map<(d0) -> ((d0 mod 128))>
// CHECK: affine.store {{.*}} * 134 + {{.*}}, 3 : i32>
// CHECK: gpu.barrier
