"""Prints an IPC handle, and waits for a line."""

import ctypes
import os
import sys

import level_zero
import test_simulator as t

from ishmem.ipc import pyze

ze = t.Level0()
address = level_zero.alloc_device(ze.context, ze.device, 100)
os.dup2(os.open("/dev/null", os.O_RDONLY), 700)  # numbers that the importer does not have
for _ in range(300):
    os.dup(0)
text = ctypes.create_string_buffer(b"hello")
pyze.append_copy(ze.list, address, ctypes.addressof(text), 5)
print(pyze.get_ipc_handle(ze.context, address).hex(), flush=True)
sys.stdin.readline()
