// Calls of private functions become what they do, from the innermost; who calls is kept in the locations.
// RUN: lamina-opt %s -p inline --split-input-file --verify-diagnostics --mlir-print-debuginfo | filecheck %s

// CHECK-NOT: @square
// CHECK-NOT: @fourth
func.func private @square(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.multiply %x, %x : tensor<4xf32> loc("inner")
  func.return %0 : tensor<4xf32>
}

func.func private @fourth(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @square(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("first")
  %1 = func.call @square(%0) : (tensor<4xf32>) -> tensor<4xf32> loc("second")
  func.return %1 : tensor<4xf32>
}

// CHECK-LABEL: @main
func.func public @main(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: "stablehlo.if"
  %r = "stablehlo.if"(%p) ({
    // CHECK: [[S:%.*]] = stablehlo.multiply %x, %x : tensor<4xf32> loc(fused["inner", "first", "outer"])
    // CHECK: [[Y:%.*]] = stablehlo.multiply [[S]], [[S]] : tensor<4xf32> loc(fused["inner", "second", "outer"])
    // CHECK: stablehlo.return [[Y]]
    %y = func.call @fourth(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("outer")
    stablehlo.return %y : tensor<4xf32>
  }, {
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// -----

func.func private @even(%x: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{the function @odd calls itself}}
  %0 = func.call @odd(%x) : (tensor<f32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}

func.func private @odd(%x: tensor<f32>) -> tensor<f32> {
  %0 = func.call @even(%x) : (tensor<f32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}

func.func public @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = func.call @odd(%x) : (tensor<f32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}

// -----

// A public function stays one; so does a call of it.
// CHECK-LABEL: @kept
func.func public @kept(%x: tensor<f32>) -> tensor<f32> {
  func.return %x : tensor<f32>
}
// CHECK-LABEL: @caller
// CHECK: call @kept
func.func public @caller(%x: tensor<f32>) -> tensor<f32> {
  %0 = func.call @kept(%x) : (tensor<f32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}
