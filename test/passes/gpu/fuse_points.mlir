// RUN: lamina-opt %s -p gpu-fuse-points | filecheck %s

// A pad is a choice where it is read; what follows at the same point is done in registers.
func.func private @pool(%x: memref<8xf32>, %y: memref<8xf32>, %padded: memref<10xf32>) attributes {lamina.kernel = "loops", lamina.scratch = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  affine.parallel (%i) = (0) to (1) {
    affine.store %zero, %padded[%i] : memref<10xf32>
  }
  affine.parallel (%i) = (0) to (1) {
    affine.store %zero, %padded[%i + 9] : memref<10xf32>
  }
  affine.parallel (%i) = (0) to (8) {
    %a = affine.load %x[%i] : memref<8xf32>
    affine.store %a, %padded[%i + 1] : memref<10xf32>
  }
  affine.parallel (%i) = (0) to (8) {
    %s = affine.for %k = 0 to 3 iter_args(%c = %zero) -> (f32) {
      %a = affine.load %padded[%i + %k] : memref<10xf32>
      %d = arith.addf %c, %a : f32
      affine.yield %d : f32
    }
    affine.store %s, %y[%i] : memref<8xf32>
  }
  affine.parallel (%i) = (0) to (8) {
    %a = affine.load %y[%i] : memref<8xf32>
    %r = arith.maximumf %a, %zero : f32
    affine.store %r, %y[%i] : memref<8xf32>
  }
  func.return
}
// CHECK-LABEL: func.func private @pool(
// CHECK-NEXT: [[ZERO:%.*]] = arith.constant 0.000000e+00
// CHECK-NEXT: affine.parallel
// CHECK-NEXT: [[S:%.*]] = affine.for
// CHECK-NEXT: [[P:%.*]] = affine.apply affine_map<(d0, d1) -> ((d0 + d1))>
// CHECK-NEXT: [[V:%.*]] = affine.if affine_set<(d0) : ((d0 + -1) >= 0, ((d0 * -1) + 8) >= 0)>([[P]]) -> (f32) {
// CHECK-NEXT: [[I:%.*]] = affine.apply affine_map<(d0) -> ((d0 + -1))> ([[P]])
// CHECK-NEXT: [[A:%.*]] = affine.load %x{{\[}}[[I]]]
// CHECK-NEXT: affine.yield [[A]]
// CHECK-NEXT: } else {
// CHECK-NEXT: affine.yield [[ZERO]]
// CHECK: arith.addf {{.*}}, [[V]]
// CHECK: [[R:%.*]] = arith.maximumf [[S]], [[ZERO]]
// CHECK-NEXT: affine.store [[R]], %y
// CHECK-NOT: affine.parallel

// Parts side by side, each computed where it is read.
func.func private @parts(%x: memref<4xf32>, %z: memref<4xf32>, %y: memref<8xf32>, %both: memref<8xf32>) attributes {lamina.kernel = "copy", lamina.scratch = 1 : i64} {
  affine.parallel (%i) = (0) to (4) {
    %a = affine.load %x[%i] : memref<4xf32>
    affine.store %a, %both[%i] : memref<8xf32>
  }
  affine.parallel (%i) = (0) to (4) {
    %a = affine.load %z[%i] : memref<4xf32>
    %b = math.exp %a : f32
    affine.store %b, %both[%i + 4] : memref<8xf32>
  }
  affine.parallel (%i) = (0) to (8) {
    %a = affine.load %both[-%i + 7] : memref<8xf32>
    affine.store %a, %y[%i] : memref<8xf32>
  }
  func.return
}
// CHECK-LABEL: func.func private @parts(
// CHECK: affine.parallel (%{{.*}}) = (0) to (8) {
// CHECK: affine.if affine_set<(d0) : (((d0 * -1) + 3) >= 0)>
// CHECK: affine.load %x
// CHECK: } else {
// CHECK: affine.load %z
// CHECK: math.exp
// CHECK-NOT: affine.parallel

