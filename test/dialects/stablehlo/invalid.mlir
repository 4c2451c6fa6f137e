// Each constraint of the specification that can fail, by the message that a person sees.
// RUN: lamina-opt %s --split-input-file --verify-diagnostics

func.func @binary_types(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{lhs and rhs must have the same type, got tensor<2xf32> and tensor<3xf32> (C1)}}
  %0 = "stablehlo.add"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @result_type(%a: tensor<2xf32>) {
  // expected-error@+1 {{result #0 must have type tensor<2xf32>, got tensor<2xf64>}}
  %0 = "stablehlo.add"(%a, %a) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf64>
  func.return
}

// -----

func.func @element_kind(%a: tensor<2xf32>) {
  // expected-error@+1 {{operand #0 must be a tensor of boolean or signed integer or unsigned integer elements, got tensor<2xf32> (I1)}}
  %0 = stablehlo.and %a, %a : tensor<2xf32>
  func.return
}

// -----

func.func @not_a_tensor(%a: i32) {
  // expected-error@+1 {{tensor}}
  %0 = "stablehlo.abs"(%a) : (i32) -> i32
  func.return
}

// -----

func.func @compare_type(%a: tensor<2xf32>) {
  // expected-error@+1 {{compare_type of float elements must be FLOAT or TOTALORDER, got SIGNED (C3)}}
  %0 = stablehlo.compare LT, %a, %a, SIGNED : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  func.return
}

// -----

func.func @direction(%a: tensor<2xf32>) {
  // expected-error@+1 {{`EQ`, `NE`, `GE`, `GT`, `LE`, or `LT`}}
  %0 = stablehlo.compare LESS, %a, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  func.return
}

// -----

func.func @select(%p: tensor<3xi1>, %a: tensor<2xf32>) {
  // expected-error@+1 {{pred must be a scalar or have the shape of on_true, got tensor<3xi1> and tensor<2xf32> (C1)}}
  %0 = stablehlo.select %p, %a, %a : tensor<3xi1>, tensor<2xf32>
  func.return
}

// -----

func.func @convert(%a: tensor<2xf32>) {
  // expected-error@+1 {{operand and result must have the same shape, got tensor<2xf32> and tensor<3xf64> (C1)}}
  %0 = stablehlo.convert %a : (tensor<2xf32>) -> tensor<3xf64>
  func.return
}

// -----

func.func @precision(%a: tensor<2xf32>) {
  // expected-error@+1 {{exponent_bits = 0 must be at least 1 (C2)}}
  %0 = stablehlo.reduce_precision %a, format = e0m10 : tensor<2xf32>
  func.return
}

// -----

func.func @format(%a: tensor<2xf32>) {
  // expected-error@+1 {{expected exponent and mantissa in format e#m#, got f16}}
  %0 = stablehlo.reduce_precision %a, format = f16 : tensor<2xf32>
  func.return
}

// -----

func.func @constant() {
  // expected-error@+1 {{value has type tensor<2xi32>, output tensor<2xf32> (C1)}}
  %0 = "stablehlo.constant"() <{value = dense<1> : tensor<2xi32>}> : () -> tensor<2xf32>
  func.return
}

// -----

func.func @iota() {
  // expected-error@+1 {{iota_dimension = 2 must be in [0, 2) (C1)}}
  %0 = stablehlo.iota dim = 2 : tensor<2x3xi32>
  func.return
}

// -----

func.func @reshape(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{operand and result must have as many elements, got tensor<2x3xf32> and tensor<5xf32> (C2)}}
  %0 = stablehlo.reshape %a : (tensor<2x3xf32>) -> tensor<5xf32>
  func.return
}

// -----

func.func @transpose(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{permutation = [0, 0] is not a permutation of [0, 2) (C2)}}
  %0 = stablehlo.transpose %a, dims = [0, 0] : (tensor<2x3xf32>) -> tensor<2x2xf32>
  func.return
}

// -----

func.func @broadcast(%a: tensor<2xf32>) {
  // expected-error@+1 {{dimension 0 of operand has size 2, expected 1 or 3, the size of dimension 0 of the result (C5)}}
  %0 = stablehlo.broadcast_in_dim %a, dims = [0] : (tensor<2xf32>) -> tensor<3xf32>
  func.return
}

// -----

