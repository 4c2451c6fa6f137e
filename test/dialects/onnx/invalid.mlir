// RUN: lamina-opt %s --split-input-file --verify-diagnostics

func.func @unknown_operator(%x: tensor<4xf32>) {
  // expected-error @+1 {{onnx.Convolve}}
  %y = "onnx.Convolve"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @inputs(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected 2 inputs, got 1}}
  %y = "onnx.Add"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @required(%x: tensor<4xf32>) {
  %none = "onnx.NoValue"() : () -> none
  // expected-error @+1 {{input 'B' is required}}
  %y = "onnx.Add"(%x, %none) : (tensor<4xf32>, none) -> tensor<4xf32>
  func.return
}

// -----

func.func @attribute(%x: tensor<4xf32>) {
  // expected-error-re @+1 {{unknown attribute 'alhpa'; opset {{[0-9]+}} has alpha}}
  %y = "onnx.Elu"(%x) {alhpa = 1.0 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @kind(%x: tensor<4xf32>) {
  // expected-error @+1 {{attribute 'alpha' must be of kind FLOAT, got 1 : i64}}
  %y = "onnx.Elu"(%x) {alpha = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @required_attribute(%x: tensor<4xf32>) {
  // expected-error @+1 {{attribute 'to' is required}}
  %y = "onnx.Cast"(%x) : (tensor<4xf32>) -> tensor<4xf64>
  func.return
}

// -----

builtin.module attributes {onnx.opsets = {ai.onnx = 13 : i64}} {
  func.func @too_new(%x: tensor<4xf32>) {
    // expected-error @+1 {{ai.onnx has no operator Gelu in opset 13}}
    %y = "onnx.Gelu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    func.return
  }
}

// -----

func.func @removed(%x: tensor<1x1x2x2xf32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{Upsample is deprecated since opset 10}}
  %y = "onnx.Upsample"(%x, %s) : (tensor<1x1x2x2xf32>, tensor<4xf32>) -> tensor<1x1x4x4xf32>
  func.return
}
