// RUN: lamina-opt %s --split-input-file --verify-diagnostics

func.func @beyond(%x: memref<8x4xf32>) {
  // expected-error @+1 {{(1,8,5):(0,5,1) reaches beyond the 32 elements}}
  %v = cta.view %x : memref<8x4xf32> to !cta.view<f32, (1,8,5):(0,5,1)>
  func.return
}

// -----

func.func @element(%x: memref<8x4xf32>) {
  // expected-error @+1 {{a view of bf16 in a buffer of f32}}
  %v = cta.view %x : memref<8x4xf32> to !cta.view<bf16, (1,8,4):(0,4,1)>
  func.return
}

// -----

func.func @product(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %c: tensor<4x8xf32>) {
  // expected-error @+1 {{[4, 8] times [4, 8] is not [4, 8]}}
  %d = cta.dot %a, %b, %c : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return
}

// -----

func.func @places(%v: !cta.view<f32, (1,8,4):(0,4,1)>, %i: index) {
  // expected-error @+1 {{expected 3 indices: which matrix, row and column}}
  %t = cta.load %v[%i, %i] : !cta.view<f32, (1,8,4):(0,4,1)> to tensor<4x4xf32>
  func.return
}

// -----

func.func @unlaid(%z: tensor<4x4xf32>, %v: !cta.view<f32, (1,4,8):(0,8,1)>, %i: index) {
  %s = cta.pipeline(%z) {size = 8 : i64, step = 4 : i64, stages = 2 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32> produce {
  ^bb0(%k: index):
    %t = cta.load %v[%i, %i, %k] : !cta.view<f32, (1,4,8):(0,8,1)> to tensor<4x4xf32>
    // expected-error @+1 {{tensor<4x4xf32> does not say how it lies in shared memory}}
    cta.stage %t : tensor<4x4xf32>
  } consume {
  ^bb0(%k: index, %t: tensor<4x4xf32>, %acc: tensor<4x4xf32>):
    cta.yield %acc : tensor<4x4xf32>
  }
  func.return
}

// -----

func.func @taken(%z: tensor<4x4xf32>, %v: !cta.view<f32, (1,4,8):(0,8,1)>, %i: index) {
  // expected-error @+1 {{`consume` takes the step's index, what is staged and what is carried}}
  %s = cta.pipeline(%z) {size = 8 : i64, step = 4 : i64, stages = 2 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32> produce {
  ^bb0(%k: index):
    %t = cta.load %v[%i, %i, %k] : !cta.view<f32, (1,4,8):(0,8,1)> to tensor<4x4xf32, #cta.shared<(4,4):(4,1)>>
    cta.stage %t : tensor<4x4xf32, #cta.shared<(4,4):(4,1)>>
  } consume {
  ^bb0(%acc: tensor<4x4xf32>):
    cta.yield %acc : tensor<4x4xf32>
  }
  func.return
}

// -----

// expected-error @+1 {{are not nested alike}}
func.func private @nested(!cta.view<f32, (1,(2,4),4):(0,4,1)>)

// -----

func.func @column(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{the rows of tensor<4x4xf32> are not reduced to tensor<1x4xf32>}}
  %r = cta.reduce %x {kind = "add"} : tensor<4x4xf32> -> tensor<1x4xf32>
  func.return
}

// -----

func.func @kind(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'mulf' is none of add, maximumf}}
  %r = cta.reduce %x {kind = "mulf"} : tensor<4x4xf32> -> tensor<4x1xf32>
  func.return
}

// -----

func.func @numbers(%i: index) {
  // expected-error @+1 {{expected a row or a column of i32, got tensor<4x4xi32>}}
  %r = cta.numbers %i : tensor<4x4xi32>
  func.return
}

// -----

func.func @shared(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{tensor<4x4xf32> does not say how it lies in shared memory}}
  %r = cta.share %x : tensor<4x4xf32> to tensor<4x4xf32>
  func.return
}

// -----

func.func @broadcast(%x: tensor<2x4xf32>) {
  // expected-error @+1 {{an input of tensor<2x4xf32> does not go with a result of tensor<4x4xf32>}}
  %r = cta.map %x : (tensor<2x4xf32>) -> tensor<4x4xf32> do {
  ^bb0(%a: f32):
    cta.yield %a : f32
  }
  func.return
}

// -----

func.func @first(%x: memref<8x4xf32>) {
  // expected-error @+1 {{(1,8,4):(0,4,1) from 1 reaches beyond the 32 elements}}
  %v = cta.view %x : memref<8x4xf32> to !cta.view<f32, (1,8,4):(0,4,1) from 1>
  func.return
}

// -----

// expected-error @+1 {{a border of [1, 8, 3] for a view of [1, 8, 4]}}
func.func private @border(!cta.view<f32, (1,8,4):(0,4,1) from -1, #cta.border<(1,8,3):(0,1,1) from -1 below 8>>)

// -----

// expected-error @+1 {{expected a border, got 1 : i64}}
func.func private @number(!cta.view<f32, (1,8,4):(0,4,1), 1 : i64>)

// -----

func.func @stored(%t: tensor<8x4xf32>, %v: !cta.view<f32, (1,8,4):(0,1,1) from -1, #cta.border<(1,8,4):(0,1,1) from -1 below 8>>, %i: index) {
  // expected-error @+1 {{nothing is stored beyond borders}}
  cta.store %t, %v[%i, %i, %i] : tensor<8x4xf32>, !cta.view<f32, (1,8,4):(0,1,1) from -1, #cta.border<(1,8,4):(0,1,1) from -1 below 8>>
  func.return
}
