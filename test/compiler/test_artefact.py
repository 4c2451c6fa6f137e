import os

import numpy as np
import pytest

from lamina.compiler.artefact import Artefact, written_whole
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.signature import Signature, TensorSpec


def artefact() -> Artefact:
    signature = Signature((TensorSpec("x", (2,), "float32"),), (TensorSpec("y", (2,), "float32"),))
    constants = np.arange(5000, dtype=np.uint8)
    return Artefact("cpu", "x86_64", "x", "+avx2", signature, [b"one", b"second object"], constants, 128)


def test_round_trip(tmp_path):
    path = tmp_path / "m.lamx"
    artefact().save(path)
    back = Artefact.load(path)
    assert back.objects == [b"one", b"second object"] and back.signature == artefact().signature
    assert np.array_equal(back.constants, artefact().constants)
    assert os.listdir(tmp_path) == ["m.lamx"]


@pytest.mark.parametrize("length", [0, 4, 20, 300, 4096, 9000])
def test_a_file_cut_short_is_said_to_be(tmp_path, length):
    path = tmp_path / "m.lamx"
    artefact().save(path)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(LaminaError, match=r"m\.lamx: error: "):
        Artefact.load(path)


def test_nothing_is_left_of_a_failed_write(tmp_path):
    with pytest.raises(LaminaError, match="cannot write"), written_whole(tmp_path / "m") as file:
        file.write(b"half")
        raise OSError(28, "No space left on device")
    assert os.listdir(tmp_path) == []


def test_a_directory_that_is_not_there(tmp_path):
    with pytest.raises(LaminaError, match="cannot write: No such file or directory"):
        artefact().save(tmp_path / "none" / "m.lamx")
