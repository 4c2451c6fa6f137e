import io
import os

import numpy as np
import pytest

from lamina.compiler.artefact import LARGE_PAGE, PAGE, Artefact, make_room, write_constants, written_whole
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.signature import Signature, TensorSpec
from lamina.compiler.weights import BLOCK_BYTES, Deferred, Section, WeightStore


def artefact() -> Artefact:
    signature = Signature((TensorSpec("x", (2,), "float32"),), (TensorSpec("y", (2,), "float32"),))
    constants = np.arange(5000, dtype=np.uint8)
    return Artefact("cpu", "x86_64", "x", "+avx2", signature, [b"one", b"second object"], constants, 128)


def test_round_trip(tmp_path):
    path = tmp_path / "m.lamx"
    artefact().save(path)
    back = Artefact.load(path)
    assert back.objects == [b"one", b"second object"] and back.signature == artefact().signature
    assert isinstance(back.constants, np.ndarray) and np.array_equal(back.constants, np.arange(5000, dtype=np.uint8))
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


def test_constants_laid_out_block_by_block(tmp_path):
    weights = WeightStore()
    big = np.arange(3 * BLOCK_BYTES // 4, dtype=np.float32).reshape(3, -1)
    made = []

    def rows(start, stop):
        made.append((start, stop))
        return big[start:stop] + 1

    keys = [weights.add(big.T, "turned"), weights.add(Deferred(big.shape, big.dtype, rows), "later")]
    section = Section([(keys[0], 64, big.nbytes), (keys[1], 64 + big.nbytes, big.nbytes)], weights)
    written = artefact()
    written.constants = section
    written.save(tmp_path / "m.lamx")
    back = Artefact.load(tmp_path / "m.lamx")
    assert back.objects == written.objects
    assert bytes(back.constants) == b"\0" * 64 + big.T.tobytes() + (big + 1).tobytes()
    assert made == [(0, 1), (1, 2), (2, 3)]
    assert np.array_equal(weights.get(keys[1]), big + 1)


class Watched(io.BytesIO):
    """Notes where each write begins and how long it is."""

    def __init__(self):
        super().__init__()
        self.writes = []

    def write(self, data):
        self.writes.append((self.tell(), len(data)))
        return super().write(data)


@pytest.mark.parametrize("sizes", [(3 * LARGE_PAGE + 5,), (7, 10**5, 2 * LARGE_PAGE, 64), (LARGE_PAGE - PAGE - 1,), ()])
def test_constants_are_written_by_large_pages(sizes):
    """As the system then keeps them: in one piece, on its boundaries, whatever the sizes of the weights are."""
    weights, file = WeightStore(), Watched()
    arrays = [np.arange(size, dtype=np.uint32).astype(np.uint8) for size in sizes]
    parts, end = [], 0
    for array in arrays:
        parts.append((weights.add(array), end, array.nbytes))
        end += array.nbytes
    make_room(file, end)
    write_constants(file, Section(parts, weights))
    assert file.getvalue()[PAGE : PAGE + end] == b"".join(array.tobytes() for array in arrays)
    assert all(start % LARGE_PAGE == 0 and size <= LARGE_PAGE for start, size in file.writes)
    whole = [size for _, size in file.writes].count(LARGE_PAGE)
    assert whole == -(-(PAGE + end) // LARGE_PAGE) + (PAGE + end) // LARGE_PAGE


def test_a_weight_of_another_size_than_its_place():
    weights = WeightStore()
    key = weights.add(np.zeros(3, np.float32), "w")
    with pytest.raises(LaminaError, match="weight 'w' has 12 bytes, its place 16"):
        list(Section([(key, 0, 16)], weights).blocks())
