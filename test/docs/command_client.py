"""`python -IS command_client.py SOCKET MODULE ARGUMENT...`: what `command_server.py` runs, for this process.

It hands on the arguments, the folder, the environment and the standard files, and ends as the command did.
"""

import json
import os
import socket
import struct
import sys

_, path, *command = sys.argv
request = json.dumps([command, os.getcwd(), dict(os.environ)]).encode()
server = socket.socket(socket.AF_UNIX)
server.connect(path)
socket.send_fds(server, [struct.pack("<I", len(request))], [0, 1, 2])
server.sendall(request)
answer = server.recv(1)
sys.exit(answer[0] if answer else "the command ended without an exit code")
