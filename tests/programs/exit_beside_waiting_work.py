"""Exits while a command list waits in vain."""

import sys

import test_simulator as t

from ishmem.ipc import pyze

ze = t.Level0()
waiting = pyze.create_event(pyze.create_event_pool(ze.context, 1), 0)
pyze.append_barrier(pyze.create_immediate(ze.context, ze.device, mode=pyze.MODE_ASYNCHRONOUS), None, [waiting])
print("output is kept", end="")
sys.exit(3)
