// RUN: lamina-opt %s -p 'systolic-partition{machine="tiny4"},convert-onnx-to-accel' | filecheck %s
// RUN: lamina-opt %s -p 'systolic-partition{machine="tiny4"},convert-onnx-to-accel,convert-accel-to-tile' | filecheck %s --check-prefix=TILE

// Two images of five and four channels: each is copied between the channels of the result, whose pixels have nine.
// CHECK-LABEL: func.func private @systolic_1
// CHECK: accel.concat %{{.*}}, %{{.*}} : tensor<2x6x6x5xi8>, tensor<2x6x6x4xi8> -> tensor<2x6x6x9xi8>
// TILE: func.func private @systolic_1_program
// TILE-COUNT-2: func.call @concat_0
// TILE-COUNT-2: func.call @concat_1
// TILE: func.func private @concat_0(%x: memref<1x180xi8, "dram">, %y: memref<1x36x9xi8, "dram">)
// TILE: func.func private @concat_1(%x: memref<1x144xi8, "dram">, %y: memref<1x36x9xi8, "dram">)
builtin.module attributes {onnx.opsets = {ai.onnx = 17 : i64}} {
  func.func public @main(%a: tensor<2x5x6x6xui8> {lamina.name = "a"}, %b: tensor<2x4x6x6xui8> {lamina.name = "b"}) -> (tensor<2x9x6x6xui8> {lamina.name = "y"}) {
    %y = "onnx.Concat"(%a, %b) {axis = 1 : i64} : (tensor<2x5x6x6xui8>, tensor<2x4x6x6xui8>) -> tensor<2x9x6x6xui8>
    func.return %y : tensor<2x9x6x6xui8>
  }
}
