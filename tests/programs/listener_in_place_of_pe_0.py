"""Listens on an address of a job for some seconds."""

import socket
import sys
import time

listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listener.bind("\0" + sys.argv[1])
listener.listen(5)
print("listens", flush=True)
time.sleep(float(sys.argv[2]))
