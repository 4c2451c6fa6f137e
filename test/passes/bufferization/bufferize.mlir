// RUN: lamina-opt %s -p bufferize --split-input-file | filecheck %s

// Results go straight to the caller's buffer, weights to the section of constants; what lies between two kernels
// is allocated.
// CHECK: lamina.constants = [{key = "bias", offset = 0 : i64, bytes = 16 : i64}]
// CHECK-LABEL: func.func public @main(%x: memref<4xf32> {lamina.name = "x"}, %{{.*}}: memref<4xf32> {lamina.name = "y"}, %constants: memref<16xi8>) {
// CHECK: %[[B:.*]] = memref.view %constants[%{{.*}}][] : memref<16xi8> to memref<4xf32>
// CHECK: %[[T:.*]] = memref.alloc() {alignment = 64 : i64} : memref<4xf32>
// CHECK: func.call @kernel_0(%x, %bias, %[[T]])
// CHECK: func.call @kernel_0(%[[T]], %bias, %[[Y:.*]]) : (memref<4xf32>, memref<4xf32>, memref<4xf32>) -> ()
// CHECK-NEXT: func.return
func.func public @main(%x: tensor<4xf32> {lamina.name = "x"}) -> (tensor<4xf32> {lamina.name = "y"}) {
  %bias = arith.constant dense_resource<bias> : tensor<4xf32>
  %dst = tensor.empty() : tensor<4xf32>
  %a = func.call @kernel_0(%x, %bias, %dst) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = func.call @kernel_0(%a, %bias, %dst) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
// CHECK-LABEL: func.func private @kernel_0(%x: memref<4xf32>, %b: memref<4xf32>, %dst: memref<4xf32>) {
// CHECK: linalg.generic {{.*}} ins(%x, %b : memref<4xf32>, memref<4xf32>) outs(%dst : memref<4xf32>)
// CHECK: func.return
func.func private @kernel_0(%x: tensor<4xf32>, %b: tensor<4xf32>, %dst: tensor<4xf32>) -> tensor<4xf32> {
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x, %b : tensor<4xf32>, tensor<4xf32>) outs(%dst : tensor<4xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// An input that is returned, and a value that is returned twice, are copied.
// CHECK-LABEL: func.func public @main(%x: memref<2x2xf32>, %{{.*}}: memref<2x2xf32>, %{{.*}}: memref<2x2xf32>,
// CHECK-COUNT-2: func.call @copy_0(%x, %{{.*}}) : (memref<2x2xf32>, memref<2x2xf32>) -> ()
// CHECK: func.func private @copy_0
// CHECK: memref.collapse_shape
// CHECK: linalg.generic
func.func public @main(%x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  func.return %x, %x : tensor<2x2xf32>, tensor<2x2xf32>
}

// -----

// An intermediate that is read elementwise where the result is written lives in the destination; one that is read
// otherwise may not: it gets memory of its own.
// CHECK-LABEL: func.func private @in_place(%x: memref<4x4xf32>, %dst: memref<4x4xf32>)
// CHECK-NOT: memref.alloca
// CHECK: ins(%x : memref<4x4xf32>) outs(%dst : memref<4x4xf32>)
// CHECK: ins(%dst : memref<4x4xf32>) outs(%dst : memref<4x4xf32>)
#id = affine_map<(d0, d1) -> (d0, d1)>
#t = affine_map<(d0, d1) -> (d1, d0)>
func.func private @in_place(%x: tensor<4x4xf32>, %dst: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %e = tensor.empty() : tensor<4x4xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.negf %p : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<4x4xf32>) outs(%dst : tensor<4x4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.negf %p : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}
// CHECK-LABEL: func.func private @not_in_place(%x: memref<4x4xf32>, %dst: memref<4x4xf32>)
// CHECK: %[[A:.*]] = memref.alloca() {alignment = 64 : i64} : memref<4x4xf32>
// CHECK: ins(%x : memref<4x4xf32>) outs(%[[A]] : memref<4x4xf32>)
// CHECK: ins(%[[A]] : memref<4x4xf32>) outs(%dst : memref<4x4xf32>)
func.func private @not_in_place(%x: tensor<4x4xf32>, %dst: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x4xf32>) outs(%dst : tensor<4x4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.negf %p : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  %y = linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<4x4xf32>) outs(%dst : tensor<4x4xf32>) {
  ^bb0(%p: f32, %o: f32):
    linalg.yield %p : f32
  } -> tensor<4x4xf32>
  func.return %y : tensor<4x4xf32>
}

// -----

// Padding by a fill and an insertion fills the border only; concatenation writes parts of the destination.
// CHECK-LABEL: func.func private @pad
// CHECK-NOT: outs(%dst
// CHECK-COUNT-2: linalg.fill {{.*}} outs(%{{.*}} : memref<1xf32, strided<[1]{{.*}}>>)
// CHECK: linalg.generic {{.*}} ins(%x : memref<2xf32>) outs(%{{.*}} : memref<2xf32, strided<[1], offset: 1>>)
func.func private @pad(%x: tensor<2xf32>, %dst: tensor<4xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%dst : tensor<4xf32>) -> tensor<4xf32>
  %p = tensor.insert_slice %x into %f[1] [2] [1] : tensor<2xf32> into tensor<4xf32>
  func.return %p : tensor<4xf32>
}
// CHECK-LABEL: func.func private @concat
// CHECK: ins(%x : memref<2xf32>) outs(%{{.*}} : memref<2xf32, strided<[1]>>)
// CHECK: ins(%y : memref<3xf32>) outs(%{{.*}} : memref<3xf32, strided<[1], offset: 2>>)
func.func private @concat(%x: tensor<2xf32>, %y: tensor<3xf32>, %dst: tensor<5xf32>) -> tensor<5xf32> {
  %c = tensor.concat dim(0) %x, %y : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
  func.return %c : tensor<5xf32>
}

