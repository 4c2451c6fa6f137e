"""Runs `python -m MODULE ...` in copies of a process that has imported everything: a command takes what its work does.

`python command_server.py SOCKET` serves, and says when it is ready; `command_client.py` asks.
"""

from __future__ import annotations

import io
import json
import os
import runpy
import signal
import socket
import struct
import sys
import tempfile
import warnings
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import NoReturn

_SIZE = struct.Struct("<I")
_FILES = 3  # standard input, output and error


def serve(path: str) -> NoReturn:
    """Never returns; it goes with the process that started it."""
    _load()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    print("ready", flush=True)
    while True:
        client, _ = listener.accept()
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if os.fork() == 0:
            listener.close()
            _answer(client)
        client.close()


def _load() -> None:
    """A program through the levels of two targets: what commands import late is there, and what is made once."""
    import lamina.tools.opt  # noqa: F401
    from lamina.tools.main import main

    with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
        os.environ["LAMINA_CACHE"] = folder
        source = Path(folder, "warm.lam")
        source.write_text("fn f(x: f32[4, 8], w: f32[8, 8]) -> f32[4, 8] = softmax(x @ w)\n")
        main(["compile", f"{source}::f", "-o", f"{folder}/f.lamx"])
        main(["run", f"{source}::f", "--target", "cuda", "--emulate", "--check"])


def _answer(client: socket.socket) -> NoReturn:
    header, files, _, _ = socket.recv_fds(client, _SIZE.size, _FILES)
    [size] = _SIZE.unpack(header)
    request = b""
    while len(request) < size:
        request += client.recv(size - len(request))
    [module, *arguments], folder, environment = json.loads(request)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[1:] = arguments
    sys.path.insert(0, folder)
    client.sendall(bytes([_run(module)]))
    sys.stdout.flush()
    os._exit(0)


def _run(module: str) -> int:
    """As `python -m` would: the exit code."""
    code: object = 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # that it was imported before
            runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code
    except BaseException:
        import traceback

        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return code if isinstance(code, int) else 0 if code is None else 1


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    serve(sys.argv[1])
