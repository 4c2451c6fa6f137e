"""Several replicas in one process: what each gets of the others, and what happens when they miss each other."""

import numpy as np
import pytest

import lamina
from lamina.compiler.diagnostics import LaminaError


def run(body, inputs, tmp_path, *, of="tensor<2x4xf32>", to="tensor<2x4xf32>", replicas=2, partitions=1):
    path = tmp_path / "program.mlir"
    path.write_text(f"func.func public @main(%x: {of}) -> {to} {{\n{body}\n  func.return %r : {to}\n}}\n")
    [result] = lamina.interpret(path, [inputs], replicas=replicas, partitions=partitions)
    return result


def values(count, shape=(2, 4)):
    return np.random.default_rng(0).standard_normal((count, *shape)).astype(np.float32)


SUM = """({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  })"""


def test_all_gather(tmp_path):
    x = values(4)
    groups = "dense<[[0, 2], [3, 1]]> : tensor<2x2xi64>"
    body = f'%r = "stablehlo.all_gather"(%x) <{{all_gather_dim = 1 : i64, replica_groups = {groups}}}>'
    body += " : (tensor<2x4xf32>) -> tensor<2x8xf32>"
    got = run(body, x, tmp_path, to="tensor<2x8xf32>", replicas=4)
    first, second = np.concatenate([x[0], x[2]], 1), np.concatenate([x[3], x[1]], 1)
    np.testing.assert_array_equal(got, [first, second, first, second])


@pytest.mark.parametrize(
    "attributes, expected",
    [
        ("", lambda x: [x[0] + x[2], x[1] + x[3]] * 2),  # replicas of the same partition
        ("channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, ", lambda x: [x.sum(0)] * 4),
    ],
)
def test_all_reduce_over_replicas_and_partitions(attributes, expected, tmp_path):
    x = values(4)
    body = f'%r = "stablehlo.all_reduce"(%x) <{{{attributes}replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}}> {SUM}'
    got = run(body + " : (tensor<2x4xf32>) -> tensor<2x4xf32>", x, tmp_path, replicas=2, partitions=2)
    np.testing.assert_allclose(got, expected(x), 1e-6)


def test_all_reduce_by_flattened_ids(tmp_path):
    x = values(4)
    attributes = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, use_global_device_ids, "
    groups = "replica_groups = dense<[[0, 3], [1, 2]]> : tensor<2x2xi64>"
    body = f'%r = "stablehlo.all_reduce"(%x) <{{{attributes}{groups}}}> {SUM}'
    got = run(body + " : (tensor<2x4xf32>) -> tensor<2x4xf32>", x, tmp_path, replicas=2, partitions=2)
    np.testing.assert_allclose(got, [x[0] + x[3], x[1] + x[2], x[1] + x[2], x[0] + x[3]], 1e-6)


def test_reduce_scatter_and_all_to_all(tmp_path):
    x = values(2)
    groups = "replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>"
    body = f'%r = "stablehlo.reduce_scatter"(%x) <{{{groups}, scatter_dimension = 1 : i64}}> {SUM}'
    got = run(body + " : (tensor<2x4xf32>) -> tensor<2x2xf32>", x, tmp_path, to="tensor<2x2xf32>")
    np.testing.assert_allclose(got, [(x[0] + x[1])[:, 2:], (x[0] + x[1])[:, :2]], 1e-6)
    attributes = "concat_dimension = 0 : i64, split_count = 2 : i64, split_dimension = 1 : i64"
    body = f'%r = "stablehlo.all_to_all"(%x) <{{{attributes}, {groups}}}> : (tensor<2x4xf32>) -> tensor<4x2xf32>'
    got = run(body, x, tmp_path, to="tensor<4x2xf32>")
    parts = [np.split(each, 2, 1) for each in x]
    np.testing.assert_array_equal(got, [np.concatenate([p[1 - i] for p in parts[::-1]]) for i in range(2)])


