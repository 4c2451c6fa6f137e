// RUN: lamina-opt %s -p gpu-distribute-tiles | filecheck %s

// A warp for each of ten rows, four in a block, of the last of which two do nothing; 200 elements are 50 vectors, so
// that not all lanes have a second one.
// CHECK-LABEL: func.func private @warps
// CHECK-NEXT: gpu.launch_func @warps_0(%x, %y) {blocks = array<i64: 3, 1, 1>, threads = array<i64: 128, 1, 1>}
// CHECK-LABEL: func.func private @warps_0
// CHECK: %[[LANE:.*]] = affine.apply affine_map<(d0) -> ((d0 mod 32))> (%{{.*}})
// CHECK: %[[ROW:.*]] = affine.apply affine_map<(d0, d1) -> (((d0 * 4) + (d1 floordiv 32)))>
// CHECK: affine.if affine_set<(d0) : (((d0 * -1) + 9) >= 0)>(%[[ROW]]) {
// CHECK: %[[A:.*]] = affine.vector_load %{{.*}}[%{{.*}} * 200 + %[[LANE]] * 4] {alignment = 16 : i64} : memref<2000xf32>, vector<4xf32>
// CHECK: %[[B:.*]] = affine.if affine_set<(d0) : (((d0 * -1) + 17) >= 0)>(%[[LANE]]) -> (vector<4xf32>) {
// CHECK: affine.vector_load %{{.*}}[%{{.*}} * 200 + %[[LANE]] * 4 + 128] {alignment = 16 : i64}
// CHECK: %[[C:.*]] = arith.select %{{.*}}, %[[B]], %{{.*}} : vector<4xf32>
// CHECK: %[[SUM:.*]] = arith.addf %[[A]], %[[C]] : vector<4xf32>
// CHECK: %[[MINE:.*]] = vector.reduction <add>, %[[SUM]] : vector<4xf32> into f32
// CHECK: gpu.subgroup_reduce add %[[MINE]] cluster(size = 32) : f32
// CHECK: affine.vector_store
// CHECK: affine.if
// CHECK: affine.vector_store
func.func private @warps(%x: memref<10x200xf32>, %y: memref<10x200xf32>) attributes {lamina.kernel = "rows"} {
  affine.parallel (%i) = (0) to (10) {
    %row = affine.vector_load %x[%i, 0] : memref<10x200xf32>, vector<200xf32>
    %s = vector.reduction <add>, %row : vector<200xf32> into f32
    %all = vector.broadcast %s : f32 to vector<200xf32>
    %d = arith.divf %row, %all : vector<200xf32>
    affine.vector_store %d, %y[%i, 0] : memref<10x200xf32>, vector<200xf32>
  }
  func.return
}

// Short rows: eight threads each, sixteen in a block; what lies behind the last one is computed and not written.
// CHECK-LABEL: func.func private @short
// CHECK-NEXT: gpu.launch_func @short_0(%x, %m) {blocks = array<i64: 2, 1, 1>, threads = array<i64: 128, 1, 1>}
// CHECK: affine.min affine_map<(d0) -> (d0, 16)>
// CHECK: gpu.subgroup_reduce maximumf %{{.*}} cluster(size = 8) : f32
// CHECK: affine.if affine_set<(d0, d1) : (((d0 * -1) + 16) >= 0, d1 == 0)>
// CHECK-NEXT: affine.store
func.func private @short(%x: memref<17x32xf32>, %m: memref<17xf32>) attributes {lamina.kernel = "rows"} {
  affine.parallel (%i) = (0) to (17) {
    %row = affine.vector_load %x[%i, 0] : memref<17x32xf32>, vector<32xf32>
    %s = vector.reduction <maximumf>, %row : vector<32xf32> into f32
    affine.store %s, %m[%i] : memref<17xf32>
  }
  func.return
}

