"""Waits in C, where no handler of Python runs, until a signal is forwarded."""

import ctypes
import os
import signal
import subprocess

from ishmem.launch import supervisor

read, write = os.pipe()
seen = []


def forward(number):
    seen.append(number)
    os.write(write, b"x")


with supervisor.forwarding(forward):
    subprocess.Popen(["sh", "-c", f"sleep 0.2; kill -TERM {os.getpid()}"])
    assert ctypes.CDLL(None).read(read, ctypes.create_string_buffer(1), 1) == 1
assert seen == [signal.SIGTERM]
os.kill(os.getpid(), signal.SIGTERM)
