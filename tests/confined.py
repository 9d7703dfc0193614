"""Starts a command as a container may: ``python confined.py DENIED FILES COMMAND [ARGUMENT ...]``.

DENIED are numbers of system calls, separated by commas, that a seccomp filter answers with EPERM, as those of Docker
and Podman do; FILES is the number of files that a process may open. "-" stands for no limit.
"""

from __future__ import annotations

import ctypes
import os
import resource
import struct
import sys

PIDFD_GETFD, MEMFD_CREATE = 438, 319
COMMAND = [sys.executable, __file__]


def deny(*calls: int) -> None:
    """Let the kernel refuse system calls to this process and its children."""
    libc = ctypes.CDLL(None, use_errno=True)
    load, refuse, allow = (0x20, 0, 0, 0), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000)
    steps = [load, *(step for call in calls for step in ((0x15, 0, 1, call), refuse)), allow]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("@HxxxxxxP", len(steps), ctypes.addressof(code)))
    libc.prctl(38, 1, 0, 0, 0)
    if libc.prctl(22, 2, program, 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


def main(denied: str, files: str, *command: str) -> None:
    if denied != "-":
        deny(*map(int, denied.split(",")))
    if files != "-":
        resource.setrlimit(resource.RLIMIT_NOFILE, (int(files), int(files)))
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