func.func @broadcast_twice(%a: tensor<2x2xf32>) {
  // expected-error@+1 {{broadcast_dimensions = [1, 1] must be unique (C4)}}
  %0 = stablehlo.broadcast_in_dim %a, dims = [1, 1] : (tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return
}

// -----

func.func @concatenate(%a: tensor<2x3xf32>, %b: tensor<3x3xf32>) {
  // expected-error@+1 {{inputs may differ in dimension 1 only, got tensor<2x3xf32> and tensor<3x3xf32> (C2)}}
  %0 = stablehlo.concatenate %a, %b, dim = 1 : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x6xf32>
  func.return
}

// -----

func.func @slice(%a: tensor<4xf32>) {
  // expected-error@+1 {{slice [1:5] of dimension 0 must be ordered and within [0, 4] (C3)}}
  %0 = stablehlo.slice %a [1:5] : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @pad(%a: tensor<4xf32>, %v: tensor<f32>) {
  // expected-error@+1 {{interior_padding = [-1] must not be negative (C3)}}
  %0 = stablehlo.pad %a, %v, low = [0], high = [0], interior = [-1] : (tensor<4xf32>, tensor<f32>) -> tensor<1xf32>
  func.return
}

// -----

func.func @bitcast(%a: tensor<4xf32>) {
  // expected-error@+1 {{operand and result must hold the same bits, got tensor<4xf32> and tensor<4xi16> (C1)}}
  %0 = stablehlo.bitcast_convert %a : (tensor<4xf32>) -> tensor<4xi16>
  func.return
}

// -----

func.func @dot_sizes(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) {
  // expected-error@+1 {{contracting dimensions 1 of lhs and 0 of rhs must have the same size, got 3 and 4 (C10)}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  func.return
}

// -----

func.func @dot_unique(%a: tensor<2x2xf32>) {
  // expected-error@+1 {{lhs batching and contracting dimensions = [0, 0] must be unique (C3)}}
  %0 = stablehlo.dot_general %a, %a, batching_dims = [0] x [0], contracting_dims = [0] x [1] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return
}

// -----

func.func @convolution_features(%x: tensor<1x8x3xf32>, %k: tensor<3x4x6xf32>) {
  // expected-error@+1 {{input feature dimension of rhs has size 4, expected 3: 3 features of lhs in 1 groups (C14)}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x8x3xf32>, tensor<3x4x6xf32>) -> tensor<1x6x6xf32>
  func.return
}

// -----

func.func @convolution_layout(%x: tensor<1x8x3xf32>, %k: tensor<3x3x6xf32>) {
  // expected-error@+1 {{dimension numbers of a convolution: expected each of b, f, 0 once, got [b, b, f]}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, b, f]x[0, i, o]->[b, 0, f], window = {} : (tensor<1x8x3xf32>, tensor<3x3x6xf32>) -> tensor<1x6x6xf32>
  func.return
}

// -----

func.func @convolution_stride(%x: tensor<1x8x3xf32>, %k: tensor<3x3x6xf32>) {
  // expected-error@+1 {{window_strides has 2 entries, expected 1 (C2)}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1, 1]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x8x3xf32>, tensor<3x3x6xf32>) -> tensor<1x6x6xf32>
  func.return
}

// -----

func.func @cholesky(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{a must be square in its last two dimensions, got tensor<2x3xf32> (C3)}}
  %0 = stablehlo.cholesky %a : tensor<2x3xf32>
  func.return
}

// -----

func.func @fft(%a: tensor<4xf32>) {
  // expected-error@+1 {{FFT takes a complex operand, got tensor<4xf32> (C2)}}
  %0 = stablehlo.fft %a, type = FFT, length = [4] : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @fft_length(%a: tensor<4xcomplex<f32>>) {
  // expected-error@+1 {{operand must end in the dimensions [1152921504606846980], got tensor<4xcomplex<f32>> (C4)}}
  %0 = stablehlo.fft %a, type = FFT, length = [1152921504606846980] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  func.return
}

// -----

func.func @reduce_dimensions(%x: tensor<2x3xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{dimensions = [2] must be in [0, 2) (C4)}}
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [2] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @reduce_applies(%x: tensor<2x3xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{expected one of add, multiply, maximum, minimum, and, or, xor, and one input, got subtract}}
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.subtract across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @reduce_body(%x: tensor<2x3xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{body accumulates in i32, to which f32 is not promotable (C6)}}
  %0 = stablehlo.reduce(%x init: %c) across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xi32>
    reducer(%a: tensor<i32>, %b: tensor<i32>) {
      stablehlo.return %a : tensor<i32>
    }
  func.return
}

// -----

func.func @reduce_window(%x: tensor<4xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{window_dimensions has 2 entries, expected 1 (C4)}}
  %0 = "stablehlo.reduce_window"(%x, %c) <{window_dimensions = array<i64: 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  func.return
}

// -----

func.func @gather(%x: tensor<3x4xf32>, %i: tensor<5x1xi32>) {
  // expected-error@+1 {{slice_sizes[0] = 2 must be at most 1 in a collapsed or batching dimension (C9)}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 2, 4>}> : (tensor<3x4xf32>, tensor<5x1xi32>) -> tensor<5x4xf32>
  func.return
}

// -----

func.func @gather_field(%x: tensor<3x4xf32>, %i: tensor<5x1xi32>) {
  // expected-error@+1 {{'offsets' is not one of}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offsets = [1]>, slice_sizes = array<i64: 1, 4>}> : (tensor<3x4xf32>, tensor<5x1xi32>) -> tensor<5x4xf32>
  func.return
}

// -----

func.func @scatter(%x: tensor<3x4xf32>, %i: tensor<5x1xi32>, %u: tensor<5x6xf32>) {
  // expected-error@+1 {{window dimension 1 of updates has size 6, expected at most 4 (C4)}}
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<3x4xf32>, tensor<5x1xi32>, tensor<5x6xf32>) -> tensor<3x4xf32>
  func.return
}

