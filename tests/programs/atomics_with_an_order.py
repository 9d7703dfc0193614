"""Runs the kernel of test_simulator_compiler for an operation and a memory order, which are the arguments."""

import struct
import sys

import level_zero
import test_simulator_compiler as t

from ishmem.ipc import pyze

ze = t.Level0()
module = pyze.create_module(ze.context, ze.device, t.fenced(*map(int, sys.argv[1:])))
kernel, out = pyze.create_kernel(module, "fenced"), level_zero.alloc_device(ze.context, ze.device, 64)
pyze.set_argument(kernel, 0, out)
pyze.zeKernelSetGroupSize(kernel, 1, 1, 1)
pyze.append_launch(ze.list, kernel, (1, 1, 1))
print(*struct.unpack("<3Q", ze.read(out, 24)))
