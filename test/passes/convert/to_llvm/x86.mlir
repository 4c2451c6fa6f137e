// RUN: lamina-opt %s --machine x86-64-avx512 -p convert-to-llvm | filecheck %s

// Two registers of indices, each looked up in the same table.
// CHECK-LABEL: llvm.func {{.*}}@two
func.func @two(%t: vector<16xf32>, %i: vector<32xi32>) -> vector<32xf32> {
  // CHECK: %[[I0:.*]] = llvm.shufflevector %i, %i [0, 1, {{.*}} 15]
  // CHECK-NEXT: %[[T0:.*]] = llvm.call_intrinsic "llvm.x86.avx512.permvar.sf.512"(%t, %[[I0]]) : (vector<16xf32>, vector<16xi32>) -> vector<16xf32>
  // CHECK-NEXT: %[[I1:.*]] = llvm.shufflevector %i, %i [16, {{.*}} 31]
  // CHECK-NEXT: %[[T1:.*]] = llvm.call_intrinsic "llvm.x86.avx512.permvar.sf.512"(%t, %[[I1]])
  // CHECK-NEXT: %[[R:.*]] = llvm.shufflevector %[[T0]], %[[T1]] [0, {{.*}} 31]
  // CHECK-NEXT: llvm.return %[[R]]
  %r = "x86.permutexvar"(%t, %i) : (vector<16xf32>, vector<32xi32>) -> vector<32xf32>
  func.return %r : vector<32xf32>
}

// CHECK-LABEL: llvm.func {{.*}}@one
func.func @one(%x: vector<16xf32>) -> vector<16xf32> {
  // CHECK-NOT: shufflevector
  // CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"(%x, %x, %x, %{{.*}}, %{{.*}}) : (vector<16xf32>, vector<16xf32>, vector<16xf32>, i16, i32) -> vector<16xf32>
  // CHECK-NEXT: llvm.return
  %r = "x86.scalef"(%x, %x) : (vector<16xf32>, vector<16xf32>) -> vector<16xf32>
  func.return %r : vector<16xf32>
}

// Less than a register, and lengths that are no power of two.
// CHECK-LABEL: llvm.func {{.*}}@few
func.func @few(%z: vector<4xf32>, %y: vector<40xf32>) -> vector<4xf32> {
  // CHECK: %[[W:.*]] = llvm.shufflevector %z, %z [0, 1, 2, 3, -1, {{.*}} -1]
  // CHECK: %[[S:.*]] = llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"(%[[W]]
  // CHECK: %[[R:.*]] = llvm.shufflevector %[[S]], %[[S]] [0, 1, 2, 3] : vector<16xf32>
  %r = "x86.scalef"(%z, %z) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  // CHECK: llvm.shufflevector %y, %y [32, {{.*}} 39, -1, {{.*}} -1]
  // CHECK: llvm.shufflevector %{{.*}} [0, {{.*}} 39] : vector<64xf32>
  %s = "x86.scalef"(%y, %y) : (vector<40xf32>, vector<40xf32>) -> vector<40xf32>
  // CHECK: llvm.return %[[R]]
  func.return %r : vector<4xf32>
}

// A table of AVX2.
// CHECK-LABEL: llvm.func {{.*}}@eight
func.func @eight(%t: vector<8xf32>, %i: vector<16xi32>) -> vector<16xf32> {
  // CHECK: %[[I0:.*]] = llvm.shufflevector %{{.*}} [0, {{.*}} 7]
  // CHECK-NEXT: %[[T0:.*]] = llvm.call_intrinsic "llvm.x86.avx2.permps"(%{{.*}}, %[[I0]]) : (vector<8xf32>, vector<8xi32>) -> vector<8xf32>
  // CHECK: %[[T1:.*]] = llvm.call_intrinsic "llvm.x86.avx2.permps"
  // CHECK-NEXT: llvm.shufflevector %[[T0]], %[[T1]] [0, {{.*}} 15]
  %r = "x86.permutexvar"(%t, %i) : (vector<8xf32>, vector<16xi32>) -> vector<16xf32>
  func.return %r : vector<16xf32>
}

// Two registers become one.
// CHECK-LABEL: llvm.func {{.*}}@narrow
func.func @narrow(%x: vector<32xf32>) -> vector<32xbf16> {
  // CHECK: [[U:%[0-9]+]] = llvm.shufflevector %{{.*}} [16, 17, {{.*}} 31]
  // CHECK-NEXT: [[L:%[0-9]+]] = llvm.shufflevector %{{.*}} [0, 1, {{.*}} 15]
  // CHECK-NEXT: llvm.call_intrinsic "llvm.x86.avx512bf16.cvtne2ps2bf16.512"([[U]], [[L]]) : (vector<16xf32>, vector<16xf32>) -> vector<32xbf16>
  // CHECK-NEXT: llvm.return
  %r = "x86.cvtneps_pbh"(%x) : (vector<32xf32>) -> vector<32xbf16>
  func.return %r : vector<32xbf16>
}

// One register, and a part of one.
// CHECK-LABEL: llvm.func {{.*}}@narrow_one
func.func @narrow_one(%x: vector<16xf32>) -> vector<16xbf16> {
  // CHECK-NOT: shufflevector
  // CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.cvtneps2bf16.512"(%{{.*}}) : (vector<16xf32>) -> vector<16xbf16>
  // CHECK-NEXT: llvm.return
  %r = "x86.cvtneps_pbh"(%x) : (vector<16xf32>) -> vector<16xbf16>
  func.return %r : vector<16xbf16>
}

// CHECK-LABEL: llvm.func {{.*}}@narrow_part
func.func @narrow_part(%x: vector<3xf32>) -> vector<3xbf16> {
  // CHECK: [[W:%[0-9]+]] = llvm.shufflevector %{{.*}} [0, 1, 2, -1, {{.*}} -1]
  // CHECK-NEXT: [[R:%[0-9]+]] = llvm.call_intrinsic "llvm.x86.avx512bf16.cvtneps2bf16.512"([[W]])
  // CHECK-NEXT: llvm.shufflevector [[R]], [[R]] [0, 1, 2] : vector<16xbf16>
  %r = "x86.cvtneps_pbh"(%x) : (vector<3xf32>) -> vector<3xbf16>
  func.return %r : vector<3xbf16>
}
