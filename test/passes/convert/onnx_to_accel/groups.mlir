// RUN: lamina-opt %s -p 'convert-onnx-to-accel' | filecheck %s
// RUN: lamina-opt %s -p 'convert-onnx-to-accel' | lamina-opt | filecheck %s
// RUN: lamina-opt %s -p 'convert-onnx-to-accel,convert-accel-to-tile' | filecheck %s --check-prefix=TILE

builtin.module attributes {onnx.opsets = {ai.onnx = 17 : i64}} {
  // Four groups of two channels and two filters fill half of the array's rows each: two of them are computed together.
  // CHECK-LABEL: func.func private @four
  // CHECK: accel.grouped_conv %{{.*}} : tensor<1x4x4x8xi8>, tensor<2x1x1x1x4x4xi8>, tensor<2x1x4x2xi32> -> tensor<1x4x4x8xi8>
  // One kernel, called twice; each reads and writes pixels of four of eight bytes.
  // TILE-LABEL: func.func private @four_program
  // TILE: memref.view %dram[%{{.*}}][] : memref<{{.*}}> to memref<1x128xi8, "dram">
  // TILE: func.call @grouped_conv_0(
  // TILE: func.call @grouped_conv_0(
  // TILE-NOT: func.call
  // TILE: func.func private @grouped_conv_0(%x: memref<1x128xi8, "dram">, %w: memref<1x1x1x4x4xi8, "dram">, %t: memref<1x4x2xi32, "dram">, %y: memref<1x16x8xi8, "dram">)
  func.func private @four(%x: tensor<1x8x4x4xi8>) -> tensor<1x8x4x4xi8> attributes {systolic.machine = "tiny4"} {
    %s = "onnx.Constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
    %z = "onnx.Constant"() {value = dense<3> : tensor<i8>} : () -> tensor<i8>
    %w = "onnx.Constant"() {value = dense<1> : tensor<8x2x1x1xi8>} : () -> tensor<8x2x1x1xi8>
    %wz = "onnx.Constant"() {value = dense<0> : tensor<i8>} : () -> tensor<i8>
    %y = "onnx.QLinearConv"(%x, %s, %z, %w, %s, %wz, %s, %z) {group = 4 : i64} : (tensor<1x8x4x4xi8>, tensor<f32>, tensor<i8>, tensor<8x2x1x1xi8>, tensor<f32>, tensor<i8>, tensor<f32>, tensor<i8>) -> tensor<1x8x4x4xi8>
    func.return %y : tensor<1x8x4x4xi8>
  }
}