// A row of two warps is a block's: all of its threads meet.
// CHECK-LABEL: func.func private @two
// CHECK-NEXT: gpu.launch_func @two_0(%x, %m) {blocks = array<i64: 10, 1, 1>, threads = array<i64: 64, 1, 1>}
// CHECK: gpu.all_reduce maximumf
func.func private @two(%x: memref<10x2048xf32>, %m: memref<10xf32>) attributes {lamina.kernel = "rows"} {
  affine.parallel (%i) = (0) to (10) {
    %row = affine.vector_load %x[%i, 0] : memref<10x2048xf32>, vector<2048xf32>
    %s = vector.reduction <maximumf>, %row : vector<2048xf32> into f32
    affine.store %s, %m[%i] : memref<10xf32>
  }
  func.return
}

// Rows that share a vector: a block of sixteen brings it into shared memory; rows themselves stay in registers.
// CHECK-LABEL: func.func private @scaled
// CHECK-NEXT: gpu.launch_func @scaled_0(%x, %g, %y) {blocks = array<i64: 64, 1, 1>, threads = array<i64: 512, 1, 1>}
// CHECK-LABEL: func.func private @scaled_0
// CHECK: %[[ROOM:.*]] = memref.view {{.*}} to memref<768xf32, 3 : i32>
// CHECK: affine.vector_load %g[%{{.*}} * 4] {alignment = 16 : i64} : memref<768xf32>, vector<4xf32>
// CHECK-NEXT: affine.vector_store %{{.*}}, %[[ROOM]][%{{.*}} * 4]
// CHECK: gpu.barrier
// CHECK-NOT: affine.if
// CHECK: affine.vector_load %{{.*}}[%{{.*}} * 768 + %{{.*}} * 4] {alignment = 16 : i64} : memref<786432xf32>, vector<4xf32>
// CHECK: affine.vector_load %[[ROOM]][%{{.*}} * 4] {alignment = 16 : i64} : memref<768xf32, 3 : i32>, vector<4xf32>
// CHECK-NOT: gpu.barrier
func.func private @scaled(%x: memref<1024x768xf32>, %g: memref<768xf32>, %y: memref<1024x768xf32>) attributes {lamina.kernel = "rows"} {
  affine.parallel (%i) = (0) to (1024) {
    %row = affine.vector_load %x[%i, 0] : memref<1024x768xf32>, vector<768xf32>
    %scale = affine.vector_load %g[0] : memref<768xf32>, vector<768xf32>
    %s = vector.reduction <add>, %row : vector<768xf32> into f32
    %all = vector.broadcast %s : f32 to vector<768xf32>
    %d = arith.divf %row, %all : vector<768xf32>
    %t = arith.mulf %d, %scale : vector<768xf32>
    affine.vector_store %t, %y[%i, 0] : memref<1024x768xf32>, vector<768xf32>
  }
  func.return
}

// Rows that do not fill the last block: warps behind the last row help to bring, and do no more.
// CHECK-LABEL: func.func private @few
// CHECK-NEXT: gpu.launch_func @few_0(%x, %g, %y) {blocks = array<i64: 3, 1, 1>, threads = array<i64: 512, 1, 1>}
// CHECK-LABEL: func.func private @few_0
// CHECK: gpu.barrier
// CHECK-NEXT: affine.if affine_set<(d0) : (((d0 * -1) + 36) >= 0)>
// CHECK: affine.vector_load
func.func private @few(%x: memref<37x768xf32>, %g: memref<768xf32>, %y: memref<37x768xf32>) attributes {lamina.kernel = "rows", gpu.times = 4 : i64} {
  affine.parallel (%i) = (0) to (37) {
    %row = affine.vector_load %x[%i, 0] : memref<37x768xf32>, vector<768xf32>
    %scale = affine.vector_load %g[0] : memref<768xf32>, vector<768xf32>
    %s = vector.reduction <add>, %row : vector<768xf32> into f32
    %all = vector.broadcast %s : f32 to vector<768xf32>
    %d = arith.divf %row, %all : vector<768xf32>
    %t = arith.mulf %d, %scale : vector<768xf32>
    affine.vector_store %t, %y[%i, 0] : memref<37x768xf32>, vector<768xf32>
  }
  func.return
}

