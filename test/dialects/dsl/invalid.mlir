// Each constraint of index notation, by the message that a person sees.
// RUN: lamina-opt %s --split-input-file --verify-diagnostics

func.func @extents(%v: tensor<f32>) {
  // expected-error@+1 {{extents must not be negative, got [-1] (C1)}}
  %0 = dsl.comprehension [-1] {
  ^bb0(%i: tensor<i64>):
    dsl.yield %v : tensor<f32>
  } : tensor<0xf32>
  func.return
}

// -----

func.func @arguments(%v: tensor<f32>) {
  // expected-error@+1 {{the body must take one tensor<i64> for each of 1 extents, got (tensor<i32>) (C2)}}
  %0 = dsl.comprehension [2] {
  ^bb0(%i: tensor<i32>):
    dsl.yield %v : tensor<f32>
  } : tensor<2xf32>
  func.return
}

// -----

func.func @scalars(%v: tensor<2xf32>) {
  // expected-error@+1 {{the body must yield scalars, got tensor<2xf32> (C3)}}
  %0 = dsl.comprehension [2] {
  ^bb0(%i: tensor<i64>):
    dsl.yield %v : tensor<2xf32>
  } : tensor<2xf32>
  func.return
}

// -----

func.func @one_value(%v: tensor<f32>) {
  // expected-error@+1 {{the body must yield one value, got 2 (C4)}}
  %0 = dsl.comprehension [2] {
  ^bb0(%i: tensor<i64>):
    dsl.yield %v, %v : tensor<f32>, tensor<f32>
  } : tensor<2xf32>
  func.return
}

// -----

func.func @result(%v: tensor<f32>) {
  // expected-error@+1 {{result #0 must have type tensor<2xf32>, got tensor<3xf32>}}
  %0 = dsl.comprehension [2] {
  ^bb0(%i: tensor<i64>):
    dsl.yield %v : tensor<f32>
  } : tensor<3xf32>
  func.return
}

// -----

func.func @guard(%v: tensor<f32>) {
  // expected-error@+1 {{the body must yield an element and optionally a tensor<i1>, got tensor<f32>, tensor<f32> (C4)}}
  %0 = dsl.reduce sum [2] {
  ^bb0(%i: tensor<i64>):
    dsl.yield %v, %v : tensor<f32>, tensor<f32>
  } : tensor<f32>
  func.return
}

// -----

func.func @kind(%v: tensor<f32>) {
  // expected-error@+1 {{any does not combine tensor<f32> (C5)}}
  %0 = dsl.reduce any [2] {
  ^bb0(%i: tensor<i64>):
    dsl.yield %v : tensor<f32>
  } : tensor<f32>
  func.return
}

// -----

func.func @order(%v: tensor<complex<f32>>) {
  // expected-error@+1 {{max needs an order, which tensor<complex<f32>> has not (C5)}}
  %0 = dsl.reduce max [2] {
  ^bb0(%i: tensor<i64>):
    dsl.yield %v : tensor<complex<f32>>
  } : tensor<complex<f32>>
  func.return
}

// -----

func.func @one_index(%v: tensor<f32>) {
  // expected-error@+1 {{argmax takes one index, got 2 (C6)}}
  %0 = dsl.reduce argmax [2, 3] {
  ^bb0(%i: tensor<i64>, %j: tensor<i64>):
    dsl.yield %v : tensor<f32>
  } : tensor<i64>
  func.return
}

// -----

func.func @argument_result(%v: tensor<f32>) {
  // expected-error@+1 {{result #0 must have type tensor<i64>, got tensor<f32>}}
  %0 = dsl.reduce argmin [2] {
  ^bb0(%i: tensor<i64>):
    dsl.yield %v : tensor<f32>
  } : tensor<f32>
  func.return
}

// -----

func.func @subscripts(%x: tensor<2x3xf32>, %i: tensor<i64>) {
  // expected-error@+1 {{needs 2 subscripts, one per axis of tensor<2x3xf32>, got 1 (C1)}}
  %0 = dsl.access %x[%i] : tensor<2x3xf32>
  func.return
}

// -----

func.func @subscript_type(%x: tensor<2xf32>, %i: tensor<i32>) {
  // expected-error@+1 {{subscripts must be tensor<i64>, got tensor<i32> (C2)}}
  %0 = "dsl.access"(%x, %i) : (tensor<2xf32>, tensor<i32>) -> tensor<f32>
  func.return
}

// -----

func.func @outside(%x: tensor<2xf32>, %i: tensor<i64>) {
  // expected-error@+1 {{outside must be tensor<f32>, got tensor<i64> (C3)}}
  %0 = "dsl.access"(%x, %i, %i) : (tensor<2xf32>, tensor<i64>, tensor<i64>) -> tensor<f32>
  func.return
}