// CHECK-LABEL: func.func private @written_since(
// What was read may have changed when it would be read again; and a part that nobody wrote stays unknown.
func.func private @written_since(%x: memref<8xf32>, %y: memref<8xf32>, %s: memref<8xf32>, %t: memref<8xf32>) attributes {lamina.kernel = "loops", lamina.scratch = 2 : i64} {
  affine.parallel (%i) = (0) to (8) {
    %a = affine.load %x[%i] : memref<8xf32>
    affine.store %a, %s[%i] : memref<8xf32>
  }
  affine.parallel (%i) = (0) to (7) {
    %a = affine.load %y[%i] : memref<8xf32>
    affine.store %a, %t[%i] : memref<8xf32>
  }
  affine.parallel (%i) = (0) to (8) {
    %a = affine.load %s[-%i + 7] : memref<8xf32>
    %b = affine.load %t[%i] : memref<8xf32>
    %c = arith.addf %a, %b : f32
    affine.store %c, %x[%i] : memref<8xf32>
  }
  func.return
}
// CHECK: affine.store {{.*}}, %s
// CHECK: affine.store {{.*}}, %t
// CHECK: affine.load %s
// CHECK: affine.load %t

// CHECK-LABEL: func.func private @neighbours(
// A point that reads what another one wrote waits for all of them.
func.func private @neighbours(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>) attributes {lamina.kernel = "loops"} {
  affine.parallel (%i) = (0) to (8) {
    %a = affine.load %x[%i] : memref<8xf32>
    affine.store %a, %y[%i] : memref<8xf32>
  }
  affine.parallel (%i) = (0) to (8) {
    %a = affine.load %y[-%i + 7] : memref<8xf32>
    affine.store %a, %z[%i] : memref<8xf32>
  }
  func.return
}
// CHECK: affine.parallel
// CHECK: affine.parallel

// Rows that values choose: who sums them reads them where they are, each once; indices are made where both ask for them.
func.func private @gathered(%which: memref<12xi64>, %table: memref<4x32xf32>, %sums: memref<12xf32>, %rows: memref<12x32xf32>, %indices: memref<12xi64>, %chosen: memref<12x32xf32>) attributes {lamina.kernel = "loops", lamina.scratch = 2 : i64} {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1 : i64
  %low = arith.constant 0 : index
  %high = arith.constant 3 : index
  affine.parallel (%i) = (0) to (12) {
    %a = affine.load %which[%i] : memref<12xi64>
    %b = arith.addi %a, %one : i64
    affine.store %b, %indices[%i] : memref<12xi64>
  }
  affine.parallel (%i, %j) = (0, 0) to (12, 32) {
    %a = affine.load %indices[%i] : memref<12xi64>
    %b = arith.index_cast %a : i64 to index
    %c = arith.maxsi %b, %low : index
    %d = arith.minsi %c, %high : index
    %e = memref.load %table[%d, %j] : memref<4x32xf32>
    %f = arith.mulf %e, %e : f32
    %g = arith.addf %e, %f : f32
    affine.store %g, %chosen[%i, %j] : memref<12x32xf32>
  }
  affine.parallel (%i) = (0) to (12) {
    %s = affine.for %k = 0 to 32 iter_args(%c = %zero) -> (f32) {
      %a = affine.load %chosen[%i, %k] : memref<12x32xf32>
      %d = arith.addf %c, %a : f32
      affine.yield %d : f32
    }
    affine.store %s, %sums[%i] : memref<12xf32>
  }
  affine.parallel (%i, %j) = (0, 0) to (12, 32) {
    %a = affine.load %indices[%i] : memref<12xi64>
    %b = arith.index_cast %a : i64 to index
    %c = arith.maxsi %b, %low : index
    %d = arith.minsi %c, %high : index
    %e = memref.load %table[%d, %j] : memref<4x32xf32>
    affine.store %e, %rows[%i, %j] : memref<12x32xf32>
  }
  func.return
}
// CHECK-LABEL: func.func private @gathered(
// CHECK: affine.parallel (%{{.*}}) = (0) to (12) {
// CHECK: affine.for
// CHECK: affine.load %which
// CHECK: memref.load %table
// CHECK: affine.yield
// CHECK-NEXT: }
// CHECK-NEXT: affine.store %{{.*}}, %sums
// CHECK: affine.parallel
// CHECK: affine.load %which
// CHECK: memref.load %table
// CHECK-NEXT: affine.store %{{.*}}, %rows
// CHECK-NOT: affine.parallel

