"""Closes a descriptor that the driver has exported."""

import os
import struct

import level_zero
import test_simulator as t

from ishmem.ipc import pyze

ze = t.Level0()
address = level_zero.alloc_device(ze.context, ze.device, 100)
handles = [pyze.get_ipc_handle(ze.context, address) for _ in range(2)]
assert handles[0] == handles[1]
pyze.put_ipc_handle(ze.context, handles[0])
fd = struct.unpack_from("<i", handles[1])[0]
mapped = __import__("mmap").mmap(fd, 65536)
level_zero.append_fill(ze.list, address, b"z", 100)
print(mapped[:3], mapped[99:101])
os.close(fd)
pyze.zeMemFree(ze.context, address)
