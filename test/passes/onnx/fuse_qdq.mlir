// RUN: lamina-opt %s -p 'onnx-fuse-qdq,dce' | filecheck %s

builtin.module attributes {onnx.opsets = {ai.onnx = 17 : i64}} {
  // CHECK: onnx.opsets = {ai.onnx = 17 : i64, com.microsoft = 1 : i64}
  // CHECK-LABEL: func.func public @main
  func.func public @main(%x: tensor<1x2x4x4xi8>, %w: tensor<3x2x1x1xi8>) -> (tensor<1x3x4x4xi8>, tensor<1x2x4x4xi8>) {
    %s = "onnx.Constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
    %z = "onnx.Constant"() {value = dense<3> : tensor<i8>} : () -> tensor<i8>
    %ws = "onnx.Constant"() {value = dense<[0.25, 0.5, 1.0]> : tensor<3xf32>} : () -> tensor<3xf32>
    %wz = "onnx.Constant"() {value = dense<0> : tensor<3xi8>} : () -> tensor<3xi8>
    %b = "onnx.Constant"() {value = dense<[1, 2, 3]> : tensor<3xi32>} : () -> tensor<3xi32>
    %bs = "onnx.Constant"() {value = dense<[0.125, 0.25, 0.5]> : tensor<3xf32>} : () -> tensor<3xf32>
    %bz = "onnx.Constant"() {value = dense<0> : tensor<3xi32>} : () -> tensor<3xi32>
    %six = "onnx.Constant"() {value = dense<6.0> : tensor<f32>} : () -> tensor<f32>
    %zero = "onnx.Constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
    %xr = "onnx.DequantizeLinear"(%x, %s, %z) : (tensor<1x2x4x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2x4x4xf32>
    %wr = "onnx.DequantizeLinear"(%w, %ws, %wz) {axis = 0 : i64} : (tensor<3x2x1x1xi8>, tensor<3xf32>, tensor<3xi8>) -> tensor<3x2x1x1xf32>
    %br = "onnx.DequantizeLinear"(%b, %bs, %bz) {axis = 0 : i64} : (tensor<3xi32>, tensor<3xf32>, tensor<3xi32>) -> tensor<3xf32>
    // 6 / 0.5 + 3 = 15
    // CHECK: %[[C:.*]] = "onnx.QLinearConv"(%x, %s, %z, %w, %ws, %wz, %s, %z, %b)
    // CHECK-DAG: %[[LOW:.*]] = "onnx.Constant"() {value = dense<3> : tensor<i8>}
    // CHECK-DAG: %[[HIGH:.*]] = "onnx.Constant"() {value = dense<15> : tensor<i8>}
    // CHECK: %[[Y:.*]] = "onnx.Clip"(%[[C]], %[[LOW]], %[[HIGH]])
    %c = "onnx.Conv"(%xr, %wr, %br) : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>, tensor<3xf32>) -> tensor<1x3x4x4xf32>
    %r = "onnx.Clip"(%c, %zero, %six) : (tensor<1x3x4x4xf32>, tensor<f32>, tensor<f32>) -> tensor<1x3x4x4xf32>
    %q = "onnx.QuantizeLinear"(%r, %s, %z) : (tensor<1x3x4x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x3x4x4xi8>
    // A bias whose scale is another stays as it is, and a Relu that the range already does goes.
    // CHECK: %[[A:.*]] = "onnx.com.microsoft.QLinearAdd"(%x, %s, %z, %x, %s, %z, %s, %{{.*}})
    // CHECK: return %[[Y]], %[[A]]
    %least = "onnx.Constant"() {value = dense<-128> : tensor<i8>} : () -> tensor<i8>
    %a = "onnx.Add"(%xr, %xr) : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
    %ar = "onnx.Relu"(%a) : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
    %aq = "onnx.QuantizeLinear"(%ar, %s, %least) : (tensor<1x2x4x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2x4x4xi8>
    func.return %q, %aq : tensor<1x3x4x4xi8>, tensor<1x2x4x4xi8>
  }
  // CHECK-LABEL: func.func @kept
  func.func @kept(%x: tensor<1x2x4x4xi8>, %w: tensor<3x2x1x1xi8>) -> tensor<1x3x4x4xi8> {
    %s = "onnx.Constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
    %z = "onnx.Constant"() {value = dense<3> : tensor<i8>} : () -> tensor<i8>
    %b = "onnx.Constant"() {value = dense<[1, 2, 3]> : tensor<3xi32>} : () -> tensor<3xi32>
    %bs = "onnx.Constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
    %bz = "onnx.Constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
    %xr = "onnx.DequantizeLinear"(%x, %s, %z) : (tensor<1x2x4x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2x4x4xf32>
    %wr = "onnx.DequantizeLinear"(%w, %s, %z) : (tensor<3x2x1x1xi8>, tensor<f32>, tensor<i8>) -> tensor<3x2x1x1xf32>
    // the scale of the bias is 0.5, that of the products 0.25
    // CHECK: "onnx.Conv"
    %br = "onnx.DequantizeLinear"(%b, %bs, %bz) : (tensor<3xi32>, tensor<f32>, tensor<i32>) -> tensor<3xf32>
    %c = "onnx.Conv"(%xr, %wr, %br) : (tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32>, tensor<3xf32>) -> tensor<1x3x4x4xf32>
    %q = "onnx.QuantizeLinear"(%c, %s, %z) : (tensor<1x3x4x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x3x4x4xi8>
    func.return %q : tensor<1x3x4x4xi8>
  }
}
