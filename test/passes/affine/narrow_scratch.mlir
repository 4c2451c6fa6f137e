// RUN: lamina-opt %s -p affine-narrow-scratch | filecheck %s

// CHECK-LABEL: func.func private @rows
// CHECK:         affine.parallel ([[I:%[0-9a-z]+]]) = (0) to (64) {
// CHECK-NEXT:      [[ROW:%[0-9]+]] = memref.alloca() {alignment = 64 : i64} : memref<1x1x40xf32>
// CHECK:             affine.store %{{.*}}, [[ROW]][0, 0, %{{.*}}] : memref<1x1x40xf32>
// CHECK:             affine.load [[ROW]][0, 0, %{{.*}}] : memref<1x1x40xf32>
func.func private @rows(%x: memref<1x64x40xf32>, %y: memref<1x64x40xbf16>, %s: memref<1x4x16x40xf32>) attributes {lamina.kernel = "loops", lamina.scratch = 1 : i64} {
  %whole = memref.collapse_shape %s [[0 : i64], [1 : i64, 2 : i64], [3 : i64]] : memref<1x4x16x40xf32> into memref<1x64x40xf32>
  affine.parallel (%i) = (0) to (64) {
    affine.for %j = 0 to 40 {
      %a = affine.load %x[0, %i, %j] : memref<1x64x40xf32>
      %b = arith.addf %a, %a : f32
      affine.store %b, %whole[0, %i, %j] : memref<1x64x40xf32>
    }
    affine.for %j = 0 to 40 {
      %a = affine.load %whole[0, %i, %j] : memref<1x64x40xf32>
      %b = arith.truncf %a : f32 to bf16
      affine.store %b, %y[0, %i, %j] : memref<1x64x40xbf16>
    }
  }
  func.return
}

// What another iteration's place is read of, rows that the stack does not hold, two loops, and arguments that are no
// scratch stay.
// CHECK-LABEL: func.func private @beside
// CHECK-NOT: memref.alloca
func.func private @beside(%y: memref<64x40xf32>, %s: memref<64x40xf32>) attributes {lamina.kernel = "loops", lamina.scratch = 1 : i64} {
  affine.parallel (%i) = (0) to (63) {
    affine.for %j = 0 to 40 {
      %a = affine.load %s[%i + 1, %j] : memref<64x40xf32>
      affine.store %a, %y[%i, %j] : memref<64x40xf32>
      affine.store %a, %s[%i, %j] : memref<64x40xf32>
    }
  }
  func.return
}

func.func private @long(%y: memref<64x5000xf32>, %s: memref<64x5000xf32>) attributes {lamina.kernel = "loops", lamina.scratch = 1 : i64} {
  affine.parallel (%i) = (0) to (64) {
    affine.for %j = 0 to 5000 {
      %a = affine.load %y[%i, %j] : memref<64x5000xf32>
      affine.store %a, %s[%i, %j] : memref<64x5000xf32>
    }
    affine.for %j = 0 to 5000 {
      %a = affine.load %s[%i, %j] : memref<64x5000xf32>
      affine.store %a, %y[%i, %j] : memref<64x5000xf32>
    }
  }
  func.return
}

func.func private @two(%y: memref<64x40xf32>, %s: memref<64x40xf32>) attributes {lamina.kernel = "loops", lamina.scratch = 1 : i64} {
  affine.parallel (%i) = (0) to (64) {
    affine.for %j = 0 to 40 {
      %a = affine.load %y[%i, %j] : memref<64x40xf32>
      affine.store %a, %s[%i, %j] : memref<64x40xf32>
    }
  }
  affine.parallel (%i) = (0) to (64) {
    affine.for %j = 0 to 40 {
      %a = affine.load %s[%i, %j] : memref<64x40xf32>
      affine.store %a, %y[%i, %j] : memref<64x40xf32>
    }
  }
  func.return
}

func.func private @given(%y: memref<64x40xf32>, %s: memref<64x40xf32>) attributes {lamina.kernel = "loops"} {
  affine.parallel (%i) = (0) to (64) {
    affine.for %j = 0 to 40 {
      %a = affine.load %y[%i, %j] : memref<64x40xf32>
      affine.store %a, %s[%i, %j] : memref<64x40xf32>
    }
  }
  func.return
}
