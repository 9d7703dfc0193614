"""Builds a module, in the folder of the argument."""

import os
import struct
import sys

import test_simulator as t

from ishmem.ipc import pyze

ze = t.Level0()


def build():
    code = t.spirv().replace(struct.pack("<I", 100), struct.pack("<I", 1000))
    try:
        pyze.zeModuleDestroy(pyze.create_module(ze.context, ze.device, code))
        print("built", flush=True)
    except Exception as error:
        print(str(error).replace("\n", "|"), flush=True)


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    build()
