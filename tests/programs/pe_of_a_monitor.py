"""Connects to a monitor as a PE, and prints its messages; arguments: the address and the PE."""

import json
import socket
import sys

connection = socket.socket(socket.AF_UNIX)
connection.connect("\0" + sys.argv[1])
connection.send(json.dumps({"kind": "hello", "token": "t", "pe": int(sys.argv[2])}).encode() + b"\n")
print("connected", flush=True)
for line in connection.makefile():
    print(line, end="", flush=True)
