// RUN: lamina-opt %s -p 'linalg-fuse-attention{queries=2}' | filecheck %s
// RUN: lamina-opt %s -p linalg-fuse-attention | filecheck %s --check-prefix FEW

// Two queries are matrix times vector for the usual vectors.
// FEW-NOT: linalg_ext.attention

#q = affine_map<(h, m, s, d) -> (h, m, d)>
#k = affine_map<(h, m, s, d) -> (s, h, d)>
#s = affine_map<(h, m, s, d) -> (h, m, s)>
#x = affine_map<(h, m, s) -> (h, m, s)>
#row = affine_map<(h, m, s) -> (h, m)>
#ms = affine_map<(h, m, s) -> (m, s)>
#hs = affine_map<(h, m, s) -> (h, s)>
#p = affine_map<(h, m, n, s) -> (h, m, s)>
#v = affine_map<(h, m, n, s) -> (h, s, n)>
#o = affine_map<(h, m, n, s) -> (m, h, n)>

// A padding mask is an input of the body; what was computed on the way is gone.
// CHECK-LABEL: func.func @padded
// CHECK-NOT: linalg.generic
// CHECK: "linalg_ext.attention"(%q, %k, %v, %mask, %{{.*}}) <{indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d3, d0, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d1, d0, d4)>], operandSegmentSizes
// CHECK-NEXT: ^{{.*}}(%[[S:.*]]: f32, %[[M:.*]]: f32):
// CHECK-NEXT: %[[HALF:.*]] = arith.constant 5.0{{.*}} : f32
// CHECK-NEXT: %[[T:.*]] = arith.mulf %[[S]], %[[HALF]] : f32
// CHECK-NEXT: %[[R:.*]] = arith.addf %[[T]], %[[M]] : f32
// CHECK-NEXT: "linalg_ext.yield"(%[[R]])
// CHECK-NOT: linalg.generic
func.func @padded(%q: tensor<3x2x4xf32>, %k: tensor<2x3x4xf32>, %v: tensor<3x2x5xf32>, %mask: tensor<3x2xf32>) -> tensor<2x3x5xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<3x2x2xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<3x2x2xf32>) -> tensor<3x2x2xf32>
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<3x2x4xf32>, tensor<2x3x4xf32>) outs(%f0 : tensor<3x2x2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %r = arith.addf %c, %m : f32
    linalg.yield %r : f32
  } -> tensor<3x2x2xf32>
  %x = linalg.generic {indexing_maps = [#x, #hs, #x], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %mask : tensor<3x2x2xf32>, tensor<3x2xf32>) outs(%e0 : tensor<3x2x2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %half = arith.constant 0.5 : f32
    %t = arith.mulf %a, %half : f32
    %r = arith.addf %t, %b : f32
    linalg.yield %r : f32
  } -> tensor<3x2x2xf32>
  %low = arith.constant 0xFF800000 : f32
  %e1 = tensor.empty() : tensor<3x2xf32>
  %f1 = linalg.fill ins(%low : f32) outs(%e1 : tensor<3x2xf32>) -> tensor<3x2xf32>
  %max = linalg.generic {indexing_maps = [#x, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : tensor<3x2x2xf32>) outs(%f1 : tensor<3x2xf32>) {
  ^bb0(%a: f32, %b: f32):
    %r = arith.maximumf %b, %a : f32
    linalg.yield %r : f32
  } -> tensor<3x2xf32>
  %e = linalg.generic {indexing_maps = [#x, #row, #x], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %max : tensor<3x2x2xf32>, tensor<3x2xf32>) outs(%e0 : tensor<3x2x2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %d = arith.subf %a, %b : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<3x2x2xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<3x2xf32>) -> tensor<3x2xf32>
  %sum = linalg.generic {indexing_maps = [#x, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%e : tensor<3x2x2xf32>) outs(%f2 : tensor<3x2xf32>) {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %b, %a : f32
    linalg.yield %r : f32
  } -> tensor<3x2xf32>
  %p = linalg.generic {indexing_maps = [#x, #row, #x], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%e, %sum : tensor<3x2x2xf32>, tensor<3x2xf32>) outs(%e0 : tensor<3x2x2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %q1 = arith.divf %a, %b : f32
    linalg.yield %q1 : f32
  } -> tensor<3x2x2xf32>
  %e2 = tensor.empty() : tensor<2x3x5xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %o = linalg.generic {indexing_maps = [#p, #v, #o], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%p, %v : tensor<3x2x2xf32>, tensor<3x2x5xf32>) outs(%f3 : tensor<2x3x5xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %r = arith.addf %c, %m : f32
    linalg.yield %r : f32
  } -> tensor<2x3x5xf32>
  func.return %o : tensor<2x3x5xf32>
}

// A constant mask that hides what lies behind the query is not read.
// CHECK-LABEL: func.func @causal
// CHECK: "linalg_ext.attention"(%q, %k, %v, %e2) <{{.*}} causal = 0 : i64
// CHECK-NEXT: ^{{.*}}(%{{.*}}: f32):
// CHECK-NOT: arith.addf
func.func @causal(%q: tensor<3x2x4xf32>, %k: tensor<2x3x4xf32>, %v: tensor<3x2x5xf32>) -> tensor<2x3x5xf32> {
  %mask = arith.constant dense<[[0.0, -1.0e9], [0.0, 0.0]]> : tensor<2x2xf32>
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<3x2x2xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<3x2x2xf32>) -> tensor<3x2x2xf32>
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<3x2x4xf32>, tensor<2x3x4xf32>) outs(%f0 : tensor<3x2x2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %r = arith.addf %c, %m : f32
    linalg.yield %r : f32
  } -> tensor<3x2x2xf32>
  %x = linalg.generic {indexing_maps = [#x, #ms, #x], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %mask : tensor<3x2x2xf32>, tensor<2x2xf32>) outs(%e0 : tensor<3x2x2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %half = arith.constant 0.5 : f32
    %t = arith.mulf %a, %half : f32
    %r = arith.addf %t, %b : f32
    linalg.yield %r : f32
  } -> tensor<3x2x2xf32>
  %low = arith.constant 0xFF800000 : f32
  %e1 = tensor.empty() : tensor<3x2xf32>
  %f1 = linalg.fill ins(%low : f32) outs(%e1 : tensor<3x2xf32>) -> tensor<3x2xf32>
  %max = linalg.generic {indexing_maps = [#x, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : tensor<3x2x2xf32>) outs(%f1 : tensor<3x2xf32>) {
  ^bb0(%a: f32, %b: f32):
    %r = arith.maximumf %b, %a : f32
    linalg.yield %r : f32
  } -> tensor<3x2xf32>
  %e = linalg.generic {indexing_maps = [#x, #row, #x], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %max : tensor<3x2x2xf32>, tensor<3x2xf32>) outs(%e0 : tensor<3x2x2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %d = arith.subf %a, %b : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<3x2x2xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<3x2xf32>) -> tensor<3x2xf32>
  %sum = linalg.generic {indexing_maps = [#x, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%e : tensor<3x2x2xf32>) outs(%f2 : tensor<3x2xf32>) {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %b, %a : f32
    linalg.yield %r : f32
  } -> tensor<3x2xf32>
  %p = linalg.generic {indexing_maps = [#x, #row, #x], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%e, %sum : tensor<3x2x2xf32>, tensor<3x2xf32>) outs(%e0 : tensor<3x2x2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %q1 = arith.divf %a, %b : f32
    linalg.yield %q1 : f32
  } -> tensor<3x2x2xf32>
  %e2 = tensor.empty() : tensor<2x3x5xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %o = linalg.generic {indexing_maps = [#p, #v, #o], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%p, %v : tensor<3x2x2xf32>, tensor<3x2x5xf32>) outs(%f3 : tensor<2x3x5xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %r = arith.addf %c, %m : f32
    linalg.yield %r : f32
  } -> tensor<2x3x5xf32>
  func.return %o : tensor<2x3x5xf32>
}

// One that says more is read, and what is hidden skipped all the same.
// CHECK-LABEL: func.func @slope
// CHECK: "linalg_ext.attention"(%q, %k, %v, %mask, %e2) <{{.*}} causal = 0 : i64
func.func @slope(%q: tensor<3x2x4xf32>, %k: tensor<2x3x4xf32>, %v: tensor<3x2x5xf32>) -> tensor<2x3x5xf32> {
  %mask = arith.constant dense<[[0.0, 0xFF800000], [-1.0, 0.0]]> : tensor<2x2xf32>
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<3x2x2xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<3x2x2xf32>) -> tensor<3x2x2xf32>
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<3x2x4xf32>, tensor<2x3x4xf32>) outs(%f0 : tensor<3x2x2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %r = arith.addf %c, %m : f32
    linalg.yield %r : f32
  } -> tensor<3x2x2xf32>
  %x = linalg.generic {indexing_maps = [#x, #ms, #x], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %mask : tensor<3x2x2xf32>, tensor<2x2xf32>) outs(%e0 : tensor<3x2x2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %half = arith.constant 0.5 : f32
    %t = arith.mulf %a, %half : f32
    %r = arith.addf %t, %b : f32
    linalg.yield %r : f32
  } -> tensor<3x2x2xf32>
  %low = arith.constant 0xFF800000 : f32
  %e1 = tensor.empty() : tensor<3x2xf32>
  %f1 = linalg.fill ins(%low : f32) outs(%e1 : tensor<3x2xf32>) -> tensor<3x2xf32>
  %max = linalg.generic {indexing_maps = [#x, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : tensor<3x2x2xf32>) outs(%f1 : tensor<3x2xf32>) {
  ^bb0(%a: f32, %b: f32):
    %r = arith.maximumf %b, %a : f32
    linalg.yield %r : f32
  } -> tensor<3x2xf32>
  %e = linalg.generic {indexing_maps = [#x, #row, #x], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %max : tensor<3x2x2xf32>, tensor<3x2xf32>) outs(%e0 : tensor<3x2x2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %d = arith.subf %a, %b : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<3x2x2xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<3x2xf32>) -> tensor<3x2xf32>
  %sum = linalg.generic {indexing_maps = [#x, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%e : tensor<3x2x2xf32>) outs(%f2 : tensor<3x2xf32>) {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %b, %a : f32
    linalg.yield %r : f32
  } -> tensor<3x2xf32>
  %p = linalg.generic {indexing_maps = [#x, #row, #x], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%e, %sum : tensor<3x2x2xf32>, tensor<3x2xf32>) outs(%e0 : tensor<3x2x2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %q1 = arith.divf %a, %b : f32
    linalg.yield %q1 : f32
  } -> tensor<3x2x2xf32>
  %e2 = tensor.empty() : tensor<2x3x5xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %o = linalg.generic {indexing_maps = [#p, #v, #o], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%p, %v : tensor<3x2x2xf32>, tensor<3x2x5xf32>) outs(%f3 : tensor<2x3x5xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %r = arith.addf %c, %m : f32
    linalg.yield %r : f32
  } -> tensor<2x3x5xf32>
  func.return %o : tensor<2x3x5xf32>
}

// What only makes scores lower is no mask.
// CHECK-LABEL: func.func @bias
// CHECK: "linalg_ext.attention"(%q, %k, %v, %mask, %e2) <{indexing_maps = {{.*}}], operandSegmentSizes = array<i32: 4, 1>}>
func.func @bias(%q: tensor<3x2x4xf32>, %k: tensor<2x3x4xf32>, %v: tensor<3x2x5xf32>) -> tensor<2x3x5xf32> {
  %mask = arith.constant dense<[[0.0, -1.0e4], [0.0, 0.0]]> : tensor<2x2xf32>
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<3x2x2xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<3x2x2xf32>) -> tensor<3x2x2xf32>
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<3x2x4xf32>, tensor<2x3x4xf32>) outs(%f0 : tensor<3x2x2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %r = arith.addf %c, %m : f32
    linalg.yield %r : f32
  } -> tensor<3x2x2xf32>
  %x = linalg.generic {indexing_maps = [#x, #ms, #x], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %mask : tensor<3x2x2xf32>, tensor<2x2xf32>) outs(%e0 : tensor<3x2x2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %half = arith.constant 0.5 : f32
    %t = arith.mulf %a, %half : f32
    %r = arith.addf %t, %b : f32
    linalg.yield %r : f32
  } -> tensor<3x2x2xf32>
  %low = arith.constant 0xFF800000 : f32
  %e1 = tensor.empty() : tensor<3x2xf32>
  %f1 = linalg.fill ins(%low : f32) outs(%e1 : tensor<3x2xf32>) -> tensor<3x2xf32>
  %max = linalg.generic {indexing_maps = [#x, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : tensor<3x2x2xf32>) outs(%f1 : tensor<3x2xf32>) {
  ^bb0(%a: f32, %b: f32):
    %r = arith.maximumf %b, %a : f32
    linalg.yield %r : f32
  } -> tensor<3x2xf32>
  %e = linalg.generic {indexing_maps = [#x, #row, #x], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %max : tensor<3x2x2xf32>, tensor<3x2xf32>) outs(%e0 : tensor<3x2x2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %d = arith.subf %a, %b : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<3x2x2xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<3x2xf32>) -> tensor<3x2xf32>
  %sum = linalg.generic {indexing_maps = [#x, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%e : tensor<3x2x2xf32>) outs(%f2 : tensor<3x2xf32>) {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %b, %a : f32
    linalg.yield %r : f32
  } -> tensor<3x2xf32>
  %p = linalg.generic {indexing_maps = [#x, #row, #x], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%e, %sum : tensor<3x2x2xf32>, tensor<3x2xf32>) outs(%e0 : tensor<3x2x2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %q1 = arith.divf %a, %b : f32
    linalg.yield %q1 : f32
  } -> tensor<3x2x2xf32>
  %e2 = tensor.empty() : tensor<2x3x5xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %o = linalg.generic {indexing_maps = [#p, #v, #o], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%p, %v : tensor<3x2x2xf32>, tensor<3x2x5xf32>) outs(%f3 : tensor<2x3x5xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %r = arith.addf %c, %m : f32
    linalg.yield %r : f32
  } -> tensor<2x3x5xf32>
  func.return %o : tensor<2x3x5xf32>
}

// One that hides all keys of a query is a mask like others; rows that are no number become 0.
// CHECK-LABEL: func.func @hidden
// CHECK: "linalg_ext.attention"(%q, %k, %v, %mask, %e2) <{{.*}} zero_undefined
func.func @hidden(%q: tensor<3x2x4xf32>, %k: tensor<2x3x4xf32>, %v: tensor<3x2x5xf32>) -> tensor<2x3x5xf32> {
  %mask = arith.constant dense<[[0xFF800000, 0xFF800000], [0.0, 0.0]]> : tensor<2x2xf32>
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<3x2x2xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<3x2x2xf32>) -> tensor<3x2x2xf32>
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<3x2x4xf32>, tensor<2x3x4xf32>) outs(%f0 : tensor<3x2x2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %r = arith.addf %c, %m : f32
    linalg.yield %r : f32
  } -> tensor<3x2x2xf32>
  %x = linalg.generic {indexing_maps = [#x, #ms, #x], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %mask : tensor<3x2x2xf32>, tensor<2x2xf32>) outs(%e0 : tensor<3x2x2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %half = arith.constant 0.5 : f32
    %t = arith.mulf %a, %half : f32
    %r = arith.addf %t, %b : f32
    linalg.yield %r : f32
  } -> tensor<3x2x2xf32>
  %low = arith.constant 0xFF800000 : f32
  %e1 = tensor.empty() : tensor<3x2xf32>
  %f1 = linalg.fill ins(%low : f32) outs(%e1 : tensor<3x2xf32>) -> tensor<3x2xf32>
  %max = linalg.generic {indexing_maps = [#x, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : tensor<3x2x2xf32>) outs(%f1 : tensor<3x2xf32>) {
  ^bb0(%a: f32, %b: f32):
    %r = arith.maximumf %b, %a : f32
    linalg.yield %r : f32
  } -> tensor<3x2xf32>
  %e = linalg.generic {indexing_maps = [#x, #row, #x], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %max : tensor<3x2x2xf32>, tensor<3x2xf32>) outs(%e0 : tensor<3x2x2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %d = arith.subf %a, %b : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<3x2x2xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<3x2xf32>) -> tensor<3x2xf32>
  %sum = linalg.generic {indexing_maps = [#x, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%e : tensor<3x2x2xf32>) outs(%f2 : tensor<3x2xf32>) {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %b, %a : f32
    linalg.yield %r : f32
  } -> tensor<3x2xf32>
  %p = linalg.generic {indexing_maps = [#x, #row, #x], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%e, %sum : tensor<3x2x2xf32>, tensor<3x2xf32>) outs(%e0 : tensor<3x2x2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %q1 = arith.divf %a, %b : f32
    %nan = arith.cmpf une, %q1, %q1 : f32
    %r = arith.select %nan, %zero, %q1 : f32
    linalg.yield %r : f32
  } -> tensor<3x2x2xf32>
  %e2 = tensor.empty() : tensor<2x3x5xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %o = linalg.generic {indexing_maps = [#p, #v, #o], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%p, %v : tensor<3x2x2xf32>, tensor<3x2x5xf32>) outs(%f3 : tensor<2x3x5xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %r = arith.addf %c, %m : f32
    linalg.yield %r : f32
  } -> tensor<2x3x5xf32>
  func.return %o : tensor<2x3x5xf32>
}

// Scores that somebody else reads stay.
// CHECK-LABEL: func.func @returned
// CHECK-NOT: linalg_ext.attention
func.func @returned(%q: tensor<3x2x4xf32>, %k: tensor<2x3x4xf32>, %v: tensor<3x2x5xf32>, %mask: tensor<3x2xf32>) -> (tensor<2x3x5xf32>, tensor<3x2x2xf32>) {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<3x2x2xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<3x2x2xf32>) -> tensor<3x2x2xf32>
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<3x2x4xf32>, tensor<2x3x4xf32>) outs(%f0 : tensor<3x2x2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %r = arith.addf %c, %m : f32
    linalg.yield %r : f32
  } -> tensor<3x2x2xf32>
  %x = linalg.generic {indexing_maps = [#x, #hs, #x], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %mask : tensor<3x2x2xf32>, tensor<3x2xf32>) outs(%e0 : tensor<3x2x2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %half = arith.constant 0.5 : f32
    %t = arith.mulf %a, %half : f32
    %r = arith.addf %t, %b : f32
    linalg.yield %r : f32
  } -> tensor<3x2x2xf32>
  %low = arith.constant 0xFF800000 : f32
  %e1 = tensor.empty() : tensor<3x2xf32>
  %f1 = linalg.fill ins(%low : f32) outs(%e1 : tensor<3x2xf32>) -> tensor<3x2xf32>
  %max = linalg.generic {indexing_maps = [#x, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : tensor<3x2x2xf32>) outs(%f1 : tensor<3x2xf32>) {
  ^bb0(%a: f32, %b: f32):
    %r = arith.maximumf %b, %a : f32
    linalg.yield %r : f32
  } -> tensor<3x2xf32>
  %e = linalg.generic {indexing_maps = [#x, #row, #x], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %max : tensor<3x2x2xf32>, tensor<3x2xf32>) outs(%e0 : tensor<3x2x2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %d = arith.subf %a, %b : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<3x2x2xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<3x2xf32>) -> tensor<3x2xf32>
  %sum = linalg.generic {indexing_maps = [#x, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%e : tensor<3x2x2xf32>) outs(%f2 : tensor<3x2xf32>) {
  ^bb0(%a: f32, %b: f32):
    %r = arith.addf %b, %a : f32
    linalg.yield %r : f32
  } -> tensor<3x2xf32>
  %p = linalg.generic {indexing_maps = [#x, #row, #x], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%e, %sum : tensor<3x2x2xf32>, tensor<3x2xf32>) outs(%e0 : tensor<3x2x2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %q1 = arith.divf %a, %b : f32
    linalg.yield %q1 : f32
  } -> tensor<3x2x2xf32>
  %e2 = tensor.empty() : tensor<2x3x5xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  %o = linalg.generic {indexing_maps = [#p, #v, #o], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%p, %v : tensor<3x2x2xf32>, tensor<3x2x5xf32>) outs(%f3 : tensor<2x3x5xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %r = arith.addf %c, %m : f32
    linalg.yield %r : f32
  } -> tensor<2x3x5xf32>
  func.return %o, %x : tensor<2x3x5xf32>, tensor<3x2x2xf32>
}
