// RUN: lamina-opt %s -p affine-loop-unroll-jam | filecheck %s

// Rows of a matrix times a vector: four rows at once.
// CHECK-LABEL: func.func @rows
// CHECK: affine.for %i = 0 to 8 step 4 {
// CHECK-NEXT: %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} = affine.for %[[K:.*]] = 0 to 64
// CHECK: affine.load %x[%i, %[[K]]]
// CHECK-NEXT: affine.load %v[%[[K]]]
// CHECK: affine.load %x[%i + 3, %[[K]]]
// CHECK: affine.for %{{.*}} = 8 to 9 {
func.func @rows(%x: memref<9x64xf32>, %v: memref<64xf32>, %y: memref<9xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 9 {
    %s = affine.for %k = 0 to 64 iter_args(%acc = %zero) -> (f32) {
      %l = affine.load %x[%i, %k] : memref<9x64xf32>
      %r = affine.load %v[%k] : memref<64xf32>
      %p = arith.mulf %l, %r : f32
      %t = arith.addf %acc, %p : f32
      affine.yield %t : f32
    }
    affine.store %s, %y[%i] : memref<9xf32>
  }
  func.return
}

// Left alone: a plain sum of rows, which shares nothing between them.
// CHECK-LABEL: func.func @plain
// CHECK: affine.for %i = 0 to 9 {
func.func @plain(%x: memref<9x64xf32>, %y: memref<9xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 9 {
    %s = affine.for %k = 0 to 64 iter_args(%acc = %zero) -> (f32) {
      %l = affine.load %x[%i, %k] : memref<9x64xf32>
      %t = arith.addf %acc, %l : f32
      affine.yield %t : f32
    }
    affine.store %s, %y[%i] : memref<9xf32>
  }
  func.return
}

// Left alone: rows too short to wait for.
// CHECK-LABEL: func.func @short
// CHECK: affine.for %i = 0 to 9 {
func.func @short(%x: memref<9x16xf32>, %v: memref<16xf32>, %y: memref<9xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 9 {
    %s = affine.for %k = 0 to 16 iter_args(%acc = %zero) -> (f32) {
      %l = affine.load %x[%i, %k] : memref<9x16xf32>
      %r = affine.load %v[%k] : memref<16xf32>
      %p = arith.mulf %l, %r : f32
      %t = arith.addf %acc, %p : f32
      affine.yield %t : f32
    }
    affine.store %s, %y[%i] : memref<9xf32>
  }
  func.return
}

// Rows that are taken into one row, element by element: four at once, in their order. Not where they lie close together.
// CHECK-LABEL: func.func @down
// CHECK: affine.for %i = 0 to 8 step 4 {
// CHECK-NEXT: affine.for %[[J:.*]] = 0 to 800 {
// CHECK: affine.load %x[%i, %[[J]]]
// CHECK: affine.load %x[%i + 1, %[[J]]]
// CHECK: affine.load %x[%i + 3, %[[J]]]
// CHECK: affine.for %{{.*}} = 8 to 9 {
// CHECK: affine.for %{{.*}} = 0 to 9 {
// CHECK-NEXT: affine.for %{{.*}} = 0 to 80 {
func.func @down(%x: memref<9x800xf32>, %y: memref<800xf32>, %short: memref<9x80xf32>, %z: memref<80xf32>) {
  affine.for %i = 0 to 9 {
    affine.for %j = 0 to 800 {
      %s = affine.load %y[%j] : memref<800xf32>
      %l = affine.load %x[%i, %j] : memref<9x800xf32>
      %t = arith.addf %s, %l : f32
      affine.store %t, %y[%j] : memref<800xf32>
    }
  }
  affine.for %i = 0 to 9 {
    affine.for %j = 0 to 80 {
      %s = affine.load %z[%j] : memref<80xf32>
      %l = affine.load %short[%i, %j] : memref<9x80xf32>
      %t = arith.addf %s, %l : f32
      affine.store %t, %z[%j] : memref<80xf32>
    }
  }
  func.return
}

