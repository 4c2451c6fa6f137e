// RUN: lamina-opt %s -p stablehlo-refine-shapes --split-input-file --verify-diagnostics

func.func @elements(%x: tensor<2x3xf32>) -> tensor<?xf32> {
  %size = stablehlo.constant dense<27> : tensor<1xi64>
  // expected-error @below {{the sizes that follow from others do not fit: operand and result must have as many elements}}
  %y = stablehlo.dynamic_reshape %x, %size : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}

// -----

func.func @bounds(%x: tensor<2x3xf32>) -> tensor<?x?xf32> {
  %one = stablehlo.constant dense<[1, 1]> : tensor<2xi64>
  %end = stablehlo.constant dense<[2, 4]> : tensor<2xi64>
  // expected-error @below {{the sizes that follow from others do not fit}}
  %y = stablehlo.real_dynamic_slice %x, %one, %end, %one : (tensor<2x3xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  func.return %y : tensor<?x?xf32>
}

// -----

func.func @negative(%v: tensor<f32>) -> tensor<?xf32> {
  %size = stablehlo.constant dense<-7> : tensor<1xi64>
  // expected-error @below {{the sizes that follow from others do not fit}}
  %y = stablehlo.dynamic_broadcast_in_dim %v, %size, dims = [] : (tensor<f32>, tensor<1xi64>) -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}

// -----

func.func @negative_iota() -> tensor<?xi32> {
  %size = stablehlo.constant dense<-7> : tensor<1xi64>
  // expected-error @below {{the sizes that follow from others do not fit}}
  %y = stablehlo.dynamic_iota %size, dim = 0 : (tensor<1xi64>) -> tensor<?xi32>
  func.return %y : tensor<?xi32>
}

// -----

func.func @operands(%x: tensor<2x3xf32>, %z: tensor<?xf32>) -> tensor<?xf32> {
  %six = stablehlo.constant dense<6> : tensor<1xi64>
  %seven = stablehlo.constant dense<7> : tensor<1xi64>
  %v = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.dynamic_reshape %x, %six : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<?xf32>
  %b = stablehlo.dynamic_broadcast_in_dim %v, %seven, dims = [] : (tensor<f32>, tensor<1xi64>) -> tensor<?xf32>
  // expected-error @below {{the sizes that follow from others do not fit}}
  %c = stablehlo.add %a, %b : tensor<?xf32>
  func.return %c : tensor<?xf32>
}
