// RUN: lamina-opt %s -p symbol-dce | filecheck %s

// CHECK-NOT: @unused
// CHECK: func.func private @used
// CHECK: func.func private @used_by_used
// CHECK: func.func public @main
func.func private @unused() { func.call @unused() : () -> () func.return }
func.func private @used() { func.call @used_by_used() : () -> () func.return }
func.func private @used_by_used() { func.return }
func.func public @main() { func.call @used() : () -> () func.return }
