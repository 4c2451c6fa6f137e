// RUN: lamina-opt %s -p 'systolic-flatten-products' | filecheck %s
// RUN: lamina-opt %s -p 'systolic-flatten-products,systolic-partition{machine="tiny4"},convert-onnx-to-accel' | filecheck %s --check-prefix=ACCEL
// RUN: lamina-opt %s -p 'systolic-flatten-products,systolic-partition{machine="tiny4"},convert-onnx-to-accel,convert-accel-to-tile' | filecheck %s --check-prefix=TILE
// RUN: lamina-opt %s -p 'systolic-flatten-products,systolic-partition{machine="tiny4"},convert-onnx-to-accel,convert-accel-to-tile,convert-tile-to-pipe,convert-pipe-to-systolic' | filecheck %s --check-prefix=ISA

builtin.module attributes {onnx.opsets = {ai.onnx = 17 : i64, com.microsoft = 1 : i64}} {
  // Two heads of six rows; seven channels are a block of four and one of three. Zero is in the middle of unsigned bytes.
  // CHECK-LABEL: func.func public @main
  // CHECK: %[[A:.*]] = "onnx.Reshape"(%a, %{{.*}}) : (tensor<1x2x6x7xi8>, tensor<3xi64>) -> tensor<2x6x7xi8>
  // CHECK: %[[B:.*]] = "onnx.Reshape"(%b, %{{.*}}) : (tensor<1x2x7x5xui8>, tensor<3xi64>) -> tensor<2x7x5xui8>
  // CHECK: %[[Y:.*]] = "onnx.QLinearMatMul"(%[[A]], %s, %z, %[[B]], {{.*}} -> tensor<2x6x5xi8>
  // CHECK: "onnx.Reshape"(%[[Y]], %{{.*}}) : (tensor<2x6x5xi8>, tensor<4xi64>) -> tensor<1x2x6x5xi8>
  func.func public @main(%a: tensor<1x2x6x7xi8> {lamina.name = "a"}, %b: tensor<1x2x7x5xui8> {lamina.name = "b"}) -> (tensor<1x2x6x5xi8> {lamina.name = "y"}) {
    %s = "onnx.Constant"() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
    %z = "onnx.Constant"() {value = dense<0> : tensor<i8>} : () -> tensor<i8>
    %u = "onnx.Constant"() {value = dense<128> : tensor<ui8>} : () -> tensor<ui8>
    %t = "onnx.Constant"() {value = dense<3> : tensor<i8>} : () -> tensor<i8>
    %y = "onnx.QLinearMatMul"(%a, %s, %z, %b, %s, %u, %s, %t) : (tensor<1x2x6x7xi8>, tensor<f32>, tensor<i8>, tensor<1x2x7x5xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<i8>) -> tensor<1x2x6x5xi8>
    func.return %y : tensor<1x2x6x5xi8>
  }
  // ACCEL: accel.product %{{.*}}, %{{.*}}, %{{.*}} {count = 2 : i64, post = array<i64: 3, -128, 127>} : tensor<1x1x12x7xi8>, tensor<1x1x14x5xi8>, tensor<2x4x2xi32> -> tensor<1x1x12x5xi8>
  // ACCEL-NEXT: accel.leave

  // TILE: func.call @product_0
  // TILE: func.call @product_0
  // TILE: func.func private @product_0(%x: memref<1x42xi8, "dram">, %w: memref<7x5xi8, "dram">, %t: memref<2x4x2xi32, "dram">, %y: memref<1x6x5xi8, "dram">)
  // TILE: tile.weights %w[%{{.*}}, %{{.*}}] in "w" {len = 4 : i64} : memref<7x5xi8, "dram"> -> memref<1x1x4x4xi8, "spm">
  // TILE: tile.weights %w[%{{.*}}, %{{.*}}] in "w" {len = 4 : i64} : memref<7x5xi8, "dram"> -> memref<1x1x3x4xi8, "spm">

  // Rows of the second matrix, five bytes apart.
  // ISA: stride(s0=5
  // ISA: systolic.wl {{.*}}rows=3
}
