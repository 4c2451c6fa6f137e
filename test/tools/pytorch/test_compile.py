"""`torch.compile(backend="lamina")`: results and gradients equal to eager PyTorch's."""

import copy
import tomllib
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from lamina.tools.pytorch import backend  # noqa: E402
from lamina.tools.pytorch.dynamo import CompiledGraph  # noqa: E402


@pytest.fixture(autouse=True)
def forget():
    """Each test starts without compiled functions."""
    torch._dynamo.reset()
    torch.manual_seed(5)


class Attention(nn.Module):
    """A transformer's layer."""

    def __init__(self):
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(16), nn.Linear(16, 48), nn.Linear(16, 16)

    def forward(self, x):
        q, k, v = (t.view(*x.shape[:2], 2, 8).transpose(1, 2) for t in self.qkv(self.norm(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(y.transpose(1, 2).reshape(x.shape))


class Images(nn.Module):
    """Convolutions, normalised by the batch, pooled."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.grouped = nn.Conv2d(8, 8, 3, padding=1, groups=4, bias=False)
        self.up = nn.ConvTranspose2d(8, 4, 2, stride=2)

    def forward(self, x):
        y = F.relu(self.norm(self.first(x)))
        y = F.max_pool2d(y, 2) + F.avg_pool2d(self.grouped(y), 2)
        return F.interpolate(self.up(y), scale_factor=2, mode="bilinear").mean((2, 3))


def train(module, step, inputs):
    """The outputs, the gradients of parameters and inputs, and the buffers after a step."""
    torch.manual_seed(11)
    given = [x.clone().requires_grad_() if x.is_floating_point() else x for x in inputs]
    output = step(*given)
    (output * torch.linspace(-1, 1, output.numel()).view_as(output)).sum().backward()
    gradients = [p.grad for p in module.parameters()] + [x.grad for x in given if x.is_floating_point()]
    return [output, *gradients, *module.buffers()]


MODELS = {
    "perceptron": (
        lambda: nn.Sequential(nn.Linear(5, 16), nn.GELU(), nn.Dropout(0.3), nn.LayerNorm(16), nn.Linear(16, 3)),
        (torch.randn(4, 5),),
    ),
    "attention": (Attention, (torch.randn(2, 6, 16),)),
    "images": (Images, (torch.randn(2, 3, 16, 16),)),
    "words": (
        lambda: nn.Sequential(nn.Embedding(11, 6, padding_idx=0), nn.Linear(6, 3), nn.Softmax(-1)),
        (torch.randint(0, 11, (3, 4)),),
    ),
}


@pytest.mark.parametrize("target", ["interpret", pytest.param("cpu", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", MODELS)
def test_training(name, target):
    make, inputs = MODELS[name]
    eager = make().train()
    compiled = copy.deepcopy(eager)
    step = torch.compile(compiled, backend=backend, options={"target": target})
    for right, got in zip(train(eager, eager, inputs), train(compiled, step, inputs), strict=True):
        torch.testing.assert_close(got, right, rtol=2e-4, atol=2e-5)


def test_cpu_trains_until_the_loss_is_small():
    net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    step = torch.compile(lambda x, y: F.mse_loss(net(x), y), backend=backend)
    optimizer = torch.optim.Adam(net.parameters(), 0.05)
    x = torch.randn(32, 2)
    y = x[:, :1] * x[:, 1:]
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = step(x, y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.2 * losses[0]


def test_graph_breaks_and_free_shapes():
    @torch.compile(backend=backend, dynamic=True, options={"target": "interpret"})
    def function(x):
        y = x.sin() * x.shape[0]
        torch._dynamo.graph_break()
        return y.view(-1) + y.numel()

    for n in (2, 3, 7):
        x = torch.randn(n, 4)
        torch.testing.assert_close(function(x), (x.sin() * n).view(-1) + 4 * n)


def test_views_and_layouts():
    @torch.compile(backend=backend, options={"target": "interpret"})
    def function(x, y):
        return x.transpose(0, 1), (x * y).transpose(0, 1), x, None, (x.t() + 1).contiguous()

    x, y = torch.randn(3, 5), torch.randn(5, 3).t()
    got = function(x, y)
    right = (x.t(), (x * y).t(), x, None, (x.t() + 1).contiguous())
    assert got[0].data_ptr() == x.data_ptr() and got[3] is None
    for one, other in zip(got, right, strict=True):
        if other is not None:
            assert one.stride() == other.stride()
            torch.testing.assert_close(one, other)


@pytest.mark.parametrize("target", ["cpu", "interpret"])
def test_tensors_that_come_and_go(target):
    """Arrays on them are not made anew where the next tensor lies in the same place: each call reads what is there."""
    module = nn.Linear(6, 4)
    step = torch.compile(module, backend=backend, options={"target": target})
    kept = []
    with torch.no_grad():
        for i in range(6):
            x = torch.randn(3, 6)
            kept.append((step(x), F.linear(x, module.weight, module.bias)))
            if i == 2:
                module.weight.data = torch.randn(4, 6)
            if i == 3:
                module.bias.mul_(2)
        torch.testing.assert_close(step(torch.ones(3, 6, dtype=torch.cfloat).conj().imag), module(torch.zeros(3, 6)))
    for got, right in kept:
        torch.testing.assert_close(got, right)


@pytest.mark.parametrize("target", ["cpu", "interpret"])
def test_frozen_parameters(target):
    """They are constants, and others when PyTorch says that they changed."""
    module = nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4)).eval()
    step = torch.compile(module, backend=backend, options={"target": target, "freezing": True})
    x = torch.randn(3, 6)
    with torch.no_grad():
        for change in (
            lambda: None,
            lambda: module[0].weight.mul_(2),
            lambda: module[1].running_mean.add_(1),
            lambda: setattr(module[0], "bias", nn.Parameter(torch.randn(4))),
            lambda: setattr(module[0].weight, "data", torch.randn(4, 6)),
            lambda: module.load_state_dict({k: v + 1 for k, v in module.state_dict().items()}),
        ):
            change()
            for _ in range(2):
                torch.testing.assert_close(step(x), module(x))
        torch.testing.assert_close(step(x[:2]), module(x[:2]))


def test_what_is_frozen_is_no_input():
    linear = nn.Linear(6, 4)
    graph = torch.export.export(linear, (torch.ones(3, 6),)).graph_module
    weight, bias, x = linear.weight.detach(), linear.bias.detach(), torch.randn(3, 6)
    frozen, free = (CompiledGraph(graph, "interpret", frozen=places) for places in ((0, 1), ()))
    for compiled in (frozen, free):
        torch.testing.assert_close(compiled([weight, bias, x])[0], linear(x))
    with torch.no_grad():
        weight.mul_(2)  # it is counted
        torch.testing.assert_close(frozen([weight, bias, x])[0], linear(x))
        before = linear(x)
        weight.numpy()[...] += 1  # this is not, so that it shows what is a constant
    torch.testing.assert_close(frozen([weight, bias, x])[0], before)
    torch.testing.assert_close(free([weight, bias, x])[0], linear(x))


def test_trained_parameters_are_not_frozen():
    module = nn.Linear(6, 4)
    step = torch.compile(module, backend=backend, options={"target": "interpret", "freezing": True})
    x = torch.randn(3, 6)
    for _ in range(3):
        loss, right = step(x).square().sum(), module(x).square().sum()
        torch.testing.assert_close(loss, right)
        loss.backward()
        module.weight.data -= 0.1 * module.weight.grad


def test_changes_in_place():
    @torch.compile(backend=backend, options={"target": "interpret"})
    def function(x):
        x.add_(1)
        return x * 2

    x = torch.zeros(3)
    assert function(x).tolist() == [2.0, 2.0, 2.0] and x.tolist() == [1.0, 1.0, 1.0]


def test_random_numbers_are_those_of_pytorch():
    def function(x):
        return F.dropout(x, 0.4) + torch.rand(3) + torch.randn_like(x)

    compiled = torch.compile(function, backend=backend, options={"target": "interpret"})
    torch.manual_seed(3)
    right = function(torch.ones(2, 3))
    torch.manual_seed(3)
    torch.testing.assert_close(compiled(torch.ones(2, 3)), right)


def test_half_precision():
    net = nn.Linear(5, 3).bfloat16()
    compiled = torch.compile(copy.deepcopy(net), backend=backend, options={"target": "interpret"})
    x = torch.randn(2, 5).bfloat16()
    torch.testing.assert_close(compiled(x), net(x), rtol=2e-2, atol=2e-2)


def test_unknown_option():
    function = torch.compile(lambda x: x + 1, backend=backend, options={"speed": "much"})
    with pytest.raises(Exception, match="backend 'lamina' has no option 'speed'"):
        function(torch.ones(1))


def test_what_is_missing_is_told():
    function = torch.compile(lambda x: torch.linalg.qr(x)[1] + torch.linalg.inv(x), backend=backend)
    with pytest.raises(Exception, match=r"operators have no lowering(.|\n)*aten.linalg_qr(.|\n)*aten.linalg_inv"):
        function(torch.eye(2))


def test_pytorch_finds_the_backend():
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())
    [(name, value)] = project["project"]["entry-points"]["torch_dynamo_backends"].items()
    module, _, attribute = value.partition(":")
    assert (name, module, attribute) == ("lamina", backend.__module__, backend.__name__)
