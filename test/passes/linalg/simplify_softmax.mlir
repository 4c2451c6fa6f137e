// RUN: lamina-opt %s -p linalg-simplify-softmax | filecheck %s

#x = affine_map<(m, s) -> (m, s)>
#row = affine_map<(m, s) -> (m)>
#column = affine_map<(m, s) -> (s)>

// CHECK-LABEL: func.func @rows
// CHECK: arith.maximumf %{{.*}}, %{{.*}} fastmath<nnan,nsz> : f32
// CHECK: math.exp %{{.*}} {below_one} : f32
// CHECK: arith.addf
// CHECK: ^{{.*}}(%[[E:.*]]: f32, %[[T:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: %[[ONE:.*]] = arith.constant 1.0{{.*}} : f32
// CHECK-NEXT: %[[R:.*]] = arith.divf %[[ONE]], %[[T]] : f32
// CHECK-NEXT: arith.mulf %[[E]], %[[R]] : f32
func.func @rows(%x: tensor<4x9xf32>) -> tensor<4x9xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xff800000 : f32
  %e0 = tensor.empty() : tensor<4x9xf32>
  %e1 = tensor.empty() : tensor<4xf32>
  %f0 = linalg.fill ins(%low : f32) outs(%e1 : tensor<4xf32>) -> tensor<4xf32>
  %highest = linalg.generic {indexing_maps = [#x, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x9xf32>) outs(%f0 : tensor<4xf32>) {
  ^bb0(%a: f32, %c: f32):
    %r = arith.maximumf %c, %a fastmath<nsz> : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  %powers = linalg.generic {indexing_maps = [#x, #row, #x], iterator_types = ["parallel", "parallel"]}
      ins(%x, %highest : tensor<4x9xf32>, tensor<4xf32>) outs(%e0 : tensor<4x9xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %d = arith.subf %a, %m : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<4x9xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4xf32>) -> tensor<4xf32>
  %total = linalg.generic {indexing_maps = [#x, #row], iterator_types = ["parallel", "reduction"]}
      ins(%powers : tensor<4x9xf32>) outs(%f1 : tensor<4xf32>) {
  ^bb0(%a: f32, %c: f32):
    %r = arith.addf %c, %a : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  %p = linalg.generic {indexing_maps = [#x, #row, #x], iterator_types = ["parallel", "parallel"]}
      ins(%powers, %total : tensor<4x9xf32>, tensor<4xf32>) outs(%e0 : tensor<4x9xf32>) {
  ^bb0(%a: f32, %t: f32, %c: f32):
    %r = arith.divf %a, %t : f32
    linalg.yield %r : f32
  } -> tensor<4x9xf32>
  func.return %p : tensor<4x9xf32>
}

// So too where the probabilities are rounded as they are written.
// CHECK-LABEL: func.func @rounded
// CHECK: arith.maximumf %{{.*}}, %{{.*}} fastmath<nnan,nsz> : f32
// CHECK: math.exp %{{.*}} {below_one} : f32
// CHECK: ^{{.*}}(%[[E:.*]]: f32, %[[T:.*]]: f32, %{{.*}}: bf16):
// CHECK-NEXT: %[[ONE:.*]] = arith.constant 1.0{{.*}} : f32
// CHECK-NEXT: %[[R:.*]] = arith.divf %[[ONE]], %[[T]] : f32
// CHECK-NEXT: %[[P:.*]] = arith.mulf %[[E]], %[[R]] : f32
// CHECK-NEXT: arith.truncf %[[P]] {flushes} : f32 to bf16
func.func @rounded(%x: tensor<4x9xf32>) -> tensor<4x9xbf16> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xff800000 : f32
  %e0 = tensor.empty() : tensor<4x9xf32>
  %e2 = tensor.empty() : tensor<4x9xbf16>
  %e1 = tensor.empty() : tensor<4xf32>
  %f0 = linalg.fill ins(%low : f32) outs(%e1 : tensor<4xf32>) -> tensor<4xf32>
  %highest = linalg.generic {indexing_maps = [#x, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x9xf32>) outs(%f0 : tensor<4xf32>) {
  ^bb0(%a: f32, %c: f32):
    %r = arith.maximumf %c, %a fastmath<nsz> : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  %powers = linalg.generic {indexing_maps = [#x, #row, #x], iterator_types = ["parallel", "parallel"]}
      ins(%x, %highest : tensor<4x9xf32>, tensor<4xf32>) outs(%e0 : tensor<4x9xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %d = arith.subf %a, %m : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<4x9xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4xf32>) -> tensor<4xf32>
  %total = linalg.generic {indexing_maps = [#x, #row], iterator_types = ["parallel", "reduction"]}
      ins(%powers : tensor<4x9xf32>) outs(%f1 : tensor<4xf32>) {
  ^bb0(%a: f32, %c: f32):
    %r = arith.addf %c, %a : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  %p = linalg.generic {indexing_maps = [#x, #row, #x], iterator_types = ["parallel", "parallel"]}
      ins(%powers, %total : tensor<4x9xf32>, tensor<4xf32>) outs(%e2 : tensor<4x9xbf16>) {
  ^bb0(%a: f32, %t: f32, %c: bf16):
    %r = arith.divf %a, %t : f32
    %n = arith.truncf %r {flushes} : f32 to bf16
    linalg.yield %n : bf16
  } -> tensor<4x9xbf16>
  func.return %p : tensor<4x9xbf16>
}

// Something else reads the maxima: they look for NaN as before.
// CHECK-LABEL: func.func @known
// CHECK: arith.maximumf %{{.*}}, %{{.*}} : f32
// CHECK: math.exp %{{.*}} : f32
// CHECK: arith.divf
func.func @known(%x: tensor<4x9xf32>) -> (tensor<4x9xf32>, tensor<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xff800000 : f32
  %e0 = tensor.empty() : tensor<4x9xf32>
  %e1 = tensor.empty() : tensor<4xf32>
  %f0 = linalg.fill ins(%low : f32) outs(%e1 : tensor<4xf32>) -> tensor<4xf32>
  %highest = linalg.generic {indexing_maps = [#x, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x9xf32>) outs(%f0 : tensor<4xf32>) {
  ^bb0(%a: f32, %c: f32):
    %r = arith.maximumf %c, %a : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  %powers = linalg.generic {indexing_maps = [#x, #row, #x], iterator_types = ["parallel", "parallel"]}
      ins(%x, %highest : tensor<4x9xf32>, tensor<4xf32>) outs(%e0 : tensor<4x9xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %d = arith.subf %a, %m : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<4x9xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4xf32>) -> tensor<4xf32>
  %total = linalg.generic {indexing_maps = [#x, #row], iterator_types = ["parallel", "reduction"]}
      ins(%powers : tensor<4x9xf32>) outs(%f1 : tensor<4xf32>) {
  ^bb0(%a: f32, %c: f32):
    %r = arith.addf %c, %a : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  %p = linalg.generic {indexing_maps = [#x, #row, #x], iterator_types = ["parallel", "parallel"]}
      ins(%powers, %total : tensor<4x9xf32>, tensor<4xf32>) outs(%e0 : tensor<4x9xf32>) {
  ^bb0(%a: f32, %t: f32, %c: f32):
    %r = arith.divf %a, %t : f32
    linalg.yield %r : f32
  } -> tensor<4x9xf32>
  func.return %p, %highest : tensor<4x9xf32>, tensor<4xf32>
}

// Along the first dimension the reciprocals are an array of their own, or there would be a division for each quotient.
// CHECK-LABEL: func.func @planes
// CHECK: arith.maximumf %{{.*}}, %{{.*}} fastmath<nnan,nsz> : f32
// CHECK: math.exp %{{.*}} {below_one} : f32
// CHECK: arith.addf
// CHECK: %[[R:.*]] = linalg.generic {{.*}} iterator_types = ["parallel"]} ins(%{{.*}} : tensor<9xf32>)
// CHECK: ^{{.*}}(%[[T:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: %[[ONE:.*]] = arith.constant 1.0{{.*}} : f32
// CHECK-NEXT: arith.divf %[[ONE]], %[[T]] : f32
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[R]] : tensor<4x9xf32>, tensor<9xf32>)
// CHECK-NOT: arith.divf
// CHECK: func.return
func.func @planes(%x: tensor<4x9xf32>) -> tensor<4x9xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xff800000 : f32
  %e0 = tensor.empty() : tensor<4x9xf32>
  %e1 = tensor.empty() : tensor<9xf32>
  %f0 = linalg.fill ins(%low : f32) outs(%e1 : tensor<9xf32>) -> tensor<9xf32>
  %highest = linalg.generic {indexing_maps = [#x, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<4x9xf32>) outs(%f0 : tensor<9xf32>) {
  ^bb0(%a: f32, %c: f32):
    %r = arith.maximumf %c, %a fastmath<nsz> : f32
    linalg.yield %r : f32
  } -> tensor<9xf32>
  %powers = linalg.generic {indexing_maps = [#x, #column, #x], iterator_types = ["parallel", "parallel"]}
      ins(%x, %highest : tensor<4x9xf32>, tensor<9xf32>) outs(%e0 : tensor<4x9xf32>) {
  ^bb0(%a: f32, %m: f32, %c: f32):
    %d = arith.subf %a, %m : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<4x9xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<9xf32>) -> tensor<9xf32>
  %total = linalg.generic {indexing_maps = [#x, #column], iterator_types = ["reduction", "parallel"]}
      ins(%powers : tensor<4x9xf32>) outs(%f1 : tensor<9xf32>) {
  ^bb0(%a: f32, %c: f32):
    %r = arith.addf %c, %a : f32
    linalg.yield %r : f32
  } -> tensor<9xf32>
  %p = linalg.generic {indexing_maps = [#x, #column, #x], iterator_types = ["parallel", "parallel"]}
      ins(%powers, %total : tensor<4x9xf32>, tensor<9xf32>) outs(%e0 : tensor<4x9xf32>) {
  ^bb0(%a: f32, %t: f32, %c: f32):
    %r = arith.divf %a, %t : f32
    linalg.yield %r : f32
  } -> tensor<4x9xf32>
  func.return %p : tensor<4x9xf32>
}
