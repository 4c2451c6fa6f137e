// RUN: lamina-opt %s -p cta-pipeline | filecheck %s

// Both products' right operands are staged; the left one that stays lies in shared memory too. What is computed is
// taken from registers by warps.
// CHECK-LABEL: func.func private @warps
// CHECK: cta.load {{.*}} to tensor<32x16xbf16, #cta.shared<(32,16):(16,1), swizzle<1,4,3>>>
// CHECK: cta.pipeline(%{{.*}}, %{{.*}}) {size = 64 : i64, step = 32 : i64, stages = 2 : i64}
// CHECK: cta.load {{.*}} to tensor<16x32xbf16, #cta.shared<(16,32):(1,16), swizzle<1,4,3>>>
// CHECK: cta.load {{.*}} to tensor<32x32xbf16, #cta.shared<(32,32):(32,1), swizzle<2,4,3>>>
// CHECK: cta.stage
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: tensor<16x32xbf16, {{.*}}>, %{{.*}}: tensor<32x32xbf16, {{.*}}>, %{{.*}}: tensor<32x32xf32>, %{{.*}}: tensor<32x1xf32>):
// CHECK-NOT: cta.share %
func.func private @warps(%q: memref<32x16xbf16>, %k: memref<64x16xbf16>, %v: memref<64x32xbf16>, %o: memref<32x32xf32>) {
  cta.program {sizes = array<i64: 1, 32, 32>, tile = array<i64: 1, 32, 32>, schedule = {unit = "mma", rows = 32 : i64, columns = 32 : i64, depth = 32 : i64, down = 2 : i64, across = 1 : i64, stages = 2 : i64}} do {
  ^bb0(%b: index, %m: index, %n: index):
    %q0 = cta.view %q : memref<32x16xbf16> to !cta.view<bf16, (1,32,16):(0,16,1)>
    %k0 = cta.view %k : memref<64x16xbf16> to !cta.view<bf16, (1,16,64):(0,1,16)>
    %v0 = cta.view %v : memref<64x32xbf16> to !cta.view<bf16, (1,64,32):(0,32,1)>
    %o0 = cta.view %o : memref<32x32xf32> to !cta.view<f32, (1,32,32):(0,32,1)>
    %c = arith.constant 0 : index
    %x = cta.load %q0[%b, %m, %c] : !cta.view<bf16, (1,32,16):(0,16,1)> to tensor<32x16xbf16>
    %zero = arith.constant dense<0.0> : tensor<32x32xf32>
    %none = arith.constant dense<0.0> : tensor<32x1xf32>
    %r, %t = affine.for %s = 0 to 64 step 32 iter_args(%acc = %zero, %total = %none) -> (tensor<32x32xf32>, tensor<32x1xf32>) {
      %y = cta.load %k0[%b, %c, %s] : !cta.view<bf16, (1,16,64):(0,1,16)> to tensor<16x32xbf16>
      %z = cta.load %v0[%b, %s, %c] : !cta.view<bf16, (1,64,32):(0,32,1)> to tensor<32x32xbf16>
      %p = cta.dot %x, %y, %zero : (tensor<32x16xbf16>, tensor<16x32xbf16>, tensor<32x32xf32>) -> tensor<32x32xf32>
      %w = cta.reduce %p {kind = "add"} : tensor<32x32xf32> -> tensor<32x1xf32>
      %h = cta.map %p, %w : (tensor<32x32xf32>, tensor<32x1xf32>) -> tensor<32x32xbf16> do {
      ^bb0(%f: f32, %g: f32):
        %d = arith.subf %f, %g : f32
        %e = math.exp2 %d : f32
        %i = arith.truncf %e : f32 to bf16
        cta.yield %i : bf16
      }
      %a = cta.dot %h, %z, %acc : (tensor<32x32xbf16>, tensor<32x32xbf16>, tensor<32x32xf32>) -> tensor<32x32xf32>
      affine.yield %a, %w : tensor<32x32xf32>, tensor<32x1xf32>
    }
    cta.store %r, %o0[%b, %m, %n] : tensor<32x32xf32>, !cta.view<f32, (1,32,32):(0,32,1)>
    cta.yield
  }
  func.return
}

// Threads take it from shared memory, row after row.
// CHECK-LABEL: func.func private @threads
// CHECK: cta.load {{.*}} to tensor<32x16xf32, #cta.shared<(32,16):(20,1)>>
// CHECK: cta.load {{.*}} to tensor<16x32xf32, #cta.shared<(16,32):(36,1)>>
// CHECK: cta.share %{{.*}} : tensor<32x32xf32> to tensor<32x32xf32, #cta.shared<(32,32):(36,1)>>
func.func private @threads(%q: memref<32x16xf32>, %k: memref<64x16xf32>, %v: memref<64x32xf32>, %o: memref<32x32xf32>) {
  cta.program {sizes = array<i64: 1, 32, 32>, tile = array<i64: 1, 32, 32>, schedule = {unit = "fma", rows = 32 : i64, columns = 32 : i64, depth = 32 : i64, down = 4 : i64, across = 2 : i64, stages = 1 : i64}} do {
  ^bb0(%b: index, %m: index, %n: index):
    %q0 = cta.view %q : memref<32x16xf32> to !cta.view<f32, (1,32,16):(0,16,1)>
    %k0 = cta.view %k : memref<64x16xf32> to !cta.view<f32, (1,16,64):(0,1,16)>
    %v0 = cta.view %v : memref<64x32xf32> to !cta.view<f32, (1,64,32):(0,32,1)>
    %o0 = cta.view %o : memref<32x32xf32> to !cta.view<f32, (1,32,32):(0,32,1)>
    %c = arith.constant 0 : index
    %x = cta.load %q0[%b, %m, %c] : !cta.view<f32, (1,32,16):(0,16,1)> to tensor<32x16xf32>
    %zero = arith.constant dense<0.0> : tensor<32x32xf32>
    %none = arith.constant dense<0.0> : tensor<32x1xf32>
    %r, %t = affine.for %s = 0 to 64 step 32 iter_args(%acc = %zero, %total = %none) -> (tensor<32x32xf32>, tensor<32x1xf32>) {
      %y = cta.load %k0[%b, %c, %s] : !cta.view<f32, (1,16,64):(0,1,16)> to tensor<16x32xf32>
      %z = cta.load %v0[%b, %s, %c] : !cta.view<f32, (1,64,32):(0,32,1)> to tensor<32x32xf32>
      %p = cta.dot %x, %y, %zero : (tensor<32x16xf32>, tensor<16x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
      %w = cta.reduce %p {kind = "add"} : tensor<32x32xf32> -> tensor<32x1xf32>
      %h = cta.map %p, %w : (tensor<32x32xf32>, tensor<32x1xf32>) -> tensor<32x32xf32> do {
      ^bb0(%f: f32, %g: f32):
        %d = arith.subf %f, %g : f32
        cta.yield %d : f32
      }
      %a = cta.dot %h, %z, %acc : (tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
      affine.yield %a, %w : tensor<32x32xf32>, tensor<32x1xf32>
    }
    cta.store %r, %o0[%b, %m, %n] : tensor<32x32xf32>, !cta.view<f32, (1,32,32):(0,32,1)>
    cta.yield
  }
  func.return
}
