// RUN: lamina-opt %s -p affine-loop-tile | filecheck %s
// RUN: lamina-opt %s -p 'affine-loop-tile{sizes=2,0,4}' | filecheck %s --check-prefix=SIZES

// CHECK-LABEL: func.func @transpose
// CHECK: affine.for %[[IT:.*]] = 0 to 8 {
// CHECK-NEXT: affine.for %[[JT:.*]] = 0 to 3 {
// CHECK-NEXT: affine.for %i = 0 to 32 {
// CHECK-NEXT: affine.for %j = 0 to min affine_map<(d0) -> (40, ((d0 * -40) + 100))>(%[[JT]]) {
// CHECK-NEXT: affine.load %x[%[[JT]] * 40 + %j, %[[IT]] * 32 + %i]
// CHECK-NEXT: affine.store %{{.*}}, %y[%[[IT]] * 32 + %i, %[[JT]] * 40 + %j]
func.func @transpose(%x: memref<100x256xf32>, %y: memref<256x100xf32>) {
  affine.for %i = 0 to 256 {
    affine.for %j = 0 to 100 {
      %v = affine.load %x[%j, %i] : memref<100x256xf32>
      affine.store %v, %y[%i, %j] : memref<256x100xf32>
    }
  }
  func.return
}

// Long rows: tiles follow one another along what is read.
// CHECK-LABEL: func.func @long
// CHECK: affine.for %[[JT:.*]] = 0 to 32 {
// CHECK-NEXT: affine.for %[[IT:.*]] = 0 to 16 {
// CHECK-NEXT: affine.for %i = 0 to 32 {
// CHECK-NEXT: affine.for %j = 0 to 32 {
// CHECK-NEXT: affine.load %x[%[[JT]] * 32 + %j, %[[IT]] * 32 + %i]
func.func @long(%x: memref<1024x512xf32>, %y: memref<512x1024xf32>) {
  affine.for %i = 0 to 512 {
    affine.for %j = 0 to 1024 {
      %v = affine.load %x[%j, %i] : memref<1024x512xf32>
      affine.store %v, %y[%i, %j] : memref<512x1024xf32>
    }
  }
  func.return
}

// The pages of a batch one after the other, each by tiles.
// CHECK-LABEL: func.func @batch
// CHECK: affine.for %[[B:.*]] = 0 to 12 {
// CHECK-NEXT: affine.for %[[JT:.*]] = 0 to 16 {
// CHECK-NEXT: affine.for %[[IT:.*]] = 0 to 2 {
// CHECK-NEXT: affine.for %i = 0 to 32 {
// CHECK-NEXT: affine.for %j = 0 to 32 {
// CHECK-NEXT: affine.load %x[%[[B]], %[[JT]] * 32 + %j, %[[IT]] * 32 + %i]
func.func @batch(%x: memref<12x512x64xf32>, %y: memref<12x64x512xf32>) {
  affine.for %b = 0 to 12 {
    affine.for %i = 0 to 64 {
      affine.for %j = 0 to 512 {
        %v = affine.load %x[%b, %j, %i] : memref<12x512x64xf32>
        affine.store %v, %y[%b, %i, %j] : memref<12x64x512xf32>
      }
    }
  }
  func.return
}

// Not by itself: all accesses run along the innermost loop.
// CHECK-LABEL: func.func @copy
// CHECK-COUNT-3: affine.for
// CHECK-NOT: affine.for
// CHECK-LABEL: func.func @wavefront
// SIZES-LABEL: func.func @copy
// SIZES: affine.for %[[IT:.*]] = 0 to 50 {
// SIZES-NEXT: affine.for %[[KT:.*]] = 0 to 64 {
// SIZES-NEXT: affine.for %i = 0 to 2 {
// SIZES-NEXT: affine.for %j = 0 to 3 {
// SIZES-NEXT: affine.for %k = 0 to 4 {
// SIZES-NEXT: affine.load %x[%[[IT]] * 2 + %i, %j, %[[KT]] * 4 + %k]
func.func @copy(%x: memref<100x3x256xf32>, %y: memref<100x3x256xf32>) {
  affine.for %i = 0 to 100 {
    affine.for %j = 0 to 3 {
      affine.for %k = 0 to 256 {
        %v = affine.load %x[%i, %j, %k] : memref<100x3x256xf32>
        affine.store %v, %y[%i, %j, %k] : memref<100x3x256xf32>
      }
    }
  }
  func.return
}

// Refused: a dependence goes backwards in the inner loop.
// SIZES-LABEL: func.func @wavefront
// SIZES: affine.for %i = 1 to 8 {
// SIZES-NEXT: affine.for %j = 0 to 7 {
func.func @wavefront(%x: memref<9x8xf32>) {
  affine.for %i = 1 to 8 {
    affine.for %j = 0 to 7 {
      %v = affine.load %x[%i - 1, %j + 1] : memref<9x8xf32>
      affine.store %v, %x[%i, %j] : memref<9x8xf32>
    }
  }
  func.return
}
