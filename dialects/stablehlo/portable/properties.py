"""Which properties the ops of VHLO have, in the order that bytecode keeps them: that of their names.

An op that is not here has none; `name_v1` stands before `name` for that version alone.
"""

from __future__ import annotations

_CONVOLUTION = (
    "batch_group_count feature_group_count input_batch_dimension input_feature_dimension input_spatial_dimensions "
    "kernel_input_feature_dimension kernel_output_feature_dimension kernel_spatial_dimensions lhs_dilation "
    "output_batch_dimension output_feature_dimension output_spatial_dimensions padding precision_config rhs_dilation "
    "window_reversal window_strides"
)
_CUSTOM_CALL = (
    "api_version backend_config call_target_name called_computations has_side_effect operand_layouts "
    "output_operand_aliases result_layouts"
)
_GATHER = "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims"
_PROPERTIES = {
    "all_gather": "all_gather_dim channel_id replica_groups use_global_device_ids",
    "all_reduce": "channel_id replica_groups use_global_device_ids",
    "all_to_all": "channel_id concat_dimension replica_groups split_count split_dimension",
    "batch_norm_grad": "epsilon feature_index",
    "batch_norm_inference": "epsilon feature_index",
    "batch_norm_training": "epsilon feature_index",
    "broadcast": "broadcast_sizes",
    "broadcast_in_dim": "broadcast_dimensions",
    "call": "callee",
    "cholesky": "lower",
    "collective_broadcast_v1": "channel_id replica_groups",
    "collective_broadcast": "channel_id has_dynamic_root replica_groups",
    "collective_permute": "channel_id source_target_pairs",
    "compare": "compare_type comparison_direction",
    "composite": "composite_attributes decomposition name version",
    "concatenate": "dimension",
    "constant": "value",
    "convolution": _CONVOLUTION,
    "cross-replica-sum": "replica_groups",
    "custom_call_v1": _CUSTOM_CALL,
    "custom_call": f"{_CUSTOM_CALL} result_tilings",
    "dot": "precision_config",
    "dot_general_v1": "lhs_batching_dimensions lhs_contracting_dimensions precision_config rhs_batching_dimensions "
    "rhs_contracting_dimensions",
    "dot_general": "accumulation_type allow_imprecise_accumulation lhs_batching_dimensions lhs_component_count "
    "lhs_contracting_dimensions lhs_precision_type num_primitive_operations precision_config rhs_batching_dimensions "
    "rhs_component_count rhs_contracting_dimensions rhs_precision_type",
    "dynamic_broadcast_in_dim": "broadcast_dimensions known_expanding_dimensions known_nonexpanding_dimensions",
    "dynamic_conv_v1": _CONVOLUTION,
    "dynamic_conv": _CONVOLUTION.replace("padding ", ""),
    "dynamic_gather_v1": f"{_GATHER} start_index_map",
    "dynamic_gather": f"{_GATHER} operand_batching_dims start_index_map start_indices_batching_dims",
    "dynamic_iota": "iota_dimension",
    "dynamic_slice": "slice_sizes",
    "einsum": "einsum_config",
    "fft": "fft_length fft_type",
    "func": "arg_attrs function_type res_attrs sym_name sym_visibility",
    "gather_v1": f"{_GATHER} slice_sizes start_index_map",
    "gather": f"{_GATHER} operand_batching_dims slice_sizes start_index_map start_indices_batching_dims",
    "get_dimension_size": "dimension",
    "get_tuple_element": "index",
    "infeed": "infeed_config layout",
    "iota": "iota_dimension",
    "map": "dimensions",
    "outfeed": "outfeed_config",
    "pad": "edge_padding_high edge_padding_low interior_padding",
    "recv_v1": "channel_id channel_type is_host_transfer",
    "recv": "channel_id channel_type is_host_transfer source_target_pairs",
    "reduce": "dimensions",
    "reduce_precision": "exponent_bits mantissa_bits",
    "reduce_scatter": "channel_id replica_groups scatter_dimension use_global_device_ids",
    "reduce_window": "base_dilations padding window_dilations window_dimensions window_strides",
    "reverse": "dimensions",
    "rng": "rng_distribution",
    "rng_bit_generator": "rng_algorithm",
    "scatter_v1": "index_vector_dim indices_are_sorted inserted_window_dims scatter_dims_to_operand_dims "
    "unique_indices update_window_dims",
    "scatter": "index_vector_dim indices_are_sorted input_batching_dims inserted_window_dims "
    "scatter_dims_to_operand_dims scatter_indices_batching_dims unique_indices update_window_dims",
    "select_and_scatter": "padding window_dimensions window_strides",
    "send_v1": "channel_id channel_type is_host_transfer",
    "send": "channel_id channel_type is_host_transfer source_target_pairs",
    "set_dimension_size": "dimension",
    "slice": "limit_indices start_indices strides",
    "sort": "dimension is_stable",
    "torch_index_select": "batch_dims dim",
    "transpose": "permutation",
    "triangular_solve": "left_side lower transpose_a unit_diagonal",
    "unary_einsum": "einsum_config",
    **{
        f"{name}_v2": "result_accuracy"
        for name in (
            "cbrt", "cosine", "exponential", "exponential_minus_one", "log", "log_plus_one", "logistic", "rsqrt",
            "sine", "sqrt", "tan", "tanh",
        )
    },
}  # fmt: skip


def property_names(versioned: str, name: str) -> list[str]:
    """The names of the properties of the op `versioned`, which is `name` without its version.

    >>> property_names("gather_v1", "gather")[0], property_names("abs_v1", "abs")
    ('collapsed_slice_dims', [])
    """
    return _PROPERTIES.get(versioned, _PROPERTIES.get(name, "")).split()
