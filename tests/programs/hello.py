"""Sends a message to an address of a job, and prints the answer."""

import socket
import sys

connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
connection.connect("\0" + sys.argv[1])
connection.send(bytes.fromhex(sys.argv[2]))
print(connection.recv(1 << 16).hex())
