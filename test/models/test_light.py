"""The nine networks inside the onnx package: with the outputs stored there, and with random weights."""

import numpy as np
import pytest

import lamina
from lamina.tools import light_models
from lamina.tools.compare import compare


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAMINA_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def first_input(model):
    return light_models.standard_input(model.signature.inputs[0].shape)


@pytest.mark.parametrize("target", ["interpret", "cpu"])
@pytest.mark.parametrize("name", light_models.NAMES)
def test_stored_output(name, target):
    model = lamina.compile(light_models.path_of(name), target)
    (got,) = model(first_input(model))
    expected = light_models.expected_output(light_models.path_of(name))
    result = compare(name, got, expected.reshape(got.shape))
    assert result.good, str(result)


@pytest.mark.parametrize("name", light_models.NAMES)
def test_random_weights(name):
    import onnxruntime as ort

    proto = light_models.randomized(name, seed=1)
    model = lamina.compile(proto)
    spec = model.signature.inputs[0]
    x = np.random.default_rng(2).standard_normal(spec.shape).astype(np.float32)
    (got,) = model(x)
    session = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {spec.name: x})
    assert np.ptp(expected) > 1e-6  # the comparison says something
    result = compare(name, got, expected)
    assert result.good, str(result)