// Long rows: a block of 256 threads, eight vectors each.
// CHECK-LABEL: func.func private @long
// CHECK-NEXT: gpu.launch_func @long_0(%x, %m) {blocks = array<i64: 2, 1, 1>, threads = array<i64: 256, 1, 1>}
// CHECK-COUNT-8: affine.vector_load
// CHECK-NOT: affine.vector_load
// CHECK: gpu.all_reduce maximumf
func.func private @long(%x: memref<2x8192xf32>, %m: memref<2xf32>) attributes {lamina.kernel = "rows"} {
  affine.parallel (%i) = (0) to (2) {
    %row = affine.vector_load %x[%i, 0] : memref<2x8192xf32>, vector<8192xf32>
    %s = vector.reduction <maximumf>, %row : vector<8192xf32> into f32
    affine.store %s, %m[%i] : memref<2xf32>
  }
  func.return
}

// Rows that begin at any multiple of six elements: two at a time.
// CHECK-LABEL: func.func private @parts
// CHECK: affine.vector_load %{{.*}}[%{{.*}} * 12 + %{{.*}} * 2 + 6] {alignment = 8 : i64} : memref<96xf32>, vector<2xf32>
func.func private @parts(%x: memref<8x12xf32>, %y: memref<8x4xf32>) attributes {lamina.kernel = "rows"} {
  affine.parallel (%i) = (0) to (8) {
    %row = affine.vector_load %x[%i, 6] : memref<8x12xf32>, vector<4xf32>
    %s = vector.reduction <add>, %row : vector<4xf32> into f32
    %all = vector.broadcast %s : f32 to vector<4xf32>
    affine.vector_store %all, %y[%i, 0] : memref<8x4xf32>, vector<4xf32>
  }
  func.return
}

// Rows of nine elements are no whole sectors; eight of them are: they come and go through shared memory, 16 bytes a
// thread, and what is written lies where that came which is read.
// CHECK-LABEL: func.func private @staged
// CHECK-NEXT: gpu.launch_func @staged_0(%x, %y) {blocks = array<i64: 9, 1, 1>, threads = array<i64: 128, 1, 1>}
// CHECK-LABEL: func.func private @staged_0
// CHECK: %[[ROOM:.*]] = memref.view {{.*}} to memref<72xf32, 3 : i32>
// CHECK: affine.for %{{.*}} = 0 to 1 {
// CHECK: affine.if affine_set<(d0) : (((d0 * -1) + 17) >= 0)>
// CHECK: %[[V:.*]] = affine.vector_load %{{.*}}[%[[E:.*]] * 4 + %{{.*}} * 9] {alignment = 16 : i64} : memref<648xf32>, vector<4xf32>
// CHECK-NEXT: affine.vector_store %[[V]], %[[ROOM]][%[[E]] * 4] {alignment = 16 : i64}
// CHECK: gpu.barrier
// CHECK: affine.vector_load %[[ROOM]][%[[R:.*]] * 9 + %[[LANE:.*]]] {alignment = 4 : i64} : memref<72xf32, 3 : i32>, vector<1xf32>
// CHECK: gpu.subgroup_reduce add %{{.*}} cluster(size = 16) : f32
// CHECK: affine.vector_store %{{.*}}, %[[ROOM]][%[[R]] * 9 + %[[LANE]]]
// CHECK: gpu.barrier
// CHECK: affine.vector_load %[[ROOM]]
// CHECK-NEXT: affine.vector_store
func.func private @staged(%x: memref<72x9xf32>, %y: memref<72x9xf32>) attributes {lamina.kernel = "rows"} {
  affine.parallel (%i) = (0) to (72) {
    %row = affine.vector_load %x[%i, 0] : memref<72x9xf32>, vector<9xf32>
    %s = vector.reduction <add>, %row : vector<9xf32> into f32
    %all = vector.broadcast %s : f32 to vector<9xf32>
    %d = arith.divf %row, %all : vector<9xf32>
    affine.vector_store %d, %y[%i, 0] : memref<72x9xf32>, vector<9xf32>
  }
  func.return
}

