// RUN: lamina-opt %s -p gpu-narrow-indices | filecheck %s

// CHECK-LABEL: func.func @points
// CHECK: %t = gpu.thread_id x
// CHECK-NEXT: %[[T:.*]] = arith.index_cast %t : index to i32
// CHECK: %[[BLOCK:.*]] = arith.index_cast %block : index to i32
// CHECK: %[[FIRST:.*]] = arith.muli %[[BLOCK]], %{{.*}} overflow<nsw,nuw> : i32
// CHECK: %[[POINT:.*]] = arith.addi %[[FIRST]], %[[T]] overflow<nsw,nuw> : i32
// CHECK: %[[Q:.*]] = arith.divui %[[POINT]], %{{.*}} : i32
// CHECK-NEXT: %[[QW:.*]] = arith.index_castui %[[Q]] : i32 to index
// CHECK: %[[BACK:.*]] = arith.subi %[[Q]], %{{.*}} overflow<nsw> : i32
// CHECK-NEXT: %[[BACKW:.*]] = arith.index_cast %[[BACK]] : i32 to index
// CHECK: arith.cmpi slt, %[[BACK]], %{{.*}} : i32
// CHECK: memref.load %m[%[[QW]]]
// CHECK: memref.load %m[%[[BACKW]]]
// CHECK-NOT: arith.muli {{.*}} : index
func.func @points(%m: memref<100xf32>, %y: memref<2xf32>) attributes {gpu.kernel, gpu.known_block_size = array<i32: 128, 1, 1>, gpu.known_grid_size = array<i32: 9, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c25 = arith.constant 25 : index
  %c128 = arith.constant 128 : index
  %t = gpu.thread_id x
  %block = gpu.block_id x
  %first = arith.muli %block, %c128 : index
  %point = arith.addi %first, %t : index
  %q = arith.divui %point, %c25 : index
  %back = arith.subi %q, %c1 : index
  %before = arith.cmpi slt, %back, %c0 : index
  %a = memref.load %m[%q] : memref<100xf32>
  %b = memref.load %m[%back] : memref<100xf32>
  %x = arith.select %before, %a, %b : f32
  memref.store %x, %y[%c0] : memref<2xf32>
  func.return
}

// A loop whose end has room counts in 32 bits; what a side of a condition gives is known, too.

// CHECK-LABEL: func.func @loops
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%{{.*}} = %{{.*}}) -> (f32) : i32
// CHECK-NEXT: arith.muli %[[I]], %{{.*}} overflow<nsw,nuw> : i32
// CHECK: %[[R:.*]] = scf.if
// CHECK: %[[N:.*]] = arith.index_cast %[[R]] : index to i32
// CHECK: arith.addi %[[N]], %{{.*}} overflow<nsw,nuw> : i32
func.func @loops(%m: memref<100xf32>, %y: memref<1xf32>, %flag: i1) attributes {gpu.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c30 = arith.constant 30 : index
  %zero = arith.constant 0.0 : f32
  %sum = scf.for %i = %c0 to %c30 step %c1 iter_args(%acc = %zero) -> (f32) {
    %j = arith.muli %i, %c3 : index
    %r = scf.if %flag -> (index) {
      scf.yield %j : index
    } else {
      scf.yield %c1 : index
    }
    %k = arith.addi %r, %c3 : index
    %x = memref.load %m[%k] : memref<100xf32>
    %s = arith.addf %acc, %x : f32
    scf.yield %s : f32
  }
  memref.store %sum, %y[%c0] : memref<1xf32>
  func.return
}

// What is read from memory may be anything, the grid of a kernel that does not say is large, and so is the last point;
// a loop that would count past its end counts in 64 bits, though what it counts has room.

// CHECK-LABEL: func.func @anything
// CHECK: arith.addi %{{.*}}, %{{.*}} : index
// CHECK: arith.muli %{{.*}}, %{{.*}} : index
// CHECK: arith.muli %{{.*}}, %{{.*}} : index
// CHECK: scf.for %i = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK-NEXT: %[[I:.*]] = arith.index_cast %i : index to i32
// CHECK-NEXT: arith.remui %[[I]], %{{.*}} : i32
func.func @anything(%n: memref<1xi64>, %m: memref<?xf32>) attributes {gpu.kernel, gpu.known_block_size = array<i32: 128, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c25 = arith.constant 25 : index
  %large = arith.constant 2147483647 : index
  %t = gpu.thread_id x
  %block = gpu.block_id x
  %number = memref.load %n[%c0] : memref<1xi64>
  %at = arith.index_cast %number : i64 to index
  %next = arith.addi %at, %t : index
  %first = arith.muli %block, %c4 : index
  %last = arith.muli %large, %c25 : index
  %a = memref.load %m[%next] : memref<?xf32>
  %b = memref.load %m[%first] : memref<?xf32>
  %c = memref.load %m[%last] : memref<?xf32>
  %d = arith.addf %a, %b : f32
  %e = arith.addf %c, %d : f32
  scf.for %i = %c0 to %large step %c4 {
    %j = arith.remui %i, %c25 : index
    memref.store %e, %m[%j] : memref<?xf32>
  }
  func.return
}