// So are sums so far, which are written row by row besides. Not where the row that is written is the same each time.
// CHECK-LABEL: func.func @running
// CHECK: affine.for %i = 0 to 8 step 4 {
// CHECK-NEXT: affine.for %[[J:.*]] = 0 to 800 {
// CHECK: affine.store %{{.*}}, %z[%i, %[[J]]]
// CHECK: affine.store %{{.*}}, %z[%i + 3, %[[J]]]
// CHECK: affine.for %{{.*}} = 8 to 9 {
// CHECK: affine.for %{{.*}} = 0 to 9 {
// CHECK-NEXT: affine.for %{{.*}} = 0 to 800 {
func.func @running(%x: memref<9x800xf32>, %y: memref<800xf32>, %z: memref<9x800xf32>, %last: memref<800xf32>) {
  affine.for %i = 0 to 9 {
    affine.for %j = 0 to 800 {
      %s = affine.load %y[%j] : memref<800xf32>
      %l = affine.load %x[%i, %j] : memref<9x800xf32>
      %t = arith.addf %s, %l : f32
      affine.store %t, %y[%j] : memref<800xf32>
      affine.store %t, %z[%i, %j] : memref<9x800xf32>
    }
  }
  affine.for %i = 0 to 9 {
    affine.for %j = 0 to 800 {
      %s = affine.load %y[%j] : memref<800xf32>
      %l = affine.load %x[%i, %j] : memref<9x800xf32>
      %t = arith.addf %s, %l : f32
      affine.store %t, %y[%j] : memref<800xf32>
      affine.store %t, %last[%j] : memref<800xf32>
    }
  }
  func.return
}

// Rows that are taken into one with a loop between: a few rows of each of several arrays.
// CHECK-LABEL: func.func @planes
// CHECK-NOT: llvm.rolled
// CHECK: affine.for %k = 0 to 8 step 4 {
// CHECK-NEXT: affine.for %[[R:.*]] = 0 to 3 {
// CHECK-NEXT: affine.for %[[C:.*]] = 0 to 400 {
// CHECK: affine.load %x[%k + 3, %[[R]], %[[C]]]
func.func @planes(%x: memref<8x3x400xf32>, %y: memref<3x400xf32>) {
  affine.for %k = 0 to 8 {
    affine.for %r = 0 to 3 {
      affine.for %j = 0 to 400 {
        %s = affine.load %y[%r, %j] : memref<3x400xf32>
        %l = affine.load %x[%k, %r, %j] : memref<8x3x400xf32>
        %t = arith.maximumf %s, %l : f32
        affine.store %t, %y[%r, %j] : memref<3x400xf32>
      }
    }
  }
  func.return
}

// Of an array that L2 does not hold LLVM is to leave the order of the loads.
// CHECK-LABEL: func.func @large_planes
// CHECK-SAME: attributes {llvm.rolled}
// CHECK: affine.load %x[%k + 3, %{{.*}}, %{{.*}}]
func.func @large_planes(%x: memref<8x64x400xf32>, %y: memref<64x400xf32>) {
  affine.for %k = 0 to 8 {
    affine.for %r = 0 to 64 {
      affine.for %j = 0 to 400 {
        %s = affine.load %y[%r, %j] : memref<64x400xf32>
        %l = affine.load %x[%k, %r, %j] : memref<8x64x400xf32>
        %t = arith.maximumf %s, %l : f32
        affine.store %t, %y[%r, %j] : memref<64x400xf32>
      }
    }
  }
  func.return
}

// Sums along the rows of an array that L2 does not hold: those of four quarters at once, then what is left. LLVM is to
// leave the order of the loads.
// CHECK-LABEL: func.func @apart
// CHECK-SAME: attributes {llvm.rolled}
// CHECK: affine.for %i = 0 to 64 {
// CHECK-NEXT: %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} = affine.for %[[K:.*]] = 0 to 700 iter_args(%{{.*}} = %zero, %{{.*}} = %zero, %{{.*}} = %zero, %{{.*}} = %zero)
// CHECK: affine.load %x[%i, %[[K]]]
// CHECK: affine.load %x[%i + 64, %[[K]]]
// CHECK: affine.load %x[%i + 192, %[[K]]]
// CHECK: affine.store %{{.*}}, %y[%i + 192]
// CHECK: affine.for %{{.*}} = 256 to 258 {
func.func @apart(%x: memref<258x700xf32>, %y: memref<258xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 258 {
    %s = affine.for %k = 0 to 700 iter_args(%acc = %zero) -> (f32) {
      %l = affine.load %x[%i, %k] : memref<258x700xf32>
      %t = arith.addf %acc, %l : f32
      affine.yield %t : f32
    }
    affine.store %s, %y[%i] : memref<258xf32>
  }
  func.return
}