// -----

// Large scratch is an argument that the caller provides.
// CHECK-LABEL: func.func public @main
// CHECK: %[[S:.*]] = memref.alloc() {{.*}} : memref<5000xf32>
// CHECK: func.call @kernel(%x, %{{.*}}, %[[S]])
// CHECK-LABEL: func.func private @kernel(%x: memref<5000xf32>, %dst: memref<f32>, %scratch: memref<5000xf32>)
func.func public @main(%x: tensor<5000xf32>) -> tensor<f32> {
  %dst = tensor.empty() : tensor<f32>
  %y = func.call @kernel(%x, %dst) : (tensor<5000xf32>, tensor<f32>) -> tensor<f32>
  func.return %y : tensor<f32>
}
func.func private @kernel(%x: tensor<5000xf32>, %dst: tensor<f32>) -> tensor<f32> {
  %e = tensor.empty() : tensor<5000xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x : tensor<5000xf32>) outs(%e : tensor<5000xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = math.exp %p : f32
    linalg.yield %s : f32
  } -> tensor<5000xf32>
  %zero = arith.constant 0.0 : f32
  %i = linalg.fill ins(%zero : f32) outs(%dst : tensor<f32>) -> tensor<f32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
      ins(%a : tensor<5000xf32>) outs(%i : tensor<f32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.addf %p, %o : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  func.return %y : tensor<f32>
}

// -----

