// RUN: lamina-opt %s -p affine-skip-terms | filecheck %s

// What is stored besides is 0: a term of 0 leaves the sum as it is. Where the row lies is worked out behind the branch.
// CHECK-LABEL: func.func public @sum
// CHECK: affine.for %[[I:.*]] = 0 to 8 {
// CHECK-NEXT: %[[SOME:.*]] = affine.load %{{.*}}[%[[I]]] : memref<8xi1>
// CHECK-NEXT: scf.if %[[SOME]] {
// CHECK-NEXT: affine.for %{{.*}} = 0 to 2 {
// CHECK-NEXT: affine.load %{{.*}} : memref<8x2xf32>
// CHECK-NEXT: affine.for %{{.*}} = 0 to 64 {
// CHECK: %[[P:.*]] = arith.mulf
// CHECK-NEXT: arith.addf %{{.*}}, %[[P]] : f32
// CHECK-NOT: arith.select
func.func public @sum(%m: memref<8xi1>, %w: memref<8x2xf32>, %x: memref<64xf32>, %y: memref<64xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %c = 0 to 64 {
    affine.store %zero, %y[%c] : memref<64xf32>
  }
  affine.for %i = 0 to 8 {
    %some = affine.load %m[%i] : memref<8xi1>
    affine.for %t = 0 to 2 {
      %f = affine.load %w[%i, %t] : memref<8x2xf32>
      affine.for %c = 0 to 64 {
        %before = affine.load %y[%c] : memref<64xf32>
        %a = affine.load %x[%c] : memref<64xf32>
        %p = arith.mulf %a, %f : f32
        %term = arith.select %some, %p, %zero : f32
        %after = arith.addf %before, %term : f32
        affine.store %after, %y[%c] : memref<64xf32>
      }
    }
  }
  func.return
}

// The sum may be -0 before, which 0 is added to: it stays as it is.
// CHECK-LABEL: func.func public @minus_zero
// CHECK-NOT: scf.if
// CHECK: return
func.func public @minus_zero(%m: memref<8xi1>, %x: memref<64xf32>, %y: memref<64xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 8 {
    %some = affine.load %m[%i] : memref<8xi1>
    affine.for %c = 0 to 64 {
      %before = affine.load %y[%c] : memref<64xf32>
      %a = affine.load %x[%c] : memref<64xf32>
      %term = arith.select %some, %a, %zero : f32
      %after = arith.addf %before, %term : f32
      affine.store %after, %y[%c] : memref<64xf32>
    }
  }
  func.return
}

// Rows begin with 0, each before terms are added to it; of two that begin with 0 only the first halves do.
// CHECK-LABEL: func.func public @rows
// CHECK: affine.for %{{.*}} = 0 to 8 {
// CHECK: scf.if
// CHECK: affine.for %{{.*}} = 0 to 32 {
// CHECK-NOT: scf.if
// CHECK: return
func.func public @rows(%m: memref<8xi1>, %x: memref<64xf32>, %y: memref<8x64xf32>, %z: memref<8x64xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 8 {
    affine.for %c = 0 to 64 {
      affine.store %zero, %y[%i, %c] : memref<8x64xf32>
    }
    %some = affine.load %m[%i] : memref<8xi1>
    affine.for %c = 0 to 64 {
      %before = affine.load %y[%i, %c] : memref<8x64xf32>
      %a = affine.load %x[%c] : memref<64xf32>
      %term = arith.select %some, %a, %zero : f32
      %after = arith.addf %before, %term : f32
      affine.store %after, %y[%i, %c] : memref<8x64xf32>
    }
  }
  affine.for %i = 0 to 8 {
    affine.for %c = 0 to 32 {
      affine.store %zero, %z[%i, %c] : memref<8x64xf32>
    }
    %some = affine.load %m[%i] : memref<8xi1>
    affine.for %c = 0 to 64 {
      %before = affine.load %z[%i, %c] : memref<8x64xf32>
      %a = affine.load %x[%c] : memref<64xf32>
      %term = arith.select %some, %a, %zero : f32
      %after = arith.addf %before, %term : f32
      affine.store %after, %z[%i, %c] : memref<8x64xf32>
    }
  }
  func.return
}

// The largest of anything and -inf is that, whatever was there.
// CHECK-LABEL: func.func public @largest
// CHECK: scf.if
// CHECK: arith.maximumf
func.func public @largest(%m: memref<8xi1>, %x: memref<64xf32>, %y: memref<64xf32>) {
  %low = arith.constant 0xFF800000 : f32
  affine.for %i = 0 to 8 {
    %some = affine.load %m[%i] : memref<8xi1>
    affine.for %c = 0 to 64 {
      %before = affine.load %y[%c] : memref<64xf32>
      %a = affine.load %x[%c] : memref<64xf32>
      %term = arith.select %some, %a, %low : f32
      %after = arith.maximumf %before, %term : f32
      affine.store %after, %y[%c] : memref<64xf32>
    }
  }
  func.return
}

// Each element has a condition of its own, rows are too short to be worth a branch, terms go elsewhere than they are
// added to, something else is stored with them or on the way: nothing changes but, of the last, the rows themselves.
// CHECK-LABEL: func.func public @others
// CHECK-NOT: scf.if
// CHECK: affine.store %{{.*}}, %{{.*}} : memref<2xf32>
// CHECK-NEXT: scf.if
// CHECK-NEXT: affine.for %{{.*}} = 0 to 64 {
func.func public @others(%m: memref<64xi1>, %x: memref<64xf32>, %y: memref<64xi32>, %z: memref<2xf32>, %o: memref<64xi32>) {
  %none = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %half = arith.constant 0.5 : f32
  affine.for %c = 0 to 64 {
    %some = affine.load %m[%c] : memref<64xi1>
    %before = affine.load %y[%c] : memref<64xi32>
    %term = arith.select %some, %one, %none : i32
    %after = arith.addi %before, %term : i32
    affine.store %after, %y[%c] : memref<64xi32>
  }
  %first = affine.load %m[0] : memref<64xi1>
  affine.for %c = 0 to 8 {
    %before = affine.load %y[%c] : memref<64xi32>
    %term = arith.select %first, %one, %none : i32
    %after = arith.addi %before, %term : i32
    affine.store %after, %y[%c] : memref<64xi32>
  }
  affine.for %c = 0 to 64 {
    %before = affine.load %y[%c] : memref<64xi32>
    %term = arith.select %first, %one, %none : i32
    %after = arith.addi %before, %term : i32
    affine.store %after, %o[%c] : memref<64xi32>
  }
  affine.for %c = 0 to 64 {
    %before = affine.load %y[%c] : memref<64xi32>
    %term = arith.select %first, %one, %none : i32
    %after = arith.addi %before, %term : i32
    affine.store %after, %y[%c] : memref<64xi32>
    memref.store %one, %o[%c] : memref<64xi32>
  }
  affine.for %t = 0 to 2 {
    affine.store %half, %z[%t] : memref<2xf32>
    affine.for %c = 0 to 64 {
      %before = affine.load %y[%c] : memref<64xi32>
      %term = arith.select %first, %one, %none : i32
      %after = arith.addi %before, %term : i32
      affine.store %after, %y[%c] : memref<64xi32>
    }
  }
  func.return
}