// What costs something is not done again by each of two that read it.
func.func private @twice(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<16xf32>, %s: memref<8xf32>) attributes {lamina.kernel = "loops", lamina.scratch = 1 : i64} {
  affine.parallel (%i) = (0) to (8) {
    %a = affine.load %x[%i] : memref<8xf32>
    %b = math.exp %a : f32
    %c = math.exp %b : f32
    %d = math.exp %c : f32
    %e = math.exp %d : f32
    %f = math.exp %e : f32
    affine.store %f, %s[%i] : memref<8xf32>
  }
  affine.parallel (%i) = (0) to (8) {
    %a = affine.load %s[-%i + 7] : memref<8xf32>
    affine.store %a, %y[%i] : memref<8xf32>
  }
  affine.parallel (%i) = (0) to (16) {
    %a = affine.load %s[%i floordiv 2] : memref<8xf32>
    affine.store %a, %z[%i] : memref<16xf32>
  }
  func.return
}
// CHECK-LABEL: func.func private @twice(
// CHECK-COUNT-3: affine.parallel

// Columns next to each other lie in the same sectors: one nest writes them. Rows do not.
func.func private @columns(%x: memref<8xf32>, %z: memref<8x2xf32>, %y: memref<8x3xf32>) attributes {lamina.kernel = "copy"} {
  affine.parallel (%i) = (0) to (8) {
    %a = affine.load %x[%i] : memref<8xf32>
    affine.store %a, %y[%i, 0] : memref<8x3xf32>
  }
  affine.parallel (%i, %j) = (0, 0) to (8, 2) {
    %a = affine.load %z[%i, %j] : memref<8x2xf32>
    %b = arith.addf %a, %a : f32
    affine.store %b, %y[%i, %j + 1] : memref<8x3xf32>
  }
  func.return
}
// CHECK-LABEL: func.func private @columns(
// CHECK: affine.parallel ([[I:%.*]], [[J:%.*]]) = (0, 0) to (8, 3) {
// CHECK: [[V:%.*]] = affine.if affine_set<(d0) : ((d0 + -1) >= 0)>([[J]]) -> (f32) {
// CHECK: affine.load %z
// CHECK: arith.addf
// CHECK: } else {
// CHECK: affine.load %x
// CHECK: affine.store [[V]], %y{{\[}}[[I]], [[J]]]
// CHECK-NOT: affine.parallel

// CHECK-LABEL: func.func private @rows(
func.func private @rows(%x: memref<3xf32>, %z: memref<2x3xf32>, %y: memref<3x3xf32>) attributes {lamina.kernel = "copy"} {
  affine.parallel (%i) = (0) to (3) {
    %a = affine.load %x[%i] : memref<3xf32>
    affine.store %a, %y[0, %i] : memref<3x3xf32>
  }
  affine.parallel (%i, %j) = (0, 0) to (2, 3) {
    %a = affine.load %z[%i, %j] : memref<2x3xf32>
    affine.store %a, %y[%i + 1, %j] : memref<3x3xf32>
  }
  func.return
}
// CHECK-COUNT-2: affine.parallel