// Rows of one source and columns of another: teams take the rows, and eight neighbouring columns are whole sectors of the
// other, which come through shared memory. The two rows of a warp are four apart, with a gap behind each: no bank is
// asked twice.
// CHECK-LABEL: func.func private @turned_0
// CHECK: affine.apply affine_map<(d0) -> ({{.*}}((((d0 floordiv 16) mod 8) mod 2) floordiv 1) * 4
// CHECK: memref.view {{.*}} to memref<160xf32, 3 : i32>
// CHECK: affine.vector_load %{{.*}}[%{{.*}}] {alignment = 4 : i64} : memref<4096xf32>, vector<1xf32>
// CHECK: affine.vector_load %{{.*}}[%{{.*}} * 20 + %{{.*}}] {alignment = 4 : i64} : memref<160xf32, 3 : i32>, vector<1xf32>
// CHECK: affine.vector_store %{{.*}} {alignment = 4 : i64} : memref<4096xf32>, vector<1xf32>
func.func private @turned(%x: memref<256x16xf32>, %y: memref<4096xf32>, %z: memref<256x16xf32>) attributes {lamina.kernel = "rows"} {
  affine.parallel (%i) = (0) to (256) {
    %row = affine.vector_load %x[%i, 0] : memref<256x16xf32>, vector<16xf32>
    %none = arith.constant dense<0.0> : vector<16xf32>
    %first = affine.apply affine_map<(d0) -> (d0)> (%i)
    %numbers = vector.step : vector<16xindex>
    %apart = arith.constant dense<256> : vector<16xindex>
    %places = arith.muli %numbers, %apart : vector<16xindex>
    %mask = vector.constant_mask [16] : vector<16xi1>
    %column = vector.gather %y[%first] [%places], %mask, %none : memref<4096xf32>, vector<16xindex>, vector<16xi1>, vector<16xf32> into vector<16xf32>
    %a = arith.addf %row, %column : vector<16xf32>
    %m = vector.reduction <maximumf>, %a : vector<16xf32> into f32
    %all = vector.broadcast %m : f32 to vector<16xf32>
    %d = arith.subf %a, %all : vector<16xf32>
    affine.vector_store %d, %z[%i, 0] : memref<256x16xf32>, vector<16xf32>
  }
  func.return
}

// A mask of four heads: a block takes all heads of two of its rows.
// CHECK-LABEL: func.func private @heads
// CHECK-NEXT: gpu.launch_func @heads_0(%x, %m, %y) {blocks = array<i64: 8, 1, 1>
// CHECK-LABEL: func.func private @heads_0
// CHECK: memref.view {{.*}} to memref<512xf32, 3 : i32>
// CHECK: memref.view {{.*}} to memref<128xf32, 3 : i32>
func.func private @heads(%x: memref<4x16x64xf32>, %m: memref<16x64xf32>, %y: memref<4x16x64xf32>) attributes {lamina.kernel = "rows"} {
  affine.parallel (%h, %i) = (0, 0) to (4, 16) {
    %row = affine.vector_load %x[%h, %i, 0] : memref<4x16x64xf32>, vector<64xf32>
    %mask = affine.vector_load %m[%i, 0] : memref<16x64xf32>, vector<64xf32>
    %sum = arith.addf %row, %mask : vector<64xf32>
    %s = vector.reduction <add>, %sum : vector<64xf32> into f32
    %all = vector.broadcast %s : f32 to vector<64xf32>
    %d = arith.divf %sum, %all : vector<64xf32>
    affine.vector_store %d, %y[%h, %i, 0] : memref<4x16x64xf32>, vector<64xf32>
  }
  func.return
}

// A row that begins at a computed place: each thread its part of it.
// CHECK-LABEL: func.func private @computed_0
// CHECK: %[[MINE:.*]] = affine.apply affine_map<(d0, d1) -> ((d0 + (d1 * 4)))> (%{{.*}}, %{{.*}})
// CHECK-NEXT: vector.load %t[%{{.*}}, %[[MINE]]] {alignment = 16 : i64} : memref<99x32xf32>, vector<4xf32>
func.func private @computed(%w: memref<9xi64>, %t: memref<99x32xf32>, %y: memref<9xf32>) attributes {lamina.kernel = "rows"} {
  affine.parallel (%i) = (0) to (9) {
    %word = affine.load %w[%i] : memref<9xi64>
    %at = arith.index_cast %word : i64 to index
    %zero = arith.constant 0 : index
    %row = vector.load %t[%at, %zero] : memref<99x32xf32>, vector<32xf32>
    %s = vector.reduction <add>, %row : vector<32xf32> into f32
    affine.store %s, %y[%i] : memref<9xf32>
  }
  func.return
}
