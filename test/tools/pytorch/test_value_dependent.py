"""Programs of `torch.export` whose shapes depend on values: results are as large as the values of each call say."""

import numpy as np
import pytest

import lamina

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402


def compiled(function, *inputs, target="interpret"):
    """The function by way of `torch.export`."""

    class Module(nn.Module):
        def forward(self, *args):
            return function(*args)

    return lamina.compile(torch.export.export(Module().eval(), inputs), target)


WEIGHT = torch.randn(5, 3, generator=torch.Generator().manual_seed(3))
FUNCTIONS = {
    "nonzero": lambda x: x.relu().nonzero(),
    "nonzero_tuple": lambda x: (x > 0).nonzero(as_tuple=True),
    "masked_select": lambda x: torch.masked_select(x, x > 0) * 2 + 1,
    "mask": lambda x: x[x > 0].exp(),
    "mask_of_rows": lambda x: (x[x[:, 0] > 0] @ WEIGHT).relu(),
    "rows_of_a_linear_layer": lambda x: nn.functional.linear(x[x[:, 0] > 0], WEIGHT.T, WEIGHT[0]),
    "rows_at": lambda x: x[(x[:, 1] > 0).nonzero()[:, 0]],
    "sum": lambda x: (x[x > 0].sum(), (x[x[:, 0] > 0] + 1).sum(0), x[x[:, 0] > 0].sum(1)),
    "count": lambda x: x[x > 0].shape[0],
    "unique": lambda x: torch.unique(x.round(), return_inverse=True, return_counts=True),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_pytorch(name):
    generator = torch.Generator().manual_seed(len(name))
    model = compiled(FUNCTIONS[name], torch.randn(4, 5, generator=generator))
    for x in (torch.randn(4, 5, generator=generator), torch.full((4, 5), -1.0), torch.full((4, 5), 2.0)):
        expected = FUNCTIONS[name](x)
        expected = [expected] if not isinstance(expected, tuple) else list(expected)
        outputs = model(x)
        assert len(outputs) == len(expected)
        for got, right in zip(outputs, expected, strict=True):
            right = np.asarray(right)
            assert got.shape == right.shape and got.dtype == right.dtype
            np.testing.assert_allclose(got, right, rtol=1e-5, atol=1e-5)


def test_on_the_processor():
    model = compiled(FUNCTIONS["mask_of_rows"], torch.randn(4, 5), target="cpu")
    x = torch.randn(4, 5)
    np.testing.assert_allclose(model(x)[0], FUNCTIONS["mask_of_rows"](x).numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("function", "match"),
    [
        (lambda x: x[x > 0].softmax(0), "depends on values"),
        (lambda x: torch.ones(x[x > 0].shape[0]), "depends on values"),
    ],
)
def test_what_is_not_supported_is_told(function, match):
    with pytest.raises(lamina.LaminaError, match=match):
        compiled(function, torch.randn(4, 5))
