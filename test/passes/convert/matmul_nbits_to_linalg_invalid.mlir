// RUN: lamina-opt %s -p convert-matmul-nbits-to-linalg --split-input-file --verify-diagnostics

func.func public @f(%x: tensor<3x64xf32>, %w: tensor<24x2x16xui8>, %s: tensor<24x2xf32>) -> tensor<3x24xf32> {
  // expected-error@+1 {{needs an integer attribute 'accuracy_level'}}
  %y = stablehlo.composite "lamina.matmul_nbits" %x, %w, %s {composite_attributes = {bits = 4 : i64}, decomposition = @g} : (tensor<3x64xf32>, tensor<24x2x16xui8>, tensor<24x2xf32>) -> tensor<3x24xf32>
  func.return %y : tensor<3x24xf32>
}

func.func private @g(%x: tensor<3x64xf32>, %w: tensor<24x2x16xui8>, %s: tensor<24x2xf32>) -> tensor<3x24xf32> {
  %y = stablehlo.constant dense<0.0> : tensor<3x24xf32>
  func.return %y : tensor<3x24xf32>
}

// -----

func.func public @f(%x: tensor<3x64xf32>, %w: tensor<24x2x16xui8>, %s: tensor<24x2xf32>) -> tensor<3x24xf32> {
  // expected-error@+1 {{of 3 bits with tensor<3x64xf32>}}
  %y = stablehlo.composite "lamina.matmul_nbits" %x, %w, %s {composite_attributes = {bits = 3 : i64, accuracy_level = 0 : i64}, decomposition = @g} : (tensor<3x64xf32>, tensor<24x2x16xui8>, tensor<24x2xf32>) -> tensor<3x24xf32>
  func.return %y : tensor<3x24xf32>
}

func.func private @g(%x: tensor<3x64xf32>, %w: tensor<24x2x16xui8>, %s: tensor<24x2xf32>) -> tensor<3x24xf32> {
  %y = stablehlo.constant dense<0.0> : tensor<3x24xf32>
  func.return %y : tensor<3x24xf32>
}

// -----

func.func public @f(%x: tensor<3x65xf32>, %w: tensor<24x2x16xui8>, %s: tensor<24x2xf32>) -> tensor<3x24xf32> {
  // expected-error@+1 {{expected rows of f32, ui8 [N, blocks, bytes]}}
  %y = stablehlo.composite "lamina.matmul_nbits" %x, %w, %s {composite_attributes = {bits = 4 : i64, block_size = 32 : i64, accuracy_level = 0 : i64}, decomposition = @g} : (tensor<3x65xf32>, tensor<24x2x16xui8>, tensor<24x2xf32>) -> tensor<3x24xf32>
  func.return %y : tensor<3x24xf32>
}

func.func private @g(%x: tensor<3x65xf32>, %w: tensor<24x2x16xui8>, %s: tensor<24x2xf32>) -> tensor<3x24xf32> {
  %y = stablehlo.constant dense<0.0> : tensor<3x24xf32>
  func.return %y : tensor<3x24xf32>
}

// -----

func.func public @f(%x: tensor<3x64xf32>, %w: tensor<24x2x16xi8>, %s: tensor<24x2xf32>) -> tensor<3x24xf32> {
  // expected-error@+1 {{expected rows of f32, ui8 [N, blocks, bytes]}}
  %y = stablehlo.composite "lamina.matmul_nbits" %x, %w, %s {composite_attributes = {bits = 4 : i64, block_size = 32 : i64, accuracy_level = 0 : i64}, decomposition = @g} : (tensor<3x64xf32>, tensor<24x2x16xi8>, tensor<24x2xf32>) -> tensor<3x24xf32>
  func.return %y : tensor<3x24xf32>
}

func.func private @g(%x: tensor<3x64xf32>, %w: tensor<24x2x16xi8>, %s: tensor<24x2xf32>) -> tensor<3x24xf32> {
  %y = stablehlo.constant dense<0.0> : tensor<3x24xf32>
  func.return %y : tensor<3x24xf32>
}

// -----

