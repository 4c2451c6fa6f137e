// Ops that xDSL lacks or restricts, in MLIR's syntax; what is printed is read again.
// RUN: lamina-opt %s | lamina-opt | filecheck %s
llvm.func @f(%v: vector<8xf32>, %m: vector<8xi1>, %p: !llvm.ptr, %i: i32, %x: f32, %vi: vector<8xi32>, %vp: vector<8x!llvm.ptr>, %n: i64, %idx: vector<8xi64>) {
  // CHECK: llvm.intr.roundeven(%v) : (vector<8xf32>) -> vector<8xf32>
  %0 = llvm.intr.roundeven(%v) : (vector<8xf32>) -> vector<8xf32>
  // CHECK: llvm.intr.masked.load %p, %m, %v {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
  %1 = llvm.intr.masked.load %p, %m, %v {alignment = 4 : i32} : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
  // CHECK: llvm.intr.masked.store %1, %p, %m {alignment = 4 : i32} : vector<8xf32>, vector<8xi1> into !llvm.ptr
  llvm.intr.masked.store %1, %p, %m {alignment = 4 : i32} : vector<8xf32>, vector<8xi1> into !llvm.ptr
  // CHECK: llvm.intr.masked.gather %vp, %m, %v {alignment = 4 : i32} : (vector<8x!llvm.ptr>, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
  %2 = llvm.intr.masked.gather %vp, %m, %v {alignment = 4 : i32} : (vector<8x!llvm.ptr>, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
  // CHECK: llvm.intr.masked.scatter %2, %vp, %m {alignment = 4 : i32} : vector<8xf32>, vector<8xi1> into vector<8x!llvm.ptr>
  llvm.intr.masked.scatter %2, %vp, %m {alignment = 4 : i32} : vector<8xf32>, vector<8xi1> into vector<8x!llvm.ptr>
  // CHECK: "llvm.intr.vector.reduce.add"(%vi) : (vector<8xi32>) -> i32
  %3 = "llvm.intr.vector.reduce.add"(%vi) : (vector<8xi32>) -> i32
  // CHECK: "llvm.intr.vector.reduce.fadd"(%x, %v) <{fastmathFlags = #llvm.fastmath<reassoc>}> : (f32, vector<8xf32>) -> f32
  %4 = "llvm.intr.vector.reduce.fadd"(%x, %v) <{fastmathFlags = #llvm.fastmath<reassoc>}> : (f32, vector<8xf32>) -> f32
  // CHECK: llvm.intr.vector.reduce.fmax(%v) : (vector<8xf32>) -> f32
  %5 = llvm.intr.vector.reduce.fmax(%v) : (vector<8xf32>) -> f32
  // CHECK: llvm.extractelement %v[%i : i32] : vector<8xf32>
  %6 = llvm.extractelement %v[%i : i32] : vector<8xf32>
  // CHECK: llvm.atomicrmw add %p, %n monotonic : !llvm.ptr, i64
  %7 = llvm.atomicrmw add %p, %n monotonic : !llvm.ptr, i64
  // CHECK: llvm.cmpxchg %p, %n, %n acq_rel monotonic : !llvm.ptr, i64
  %8 = llvm.cmpxchg %p, %n, %n acq_rel monotonic : !llvm.ptr, i64
  // CHECK: llvm.fence seq_cst
  llvm.fence seq_cst
  // CHECK: llvm.freeze %x : f32
  %9 = llvm.freeze %x : f32
  // CHECK: llvm.mlir.poison : f32
  %10 = llvm.mlir.poison : f32
  // CHECK: "llvm.intr.memcpy"(%p, %p, %n) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
  "llvm.intr.memcpy"(%p, %p, %n) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
  %byte = llvm.trunc %i : i32 to i8
  // CHECK: "llvm.intr.memset"(%p, %byte, %n) <{isVolatile = false}> : (!llvm.ptr, i8, i64) -> ()
  "llvm.intr.memset"(%p, %byte, %n) <{isVolatile = false}> : (!llvm.ptr, i8, i64) -> ()
  // CHECK: "llvm.intr.prefetch"(%p) <{cache = 1 : i32, hint = 3 : i32, rw = 0 : i32}> : (!llvm.ptr) -> ()
  "llvm.intr.prefetch"(%p) <{cache = 1 : i32, hint = 3 : i32, rw = 0 : i32}> : (!llvm.ptr) -> ()
  %true = llvm.mlir.constant(true) : i1
  // CHECK: llvm.intr.assume %true : i1
  llvm.intr.assume %true : i1
  // CHECK: llvm.getelementptr inbounds|nuw %p[%idx] : (!llvm.ptr, vector<8xi64>) -> vector<8x!llvm.ptr>, f32
  %11 = llvm.getelementptr inbounds|nuw %p[%idx] : (!llvm.ptr, vector<8xi64>) -> vector<8x!llvm.ptr>, f32
  // CHECK: llvm.getelementptr %p[%n, 3] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<8 x f32>
  %12 = llvm.getelementptr %p[%n, 3] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<8 x f32>
  // CHECK: llvm.fptosi %x : f32 to i32
  %13 = llvm.fptosi %x : f32 to i32
  // CHECK: llvm.uitofp nneg %i : i32 to f32
  %14 = llvm.uitofp nneg %i : i32 to f32
  // CHECK: llvm.fcmp "olt" %v, %v : vector<8xf32>
  %15 = llvm.fcmp "olt" %v, %v : vector<8xf32>
  // CHECK: llvm.select %m, %v, %v : vector<8xi1>, vector<8xf32>
  %16 = llvm.select %m, %v, %v : vector<8xi1>, vector<8xf32>
  // CHECK: "llvm.intr.ctlz"(%i) <{is_zero_poison = false}> : (i32) -> i32
  %17 = "llvm.intr.ctlz"(%i) <{is_zero_poison = false}> : (i32) -> i32
  // CHECK: llvm.intr.smax(%i, %i) : (i32, i32) -> i32
  %18 = llvm.intr.smax(%i, %i) : (i32, i32) -> i32
  // CHECK: llvm.intr.maximum(%x, %x) : (f32, f32) -> f32
  %19 = llvm.intr.maximum(%x, %x) : (f32, f32) -> f32
  // CHECK: llvm.switch %i : i32, ^[[ONE:.*]] [1: ^[[TWO:.*]], 2: ^[[ONE]]]
  llvm.switch %i : i32, ^bb1 [1: ^bb2, 2: ^bb1]
^bb1:
  llvm.return
^bb2:
  llvm.br ^bb1
}
