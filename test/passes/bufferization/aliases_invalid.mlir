// RUN: lamina-opt %s -p bufferize --split-input-file --verify-diagnostics

// expected-error@+1 {{input 0 is to hold output 3, which there is not}}
func.func public @main(%x: tensor<4xf32> {lamina.aliasing_output = 3 : i64}) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{lamina.aliasing_output of input 0 is "y"}}
func.func public @main(%x: tensor<4xf32> {lamina.aliasing_output = "y"}) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{two inputs are to hold the same output}}
func.func public @main(%x: tensor<4xf32> {lamina.aliasing_output = 0 : i64}, %y: tensor<4xf32> {lamina.aliasing_output = 0 : i64}) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
