// RUN: lamina-opt %s | lamina-opt | filecheck %s
func.func @f(%n: index, %x: f32) -> f32 {
  // CHECK: scf.parallel (%i) = (%n) to (%n) step (%n) {
  scf.parallel (%i) = (%n) to (%n) step (%n) {
  }
  // CHECK: scf.parallel (%{{.*}}) = (%n) to (%n) step (%n) init (%x) -> (f32) {
  %s = scf.parallel (%i) = (%n) to (%n) step (%n) init (%x) -> f32 {
    scf.reduce(%x : f32) {
    ^bb0(%l: f32, %r: f32):
      scf.reduce.return %l : f32
    }
  }
  func.return %s : f32
}