// A loop over tensors keeps its state where its result goes, written when the new value is complete.
// CHECK-LABEL: func.func public @main(%x: memref<4xf32>, %n: memref<i64>, %0: memref<4xf32>,
// CHECK: func.call @copy_0(%x, %0)
// CHECK: scf.while () : () -> () {
// CHECK: memref.load %n[]
// CHECK: scf.condition(%{{.*}})
// CHECK: } do {
// CHECK: func.call @kernel(%0, %[[NEXT:.*]]) :
// CHECK: func.call @copy_0(%[[NEXT]], %0)
// CHECK: scf.yield
// CHECK-NOT: func.call
// CHECK: func.return
func.func public @main(%x: tensor<4xf32>, %n: tensor<i64>) -> tensor<4xf32> {
  %y = scf.while (%s = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    %v = tensor.extract %n[] : tensor<i64>
    %c = arith.trunci %v : i64 to i1
    scf.condition(%c) %s : tensor<4xf32>
  } do {
  ^bb0(%s: tensor<4xf32>):
    %dst = tensor.empty() : tensor<4xf32>
    %t = func.call @kernel(%s, %dst) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %t : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}
func.func private @kernel(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>

// -----

// What nothing reads any more is overwritten: a state that the last kernel to read it comes before, and a part of one
// that a kernel changes. The constant that a state begins as is filled in.
// CHECK-LABEL: func.func public @main(%0: memref<4xf32>, %1: memref<5x4xf32>,
// CHECK-NEXT: arith.constant
// CHECK: func.call @fill_0(%0)
// CHECK: func.call @fill_1(%1)
// CHECK: scf.for
// CHECK: func.call @kernel(%0, %[[OWN:[0-9]+]]) :
// CHECK: func.call @kernel(%[[OWN]], %0) :
// CHECK: func.call @change(%0, %1) :
// CHECK-NOT: func.call
// CHECK: func.return
// CHECK: func.func private @change(%u: memref<4xf32>, %dst: memref<5x4xf32>)
// CHECK-NOT: linalg.generic
// CHECK: %[[PART:.*]] = memref.subview %dst[%{{.*}}, 0] [1, 4] [1, 1] : memref<5x4xf32> to memref<4xf32, strided<[1], offset: ?>>
// CHECK: linalg.generic {{.*}} ins(%u : memref<4xf32>) outs(%[[PART]]
// CHECK-NOT: linalg.generic
// CHECK: func.func private @fill_0
func.func public @main() -> (tensor<4xf32>, tensor<5x4xf32>) {
  %h0 = arith.constant dense<0.0> : tensor<4xf32>
  %y0 = arith.constant dense<1.0> : tensor<5x4xf32>
  %zero = arith.constant 0 : index
  %five = arith.constant 5 : index
  %one = arith.constant 1 : index
  %r:2 = scf.for %i = %zero to %five step %one iter_args(%h = %h0, %y = %y0) -> (tensor<4xf32>, tensor<5x4xf32>) {
    %a = tensor.empty() : tensor<4xf32>
    %b = func.call @kernel(%h, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %c = tensor.empty() : tensor<4xf32>
    %d = func.call @kernel(%b, %c) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %e = func.call @change(%d, %y) : (tensor<4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
    scf.yield %d, %e : tensor<4xf32>, tensor<5x4xf32>
  }
  func.return %r#0, %r#1 : tensor<4xf32>, tensor<5x4xf32>
}
func.func private @kernel(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
func.func private @change(%u: tensor<4xf32>, %dst: tensor<5x4xf32>) -> tensor<5x4xf32> {
  %two = arith.constant 2 : index
  %y = tensor.insert_slice %u into %dst[%two, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<5x4xf32>
  func.return %y : tensor<5x4xf32>
}

// -----

// A state that is read once more after the new one is known keeps its buffer until then; two that change places are saved.
// CHECK-LABEL: func.func public @main(%x: memref<4xf32>, %y: memref<4xf32>, %0: memref<4xf32>, %1: memref<4xf32>,
// CHECK: func.call @copy_0(%x, %0)
// CHECK: func.call @copy_0(%y, %1)
// CHECK: scf.for
// CHECK: func.call @kernel(%0, %[[NEW:[0-9]+]]) :
// CHECK: func.call @copy_0(%0, %[[SAVED:[0-9]+]])
// CHECK: func.call @copy_0(%[[NEW]], %0)
// CHECK: func.call @copy_0(%[[SAVED]], %1)
func.func public @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = arith.constant 0 : index
  %five = arith.constant 5 : index
  %one = arith.constant 1 : index
  %r:2 = scf.for %i = %zero to %five step %one iter_args(%a = %x, %b = %y) -> (tensor<4xf32>, tensor<4xf32>) {
    %dst = tensor.empty() : tensor<4xf32>
    %new = func.call @kernel(%a, %dst) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %new, %a : tensor<4xf32>, tensor<4xf32>
  }
  func.return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}
func.func private @kernel(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>

// -----

// What is computed to be concatenated is computed in its place.
// CHECK-LABEL: func.func private @in_place
// CHECK: %[[P:.*]] = memref.subview %dst[0] [2] [1]
// CHECK: linalg.generic {{.*}} ins(%x : memref<2xf32>) outs(%[[P]]
// CHECK: math.exp
// CHECK: linalg.generic {{.*}} ins(%y : memref<3xf32>)
// CHECK-NOT: linalg.generic
func.func private @in_place(%x: tensor<2xf32>, %y: tensor<3xf32>, %dst: tensor<5xf32>) -> tensor<5xf32> {
  %t = tensor.empty() : tensor<2xf32>
  %e = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<2xf32>) outs(%t : tensor<2xf32>) {
  ^bb0(%a: f32, %o: f32):
    %b = math.exp %a : f32
    linalg.yield %b : f32
  } -> tensor<2xf32>
  %c = tensor.concat dim(0) %e, %y : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
  func.return %c : tensor<5xf32>
}

// -----

// A result that nobody reads is written all the same: not where the other results of its op are.
// CHECK-LABEL: func.func private @unread
// CHECK: %[[ROOM:.*]] = memref.alloca()
// CHECK: linalg.generic {{.*}} outs(%dst, %[[ROOM]] :
func.func private @unread(%x: tensor<3xi32>, %dst: tensor<3xi32>) -> tensor<3xi32> {
  %t = tensor.empty() : tensor<3xi32>
  %y, %z = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<3xi32>) outs(%dst, %t : tensor<3xi32>, tensor<3xi32>) {
  ^bb0(%a: i32, %o: i32, %p: i32):
    %s = arith.addi %a, %a : i32
    linalg.yield %s, %a : i32, i32
  } -> (tensor<3xi32>, tensor<3xi32>)
  func.return %y : tensor<3xi32>
}

// -----

// An output that is to lie in the memory of an input is computed there, where nothing reads that input any more.
// CHECK-LABEL: func.func public @main(%x: memref<4xf32> {lamina.name = "x", lamina.aliasing_output = 0 : i64}, %b: memref<1xf32> {lamina.name = "b"}, %{{.*}}: memref<4xf32> {lamina.name = "y"}, %constants
// CHECK-NEXT: func.call @change(%b, %x) : (memref<1xf32>, memref<4xf32>) -> ()
// CHECK-NEXT: func.return
func.func public @main(%x: tensor<4xf32> {lamina.name = "x", lamina.aliasing_output = 0 : i64}, %b: tensor<1xf32> {lamina.name = "b"}) -> (tensor<4xf32> {lamina.name = "y"}) {
  %y = func.call @change(%b, %x) : (tensor<1xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func private @change(%b: tensor<1xf32>, %dst: tensor<4xf32>) -> tensor<4xf32> {
  %y = tensor.insert_slice %b into %dst[2] [1] [1] : tensor<1xf32> into tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// Where something still reads it, the output is computed elsewhere and moved there in the end.
// CHECK-LABEL: func.func public @main(%x: memref<4xf32>
// CHECK: %[[T:.*]] = memref.alloc() {alignment = 64 : i64} : memref<4xf32>
// CHECK-NEXT: func.call @copy_0(%x, %[[T]])
// CHECK-NEXT: func.call @change(%b, %[[T]])
// CHECK-NEXT: func.call @copy_0(%x, %{{.*}})
// CHECK-NEXT: func.call @copy_0(%[[T]], %x)
// CHECK-NEXT: func.return
func.func public @main(%x: tensor<4xf32> {lamina.aliasing_output = 0 : i64}, %b: tensor<1xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y = func.call @change(%b, %x) : (tensor<1xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y, %x : tensor<4xf32>, tensor<4xf32>
}
func.func private @change(%b: tensor<1xf32>, %dst: tensor<4xf32>) -> tensor<4xf32> {
  %y = tensor.insert_slice %b into %dst[2] [1] [1] : tensor<1xf32> into tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// Two that are exchanged are saved first.
// CHECK-LABEL: func.func public @main(%x: memref<4xf32>
// CHECK: func.call @copy_0(%y, [[S:%[0-9]+]])
// CHECK: func.call @copy_0(%x, [[T:%[0-9]+]])
// CHECK: func.call @copy_0([[S]], %x)
// CHECK: func.call @copy_0([[T]], %y)
// CHECK-NEXT: func.return
func.func public @main(%x: tensor<4xf32> {lamina.aliasing_output = 0 : i64}, %y: tensor<4xf32> {lamina.aliasing_output = 1 : i64}) -> (tensor<4xf32>, tensor<4xf32>) {
  func.return %y, %x : tensor<4xf32>, tensor<4xf32>
}

// -----

// A part of an input is saved before the input is overwritten.
// CHECK-LABEL: func.func public @main(%s: memref<4x4xf32>
// CHECK: [[P:%[0-9]+]] = memref.subview %s[2, 0]
// CHECK: func.call @t(%s, [[T:%[0-9]+]])
// CHECK: func.call @copy_0([[P]], [[S:%[0-9]+]])
// CHECK: func.call @copy_1([[T]], %s)
// CHECK: func.call @{{[a-z]+_[0-9]}}([[S]], %r)
// CHECK-NEXT: func.return
func.func public @main(%s: tensor<4x4xf32> {lamina.aliasing_output = 0 : i64}, %r: tensor<1x4xf32> {lamina.aliasing_output = 1 : i64}) -> (tensor<4x4xf32>, tensor<1x4xf32>) {
  %p = tensor.extract_slice %s[2, 0] [1, 4] [1, 1] : tensor<4x4xf32> to tensor<1x4xf32>
  %d = tensor.empty() : tensor<4x4xf32>
  %y = func.call @t(%s, %d) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %y, %p : tensor<4x4xf32>, tensor<1x4xf32>
}
func.func private @t(%s: tensor<4x4xf32>, %d: tensor<4x4xf32>) -> tensor<4x4xf32>
