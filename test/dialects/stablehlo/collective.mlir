// Exchanges between processes print as they are written.
// RUN: lamina-opt %s | filecheck %s
// RUN: lamina-opt --mlir-print-op-generic %s | lamina-opt | filecheck %s

// CHECK-LABEL: func.func @groups(
func.func @groups(%x: tensor<2x4xf32>) {
  // CHECK-NEXT{LITERAL}: %gathered = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<2x4xf32>) -> tensor<2x8xf32>
  %gathered = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<2x4xf32>) -> tensor<2x8xf32>
  // CHECK-NEXT{LITERAL}: %scattered = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 1 : i64}> ({
  %scattered = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 1 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    // CHECK: %sum = stablehlo.add %a, %b : tensor<f32>
    %sum = stablehlo.add %a, %b : tensor<f32>
    // CHECK-NEXT: stablehlo.return %sum : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  // CHECK-NEXT: }) : (tensor<2x4xf32>) -> tensor<2x2xf32>
  }) : (tensor<2x4xf32>) -> tensor<2x2xf32>
  // CHECK-NEXT{LITERAL}: %reduced = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  %reduced = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%c: tensor<f32>, %d: tensor<f32>):
    // CHECK: %total = stablehlo.add %c, %d : tensor<f32>
    %total = stablehlo.add %c, %d : tensor<f32>
    // CHECK-NEXT: stablehlo.return %total : tensor<f32>
    stablehlo.return %total : tensor<f32>
  // CHECK-NEXT: }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT{LITERAL}: %exchanged = "stablehlo.all_to_all"(%x) <{concat_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 1 : i64}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %exchanged = "stablehlo.all_to_all"(%x) <{concat_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 1 : i64}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
  // CHECK-NEXT{LITERAL}: %moved = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %moved = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT{LITERAL}: %same = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %same = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT{LITERAL}: %summed = "stablehlo.cross-replica-sum"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %summed = "stablehlo.cross-replica-sum"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: %replica = stablehlo.replica_id : tensor<ui32>
  %replica = stablehlo.replica_id : tensor<ui32>
  // CHECK-NEXT: %partition = stablehlo.partition_id : tensor<ui32>
  %partition = stablehlo.partition_id : tensor<ui32>
  func.return
}

// CHECK-LABEL: func.func @transfers(
func.func @transfers(%x: tensor<2xf32>) {
  // CHECK-NEXT: %t = stablehlo.create_token : !stablehlo.token
  %t = stablehlo.create_token : !stablehlo.token
  // CHECK-NEXT: %sent = "stablehlo.send"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  %sent = "stablehlo.send"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  // CHECK-NEXT: %got, %u = "stablehlo.recv"(%sent) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  %got, %u = "stablehlo.recv"(%sent) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  // CHECK-NEXT{LITERAL}: %fed, %v = "stablehlo.infeed"(%u) <{infeed_config = "queue", layout = [[0 : i64]]}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  %fed, %v = "stablehlo.infeed"(%u) <{infeed_config = "queue", layout = [[0 : i64]]}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  // CHECK-NEXT: %w = "stablehlo.outfeed"(%fed, %v) <{outfeed_config = "queue"}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  %w = "stablehlo.outfeed"(%fed, %v) <{outfeed_config = "queue"}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  func.return
}
