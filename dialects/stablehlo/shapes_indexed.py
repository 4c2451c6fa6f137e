"""Result types of the ops that pair dimensions of two tensors: dot_general, convolution, gather, scatter."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from .attributes import DotDimensions, GatherDimensions, ScatterDimensions
from .conv_dimensions import ConvDimensions
from .shapes import Shape, Window, check_axes, check_sizes, check_window, fail, same_element, same_shape, tensor_type


def dot_general(
    lhs: TensorType, rhs: TensorType, dims: DotDimensions, element_type: Attribute | None = None
) -> TensorType:
    """Batching dimensions first, then what is left of lhs, then of rhs. Also returns for `element_type`."""
    left, right = lhs.get_shape(), rhs.get_shape()
    lb, rb = dims.lhs_batching_dimensions, dims.rhs_batching_dimensions
    lc, rc = dims.lhs_contracting_dimensions, dims.rhs_contracting_dimensions
    if len(lb) != len(rb):
        fail(f"lhs and rhs must have as many batching dimensions, got {list(lb)} and {list(rb)}", "C1")
    if len(lc) != len(rc):
        fail(f"lhs and rhs must have as many contracting dimensions, got {list(lc)} and {list(rc)}", "C2")
    check_axes(lb, len(left), "lhs_batching_dimensions", "C5", "C3")
    check_axes(lc, len(left), "lhs_contracting_dimensions", "C6", "C3")
    check_axes(lb + lc, len(left), "lhs batching and contracting dimensions", "C5", "C3")
    check_axes(rb, len(right), "rhs_batching_dimensions", "C7", "C4")
    check_axes(rc, len(right), "rhs_contracting_dimensions", "C8", "C4")
    check_axes(rb + rc, len(right), "rhs batching and contracting dimensions", "C7", "C4")
    for kind, constraint, pairs in (
        ("batching", "C9", zip(lb, rb, strict=True)),
        ("contracting", "C10", zip(lc, rc, strict=True)),
    ):
        for a, b in pairs:
            if left[a] != right[b]:
                fail(
                    f"{kind} dimensions {a} of lhs and {b} of rhs must have the same size, "
                    f"got {left[a]} and {right[b]}",
                    constraint,
                )
    same_element((lhs, rhs), "lhs and rhs", "C13")
    shape = [left[axis] for axis in lb]
    shape += [n for axis, n in enumerate(left) if axis not in lb and axis not in lc]
    shape += [n for axis, n in enumerate(right) if axis not in rb and axis not in rc]
    return tensor_type(element_type or lhs.element_type, shape)


_CONV_WINDOW = {
    "strides": "window_strides C2 C3",
    "padding": "padding C4 -",
    "base_dilation": "lhs_dilation C5 C6",
    "dilation": "rhs_dilation C7 C8",
    "reversal": "window_reversal C9 -",
}


def convolution(
    lhs: TensorType,
    rhs: TensorType,
    window: Window,
    dims: ConvDimensions,
    feature_groups: int,
    batch_groups: int,
    element_type: Attribute | None = None,
) -> TensorType:
    """The result in the layout of the output dimensions."""
    left, right = lhs.get_shape(), rhs.get_shape()
    rank = len(left)
    if rank != len(right) or rank < 2:
        fail(f"lhs and rhs must have the same rank of at least 2, got {lhs} and {rhs}", "C1")
    check_window(window, rank - 2, _CONV_WINDOW)
    for name, axes, in_size, in_range in (
        ("input", dims.input_dimensions(), "C12", "C13"),
        ("kernel", dims.kernel_dimensions(), "C17", "C18"),
        ("output", dims.output_dimensions(), "C19", "C20"),
    ):
        if len(axes) != rank:
            fail(f"{name}_spatial_dimensions has {len(axes) - 2} entries, expected {rank - 2}", in_size)
        check_axes(axes, rank, f"{name} dimensions", in_range, in_range)
    if feature_groups <= 0:
        fail(f"feature_group_count = {feature_groups} must be positive", "C21")
    if batch_groups <= 0:
        fail(f"batch_group_count = {batch_groups} must be positive", "C22")
    if feature_groups > 1 and batch_groups > 1:
        fail("one of feature_group_count and batch_group_count must be 1", "C23")
    batch, features = left[dims.input_batch_dimension], left[dims.input_feature_dimension]
    inputs, outputs = right[dims.kernel_input_feature_dimension], right[dims.kernel_output_feature_dimension]
    for name, size, groups, constraint in (
        ("batch dimension of lhs", batch, batch_groups, "C10"),
        ("feature dimension of lhs", features, feature_groups, "C11"),
        ("output feature dimension of rhs", outputs, batch_groups, "C15"),
        ("output feature dimension of rhs", outputs, feature_groups, "C16"),
    ):
        if size % groups:
            fail(f"{name} has size {size}, expected a multiple of the group count {groups}", constraint)
    if inputs != features // feature_groups:
        fail(
            f"input feature dimension of rhs has size {inputs}, expected {features // feature_groups}: "
            f"{features} features of lhs in {feature_groups} groups",
            "C14",
        )
    same_element((lhs, rhs), "lhs and rhs", "C27")
    shape = [0] * rank
    shape[dims.output_batch_dimension] = batch // batch_groups
    shape[dims.output_feature_dimension] = outputs
    spatial = window.output_shape([left[axis] for axis in dims.input_spatial_dimensions])
    for axis, size in zip(dims.output_spatial_dimensions, spatial, strict=True):
        shape[axis] = size
    return tensor_type(element_type or lhs.element_type, shape)


def _index_dimensions(
    indices: Shape,
    index_vector_dim: int,
    index_map: Sequence[int],
    batching: Sequence[int],
    names: dict[str, str],
) -> Shape:
    """Checks how index vectors lie in `indices`; the shape of the batch of vectors."""
    if not 0 <= index_vector_dim <= len(indices):
        fail(f"index_vector_dim = {index_vector_dim} must be in [0, {len(indices)}]", names["vector"])
    length = indices[index_vector_dim] if index_vector_dim < len(indices) else 1
    if len(index_map) != length:
        fail(f"{names['map']} has {len(index_map)} entries, expected {length}", names["length"])
    if index_vector_dim in batching:
        fail(f"index_vector_dim = {index_vector_dim} must not be a batching dimension", names["clash"])
    return tuple(n for axis, n in enumerate(indices) if axis != index_vector_dim)


def _check_sorted(axes: Sequence[int], name: str, constraint: str) -> None:
    if list(axes) != sorted(axes):
        fail(f"{name} = {list(axes)} must be sorted", constraint)


def _check_batching(
    operand: Shape,
    indices: Shape,
    batching: Sequence[int],
    index_batching: Sequence[int],
    sizes: str,
    dims: str,
) -> None:
    if len(batching) != len(index_batching):
        fail(f"operand and indices have {len(batching)} and {len(index_batching)} batching dimensions", sizes)
    for a, b in zip(batching, index_batching, strict=True):
        if operand[a] != indices[b]:
            fail(
                f"batching dimensions {a} of operand and {b} of indices must have the same size, "
                f"got {operand[a]} and {indices[b]}",
                dims,
            )


def gather(
    operand: TensorType, start_indices: TensorType, dims: GatherDimensions, slice_sizes: Sequence[int]
) -> TensorType:
    """One slice of the operand per index vector, its kept dimensions placed at `offset_dims`."""
    shape, indices = operand.get_shape(), start_indices.get_shape()
    rank = len(shape)
    dropped = dims.collapsed_slice_dims + dims.operand_batching_dims
    if rank != len(dims.offset_dims) + len(dropped):
        fail(
            f"operand has rank {rank}, expected the number of offset_dims, collapsed_slice_dims "
            f"and operand_batching_dims: {len(dims.offset_dims) + len(dropped)}",
            "C1",
        )
    batch = _index_dimensions(
        indices,
        dims.index_vector_dim,
        dims.start_index_map,
        dims.start_indices_batching_dims,
        {"vector": "C2", "map": "start_index_map", "length": "C3", "clash": "C15"},
    )
    result_rank = len(batch) + len(dims.offset_dims)
    _check_sorted(dims.offset_dims, "offset_dims", "C4")
    check_axes(dims.offset_dims, result_rank, "offset_dims", "C5", "C4")
    check_axes(dropped, rank, "collapsed_slice_dims and operand_batching_dims", "C8, C11", "C6")
    _check_sorted(dims.collapsed_slice_dims, "collapsed_slice_dims", "C7")
    _check_sorted(dims.operand_batching_dims, "operand_batching_dims", "C10")
    check_axes(dims.start_indices_batching_dims, len(indices), "start_indices_batching_dims", "C14", "C13")
    _check_batching(shape, indices, dims.operand_batching_dims, dims.start_indices_batching_dims, "C16", "C17")
    check_axes(dims.start_index_map, rank, "start_index_map", "C19", "C18")
    check_axes(
        dims.start_index_map + dims.operand_batching_dims,
        rank,
        "start_index_map and operand_batching_dims",
        "C19",
        "C18",
    )
    check_sizes(rank, "C20", slice_sizes=slice_sizes)
    for axis, (size, limit) in enumerate(zip(slice_sizes, shape, strict=True)):
        if not 0 <= size <= limit:
            fail(f"slice_sizes[{axis}] = {size} must be in [0, {limit}]", "C21")
        if axis in dropped and size > 1:
            fail(
                f"slice_sizes[{axis}] = {size} must be at most 1 in a collapsed or batching dimension",
                "C9" if axis in dims.collapsed_slice_dims else "C12",
            )
    kept = iter([n for axis, n in enumerate(slice_sizes) if axis not in dropped])
    rest = iter(batch)
    return tensor_type(
        operand.element_type,
        [next(kept) if axis in dims.offset_dims else next(rest) for axis in range(result_rank)],
    )


def scatter(
    inputs: Sequence[TensorType], indices: TensorType, updates: Sequence[TensorType], dims: ScatterDimensions
) -> None:
    """Checks only: results have the shapes of the inputs."""
    if not inputs or len(inputs) != len(updates):
        fail(f"needs as many updates as inputs and at least one, got {len(inputs)} and {len(updates)}", "C5")
    same_shape(inputs, "inputs", "C1")
    same_shape(updates, "updates", "C3")
    for source, update in zip(inputs, updates, strict=True):
        same_element((source, update), "an input and its update", "C6")
    shape, where, change = inputs[0].get_shape(), indices.get_shape(), updates[0].get_shape()
    rank = len(shape)
    dropped = dims.inserted_window_dims + dims.input_batching_dims
    if rank != len(dims.update_window_dims) + len(dropped):
        fail(
            f"inputs have rank {rank}, expected the number of update_window_dims, inserted_window_dims "
            f"and input_batching_dims: {len(dims.update_window_dims) + len(dropped)}",
            "C2",
        )
    batch = _index_dimensions(
        where,
        dims.index_vector_dim,
        dims.scatter_dims_to_operand_dims,
        dims.scatter_indices_batching_dims,
        {"vector": "C22", "map": "scatter_dims_to_operand_dims", "length": "C19", "clash": "C16"},
    )
    _check_sorted(dims.update_window_dims, "update_window_dims", "C7")
    check_axes(dims.update_window_dims, len(change), "update_window_dims", "C8", "C7")
    check_axes(dropped, rank, "inserted_window_dims and input_batching_dims", "C11, C13", "C9")
    _check_sorted(dims.inserted_window_dims, "inserted_window_dims", "C10")
    _check_sorted(dims.input_batching_dims, "input_batching_dims", "C12")
    check_axes(dims.scatter_indices_batching_dims, len(where), "scatter_indices_batching_dims", "C15", "C14")
    _check_batching(shape, where, dims.input_batching_dims, dims.scatter_indices_batching_dims, "C17", "C18")
    check_axes(dims.scatter_dims_to_operand_dims, rank, "scatter_dims_to_operand_dims", "C21", "C20")
    check_axes(
        dims.scatter_dims_to_operand_dims + dims.input_batching_dims,
        rank,
        "scatter_dims_to_operand_dims and input_batching_dims",
        "C21",
        "C20",
    )
    window = [n for axis, n in enumerate(shape) if axis not in dropped]
    if len(change) != len(batch) + len(window):
        fail(f"updates have rank {len(change)}, expected {len(batch) + len(window)}", "C4")
    limits, rest = iter(window), iter(batch)
    for axis, size in enumerate(change):
        if axis in dims.update_window_dims:
            if size > (limit := next(limits)):
                fail(f"window dimension {axis} of updates has size {size}, expected at most {limit}", "C4")
        elif size != (expected := next(rest)):
            fail(
                f"dimension {axis} of updates has size {size}, expected {expected} as in scatter_indices",
                "C4",
            )
