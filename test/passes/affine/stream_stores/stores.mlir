// RUN: lamina-opt %s -p 'affine-stream-stores{bytes=4096}' | filecheck %s
// RUN: lamina-opt %s -p 'affine-stream-stores' | filecheck %s --check-prefix SMALL

// Half of the last cache is more than any of these, but for lines of their own.
// SMALL-NOT: nontemporal
// SMALL-LABEL: func.func @tiles_of_lines

// CHECK-LABEL: func.func @copy
// CHECK: affine.parallel (%[[T:.*]]) = (0) to (8) {
// CHECK-NEXT: %[[P:.*]] = "memref.extract_aligned_pointer_as_index"(%y)
// CHECK-NEXT: %[[START:.*]] = affine.apply affine_map<(d0, d1) -> {{.*}}> (%[[T]], %[[P]])
// CHECK: %[[APART:.*]] = arith.andi %[[START]]
// CHECK-NEXT: %[[WHOLE:.*]] = arith.cmpi eq, %[[APART]]
// CHECK-NEXT: scf.if %[[WHOLE]] {
// CHECK-NEXT: affine.for %{{.*}} = 0 to 1024 step 32 {
// CHECK: affine.vector_store %{{.*}}, %y[%[[T]] * 1024 + %{{.*}}] {nontemporal = {{(16|32|64)}} : i64} : memref<8192xf32>, vector<32xf32>
// CHECK: } else {
// CHECK-NEXT: affine.for %{{.*}} = 0 to 1024 step 32 {
// CHECK: affine.vector_store %{{.*}}, %y[%[[T]] * 1024 + %{{.*}}] : memref<8192xf32>, vector<32xf32>
func.func @copy(%x: memref<8192xf32>, %y: memref<8192xf32>) {
  affine.parallel (%t) = (0) to (8) {
    affine.for %i = 0 to 1024 step 32 {
      %v = affine.vector_load %x[%t * 1024 + %i] : memref<8192xf32>, vector<32xf32>
      affine.vector_store %v, %y[%t * 1024 + %i] : memref<8192xf32>, vector<32xf32>
    }
  }
  func.return
}

// Vectors that fill a line each, wherever it is: a buffer that begins with a line has them all.
// CHECK-LABEL: func.func @lines
// CHECK: affine.for %[[I:.*]] = 0 to 4 {
// CHECK-NEXT: %[[P:.*]] = "memref.extract_aligned_pointer_as_index"(%y)
// CHECK-NEXT: %[[START:.*]] = affine.apply affine_map<(d0) -> (d0)> (%[[P]])
// CHECK-NEXT: %[[MASK:.*]] = arith.constant 63 : index
// CHECK: arith.andi %[[START]], %[[MASK]]
// CHECK: scf.if
// CHECK-COUNT-2: {nontemporal = 64 : i64} : memref<64x64xf32>, vector<16xf32>
// CHECK: } else {
// CHECK-NOT: nontemporal
func.func @lines(%x: memref<64x64xf32>, %y: memref<64x64xf32>) {
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 32 {
      %a = affine.vector_load %x[%j, %i * 16] : memref<64x64xf32>, vector<16xf32>
      %b = affine.vector_load %x[%j + 32, %i * 16] : memref<64x64xf32>, vector<16xf32>
      affine.vector_store %a, %y[%j, %i * 16] : memref<64x64xf32>, vector<16xf32>
      affine.vector_store %b, %y[%j + 32, %i * 16] : memref<64x64xf32>, vector<16xf32>
    }
  }
  func.return
}

// Refused: lines that are cut.
// CHECK-LABEL: func.func @cut
// CHECK-NOT: nontemporal
func.func @cut(%x: memref<64x64xf32>, %y: memref<64x72xf32>) {
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 64 {
      %a = affine.vector_load %x[%j, %i * 16] : memref<64x64xf32>, vector<16xf32>
      affine.vector_store %a, %y[%j, %i * 16] : memref<64x72xf32>, vector<16xf32>
    }
  }
  func.return
}

// Refused: a result that is read; functions; five arrays that are read; short runs; a small result; a place
// that is written again and again.
// CHECK-LABEL: func.func @refused
// CHECK-NOT: nontemporal
func.func @refused(%x: memref<8192xf32>, %y: memref<8192xf32>, %z: memref<8192xf32>, %u: memref<64x128xf32>, %v: memref<512xf32>, %w: memref<8192xf32>, %u1: memref<8192xf32>, %u2: memref<8192xf32>, %u3: memref<8192xf32>, %u4: memref<8192xf32>) {
  affine.for %i = 0 to 8192 step 32 {
    %a = affine.vector_load %y[%i] : memref<8192xf32>, vector<32xf32>
    affine.vector_store %a, %y[%i] : memref<8192xf32>, vector<32xf32>
  }
  affine.for %i = 0 to 8192 step 32 {
    %a = affine.vector_load %x[%i] : memref<8192xf32>, vector<32xf32>
    %b = math.exp %a : vector<32xf32>
    affine.vector_store %b, %z[%i] : memref<8192xf32>, vector<32xf32>
  }
  affine.for %i = 0 to 4096 step 32 {
    %a = affine.vector_load %x[%i] : memref<8192xf32>, vector<32xf32>
    %b = affine.vector_load %u1[%i] : memref<8192xf32>, vector<32xf32>
    %c = affine.vector_load %u2[%i] : memref<8192xf32>, vector<32xf32>
    %f = affine.vector_load %u3[%i] : memref<8192xf32>, vector<32xf32>
    %g = affine.vector_load %u4[%i] : memref<8192xf32>, vector<32xf32>
    %d = arith.addf %a, %b : vector<32xf32>
    %e = arith.addf %c, %d : vector<32xf32>
    %h = arith.addf %f, %g : vector<32xf32>
    %j = arith.addf %e, %h : vector<32xf32>
    affine.vector_store %j, %z[%i] : memref<8192xf32>, vector<32xf32>
  }
  affine.for %r = 0 to 64 {
    affine.for %i = 0 to 128 step 32 {
      %a = affine.vector_load %x[%r * 128 + %i] : memref<8192xf32>, vector<32xf32>
      affine.vector_store %a, %u[%r, %i] : memref<64x128xf32>, vector<32xf32>
    }
  }
  affine.for %i = 0 to 512 step 32 {
    %a = affine.vector_load %x[%i] : memref<8192xf32>, vector<32xf32>
    affine.vector_store %a, %v[%i] : memref<512xf32>, vector<32xf32>
  }
  affine.for %r = 0 to 4 {
    affine.for %i = 0 to 8192 step 32 {
      %a = affine.vector_load %x[%i] : memref<8192xf32>, vector<32xf32>
      affine.vector_store %a, %w[%i] : memref<8192xf32>, vector<32xf32>
    }
  }
  func.return
}

