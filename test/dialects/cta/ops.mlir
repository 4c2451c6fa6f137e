// RUN: lamina-opt %s | lamina-opt | filecheck %s

// A product in two tiles of rows, the second one reaching beyond, whose operands go through shared memory.
// CHECK: cta.program {sizes = array<i64: 1, 3, 2>, tile = array<i64: 1, 2, 2>, schedule = {}} do {
// CHECK: cta.view %a : memref<3x4xf32> to !cta.view<f32, (1,3,(2,2)):(0,4,(1,2))>
// CHECK: cta.pipeline(%{{.*}}) {size = 4 : i64, step = 3 : i64, stages = 2 : i64} : (tensor<2x2xf32>) -> tensor<2x2xf32> produce {
// CHECK: cta.stage %{{.*}}, %{{.*}} : tensor<2x3xf32, #cta.shared<(2,3):(3,1), swizzle<3,4,3>>>, tensor<3x2xf32, #cta.shared<(3,2):(2,1)>>
// CHECK: cta.map %{{.*}} : (tensor<2x2xf32>) -> tensor<2x2xf32> do {
// CHECK: cta.store
func.func @product(%a: memref<3x4xf32>, %b: memref<4x2xf32>, %c: memref<3x2xf32>) {
  cta.program {sizes = array<i64: 1, 3, 2>, tile = array<i64: 1, 2, 2>, schedule = {}} do {
  ^bb0(%i: index, %m: index, %n: index):
    %l = cta.view %a : memref<3x4xf32> to !cta.view<f32, (1,3,(2,2)):(0,4,(1,2))>
    %r = cta.view %b : memref<4x2xf32> to !cta.view<f32, (1,4,2):(0,2,1)>
    %o = cta.view %c : memref<3x2xf32> to !cta.view<f32, (1,3,2):(0,2,1)>
    %z = arith.constant dense<0.0> : tensor<2x2xf32>
    %s = cta.pipeline(%z) {size = 4 : i64, step = 3 : i64, stages = 2 : i64} : (tensor<2x2xf32>) -> tensor<2x2xf32> produce {
    ^bb0(%k: index):
      %x = cta.load %l[%i, %m, %k] : !cta.view<f32, (1,3,(2,2)):(0,4,(1,2))> to tensor<2x3xf32, #cta.shared<(2,3):(3,1), swizzle<3,4,3>>>
      %y = cta.load %r[%i, %k, %n] : !cta.view<f32, (1,4,2):(0,2,1)> to tensor<3x2xf32, #cta.shared<(3,2):(2,1)>>
      cta.stage %x, %y : tensor<2x3xf32, #cta.shared<(2,3):(3,1), swizzle<3,4,3>>>, tensor<3x2xf32, #cta.shared<(3,2):(2,1)>>
    } consume {
    ^bb0(%k: index, %x: tensor<2x3xf32, #cta.shared<(2,3):(3,1), swizzle<3,4,3>>>, %y: tensor<3x2xf32, #cta.shared<(3,2):(2,1)>>, %acc: tensor<2x2xf32>):
      %d = cta.dot %x, %y, %acc : (tensor<2x3xf32, #cta.shared<(2,3):(3,1), swizzle<3,4,3>>>, tensor<3x2xf32, #cta.shared<(3,2):(2,1)>>, tensor<2x2xf32>) -> tensor<2x2xf32>
      cta.yield %d : tensor<2x2xf32>
    }
    %w = cta.map %s : (tensor<2x2xf32>) -> tensor<2x2xf32> do {
    ^bb0(%x: f32):
      %two = arith.constant 2.0 : f32
      %p = arith.mulf %x, %two : f32
      cta.yield %p : f32
    }
    cta.store %w, %o[%i, %m, %n] : tensor<2x2xf32>, !cta.view<f32, (1,3,2):(0,2,1)>
    cta.yield
  }
  func.return
}

// Windows of three numbers, which reach beyond the buffer on both sides.
// CHECK-LABEL: func.func @windows
// CHECK: cta.view %a : memref<4xf32> to !cta.view<f32, (1,4,3):(0,1,1) from -1, #cta.border<(1,4,3):(0,1,1) from -1 below 4>>
// CHECK: cta.view %b : memref<13xf32> to !cta.view<f32, (1,4,3):(0,3,1) from 1>
func.func @windows(%a: memref<4xf32>, %b: memref<13xf32>) {
  cta.program {sizes = array<i64: 1, 4, 3>, tile = array<i64: 1, 4, 4>, schedule = {}} do {
  ^bb0(%i: index, %m: index, %n: index):
    %v = cta.view %a : memref<4xf32> to !cta.view<f32, (1,4,3):(0,1,1) from -1, #cta.border<(1,4,3):(0,1,1) from -1 below 4>>
    %w = cta.view %b : memref<13xf32> to !cta.view<f32, (1,4,3):(0,3,1) from 1>
    %t = cta.load %v[%i, %m, %n] : !cta.view<f32, (1,4,3):(0,1,1) from -1, #cta.border<(1,4,3):(0,1,1) from -1 below 4>> to tensor<4x4xf32>
    cta.store %t, %w[%i, %m, %n] : tensor<4x4xf32>, !cta.view<f32, (1,4,3):(0,3,1) from 1>
    cta.yield
  }
  func.return
}
