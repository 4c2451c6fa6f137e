// RUN: lamina-opt %s -p 'systolic-partition{machine="tiny4"}' | filecheck %s
// RUN: lamina-opt %s -p 'systolic-partition{machine="tiny4"},convert-onnx-to-accel' | filecheck %s --check-prefix=ACCEL
// RUN: lamina-opt %s -p 'systolic-partition{machine="tiny4"},convert-onnx-to-accel,convert-accel-to-tile' | filecheck %s --check-prefix=TILE
// RUN: lamina-opt %s -p 'systolic-partition{machine="tiny4"},convert-onnx-to-accel,convert-accel-to-tile,convert-tile-to-pipe,convert-pipe-to-systolic' | filecheck %s --check-prefix=ISA

builtin.module attributes {onnx.opsets = {ai.onnx = 17 : i64, com.microsoft = 1 : i64}} {
  // A sigmoid between two products: two parts of the array, three of the host.
  // CHECK-LABEL: func.func public @main(
  // CHECK-NEXT:    %[[A:.*]] = func.call @host_0(%x) : (tensor<3x4xf32>) -> tensor<3x4xui8>
  // CHECK-NEXT:    %[[B:.*]] = func.call @systolic_1(%[[A]]) : (tensor<3x4xui8>) -> tensor<3x4xui8>
  // CHECK-NEXT:    %[[C:.*]] = func.call @host_2(%[[B]]) : (tensor<3x4xui8>) -> tensor<3x4xui8>
  // CHECK-NEXT:    %[[D:.*]] = func.call @systolic_3(%[[C]]) : (tensor<3x4xui8>) -> tensor<3x4xui8>
  // CHECK-NEXT:    func.return %[[D]]
  func.func public @main(%x: tensor<3x4xf32> {lamina.name = "x"}) -> (tensor<3x4xui8> {lamina.name = "y"}) {
    %s = "onnx.Constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
    %z = "onnx.Constant"() {value = dense<130> : tensor<ui8>} : () -> tensor<ui8>
    %w = "onnx.Constant"() {value = dense<[[1, 2, 3, 4], [5, 6, 7, 8], [9, 8, 7, 6], [5, 4, 3, 2]]> : tensor<4x4xi8>} : () -> tensor<4x4xi8>
    %wz = "onnx.Constant"() {value = dense<0> : tensor<i8>} : () -> tensor<i8>
    %q = "onnx.QuantizeLinear"(%x, %s, %z) : (tensor<3x4xf32>, tensor<f32>, tensor<ui8>) -> tensor<3x4xui8>
    %a = "onnx.QLinearMatMul"(%q, %s, %z, %w, %s, %wz, %s, %z) : (tensor<3x4xui8>, tensor<f32>, tensor<ui8>, tensor<4x4xi8>, tensor<f32>, tensor<i8>, tensor<f32>, tensor<ui8>) -> tensor<3x4xui8>
    %b = "onnx.com.microsoft.QLinearSigmoid"(%a, %s, %z, %s, %z) : (tensor<3x4xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>) -> tensor<3x4xui8>
    %y = "onnx.QLinearMatMul"(%b, %s, %z, %w, %s, %wz, %s, %z) : (tensor<3x4xui8>, tensor<f32>, tensor<ui8>, tensor<4x4xi8>, tensor<f32>, tensor<i8>, tensor<f32>, tensor<ui8>) -> tensor<3x4xui8>
    func.return %y : tensor<3x4xui8>
  }
  // CHECK: func.func private @systolic_1({{.*}}) -> tensor<3x4xui8> attributes {systolic.machine = "tiny4"}
  // CHECK: "onnx.QLinearMatMul"

  // ACCEL-LABEL: func.func private @systolic_1
  // ACCEL-NEXT:  %[[X:.*]] = accel.enter %{{.*}} : tensor<3x4xui8> -> tensor<1x1x3x4xi8>
  // ACCEL-NEXT:  %[[W:.*]] = arith.constant dense<{{.*}}> : tensor<1x1x1x4x4xi8>
  // The zero point 130 - 128 = 2 times the sums of the columns, 20 each, and the bits of 0.5.
  // ACCEL-NEXT:  %[[T:.*]] = arith.constant dense<{{\[\[\[}}-40, 1056964608], [-40, 1056964608], [-40, 1056964608], [-40, 1056964608]]]> : tensor<1x4x2xi32>
  // ACCEL-NEXT:  %[[Y:.*]] = accel.conv %[[X]], %[[W]], %[[T]] {{.*}}pad = 2 : i8, post = array<i64: 2, -128, 127>}
  // ACCEL-NEXT:  accel.leave %[[Y]] : tensor<1x1x3x4xi8> -> tensor<3x4xui8>

  // TILE: func.func private @systolic_1(tensor<3x4xui8>) -> tensor<3x4xui8> attributes {{.*}}systolic.program = "systolic_1_program"
  // TILE: func.func private @systolic_1_program(%dram: memref<{{.*}}xi8, "dram">)
  // TILE: func.call @conv_0
  // The second product is the same kernel.
  // TILE: func.func private @systolic_3_program
  // TILE: func.call @conv_0
  // TILE: func.func private @conv_0(%x: memref<1x12xi8, "dram">, %w: memref<1x1x1x4x4xi8, "dram">, %t: memref<1x4x2xi32, "dram">, %y: memref<1x3x4xi8, "dram">)

  // ISA: systolic.program @systolic_1_program for "tiny4" {
  // ISA: systolic.mm
  // ISA: systolic.halt
  // ISA: systolic.program @systolic_3_program for "tiny4" {
}
