"""Runs a kernel and sends itself the signal with which its thread would yield; with an argument, after taking it."""

import os
import signal
import sys

import level_zero
import test_simulator as t

from ishmem.ipc import pyze

number = signal.SIGRTMIN + 7
if sys.argv[1:]:
    signal.signal(number, lambda *_: print("mine"))
ze = t.Level0()
kernel = pyze.create_kernel(pyze.create_module(ze.context, ze.device, t.spirv()), "store")
print(ze.store(kernel, level_zero.alloc_device(ze.context, ze.device, 100))[0])
os.kill(os.getpid(), number)
print("alive")
