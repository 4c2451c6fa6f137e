// RUN: lamina-opt %s -p bufferize | filecheck %s

// Rows of a constant from a computed one on lie in the section of constants: so many bytes from where it begins. What
// is behind them in a stack begins where it does as a whole.

// CHECK-LABEL: func.func public @main
// CHECK-SAME:    (%i: memref<1xindex>, %{{.*}}: memref<3x16xf32>, %constants: memref<1024xi8>)
// CHECK-NEXT:    %[[FIRST:.*]] = arith.constant 0 : index
// CHECK:         %[[AT:.*]] = memref.load %i
// CHECK-NEXT:    %[[BYTES:.*]] = arith.constant 256 : index
// CHECK-NEXT:    %[[OFF:.*]] = arith.muli %[[AT]], %[[BYTES]] : index
// CHECK-NEXT:    %[[ROW:.*]] = arith.addi %[[FIRST]], %[[OFF]] : index
// CHECK-NEXT:    %[[ONE:.*]] = arith.constant 1 : index
// CHECK-NEXT:    %[[LINE:.*]] = arith.constant 64 : index
// CHECK-NEXT:    %[[MORE:.*]] = arith.muli %[[ONE]], %[[LINE]] : index
// CHECK-NEXT:    %[[PLACE:.*]] = arith.addi %[[ROW]], %[[MORE]] : index
// CHECK-NEXT:    %[[VIEW:.*]] = memref.view %constants[%[[PLACE]]][] : memref<1024xi8> to memref<1x3x16xf32>
// CHECK-NEXT:    memref.collapse_shape %[[VIEW]]
// CHECK-NOT:     alloc
func.func private @kernel(%x: tensor<3x16xf32>, %dst: tensor<3x16xf32>) -> tensor<3x16xf32> attributes {lamina.kernel = "loops"} {
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<3x16xf32>) outs(%dst : tensor<3x16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %b = arith.addf %a, %a : f32
    linalg.yield %b : f32
  } -> tensor<3x16xf32>
  func.return %y : tensor<3x16xf32>
}
func.func public @main(%i: tensor<1xindex>) -> tensor<3x16xf32> {
  %w = arith.constant dense_resource<w> : tensor<4x4x16xf32>
  %zero = arith.constant 0 : index
  %at = tensor.extract %i[%zero] : tensor<1xindex>
  %s = tensor.extract_slice %w[%at, 1, 0] [1, 3, 16] [1, 1, 1] : tensor<4x4x16xf32> to tensor<1x3x16xf32>
  %x = tensor.collapse_shape %s [[0, 1], [2]] : tensor<1x3x16xf32> into tensor<3x16xf32>
  %dst = tensor.empty() : tensor<3x16xf32>
  %y = func.call @kernel(%x, %dst) : (tensor<3x16xf32>, tensor<3x16xf32>) -> tensor<3x16xf32>
  func.return %y : tensor<3x16xf32>
}