def test_permute_broadcast_and_ids(tmp_path):
    x = values(3)
    kinds = " : (tensor<2x4xf32>) -> tensor<2x4xf32>"
    pairs = "source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>"
    got = run(f'%r = "stablehlo.collective_permute"(%x) <{{{pairs}}}>{kinds}', x, tmp_path, replicas=3)
    np.testing.assert_array_equal(got, [0 * x[0], x[0], x[1]])
    groups = "replica_groups = dense<[[2, 0]]> : tensor<1x2xi64>"
    got = run(f'%r = "stablehlo.collective_broadcast"(%x) <{{{groups}}}>{kinds}', x, tmp_path, replicas=3)
    np.testing.assert_array_equal(got, [x[2], 0 * x[0], x[2]])
    body = "%i = stablehlo.replica_id : tensor<ui32>\n%p = stablehlo.partition_id : tensor<ui32>\n"
    body += "%c = stablehlo.constant dense<10> : tensor<ui32>\n%j = stablehlo.multiply %i, %c : tensor<ui32>\n"
    body += "%r = stablehlo.add %j, %p : tensor<ui32>"
    got = run(body, values(6), tmp_path, to="tensor<ui32>", replicas=3, partitions=2)
    assert got.tolist() == [0, 1, 10, 11, 20, 21]


def test_one_process_is_a_group_of_its_own(tmp_path):
    x = values(1)[0]
    path = tmp_path / "program.mlir"
    groups = "replica_groups = dense<[[0]]> : tensor<1x1xi64>"
    path.write_text(
        f"func.func public @main(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {{\n"
        f'  %r = "stablehlo.all_reduce"(%x) <{{{groups}}}> {SUM} : (tensor<2x4xf32>) -> tensor<2x4xf32>\n'
        f"  func.return %r : tensor<2x4xf32>\n}}\n"
    )
    np.testing.assert_array_equal(lamina.interpret(path, [x])[0], x)


def test_who_waits_for_ever_is_told(tmp_path):
    """Only replica 0 comes to the exchange."""
    groups = "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>"
    body = f"""%i = stablehlo.replica_id : tensor<ui32>
  %z = stablehlo.constant dense<0> : tensor<ui32>
  %p = stablehlo.compare EQ, %i, %z : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
  %r = "stablehlo.if"(%p) ({{
    %g = "stablehlo.all_reduce"(%x) <{{{groups}}}> {SUM} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    stablehlo.return %g : tensor<2x4xf32>
  }}, {{
    stablehlo.return %x : tensor<2x4xf32>
  }}) : (tensor<i1>) -> tensor<2x4xf32>"""
    with pytest.raises(LaminaError, match="replica 0, partition 0 waits for processes that do not come"):
        run(body, values(2), tmp_path)


def test_too_few_replicas(tmp_path):
    groups = "replica_groups = dense<[[0, 5]]> : tensor<1x2xi64>"
    body = f'%r = "stablehlo.all_reduce"(%x) <{{{groups}}}> {SUM} : (tensor<2x4xf32>) -> tensor<2x4xf32>'
    with pytest.raises(LaminaError, match="there is no process 5, only 2"):
        run(body, values(2), tmp_path)


ROOTS = """%roots = stablehlo.constant dense<1> : tensor<1xi32>
  """


@pytest.mark.parametrize(
    "operands, attributes, root", [("%x", "", 0), ("%x, %roots", "has_dynamic_root, ", 1)], ids=["first", "dynamic"]
)
def test_collective_reduce(operands, attributes, root, tmp_path):
    x = values(3)  # the third is in no group
    kinds = "tensor<2x4xf32>" + (", tensor<1xi32>" if root else "")
    body = (ROOTS if root else "") + f'%r = "stablehlo.collective_reduce"({operands})'
    body += (
        f" <{{{attributes}replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}}> {SUM} : ({kinds}) -> tensor<2x4xf32>"
    )
    expected = np.zeros_like(x)
    expected[root] = x[0] + x[1]
    np.testing.assert_array_equal(run(body, x, tmp_path, replicas=3), expected)
