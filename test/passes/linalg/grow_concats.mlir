// RUN: lamina-opt %s -p linalg-grow-concats,cse --split-input-file | filecheck %s

// Four, of which each goes on with the one before: one buffer, to which what is new is added.
// CHECK-LABEL: func.func public @dense
// CHECK:         %[[E:.*]] = tensor.empty() : tensor<2x10xf32>
// CHECK:         %[[Z:.*]] = arith.constant dense<0> : tensor<i64>
// CHECK-NEXT:    %[[N:.*]] = tensor.extract %[[Z]][] : tensor<i64>
// CHECK-NEXT:    %[[I:.*]] = arith.index_cast %[[N]] : i64 to index
// CHECK-NEXT:    %[[A:.*]] = tensor.insert_slice %a into %[[E]][0, %[[I]]] [2, 4] [1, 1]
// CHECK:         arith.constant dense<4> : tensor<i64>
// CHECK:         %[[B:.*]] = tensor.insert_slice %b into %[[A]]
// CHECK-NEXT:    %[[V:.*]] = tensor.extract_slice %[[B]][0, 0] [2, 6] [1, 1] : tensor<2x10xf32> to tensor<2x6xf32>
// CHECK-NEXT:    %[[C:.*]] = func.call @layer6(%[[V]])
// CHECK:         %[[G:.*]] = tensor.insert_slice %[[C]] into %[[B]]
// CHECK-NEXT:    tensor.extract_slice %[[G]][0, 0] [2, 7] [1, 1]
// CHECK:         func.call @layer7
// CHECK:         tensor.extract_slice {{.*}}[0, 0] [2, 8] [1, 1]
// CHECK:         func.call @layer8
// CHECK:         tensor.insert_slice
// CHECK:         %[[L:.*]] = tensor.insert_slice
// CHECK-NEXT:    func.return %[[L]]
// CHECK-NOT:     tensor.concat
func.func private @layer6(tensor<2x6xf32>) -> tensor<2x1xf32>
func.func private @layer7(tensor<2x7xf32>) -> tensor<2x1xf32>
func.func private @layer8(tensor<2x8xf32>) -> tensor<2x1xf32>
func.func public @dense(%a: tensor<2x4xf32>, %b: tensor<2x2xf32>, %z: tensor<2x1xf32>) -> tensor<2x10xf32> {
  %0 = tensor.concat dim(1) %a, %b : (tensor<2x4xf32>, tensor<2x2xf32>) -> tensor<2x6xf32>
  %c = func.call @layer6(%0) : (tensor<2x6xf32>) -> tensor<2x1xf32>
  %1 = tensor.concat dim(1) %a, %b, %c : (tensor<2x4xf32>, tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x7xf32>
  %d = func.call @layer7(%1) : (tensor<2x7xf32>) -> tensor<2x1xf32>
  %2 = tensor.concat dim(1) %a, %b, %c, %d
    : (tensor<2x4xf32>, tensor<2x2xf32>, tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  %e = func.call @layer8(%2) : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %3 = tensor.concat dim(1) %a, %b, %c, %d, %e, %z
    : (tensor<2x4xf32>, tensor<2x2xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
      -> tensor<2x10xf32>
  func.return %3 : tensor<2x10xf32>
}

// -----

// The first is read again behind the second: what is left are three, which are few.
// CHECK-LABEL: func.func public @read_later
// CHECK-NOT:     tensor.insert_slice
// CHECK:         func.return
func.func public @read_later(%a: tensor<2x1xf32>) -> (tensor<2x5xf32>, tensor<2x2xf32>) {
  %0 = tensor.concat dim(1) %a, %a : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  %1 = tensor.concat dim(1) %a, %a, %a : (tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
  %2 = tensor.concat dim(1) %a, %a, %a, %a
    : (tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %3 = tensor.concat dim(1) %a, %a, %a, %a, %a
    : (tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x5xf32>
  func.return %3, %0 : tensor<2x5xf32>, tensor<2x2xf32>
}

// -----

// Two that go on with one: the longer chain has it.
// CHECK-LABEL: func.func public @two_ways
// CHECK-COUNT-1: tensor.empty
// CHECK:         tensor.concat dim(0) %a, %b, %b
// CHECK:         func.return
func.func public @two_ways(%a: tensor<1xf32>, %b: tensor<1xf32>) -> (tensor<5xf32>, tensor<3xf32>) {
  %0 = tensor.concat dim(0) %a, %b : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
  %1 = tensor.concat dim(0) %a, %b, %a : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<3xf32>
  %2 = tensor.concat dim(0) %a, %b, %a, %a
    : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<4xf32>
  %3 = tensor.concat dim(0) %a, %b, %a, %a, %b
    : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<5xf32>
  %4 = tensor.concat dim(0) %a, %b, %b : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<3xf32>
  func.return %3, %4 : tensor<5xf32>, tensor<3xf32>
}