// Whole lines, each a row further, of 16 MiB: L2 twice over. The block of rows that a task has says where %r begins.
// CHECK-LABEL: func.func @tiles_of_lines
// CHECK: scf.if
// CHECK: affine.vector_store %{{.*}}, %y[%{{.*}}, %{{.*}} * 16] {nontemporal = {{(16|32|64)}} : i64} : memref<1024x4096xf32>, vector<16xf32>
// CHECK: } else {
// CHECK-NOT: nontemporal
// CHECK: affine.vector_store
func.func @tiles_of_lines(%x: memref<16xf32>, %y: memref<1024x4096xf32>) {
  affine.parallel (%t) = (0) to (4) {
    affine.for %c = 0 to 256 {
      affine.for %s = affine_map<(d0) -> (d0 * 8)>(%t) to affine_map<(d0) -> (d0 * 8 + 8)>(%t) {
        %first = affine.apply affine_map<(d0) -> (d0 * 32)>(%s)
        affine.for %i = 0 to 32 {
          %r = affine.apply affine_map<(d0, d1) -> (d0 + d1)>(%first, %i)
          %v = affine.vector_load %x[0] : memref<16xf32>, vector<16xf32>
          affine.vector_store %v, %y[%r, %c * 16] : memref<1024x4096xf32>, vector<16xf32>
        }
      }
    }
  }
  func.return
}

// Not half a line.
// CHECK-LABEL: func.func @half_lines
// CHECK-NOT: nontemporal
func.func @half_lines(%x: memref<8xf32>, %y: memref<1024x4096xf32>) {
  affine.for %c = 0 to 512 {
    affine.for %r = 0 to 1024 {
      %v = affine.vector_load %x[0] : memref<8xf32>, vector<8xf32>
      affine.vector_store %v, %y[%r, %c * 8] : memref<1024x4096xf32>, vector<8xf32>
    }
  }
  func.return
}

// A loop of a pipeline carries sums on and keeps a row of its own. Rows of 1000 numbers begin on a line or in the middle
// of one; there the lines are asked for, two rows ahead.
// CHECK-LABEL: func.func @pipeline
// CHECK: affine.for %[[R:.*]] = 0 to 64
// CHECK: %[[SUMS:.*]] = scf.if %{{.*}} -> (vector<32xf32>) {
// CHECK: %[[SUM:.*]] = affine.for
// CHECK-NOT: memref.prefetch
// CHECK: affine.vector_store %{{.*}}, %y[%[[R]], %{{.*}}] {nontemporal = {{.*}}}
// CHECK: affine.vector_store %{{.*}}, %{{.*}}[%{{.*}}] : memref<1000xf32>, vector<32xf32>
// CHECK: scf.yield %[[SUM]] : vector<32xf32>
// CHECK: } else {
// CHECK: affine.apply affine_map<(d0, d1) -> ((d1 + 2048))>
// CHECK: memref.prefetch %y[%{{.*}}, %{{.*}}], write, locality<3>, data : memref<64x1000xf32>
// CHECK: affine.apply affine_map<(d0, d1) -> ((d1 + 2064))>
// CHECK: memref.prefetch %y
// CHECK-NOT: nontemporal
// CHECK: affine.vector_store %{{.*}}, %y
// CHECK-NOT: memref.prefetch
// CHECK: affine.yield %[[SUMS]] : vector<32xf32>
func.func @pipeline(%x: memref<64x1000xf32>, %y: memref<64x1000xf32>, %zero: vector<32xf32>) {
  %own = memref.alloca() : memref<1000xf32>
  %all = affine.for %r = 0 to 64 iter_args(%c = %zero) -> (vector<32xf32>) {
    %sum = affine.for %i = 0 to 992 step 32 iter_args(%s = %c) -> (vector<32xf32>) {
      %a = affine.vector_load %own[%i] : memref<1000xf32>, vector<32xf32>
      %b = affine.vector_load %x[%r, %i] : memref<64x1000xf32>, vector<32xf32>
      %t = arith.addf %s, %b : vector<32xf32>
      affine.vector_store %a, %y[%r, %i] : memref<64x1000xf32>, vector<32xf32>
      affine.vector_store %b, %own[%i] : memref<1000xf32>, vector<32xf32>
      affine.yield %t : vector<32xf32>
    }
    affine.yield %sum : vector<32xf32>
  }
  func.return
}
