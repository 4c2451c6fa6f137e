// RUN: lamina-opt %s --machine x86-64-avx512 -p 'affine-pipeline-rows' | filecheck %s

// CHECK-NOT: affine.min
// CHECK-NOT: iter_args

// What the last loop writes the first one reads, a row ahead.
func.func @in_place(%x: memref<64x256xf32>, %y: memref<64x256xf32>) {
  affine.parallel (%r) = (0) to (64) {
    affine.for %j = 0 to 256 {
      %a = affine.load %x[%r, %j] : memref<64x256xf32>
      affine.store %a, %y[%r, %j] : memref<64x256xf32>
    }
    affine.for %j = 0 to 256 {
      %a = affine.load %y[%r, %j] : memref<64x256xf32>
      affine.store %a, %x[%r, %j] : memref<64x256xf32>
    }
  }
  func.return
}

// What the first loop writes somebody wants to have, besides the second one.
func.func @kept(%x: memref<64x256xf32>, %y: memref<64x256xf32>, %z: memref<64x256xf32>) {
  affine.parallel (%r) = (0) to (64) {
    affine.for %j = 0 to 256 {
      %a = affine.load %x[%r, %j] : memref<64x256xf32>
      affine.store %a, %y[%r, %j] : memref<64x256xf32>
    }
    affine.for %j = 0 to 256 {
      %a = affine.load %y[%r, %j] : memref<64x256xf32>
      affine.store %a, %z[%r, %j] : memref<64x256xf32>
    }
  }
  func.return
}

// What is overwritten is not what was read.
func.func @elsewhere(%x: memref<64x256xf32>, %y: memref<64x512xf32>) {
  affine.parallel (%r) = (0) to (64) {
    affine.for %j = 0 to 256 {
      %a = affine.load %x[%r, %j] : memref<64x256xf32>
      affine.store %a, %y[%r, %j] : memref<64x512xf32>
    }
    affine.for %j = 0 to 256 {
      %a = affine.load %y[%r, %j] : memref<64x512xf32>
      affine.store %a, %y[%r, %j + 256] : memref<64x512xf32>
    }
  }
  func.return
}

// Few rows; loops of other lengths; a single loop; rows of which the first cache does not hold enough.
func.func @few(%x: memref<31x256xf32>, %y: memref<31x256xf32>) {
  affine.parallel (%r) = (0) to (31) {
    affine.for %j = 0 to 256 {
      %a = affine.load %x[%r, %j] : memref<31x256xf32>
      affine.store %a, %y[%r, %j] : memref<31x256xf32>
    }
    affine.for %j = 0 to 256 {
      %a = affine.load %y[%r, %j] : memref<31x256xf32>
      affine.store %a, %y[%r, %j] : memref<31x256xf32>
    }
  }
  func.return
}

func.func @other_lengths(%x: memref<64x256xf32>, %y: memref<64x256xf32>) {
  affine.parallel (%r) = (0) to (64) {
    affine.for %j = 0 to 256 {
      %a = affine.load %x[%r, %j] : memref<64x256xf32>
      affine.store %a, %y[%r, %j] : memref<64x256xf32>
    }
    affine.for %j = 0 to 255 {
      %a = affine.load %y[%r, %j] : memref<64x256xf32>
      affine.store %a, %y[%r, %j] : memref<64x256xf32>
    }
  }
  func.return
}

func.func @single(%x: memref<64x256xf32>, %y: memref<64x256xf32>) {
  affine.parallel (%r) = (0) to (64) {
    affine.for %j = 0 to 256 {
      %a = affine.load %x[%r, %j] : memref<64x256xf32>
      affine.store %a, %y[%r, %j] : memref<64x256xf32>
    }
  }
  func.return
}

func.func @long(%x: memref<64x65536xf32>, %y: memref<64x65536xf32>) {
  affine.parallel (%r) = (0) to (64) {
    affine.for %j = 0 to 65536 {
      %a = affine.load %x[%r, %j] : memref<64x65536xf32>
      affine.store %a, %y[%r, %j] : memref<64x65536xf32>
    }
    affine.for %j = 0 to 65536 {
      %a = affine.load %y[%r, %j] : memref<64x65536xf32>
      affine.store %a, %y[%r, %j] : memref<64x65536xf32>
    }
  }
  func.return
}

// The last loop reads what it has just written.
func.func @again(%x: memref<64x256xf32>, %y: memref<64x256xf32>) {
  affine.parallel (%r) = (0) to (64) {
    affine.for %j = 0 to 256 {
      %a = affine.load %x[%r, %j] : memref<64x256xf32>
      affine.store %a, %y[%r, %j] : memref<64x256xf32>
    }
    affine.for %j = 0 to 256 {
      %a = affine.load %x[%r, %j] : memref<64x256xf32>
      affine.store %a, %y[%r, %j] : memref<64x256xf32>
      %b = affine.load %y[%r, %j] : memref<64x256xf32>
      affine.store %b, %y[%r, %j] : memref<64x256xf32>
    }
  }
  func.return
}