// The total of all rows: four totals, of which three begin with what changes nothing.
// CHECK-LABEL: func.func @total
// CHECK: %[[NOTHING:.*]] = arith.constant -0.000000e+00 : f32
// CHECK: %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} = affine.for %i = 0 to 64 iter_args(%{{.*}} = %zero, %{{.*}} = %[[NOTHING]], %{{.*}} = %[[NOTHING]], %{{.*}} = %[[NOTHING]])
// CHECK: affine.load %x[%i + 128, %{{.*}}]
// CHECK: affine.yield %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}
// CHECK: %[[A:.*]] = arith.addf
// CHECK: %[[B:.*]] = arith.addf %[[A]]
// CHECK: %[[C:.*]] = arith.addf %[[B]]
// CHECK: %[[T:.*]] = affine.for %{{.*}} = 256 to 257 iter_args(%{{.*}} = %[[C]])
// CHECK: affine.store %[[T]], %y[]
func.func @total(%x: memref<257x700xf32>, %y: memref<f32>) {
  %zero = arith.constant 0.0 : f32
  %total = affine.for %i = 0 to 257 iter_args(%so_far = %zero) -> (f32) {
    %s = affine.for %k = 0 to 700 iter_args(%acc = %so_far) -> (f32) {
      %l = affine.load %x[%i, %k] : memref<257x700xf32>
      %t = arith.addf %acc, %l : f32
      affine.yield %t : f32
    }
    affine.yield %s : f32
  }
  affine.store %total, %y[] : memref<f32>
  func.return
}

// Rows that are taken into one row, of an array that L2 does not hold: those of four quarters, where any order will do.
// CHECK-LABEL: func.func @near
// CHECK: affine.for %i = 0 to 256 {
// CHECK-NEXT: affine.for %[[J:.*]] = 0 to 256 {
// CHECK: affine.load %x[%i, %[[J]]]
// CHECK: affine.load %x[%i + 256, %[[J]]]
// CHECK: affine.load %x[%i + 768, %[[J]]]
// CHECK: affine.store
// CHECK: affine.for %{{.*}} = 0 to 1024 {
// CHECK: affine.for %[[W:.*]] = 0 to 64 {
// CHECK: affine.load %wide[%[[W]] + 192, %{{.*}}]
func.func @near(%x: memref<1024x256xf32>, %y: memref<256xf32>, %wide: memref<256x1024xf32>, %z: memref<1024xf32>) {
  affine.for %i = 0 to 1024 {
    affine.for %j = 0 to 256 {
      %s = affine.load %y[%j] : memref<256xf32>
      %l = affine.load %x[%i, %j] : memref<1024x256xf32>
      %t = arith.maximumf %s, %l : f32
      affine.store %t, %y[%j] : memref<256xf32>
    }
  }
  affine.for %i = 0 to 1024 { // each round halves what was there
    affine.for %j = 0 to 256 {
      %s = affine.load %y[%j] : memref<256xf32>
      %l = affine.load %x[%i, %j] : memref<1024x256xf32>
      %d = arith.subf %l, %s : f32
      affine.store %d, %y[%j] : memref<256xf32>
    }
  }
  affine.for %i = 0 to 256 {
    affine.for %j = 0 to 1024 {
      %s = affine.load %z[%j] : memref<1024xf32>
      %l = affine.load %wide[%i, %j] : memref<256x1024xf32>
      %t = arith.maximumf %s, %l : f32
      affine.store %t, %z[%j] : memref<1024xf32>
    }
  }
  func.return
}

// Left alone: one of the rows is the one that all are added to, so that their order matters.
// CHECK-LABEL: func.func @itself
// CHECK: affine.for %i = 0 to 1024 {
func.func @itself(%x: memref<1024x256xf32>) {
  affine.for %i = 0 to 1024 {
    affine.for %j = 0 to 256 {
      %s = affine.load %x[5, %j] : memref<1024x256xf32>
      %l = affine.load %x[%i, %j] : memref<1024x256xf32>
      %t = arith.addf %s, %l : f32
      affine.store %t, %x[5, %j] : memref<1024x256xf32>
    }
  }
  func.return
}

// Left alone: what is summed up takes the total so far into account.
// CHECK-LABEL: func.func @so_far
// CHECK: affine.for %i = 0 to 256 iter_args
func.func @so_far(%x: memref<256x700xf32>, %y: memref<f32>) {
  %zero = arith.constant 0.0 : f32
  %total = affine.for %i = 0 to 256 iter_args(%so_far = %zero) -> (f32) {
    %s = affine.for %k = 0 to 700 iter_args(%acc = %so_far) -> (f32) {
      %l = affine.load %x[%i, %k] : memref<256x700xf32>
      %d = arith.subf %l, %so_far : f32
      %t = arith.addf %acc, %d : f32
      affine.yield %t : f32
    }
    affine.yield %s : f32
  }
  affine.store %total, %y[] : memref<f32>
  func.return
}
