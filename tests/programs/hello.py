"""Sends a message to an address of a job, with so many file descriptors, and prints the answer."""

import array
import contextlib
import socket
import sys

connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
connection.connect("\0" + sys.argv[1])
with contextlib.suppress(BrokenPipeError):
    connection.sendmsg([bytes.fromhex(sys.argv[2])], [(1, 1, array.array("i", [0] * int(sys.argv[3])))])
try:
    print(connection.recv(1 << 16).hex())
except ConnectionResetError:  # closed before all was read; what it sent is still there
    print(connection.recv(1 << 16).hex())