// A pad that is a result: one nest writes all of it.
func.func private @padded(%x: memref<7x3xf32>, %y: memref<9x5xf32>) attributes {lamina.kernel = "copy"} {
  %zero = arith.constant 0.0 : f32
  affine.parallel (%i, %j) = (0, 0) to (9, 5) {
    affine.store %zero, %y[%i, %j] : memref<9x5xf32>
  }
  affine.parallel (%i, %j) = (0, 0) to (7, 3) {
    %a = affine.load %x[%i, %j] : memref<7x3xf32>
    affine.store %a, %y[%i + 1, %j + 1] : memref<9x5xf32>
  }
  func.return
}
// CHECK-LABEL: func.func private @padded(
// CHECK: affine.parallel ([[I:%.*]], [[J:%.*]]) = (0, 0) to (9, 5) {
// CHECK-NEXT: [[V:%.*]] = affine.if affine_set<(d0, d1) : ((d0 + -1) >= 0, ((d0 * -1) + 7) >= 0, (d1 + -1) >= 0, ((d1 * -1) + 3) >= 0)>([[I]], [[J]]) -> (f32) {
// CHECK: affine.load %x
// CHECK: } else {
// CHECK: affine.store [[V]], %y{{\[}}[[I]], [[J]]]
// CHECK-NOT: affine.parallel

// Rows of whole accesses of 16 bytes stay so.
func.func private @wide_pad(%x: memref<7x8xf32>, %y: memref<9x8xf32>) attributes {lamina.kernel = "copy"} {
  %zero = arith.constant 0.0 : f32
  affine.parallel (%i, %j) = (0, 0) to (9, 8) {
    affine.store %zero, %y[%i, %j] : memref<9x8xf32>
  }
  affine.parallel (%i, %j) = (0, 0) to (7, 8) {
    %a = affine.load %x[%i, %j] : memref<7x8xf32>
    affine.store %a, %y[%i + 1, %j] : memref<9x8xf32>
  }
  func.return
}
// CHECK-LABEL: func.func private @wide_pad(
// CHECK-COUNT-2: affine.parallel

// Nests that read the same, or numbers in between, are one, which reads what is the same once; halves are two.
func.func private @even_and_odd(%x: memref<8x16xf32>, %y: memref<2x8x8xf32>) attributes {lamina.kernel = "copy"} {
  affine.parallel (%i, %j) = (0, 0) to (8, 8) {
    %a = affine.load %x[%i, %j * 2] : memref<8x16xf32>
    affine.store %a, %y[0, %i, %j] : memref<2x8x8xf32>
  }
  affine.parallel (%i, %j) = (0, 0) to (8, 8) {
    %a = affine.load %x[%i, %j * 2 + 1] : memref<8x16xf32>
    %b = affine.load %x[%i, %j * 2] : memref<8x16xf32>
    %c = arith.addf %a, %b : f32
    affine.store %c, %y[1, %i, %j] : memref<2x8x8xf32>
  }
  func.return
}
// CHECK-LABEL: func.func private @even_and_odd(
// CHECK: affine.parallel ([[I:%.*]], [[J:%.*]]) = (0, 0) to (8, 8) {
// CHECK-NEXT: [[A:%.*]] = affine.load %x{{\[}}[[I]], [[J]] * 2]
// CHECK-NEXT: affine.store [[A]], %y
// CHECK-NEXT: [[B:%.*]] = affine.load %x{{\[}}[[I]], [[J]] * 2 + 1]
// CHECK-NEXT: [[S:%.*]] = arith.addf [[B]], [[A]] : f32
// CHECK-NEXT: affine.store [[S]], %y
// CHECK-NOT: affine.parallel

// CHECK-LABEL: func.func private @halves(
func.func private @halves(%x: memref<8x16xf32>, %y: memref<2x8x8xf32>) attributes {lamina.kernel = "copy"} {
  affine.parallel (%i, %j) = (0, 0) to (8, 8) {
    %a = affine.load %x[%i, %j] : memref<8x16xf32>
    affine.store %a, %y[0, %i, %j] : memref<2x8x8xf32>
  }
  affine.parallel (%i, %j) = (0, 0) to (8, 8) {
    %a = affine.load %x[%i, %j + 8] : memref<8x16xf32>
    affine.store %a, %y[1, %i, %j] : memref<2x8x8xf32>
  }
  func.return
}
// CHECK-COUNT-2: affine.parallel
