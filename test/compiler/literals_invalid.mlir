// RUN: lamina-opt %s --split-input-file --verify-diagnostics

func.func @too_wide() {
  // expected-error@+1 {{0x7F8000000 has more bits than f32}}
  %0 = stablehlo.constant dense<0x7F8000000> : tensor<f32>
  func.return
}

// -----

func.func @too_large() {
  // expected-error@+1 {{1.0e39 is too large for f32}}
  %0 = stablehlo.constant dense<1.0e39> : tensor<f32>
  func.return
}

// -----

func.func @not_a_pair() {
  // expected-error@+1 {{expected a pair (re, im) for complex<f32>}}
  %0 = stablehlo.constant dense<1.0> : tensor<complex<f32>>
  func.return
}
