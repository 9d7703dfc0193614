"""Launches a kernel with more local memory than devices have."""

import level_zero
import test_simulator as t

from ishmem.ipc import pyze

ze = t.Level0()
address = level_zero.alloc_device(ze.context, ze.device, 100)
kernel = pyze.create_kernel(pyze.create_module(ze.context, ze.device, t.spirv()), "store")
ze.store(kernel, address)
pyze.set_argument(kernel, 3, (1 << 30,))
print(t.code_of(pyze.append_launch, ze.list, kernel, (1, 1, 1)))
print(t.code_of(pyze.append_copy, ze.list, address, address + 50, 8))
print(t.code_of(pyze.zeDeviceGetStatus, ze.device))
