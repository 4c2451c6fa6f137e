"""A recorded exchange with an editor, played to the real server process."""

import json
import subprocess
import sys

import pytest

from lamina.tools.lsp import Document, position

WRONG = """\
# A dense layer.
fn linear[M, K, N](x: f32[M, K], w: f32[K, N]) -> f32[M, N] {
  let y[i, j] = sum[k] x[i, k] * w[k, j]
  return relu(z)
}
"""
RIGHT = WRONG.replace("relu(z)", "relu(y)")


class Editor:
    """Speaks JSON-RPC with Content-Length headers to `lamina lsp`."""

    def __init__(self):
        command = [sys.executable, "-m", "lamina.tools.main", "lsp"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.count = 0

    def send(self, method, params, **extra):
        data = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **extra}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.process.stdin.flush()

    def ask(self, method, params):
        self.count += 1
        self.send(method, params, id=self.count)
        return self.wait(lambda message: message.get("id") == self.count)["result"]

    def wait(self, wanted):
        while True:
            length = 0
            while (line := self.process.stdout.readline()) not in (b"\r\n", b""):
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            assert length, self.process.stderr.read().decode()
            message = json.loads(self.process.stdout.read(length))
            if wanted(message):
                return message

    def diagnostics(self):
        message = self.wait(lambda m: m.get("method") == "textDocument/publishDiagnostics")
        return message["params"]["diagnostics"]


@pytest.fixture
def editor():
    made = Editor()
    yield made
    made.process.kill()
    made.process.wait()


def at(uri, line, character):
    return {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}


def test_an_exchange_with_an_editor(editor, tmp_path):
    uri = (tmp_path / "net.lam").as_uri()
    answer = editor.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
    capabilities = answer["capabilities"]
    assert capabilities["hoverProvider"] and capabilities["definitionProvider"]
    assert capabilities["documentFormattingProvider"]
    editor.send("initialized", {})
    editor.send(
        "textDocument/didOpen",
        {"textDocument": {"uri": uri, "languageId": "lamina", "version": 1, "text": WRONG}},
    )
    (error,) = [d for d in editor.diagnostics() if d["severity"] == 1]
    assert error["code"] == "E101" and "'z'" in error["message"]
    assert error["range"] == {"start": {"line": 3, "character": 14}, "end": {"line": 3, "character": 15}}

    change = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": RIGHT}]}
    editor.send("textDocument/didChange", change)
    assert editor.diagnostics() == []

    hover = editor.ask("textDocument/hover", at(uri, 3, 14))
    assert "y: f32[M, N]" in hover["contents"]["value"]
    hover = editor.ask("textDocument/hover", at(uri, 3, 10))
    assert "fn relu" in hover["contents"]["value"]
    definition = editor.ask("textDocument/definition", at(uri, 3, 14))
    assert definition["uri"] == uri
    assert definition["range"]["start"] == {"line": 2, "character": 6}
    definition = editor.ask("textDocument/definition", at(uri, 3, 10))
    assert definition["uri"].endswith("/std/activations.lam")
    assert editor.ask("textDocument/hover", at(uri, 0, 0)) is None

    editor.send(
        "textDocument/didChange",
        {"textDocument": {"uri": uri, "version": 3}, "contentChanges": [{"text": RIGHT.replace("  let", "let")}]},
    )
    editor.diagnostics()
    (edit,) = editor.ask(
        "textDocument/formatting", {"textDocument": {"uri": uri}, "options": {"tabSize": 2, "insertSpaces": True}}
    )
    assert edit["newText"] == RIGHT
    assert editor.ask("shutdown", None) is None
    editor.send("exit", None)
    assert editor.process.wait(10) == 0


def test_positions_count_in_utf16():
    text = "# \N{GRINNING FACE} é\nfn f(x: f32) = x\n"
    document = Document("file:///tmp/a.lam", text)
    for offset in range(len(text)):
        assert document.offset(*position(text, offset)) == offset
    assert document.offset(99, 0) == len(text)
