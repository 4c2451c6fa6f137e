// RUN: lamina-opt %s -p linalg-outline-kernels | filecheck %s

// A slice that only a concatenation takes is read where it lies: the rows from the first on, which no subscript of a
// linalg.generic can say.
// CHECK-LABEL: func.func public @slices
// CHECK:         %[[D:.*]] = tensor.empty() : tensor<1x8x6xf32>
// CHECK-NEXT:    func.call @kernel_0(%x, %[[D]])
// CHECK-NEXT:    func.return
func.func public @slices(%x: tensor<1x10x3xf32>) -> tensor<1x8x6xf32> {
  %0 = tensor.extract_slice %x[0, 0, 0] [1, 8, 3] [1, 1, 1] : tensor<1x10x3xf32> to tensor<1x8x3xf32>
  %1 = tensor.extract_slice %x[0, 2, 0] [1, 8, 3] [1, 1, 1] : tensor<1x10x3xf32> to tensor<1x8x3xf32>
  %2 = tensor.concat dim(2) %0, %1 : (tensor<1x8x3xf32>, tensor<1x8x3xf32>) -> tensor<1x8x6xf32>
  func.return %2 : tensor<1x8x6xf32>
}

// One that something else reads, too, is a kernel of its own.
// CHECK-LABEL: func.func public @shared_slice
// CHECK-COUNT-2: func.call
func.func public @shared_slice(%x: tensor<1x10x3xf32>) -> (tensor<1x8x6xf32>, tensor<1x8x3xf32>) {
  %0 = tensor.extract_slice %x[0, 0, 0] [1, 8, 3] [1, 1, 1] : tensor<1x10x3xf32> to tensor<1x8x3xf32>
  %2 = tensor.concat dim(2) %0, %0 : (tensor<1x8x3xf32>, tensor<1x8x3xf32>) -> tensor<1x8x6xf32>
  func.return %2, %0 : tensor<1x8x6xf32>, tensor<1x8x3xf32>
}

// CHECK-LABEL: func.func private @kernel_0
// CHECK-COUNT-2: tensor.extract_slice
// CHECK-NEXT:    tensor.concat
