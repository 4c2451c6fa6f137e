// RUN: lamina-opt %s -p affine-loop-strip | filecheck %s

// Rows of 512 from 64 places: sixteen at a time.
// CHECK-LABEL: func.func @highest
// CHECK: affine.for %[[S:.*]] = 0 to 16 {
// CHECK-NEXT: affine.for %[[R:.*]] = 0 to 16 {
// CHECK-NEXT: affine.for %[[J:.*]] = 0 to 512 {
// CHECK-NEXT: affine.store %{{.*}}, %y[%[[S]] * 16 + %[[R]], %[[J]]]
// CHECK: affine.for %[[K:.*]] = 0 to 64 {
// CHECK-NEXT: affine.for %[[Q:.*]] = 0 to 16 {
// CHECK-NEXT: affine.for %[[L:.*]] = 0 to 512 {
// CHECK-NEXT: affine.load %y[%[[S]] * 16 + %[[Q]], %[[L]]]
// CHECK-NEXT: affine.load %x[%[[K]], %[[S]] * 16 + %[[Q]], %[[L]]]
func.func @highest(%x: memref<64x256x512xf32>, %y: memref<256x512xf32>) {
  %low = arith.constant 0xff800000 : f32
  affine.for %i = 0 to 256 {
    affine.for %j = 0 to 512 {
      affine.store %low, %y[%i, %j] : memref<256x512xf32>
    }
    affine.for %k = 0 to 64 {
      affine.for %j = 0 to 512 {
        %a = affine.load %y[%i, %j] : memref<256x512xf32>
        %b = affine.load %x[%k, %i, %j] : memref<64x256x512xf32>
        %c = arith.maximumf %a, %b : f32
        affine.store %c, %y[%i, %j] : memref<256x512xf32>
      }
    }
  }
  func.return
}

// Refused: a dimension in the middle, whose rows lie behind one another; few rows; rows that depend on each other.
// CHECK-LABEL: func.func @refused
// CHECK: affine.for %{{.*}} = 0 to 64 {
// CHECK-NEXT: affine.for %{{.*}} = 0 to 256 {
// CHECK-NEXT: affine.for %{{.*}} = 0 to 512 {
// CHECK: affine.for %{{.*}} = 0 to 16 {
// CHECK-NEXT: affine.for %{{.*}} = 0 to 64 {
// CHECK-NEXT: affine.for %{{.*}} = 0 to 512 {
// CHECK: affine.for %{{.*}} = 0 to 256 {
// CHECK-NEXT: affine.for %{{.*}} = 0 to 64 {
// CHECK-NEXT: affine.for %{{.*}} = 0 to 512 {
func.func @refused(%x: memref<64x256x512xf32>, %y: memref<64x512xf32>, %z: memref<64x16x512xf32>, %u: memref<256x512xf32>, %v: memref<257x512xf32>) {
  affine.for %i = 0 to 64 {
    affine.for %k = 0 to 256 {
      affine.for %j = 0 to 512 {
        %b = affine.load %x[%i, %k, %j] : memref<64x256x512xf32>
        affine.store %b, %y[%i, %j] : memref<64x512xf32>
      }
    }
  }
  affine.for %i = 0 to 16 {
    affine.for %k = 0 to 64 {
      affine.for %j = 0 to 512 {
        %b = affine.load %z[%k, %i, %j] : memref<64x16x512xf32>
        affine.store %b, %u[%i, %j] : memref<256x512xf32>
      }
    }
  }
  affine.for %i = 0 to 256 {
    affine.for %k = 0 to 64 {
      affine.for %j = 0 to 512 {
        %a = affine.load %v[%i, %j] : memref<257x512xf32>
        %b = affine.load %x[%k, %i, %j] : memref<64x256x512xf32>
        %c = arith.addf %a, %b : f32
        affine.store %c, %v[%i + 1, %j] : memref<257x512xf32>
      }
    }
  }
  func.return
}

// Refused: what takes the rows apart, as a transpose does.
// CHECK-LABEL: func.func @transpose
// CHECK: affine.for %{{.*}} = 0 to 256 {
// CHECK-NEXT: affine.for %{{.*}} = 0 to 64 {
// CHECK-NEXT: affine.for %{{.*}} = 0 to 512 {
func.func @transpose(%x: memref<256x512x64xf32>, %y: memref<64x256x512xf32>) {
  affine.for %i = 0 to 256 {
    affine.for %k = 0 to 64 {
      affine.for %j = 0 to 512 {
        %a = affine.load %x[%i, %j, %k] : memref<256x512x64xf32>
        affine.store %a, %y[%k, %i, %j] : memref<64x256x512xf32>
      }
    }
  }
  func.return
}
