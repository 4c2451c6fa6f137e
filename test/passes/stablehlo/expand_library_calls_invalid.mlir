// RUN: lamina-opt %s -p stablehlo-expand-library-calls --split-input-file --verify-diagnostics

func.func @main(%a: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<i32>) {
  // expected-error @below {{the call has no option 'uplo'}}
  %0:2 = "stablehlo.custom_call"(%a) <{api_version = 4 : i32, call_target_name = "lapack_spotrf_ffi"}> : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<i32>)
  func.return %0#0, %0#1 : tensor<4x4xf32>, tensor<i32>
}

// -----

func.func @main(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{@lapack_sorgqr_ffi takes matrices and vectors of f32, as many of each}}
  %0 = "stablehlo.custom_call"(%a) <{api_version = 4 : i32, call_target_name = "lapack_sorgqr_ffi"}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %0 : tensor<4x4xf32>
}

// -----

func.func @main(%a: tensor<4x4xf64>) -> (tensor<4x4xf64>, tensor<4xf64>) {
  // expected-error @below {{@lapack_sgeqrf_ffi takes matrices of f32}}
  %0:2 = "stablehlo.custom_call"(%a) <{api_version = 4 : i32, call_target_name = "lapack_sgeqrf_ffi"}> : (tensor<4x4xf64>) -> (tensor<4x4xf64>, tensor<4xf64>)
  func.return %0#0, %0#1 : tensor<4x4xf64>, tensor<4xf64>
}

// -----

func.func @main(%a: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4xi32>, tensor<i32>) {
  // expected-error @below {{@lapack_sgetrf_ffi gives tensor<4x3xf32>, tensor<3xi32>, tensor<i32>}}
  %0:3 = "stablehlo.custom_call"(%a) <{api_version = 4 : i32, call_target_name = "lapack_sgetrf_ffi"}> : (tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4xi32>, tensor<i32>)
  func.return %0#0, %0#1, %0#2 : tensor<4x3xf32>, tensor<4xi32>, tensor<i32>
}

// -----

func.func @main(%a: tensor<4x3xf32>, %t: tensor<2x3xf32>) -> tensor<4x3xf32> {
  // expected-error @below {{@lapack_sorgqr_ffi takes matrices and vectors of f32, as many of each}}
  %0 = "stablehlo.custom_call"(%a, %t) <{api_version = 4 : i32, call_target_name = "lapack_sorgqr_ffi"}> : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  func.return %0 : tensor<4x3xf32>
}

// -----

func.func @main(%a: tensor<3x4xf32>, %t: tensor<3xf32>) -> tensor<3x4xf32> {
  // expected-error @below {{3 reflectors do not make 4 orthogonal columns}}
  %0 = "stablehlo.custom_call"(%a, %t) <{api_version = 4 : i32, call_target_name = "lapack_sorgqr_ffi"}> : (tensor<3x4xf32>, tensor<3xf32>) -> tensor<3x4xf32>
  func.return %0 : tensor<3x4xf32>
}

// -----

func.func @main(%a: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<i32>) {
  // expected-error @below {{the matrix must be square, not 4x3}}
  %0:2 = "stablehlo.custom_call"(%a) <{api_version = 4 : i32, call_target_name = "lapack_spotrf_ffi"}> {mhlo.backend_config = {uplo = 76 : ui8}} : (tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<i32>)
  func.return %0#0, %0#1 : tensor<4x3xf32>, tensor<i32>
}

// -----

func.func @main(%a: tensor<4x4xf32>, %b: tensor<5x4xf32>) -> tensor<5x4xf32> {
  // expected-error @below {{a system of 4 equations has right sides of 5}}
  %0 = "stablehlo.custom_call"(%a, %b) <{api_version = 4 : i32, call_target_name = "lapack_strsm_ffi"}> {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}} : (tensor<4x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  func.return %0 : tensor<5x4xf32>
}

// -----

func.func @main(%a: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<i32>) {
  // expected-error @below {{option 'uplo' is 300; known are 76 (L), 85 (U)}}
  %0:2 = "stablehlo.custom_call"(%a) <{api_version = 4 : i32, call_target_name = "lapack_spotrf_ffi"}> {mhlo.backend_config = {uplo = 300 : i32}} : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<i32>)
  func.return %0#0, %0#1 : tensor<4x4xf32>, tensor<i32>
}

// -----

func.func @main(%a: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>) {
  // expected-error @below {{@lapack_sgesdd_ffi gives 5 tensors}}
  %0:2 = "stablehlo.custom_call"(%a) <{api_version = 4 : i32, call_target_name = "lapack_sgesdd_ffi"}> {mhlo.backend_config = {mode = 78 : ui8}} : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>)
  func.return %0#0, %0#1 : tensor<4x4xf32>, tensor<4xf32>
}