func.func public @f(%x: tensor<3x64xf32>, %w: tensor<24x2x16xui8>, %s: tensor<24x3xf32>) -> tensor<3x24xf32> {
  // expected-error@+1 {{expected rows of f32, ui8 [N, blocks, bytes]}}
  %y = stablehlo.composite "lamina.matmul_nbits" %x, %w, %s {composite_attributes = {bits = 4 : i64, block_size = 32 : i64, accuracy_level = 0 : i64}, decomposition = @g} : (tensor<3x64xf32>, tensor<24x2x16xui8>, tensor<24x3xf32>) -> tensor<3x24xf32>
  func.return %y : tensor<3x24xf32>
}

func.func private @g(%x: tensor<3x64xf32>, %w: tensor<24x2x16xui8>, %s: tensor<24x3xf32>) -> tensor<3x24xf32> {
  %y = stablehlo.constant dense<0.0> : tensor<3x24xf32>
  func.return %y : tensor<3x24xf32>
}

// -----

func.func public @f(%x: tensor<3x64xf64>, %w: tensor<24x2x16xui8>, %s: tensor<24x2xf32>) -> tensor<3x24xf64> {
  // expected-error@+1 {{expected rows of f32, ui8 [N, blocks, bytes]}}
  %y = stablehlo.composite "lamina.matmul_nbits" %x, %w, %s {composite_attributes = {bits = 4 : i64, block_size = 32 : i64, accuracy_level = 0 : i64}, decomposition = @g} : (tensor<3x64xf64>, tensor<24x2x16xui8>, tensor<24x2xf32>) -> tensor<3x24xf64>
  func.return %y : tensor<3x24xf64>
}

func.func private @g(%x: tensor<3x64xf64>, %w: tensor<24x2x16xui8>, %s: tensor<24x2xf32>) -> tensor<3x24xf64> {
  %y = stablehlo.constant dense<0.0> : tensor<3x24xf64>
  func.return %y : tensor<3x24xf64>
}

// -----

func.func public @f(%x: tensor<3x64xf32>, %w: tensor<24x2x16xui8>, %s: tensor<24x2xf32>) -> tensor<3x25xf32> {
  // expected-error@+1 {{expected rows of f32, ui8 [N, blocks, bytes]}}
  %y = stablehlo.composite "lamina.matmul_nbits" %x, %w, %s {composite_attributes = {bits = 4 : i64, block_size = 32 : i64, accuracy_level = 0 : i64}, decomposition = @g} : (tensor<3x64xf32>, tensor<24x2x16xui8>, tensor<24x2xf32>) -> tensor<3x25xf32>
  func.return %y : tensor<3x25xf32>
}

func.func private @g(%x: tensor<3x64xf32>, %w: tensor<24x2x16xui8>, %s: tensor<24x2xf32>) -> tensor<3x25xf32> {
  %y = stablehlo.constant dense<0.0> : tensor<3x25xf32>
  func.return %y : tensor<3x25xf32>
}

// -----

func.func public @f(%x: tensor<3x64xf32>, %n: tensor<4xi32>, %w: tensor<5x24x2x16xui8>, %s: tensor<5x24x2xf32>) -> tensor<3x24xf32> {
  // expected-error@+1 {{expected rows of f32, ui8 [G, N, blocks, bytes], scales and zero points [G, N, blocks], a result of f32, i32 [G] after the rows}}
  %y = stablehlo.composite "lamina.grouped_matmul_nbits" %x, %n, %w, %s {composite_attributes = {bits = 4 : i64, block_size = 32 : i64, accuracy_level = 0 : i64}, decomposition = @g} : (tensor<3x64xf32>, tensor<4xi32>, tensor<5x24x2x16xui8>, tensor<5x24x2xf32>) -> tensor<3x24xf32>
  func.return %y : tensor<3x24xf32>
}

func.func private @g(%x: tensor<3x64xf32>, %n: tensor<4xi32>, %w: tensor<5x24x2x16xui8>, %s: tensor<5x24x2xf32>) -> tensor<3x24xf32> {
  %y = stablehlo.constant dense<0.0> : tensor<3x24xf32>
  func.return %y : tensor<3x24xf32>
}
