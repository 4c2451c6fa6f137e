"""Programs of `torch.export`: sizes, weights, places, and what is told of programs that cannot be compiled."""

import sys

import numpy as np
import pytest

import lamina

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from lamina.tools.main import main  # noqa: E402
from lamina.tools.pytorch import ExportedModel  # noqa: E402


class Net(nn.Module):
    """Two layers; the second dimension of the input is free."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(5, 70)
        self.second = nn.Linear(70, 3)

    def forward(self, x):
        return self.second(torch.relu(self.first(x))), x.shape[0]


def exported(module, *inputs, **options):
    """The module as an exported program."""
    return torch.export.export(module.eval(), inputs, **options)


def test_sizes_stay_free():
    net = Net()
    batch = torch.export.Dim("batch", min=2, max=8)
    model = lamina.compile(exported(net, torch.randn(3, 5), dynamic_shapes=({0: batch},)), "interpret")
    assert len(model.signature.symbols) == 1
    for n in (2, 5):
        x = torch.randn(n, 5)
        out, size = model(x)
        np.testing.assert_allclose(out, net(x)[0].detach().numpy(), rtol=1e-5, atol=1e-5)
        assert size == n and size.dtype == np.int64
    with pytest.raises(lamina.LaminaError, match="is 9, the model was exported for 2 to 8"):
        model(torch.randn(9, 5))


def test_sizes_that_follow_from_others():
    class Halves(nn.Module):
        def forward(self, x, y):
            return x.view(-1, 2).sum(1) + y

    half = torch.export.Dim("half", min=2)
    program = exported(Halves(), torch.randn(8), torch.randn(4), dynamic_shapes=({0: 2 * half}, {0: half}))
    model = lamina.compile(program, "interpret")
    np.testing.assert_allclose(model(np.ones(6, np.float32), np.ones(3, np.float32))[0], np.full(3, 3.0))
    with pytest.raises(lamina.LaminaError, match="is 6 by the other dimensions, got 8"):
        model(np.ones(8, np.float32), np.ones(3, np.float32))


def test_weights_are_shared():
    net = Net()
    program = ExportedModel(exported(net, torch.randn(3, 5))).program()
    stored = [program.context.weights.get(key) for key in program.context.weights]
    for weight in (net.first.weight, net.second.weight):
        assert any(np.shares_memory(weight.detach().numpy(), array) for array in stored)


def test_ops_know_the_module_and_line_they_come_from():
    program = ExportedModel(exported(Net(), torch.randn(3, 5))).program()
    places = [str(op.location) for op in program.module.walk() if op.name == "stablehlo.dot_general"]
    assert ["first:linear" in places[0], "second:linear" in places[1]] == [True, True]
    [place] = {str(op.location) for op in program.module.walk() if op.name == "stablehlo.maximum"}
    assert f'"{__file__}":' in place


def test_what_is_missing_is_told_at_once(tmp_path, capsys):
    class Odd(nn.Module):
        def forward(self, x):
            return torch.linalg.qr(x[None])[1], torch.rand(3) + torch.unique_consecutive(x).sum()

    program = exported(Odd(), torch.randn(3))
    with pytest.raises(lamina.LaminaError) as caught:
        lamina.compile(program)
    told = str(caught.value)
    assert "aten.linalg_qr.default: no lowering" in told
    assert "aten.rand.default: random numbers" in told
    assert "aten.unique_consecutive.default: the shape of its result depends on values" in told
    assert "test_exported.py" in told
    torch.export.save(program, tmp_path / "odd.pt2")
    assert main(["run", str(tmp_path / "odd.pt2")]) == 2
    assert "aten.unique_consecutive.default" in capsys.readouterr().err
    assert main(["import", str(tmp_path / "odd.pt2"), "--list-unsupported"]) == 1
    listed = capsys.readouterr().out.splitlines()
    assert {line.partition(":")[0] for line in listed} == {
        f"aten.{n}.default" for n in ("linalg_qr", "rand", "unique_consecutive")
    }


def test_programs_that_change_their_buffers():
    program = torch.export.export(nn.BatchNorm1d(3).train(), (torch.randn(4, 3),))
    with pytest.raises(lamina.LaminaError, match="changes 3 of its buffers or inputs: running_mean"):
        lamina.compile(program)


def test_files(tmp_path, capsys):
    torch.export.save(exported(Net(), torch.randn(3, 5)), tmp_path / "net.pt2")
    assert main(["run", str(tmp_path / "net.pt2"), "--check"]) == 0
    assert "linear" in capsys.readouterr().out
    (tmp_path / "broken.pt2").write_bytes(b"PK\x03\x04 no archive")
    with pytest.raises(lamina.LaminaError, match=r"broken.pt2: error: not a program of torch.export"):
        lamina.compile(tmp_path / "broken.pt2")


def test_control_flow():
    class Branches(nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x * 2, (x,))

    model = lamina.compile(exported(Branches(), torch.ones(3)), "interpret")
    np.testing.assert_array_equal(model(np.ones(3, np.float32))[0], np.full(3, 2.0))
    np.testing.assert_array_equal(model(-np.ones(3, np.float32))[0], np.full(3, -2.0))


def test_loops():
    from torch._higher_order_ops import while_loop

    class Doubles(nn.Module):
        def forward(self, n, x):
            return while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x * 2), (torch.zeros((), dtype=torch.int64), x))

    model = lamina.compile(exported(Doubles(), torch.tensor(3), torch.ones(2)), "interpret")
    count, x = model(np.array(5), np.ones(2, np.float32))
    assert count == 5 and list(x) == [32.0, 32.0]


def test_import_does_not_need_pytorch():
    """What PyTorch is for is found without loading it."""
    import subprocess

    code = "import sys; from lamina.tools import api, sources, pytorch; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("LSTM", {}),
        ("LSTM", {"bidirectional": True, "num_layers": 2, "batch_first": True}),
        ("LSTM", {"bidirectional": True, "num_layers": 2, "proj_size": 3}),
        ("GRU", {"bias": False, "num_layers": 3}),
        ("GRU", {"bidirectional": True, "batch_first": True}),
        ("RNN", {"bidirectional": True, "num_layers": 2}),
        ("RNN", {"nonlinearity": "relu", "bias": False, "batch_first": True}),
    ],
)
def test_recurrent_networks(kind, options):
    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = getattr(nn, kind)(4, 5, **options)

        def forward(self, x):
            y, last = self.inner(x)
            return (y, *last) if isinstance(last, tuple) else (y, last)

    torch.manual_seed(0)
    module, x = Recurrent(), torch.randn(7, 2, 4)
    program = exported(module, x)
    found = lamina.compile(program, "interpret")(x)
    for got, right in zip(found, module(x), strict=True):
        np.testing.assert_allclose(got, right.detach().numpy(), rtol=1e-5, atol=1e-6)


def test_a_recurrent_network_is_as_large_however_long_it_runs():
    """A loop over time, where PyTorch would write every step."""

    def ops(steps):
        model = ExportedModel(exported(nn.GRU(4, 5), torch.randn(steps, 2, 4)))
        return sum(1 for _ in model.program().module.walk())

    assert ops(300) - ops(3) < 5


def test_dropout_between_recurrent_layers():
    x = torch.randn(7, 2, 4)
    program = torch.export.export(nn.LSTM(4, 5, 2, dropout=0.5).train(), (x,))
    with pytest.raises(lamina.LaminaError, match="dropout between layers is not supported"):
        lamina.compile(program, "interpret")
