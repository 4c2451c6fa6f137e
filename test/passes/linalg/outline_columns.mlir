// RUN: lamina-opt %s -p linalg-outline-kernels{columns=true} | filecheck %s
// RUN: lamina-opt %s -p linalg-outline-kernels | filecheck %s --check-prefix=APART

#all = affine_map<(n, c, p) -> (n, c, p)>
#plane = affine_map<(n, c, p) -> (n, p)>
#bias = affine_map<(n, c, p) -> (c)>

// What goes over the planes that a reduction goes over is part of its kernel: the sum of squares, the root of a mean and
// the quotient.
// CHECK-LABEL: func.func public @norm
// CHECK-COUNT-1: func.call @kernel_0
// CHECK-NOT:   func.call
// CHECK:       func.return
// APART-LABEL: func.func public @norm
// APART-COUNT-3: func.call
func.func public @norm(%x: tensor<2x5x99xf32>, %b: tensor<5xf32>) -> tensor<2x5x99xf32> {
  %zero = arith.constant 0.0 : f32
  %five = arith.constant 5.0 : f32
  %e0 = tensor.empty() : tensor<2x99xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e0 : tensor<2x99xf32>) -> tensor<2x99xf32>
  %sum = linalg.generic {indexing_maps = [#all, #plane], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%x : tensor<2x5x99xf32>) outs(%f : tensor<2x99xf32>) {
  ^bb0(%a: f32, %c: f32):
    %s = arith.mulf %a, %a : f32
    %r = arith.addf %c, %s : f32
    linalg.yield %r : f32
  } -> tensor<2x99xf32>
  %root = linalg.generic {indexing_maps = [affine_map<(n, p) -> (n, p)>, affine_map<(n, p) -> (n, p)>],
                          iterator_types = ["parallel", "parallel"]}
      ins(%sum : tensor<2x99xf32>) outs(%e0 : tensor<2x99xf32>) {
  ^bb0(%a: f32, %c: f32):
    %m = arith.divf %a, %five : f32
    %r = math.sqrt %m : f32
    linalg.yield %r : f32
  } -> tensor<2x99xf32>
  %e1 = tensor.empty() : tensor<2x5x99xf32>
  %y = linalg.generic {indexing_maps = [#all, #plane, #bias, #all],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %root, %b : tensor<2x5x99xf32>, tensor<2x99xf32>, tensor<5xf32>) outs(%e1 : tensor<2x5x99xf32>) {
  ^bb0(%a: f32, %d: f32, %w: f32, %c: f32):
    %q = arith.divf %a, %d : f32
    %r = arith.addf %q, %w : f32
    linalg.yield %r : f32
  } -> tensor<2x5x99xf32>
  func.return %y : tensor<2x5x99xf32>
}

// Not what takes the reduced plane across the columns, or goes over other planes.
// CHECK-LABEL: func.func public @turned
// CHECK-COUNT-2: func.call
func.func public @turned(%x: tensor<5x70x70xf32>) -> tensor<5x70x70xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<70x70xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e0 : tensor<70x70xf32>) -> tensor<70x70xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(c, i, j) -> (c, i, j)>, affine_map<(c, i, j) -> (i, j)>],
                         iterator_types = ["reduction", "parallel", "parallel"]}
      ins(%x : tensor<5x70x70xf32>) outs(%f : tensor<70x70xf32>) {
  ^bb0(%a: f32, %c: f32):
    %r = arith.addf %c, %a : f32
    linalg.yield %r : f32
  } -> tensor<70x70xf32>
  %e1 = tensor.empty() : tensor<5x70x70xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(c, i, j) -> (c, i, j)>, affine_map<(c, i, j) -> (j, i)>,
                                        affine_map<(c, i, j) -> (c, i, j)>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %sum : tensor<5x70x70xf32>, tensor<70x70xf32>) outs(%e1 : tensor<5x70x70xf32>) {
  ^bb0(%a: f32, %d: f32, %c: f32):
    %r = arith.divf %a, %d : f32
    linalg.yield %r : f32
  } -> tensor<5x70x70xf32>
  func.return %y : tensor<5x70x70xf32>
}

// CHECK-LABEL: func.func private @kernel_0
// CHECK:       iterator_types = ["parallel", "reduction", "parallel"]
// CHECK:       math.sqrt
// CHECK:       iterator_types = ["parallel", "parallel", "parallel"]
