import json

import onnx

from lamina.tools.bench.compile_time import stack
from lamina.tools.main import main


def test_layers_have_weights_of_their_own(tmp_path):
    model = onnx.load(stack(3, tmp_path).model)
    onnx.checker.check_model(model, full_check=True)
    matrices = [tensor.raw_data for tensor in model.graph.initializer if len(tensor.dims) == 2]
    assert len(matrices) == len(set(matrices)) == 6


def test_cold_warm_and_depth(tmp_path, capsys):
    file = tmp_path / "rows.json"
    words = ["--depths", "1,2", "--peers", "onnxruntime", "--threads", "1", "--json", str(file)]
    assert main(["bench", "compile", *words]) == 0
    assert "2 times the layers cost" in capsys.readouterr().out
    rows = json.loads(file.read_text())
    assert [row["model"] for row in rows] == ["stack of 1", "stack of 2"]
    assert all(row["cold_s"] > 0 and row["warm_s"] > 0 and row["peers_s"]["onnxruntime"] > 0 for row in rows)


def test_wrong_depths_are_told(capsys):
    assert main(["bench", "compile", "--depths", "two"]) == 2
    assert "'two' are no depths" in capsys.readouterr().err
