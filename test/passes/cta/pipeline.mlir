// RUN: lamina-opt %s -p cta-pipeline | filecheck %s

// Rows of shared memory run as neighbours in memory do: of 128 bytes, swizzled, for warps; a tile of 32 columns has 64.
// CHECK-LABEL: func.func private @halves
// CHECK: cta.pipeline(%{{.*}}) {size = 256 : i64, step = 64 : i64, stages = 3 : i64} : (tensor<32x32xf32>) -> tensor<32x32xf32> produce {
// CHECK: cta.load {{.*}} to tensor<32x64xbf16, #cta.shared<(32,64):(64,1), swizzle<3,4,3>>>
// CHECK: cta.load {{.*}} to tensor<64x32xbf16, #cta.shared<(64,32):(32,1), swizzle<2,4,3>>>
// CHECK: cta.stage
// CHECK: consume {
// CHECK: cta.dot
func.func private @halves(%a: memref<64x256xbf16>, %b: memref<256x64xbf16>, %c: memref<64x64xf32>) {
  cta.program {sizes = array<i64: 1, 64, 64>, tile = array<i64: 1, 32, 32>, schedule = {unit = "mma", rows = 32 : i64, columns = 32 : i64, depth = 64 : i64, down = 2 : i64, across = 1 : i64, stages = 3 : i64}} do {
  ^bb0(%i: index, %m: index, %n: index):
    %l = cta.view %a : memref<64x256xbf16> to !cta.view<bf16, (1,64,256):(0,256,1)>
    %r = cta.view %b : memref<256x64xbf16> to !cta.view<bf16, (1,256,64):(0,64,1)>
    %o = cta.view %c : memref<64x64xf32> to !cta.view<f32, (1,64,64):(0,64,1)>
    %zero = arith.constant dense<0.0> : tensor<32x32xf32>
    %s = affine.for %k = 0 to 256 step 64 iter_args(%acc = %zero) -> (tensor<32x32xf32>) {
      %x = cta.load %l[%i, %m, %k] : !cta.view<bf16, (1,64,256):(0,256,1)> to tensor<32x64xbf16>
      %y = cta.load %r[%i, %k, %n] : !cta.view<bf16, (1,256,64):(0,64,1)> to tensor<64x32xbf16>
      %d = cta.dot %x, %y, %acc : (tensor<32x64xbf16>, tensor<64x32xbf16>, tensor<32x32xf32>) -> tensor<32x32xf32>
      affine.yield %d : tensor<32x32xf32>
    }
    cta.store %s, %o[%i, %m, %n] : tensor<32x32xf32>, !cta.view<f32, (1,64,64):(0,64,1)>
    cta.yield
  }
  func.return
}

// Numbers of 32 bits that lie turned are read one by one: rows begin at other banks. Threads want rows of the left
// operand for neighbours, however it lies.
// CHECK-LABEL: func.func private @singles
// CHECK: cta.load {{.*}} to tensor<32x32xf32, #cta.shared<(32,32):(1,40)>>
// CHECK: cta.load {{.*}} to tensor<32x32xf32, #cta.shared<(32,32):(40,1)>>
// CHECK: cta.dot {{.*}} {precision = "tf32"}
func.func private @singles(%a: memref<256x64xf32>, %b: memref<256x64xf32>, %c: memref<64x64xf32>) {
  cta.program {sizes = array<i64: 1, 64, 64>, tile = array<i64: 1, 32, 32>, schedule = {unit = "mma", rows = 32 : i64, columns = 32 : i64, depth = 32 : i64, down = 2 : i64, across = 1 : i64, stages = 3 : i64}} do {
  ^bb0(%i: index, %m: index, %n: index):
    %l = cta.view %a : memref<256x64xf32> to !cta.view<f32, (1,64,256):(0,1,64)>
    %r = cta.view %b : memref<256x64xf32> to !cta.view<f32, (1,256,64):(0,64,1)>
    %o = cta.view %c : memref<64x64xf32> to !cta.view<f32, (1,64,64):(0,64,1)>
    %zero = arith.constant dense<0.0> : tensor<32x32xf32>
    %s = affine.for %k = 0 to 256 step 32 iter_args(%acc = %zero) -> (tensor<32x32xf32>) {
      %x = cta.load %l[%i, %m, %k] : !cta.view<f32, (1,64,256):(0,1,64)> to tensor<32x32xf32>
      %y = cta.load %r[%i, %k, %n] : !cta.view<f32, (1,256,64):(0,64,1)> to tensor<32x32xf32>
      %d = cta.dot %x, %y, %acc {precision = "tf32"} : (tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
      affine.yield %d : tensor<32x32xf32>
    }
    cta.store %s, %o[%i, %m, %n] : tensor<32x32xf32>, !cta.view<f32, (1,64,64):(0,64,1)>
    cta.yield
  }
  func.return
}
