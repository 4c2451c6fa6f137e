// RUN: lamina-opt %s --machine x86-64-avx2 -p affine-vectorize | filecheck %s

// A function waits for its own steps: four registers side by side, though not all that they need fit into registers.
// CHECK-LABEL: func.func @function
// CHECK: affine.for %{{.*}} = 0 to 1024 step 32 {
func.func @function(%x: memref<1024xf32>, %y: memref<1024xf32>) {
  affine.for %i = 0 to 1024 {
    %a = affine.load %x[%i] : memref<1024xf32>
    %b = math.erf %a : f32
    %c = arith.mulf %a, %b : f32
    affine.store %c, %y[%i] : memref<1024xf32>
  }
  func.return
}

// Not where sums are carried.
// CHECK-LABEL: func.func @sum
// CHECK: affine.for %{{.*}} = 0 to 1024 step 16 iter_args
func.func @sum(%x: memref<1024xf32>, %m: f32, %y: memref<1024xf32>) -> f32 {
  %zero = arith.constant 0.0 : f32
  %r = affine.for %i = 0 to 1024 iter_args(%s = %zero) -> (f32) {
    %a = affine.load %x[%i] : memref<1024xf32>
    %b = arith.subf %a, %m : f32
    %c = math.exp %b : f32
    affine.store %c, %y[%i] : memref<1024xf32>
    %d = arith.addf %s, %c fastmath<reassoc> : f32
    affine.yield %d : f32
  }
  func.return %r : f32
}

// What is one instruction counts as any other: seven values that are needed at a time leave room for two registers.
// CHECK-LABEL: func.func @instruction
// CHECK: affine.for %{{.*}} = 0 to 1024 step 16 {
func.func @instruction(%x: memref<8x1024xf32>, %y: memref<1024xf32>) {
  affine.for %i = 0 to 1024 {
    %a = affine.load %x[0, %i] : memref<8x1024xf32>
    %b = affine.load %x[1, %i] : memref<8x1024xf32>
    %c = affine.load %x[2, %i] : memref<8x1024xf32>
    %d = affine.load %x[3, %i] : memref<8x1024xf32>
    %e = affine.load %x[4, %i] : memref<8x1024xf32>
    %f = affine.load %x[5, %i] : memref<8x1024xf32>
    %g = math.absf %a : f32
    %h = arith.addf %g, %b : f32
    %j = arith.addf %h, %c : f32
    %k = arith.addf %j, %d : f32
    %l = arith.addf %k, %e : f32
    %m = arith.addf %l, %f : f32
    affine.store %m, %y[%i] : memref<1024xf32>
  }
  func.return
}
