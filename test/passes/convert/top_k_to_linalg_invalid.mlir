// RUN: lamina-opt %s -p convert-top-k-to-linalg --split-input-file --verify-diagnostics

func.func public @f(%x: tensor<30x16xf32>) -> (tensor<2x16xf32>, tensor<2x16xi64>) {
  // expected-error@+1 {{needs an integer attribute 'largest'}}
  %y, %i = stablehlo.composite "lamina.top_k" %x {composite_attributes = {k = 2 : i64, axis = 0 : i64}, decomposition = @g} : (tensor<30x16xf32>) -> (tensor<2x16xf32>, tensor<2x16xi64>)
  func.return %y, %i : tensor<2x16xf32>, tensor<2x16xi64>
}

func.func private @g(%x: tensor<30x16xf32>) -> (tensor<2x16xf32>, tensor<2x16xi64>) {
  %y = stablehlo.constant dense<0.0> : tensor<2x16xf32>
  %i = stablehlo.constant dense<0> : tensor<2x16xi64>
  func.return %y, %i : tensor<2x16xf32>, tensor<2x16xi64>
}

// -----

func.func public @f(%x: tensor<30x16xf64>) -> (tensor<2x16xf64>, tensor<2x16xi64>) {
  // expected-error@+1 {{expected numbers of at most 32 bits}}
  %y, %i = stablehlo.composite "lamina.top_k" %x {composite_attributes = {k = 2 : i64, axis = 0 : i64, largest = 1 : i64}, decomposition = @g} : (tensor<30x16xf64>) -> (tensor<2x16xf64>, tensor<2x16xi64>)
  func.return %y, %i : tensor<2x16xf64>, tensor<2x16xi64>
}

func.func private @g(%x: tensor<30x16xf64>) -> (tensor<2x16xf64>, tensor<2x16xi64>) {
  %y = stablehlo.constant dense<0.0> : tensor<2x16xf64>
  %i = stablehlo.constant dense<0> : tensor<2x16xi64>
  func.return %y, %i : tensor<2x16xf64>, tensor<2x16xi64>
}
