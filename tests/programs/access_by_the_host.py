"""Accesses memory of a device by a mapping, and then by its address."""

import ctypes
import struct

import level_zero
import test_simulator as t

from ishmem.ipc import pyze

ze = t.Level0()
address = level_zero.alloc_device(ze.context, ze.device, 100)
kernel = pyze.create_kernel(pyze.create_module(ze.context, ze.device, t.spirv()), "store")
print(ze.store(kernel, address)[0])
fd = struct.unpack_from("<i", pyze.get_ipc_handle(ze.context, address))[0]
print(__import__("mmap").mmap(fd, 65536)[0], flush=True)
ctypes.string_at(address, 1)
