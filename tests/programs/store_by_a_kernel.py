"""Prints what a kernel has stored."""

import level_zero
import test_simulator as t

from ishmem.ipc import pyze

ze = t.Level0()
kernel = pyze.create_kernel(pyze.create_module(ze.context, ze.device, t.spirv()), "store")
print(ze.store(kernel, level_zero.alloc_device(ze.context, ze.device, 100))[0])