// -----

func.func @dynamic_slice(%x: tensor<4xf32>, %i: tensor<i64>) {
  // expected-error@+1 {{slice_sizes[0] = 5 must be in [0, 4] (C4)}}
  %0 = stablehlo.dynamic_slice %x, %i, sizes = [5] : (tensor<4xf32>, tensor<i64>) -> tensor<5xf32>
  func.return
}

// -----

func.func @sort(%x: tensor<4xf32>) {
  // expected-error@+1 {{comparator must return (tensor<i1>), got (tensor<f32>) (C5)}}
  %0 = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @batch_norm(%x: tensor<2x3xf32>, %f: tensor<2xf32>) {
  // expected-error@+1 {{scale must be tensor<3xf32>, the size of dimension 1, got tensor<2xf32> (C3)}}
  %0 = "stablehlo.batch_norm_inference"(%x, %f, %f, %f, %f) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @branches(%p: tensor<i1>, %x: tensor<2xf32>, %y: tensor<3xf32>) {
  // expected-error@+1 {{false_branch must return (tensor<2xf32>), got (tensor<3xf32>) (C2)}}
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %x : tensor<2xf32>
  }, {
    stablehlo.return %y : tensor<3xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  func.return
}

// -----

func.func @loop(%n: tensor<i64>) {
  // expected-error@+1 {{cond must return (tensor<i1>), got (tensor<i64>) (C1)}}
  %0 = stablehlo.while(%i = %n) : tensor<i64>
    cond { stablehlo.return %i : tensor<i64> }
    do { stablehlo.return %i : tensor<i64> }
  func.return
}

// -----

func.func @composite(%x: tensor<2xf32>) {
  // expected-error@+1 {{decomposition @missing is not a function in scope (C2)}}
  %0 = stablehlo.composite "nn.relu" %x {decomposition = @missing} : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @tuple(%t: tuple<tensor<f32>>) {
  // expected-error@+1 {{index = 1 must be in [0, 1) (C1)}}
  %0 = stablehlo.get_tuple_element %t[1] : (tuple<tensor<f32>>) -> tensor<f32>
  func.return
}

// -----

func.func @quantize(%x: tensor<2xf32>) {
  // expected-error@+1 {{result must express f32, got tensor<2x!quant.uniform<i8:f64, 2.000000e+00>> (C2)}}
  %0 = stablehlo.uniform_quantize %x : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f64, 2.0>>
  func.return
}

// -----

func.func @missing_clause(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{expected an operand or dims}}
  %0 = stablehlo.transpose %a, [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  func.return
}

// -----

func.func @dynamic_reshape(%a: tensor<2x3xf32>, %s: tensor<2xi64>) {
  // expected-error@+1 {{output_shape has 2 entries, expected 1 (C4)}}
  %0 = stablehlo.dynamic_reshape %a, %s : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<?xf32>
  func.return
}

// -----

func.func @dynamic_broadcast(%a: tensor<2xf32>, %s: tensor<1xi64>) {
  // expected-error@+1 {{dimension 0 of operand has size 2, expected 1 or 3 (C5)}}
  %0 = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [0] : (tensor<2xf32>, tensor<1xi64>) -> tensor<3xf32>
  func.return
}

// -----

func.func @dynamic_iota(%s: tensor<1xi64>) {
  // expected-error@+1 {{iota_dimension = 1 must be in [0, 1) (C1)}}
  %0 = stablehlo.dynamic_iota %s, dim = 1 : (tensor<1xi64>) -> tensor<?xi32>
  func.return
}

// -----

func.func @dynamic_pad(%a: tensor<2xf32>, %v: tensor<f32>, %s: tensor<2xi64>) {
  // expected-error@+1 {{edge_padding_low has 2 entries, expected 1 (C2)}}
  %0 = stablehlo.dynamic_pad %a, %v, %s, %s, %s : (tensor<2xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?xf32>
  func.return
}

// -----

func.func @dynamic_slice_of_values(%a: tensor<2xf32>, %s: tensor<f32>) {
  // expected-error@+1 {{start_indices must be a one-dimensional tensor of integers, got tensor<f32> (I2)}}
  %0 = stablehlo.real_dynamic_slice %a, %s, %s, %s : (tensor<2xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<?xf32>
  func.return
}

// -----

func.func @all_gather(%a: tensor<2x4xf32>) {
  // expected-error@+1 {{result must be 2 times tensor<2x4xf32> in dimension 1, got tensor<2x4xf32> (C6)}}
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return
}

// -----

func.func @twice_in_a_group(%a: tensor<2xf32>) {
  // expected-error@+1 {{replica_groups must name each process once, got [[0, 0]] (C2)}}
  %0 = "stablehlo.collective_broadcast"(%a) <{replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @all_to_all(%a: tensor<3xf32>) {
  // expected-error@+1 {{dimension 0 of tensor<3xf32> must be a multiple of 2 (C2)}}
  %0 = "stablehlo.all_to_all"(%a) <{concat_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<3xf32>) -> tensor<3xf32>
  func.return
}

// -----

func.func @permute(%a: tensor<2xf32>) {
  // expected-error@+1 {{targets must be unique, got [1, 1] (C3)}}
  %0 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

func.func @send(%a: tensor<2xf32>, %t: !stablehlo.token) {
  // expected-error@+1 {{the type of channel_handle must be 2, got 3 (C1)}}
  %0 = "stablehlo.send"(%a, %t) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 3>, is_host_transfer = true}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  func.return
}

// -----

func.func @dot(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{lhs and rhs must be vectors or matrices that fit, got tensor<2x3xf32> and tensor<2x3xf32>}}
  %0 = stablehlo.dot %a, %a : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
  func.return
}

// -----

func.func @einsum(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'j' stands for the sizes 3 and 2}}
  %0 = stablehlo.einsum %a, %a, config = "ij,jk->ik" : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

func.func @scan_sizes(%x: tensor<2x3xf32>, %c: tensor<3xf32>) {
  // expected-error@+1 {{dimension 0 of input #0 must have size 3, got tensor<2x3xf32>}}
  %0:2 = chlo.scan(%x) inits (%c) dimension=0 attributes {scan_dim_size = 3 : i64} {
  ^bb0(%a: tensor<3xf32>, %b: tensor<3xf32>):
    stablehlo.return %a, %b : tensor<3xf32>, tensor<3xf32>
  } : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)
  func.return
}

// -----

func.func @roots(%x: tensor<4xf32>, %root: tensor<2xi32>) {
  // expected-error@+1 {{the last operand must be tensor<1xi32>: a root for each of the others (C3)}}
  %r = "stablehlo.collective_reduce"(%x, %root) <{has_dynamic_root, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xi32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @main(%x: tensor<?x3xf32>) {
  // expected-error @below {{dimension = 2 must be in [0, 2)}}
  %0 = stablehlo.get_dimension_size %x, dim = 2 : (tensor<?x3xf32>) -> tensor<i32>
  func.return
}

// -----

func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  // expected-error @below {{a function ends with func.return}}
  stablehlo.return %x : tensor<3xf32>
}
