"""Opens an IPC handle of another process; standard input has the handle and the process."""

import os
import struct
import sys

import test_simulator as t

from ishmem.ipc import pyze

ze = t.Level0()
handle, pid, fd = bytes.fromhex(sys.stdin.readline().strip()), int(sys.stdin.readline()), -1


def attempt(handle):
    try:
        address = pyze.open_ipc_handle(ze.context, ze.device, handle)
    except pyze.LevelZeroError as error:
        return pyze.result_name(error.code)
    assert pyze.alloc_properties(ze.context, address)[0].type == pyze.MEMORY_DEVICE
    text = ze.read(address, 5).decode()
    t.code_of(pyze.zeMemFree, ze.context, address)
    pyze.zeMemCloseIpcHandle(ze.context, address)
    return text


# As over a socket: the exporter's descriptor under another number.
other = os.open(f"/proc/{pid}/fd/{struct.unpack_from('<i', handle)[0]}", os.O_RDWR)
mine = os.dup2(other, 900)
print(attempt(struct.pack("<i", mine) + handle[4:]), attempt(handle))
null = os.open("/dev/null", os.O_RDWR)
print(attempt(struct.pack("<i", null) + handle[4:]))
