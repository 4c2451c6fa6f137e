// RUN: lamina-opt %s -p 'convert-onnx-to-accel' | filecheck %s
// RUN: lamina-opt %s -p 'convert-onnx-to-accel' | lamina-opt | filecheck %s
// RUN: lamina-opt %s -p 'convert-onnx-to-accel,convert-accel-to-tile' | filecheck %s --check-prefix=TILE

builtin.module attributes {onnx.opsets = {ai.onnx = 17 : i64}} {
  // 25 products for each sum are 7 blocks of 4, where rows of the kernel would be 5 times 2: the host lays the rows that
  // a window reads beside each other. Nobody else reads the image.
  // CHECK-LABEL: func.func private @first
  // CHECK: %[[X:.*]] = accel.enter %{{.*}} {gather = array<i64: 5, 1, 1, -2, 2>} : tensor<1x1x8x8xui8> -> tensor<1x8x8x5xi8>
  // CHECK: %[[Y:.*]] = accel.conv %[[X]], {{.*}}kernel = array<i64: 1, 5>, {{.*}}pads = array<i64: 0, 2, 0, 2>{{.*}} : tensor<1x8x8x5xi8>, tensor<2x7x1x4x4xi8>
  // TILE: func.func private @first({{.*}}systolic.inputs = [array<i64: {{[0-9]+}}, 1, 8, 8, 5, 5, 1, 1, -2, 2>]
  func.func private @first(%x: tensor<1x1x8x8xui8>) -> tensor<1x8x8x8xui8> attributes {systolic.machine = "tiny4"} {
    %s = "onnx.Constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
    %z = "onnx.Constant"() {value = dense<130> : tensor<ui8>} : () -> tensor<ui8>
    %w = "onnx.Constant"() {value = dense<1> : tensor<8x1x5x5xi8>} : () -> tensor<8x1x5x5xi8>
    %wz = "onnx.Constant"() {value = dense<0> : tensor<i8>} : () -> tensor<i8>
    %y = "onnx.QLinearConv"(%x, %s, %z, %w, %s, %wz, %s, %z) {pads = array<i64: 2, 2, 2, 2>} : (tensor<1x1x8x8xui8>, tensor<f32>, tensor<ui8>, tensor<8x1x5x5xi8>, tensor<f32>, tensor<i8>, tensor<f32>, tensor<ui8>) -> tensor<1x8x8x8xui8>
    func.return %y : tensor<1x8x8x8xui8>
  }

  // One that two layers read stays as it is.
  // CHECK-LABEL: func.func private @shared
  // CHECK: accel.enter %{{.*}} : tensor<1x1x8x8xui8> -> tensor<1x8x8x1xi8>
  // CHECK-NOT: gather
  func.func private @shared(%x: tensor<1x1x8x8xui8>) -> (tensor<1x8x8x8xui8>, tensor<1x1x6x6xui8>) attributes {systolic.machine = "tiny4"} {
    %s = "onnx.Constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
    %z = "onnx.Constant"() {value = dense<130> : tensor<ui8>} : () -> tensor<ui8>
    %w = "onnx.Constant"() {value = dense<1> : tensor<8x1x5x5xi8>} : () -> tensor<8x1x5x5xi8>
    %wz = "onnx.Constant"() {value = dense<0> : tensor<i8>} : () -> tensor<i8>
    %y = "onnx.QLinearConv"(%x, %s, %z, %w, %s, %wz, %s, %z) {pads = array<i64: 2, 2, 2, 2>} : (tensor<1x1x8x8xui8>, tensor<f32>, tensor<ui8>, tensor<8x1x5x5xi8>, tensor<f32>, tensor<i8>, tensor<f32>, tensor<ui8>) -> tensor<1x8x8x8xui8>
    %m = "onnx.MaxPool"(%x) {kernel_shape = array<i64: 3, 3>} : (tensor<1x1x8x8xui8>) -> tensor<1x1x6x6xui8>
    func.return %y, %m : tensor<1x8x8x8xui8>, tensor<1x1x6x6xui8>
  }
}
