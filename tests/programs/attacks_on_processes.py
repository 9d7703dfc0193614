"""Tries as another user to reach into the processes of the arguments; prints what was refused."""

import ctypes
import os
import signal
import sys

pids = [int(word) for word in sys.argv[1:]]
libc = ctypes.CDLL(None, use_errno=True)


def attempt(what, call, *arguments):
    try:
        result = call(*arguments)
    except OSError as error:
        print("refused", what, error.errno)
    else:
        print("DONE", what, result)


def ptrace(request, pid):
    if libc.ptrace(request, pid, None, None) < 0:
        raise OSError(ctypes.get_errno(), "ptrace")


def steal(pid, number):
    process = os.pidfd_open(pid)
    taken = libc.syscall(438, process, number, 0)  # pidfd_getfd
    if taken < 0:
        raise OSError(ctypes.get_errno(), "pidfd_getfd")


def queue(pid):
    if libc.sigqueue(pid, signal.SIGRTMAX - 3, ctypes.c_void_p(9)) < 0:
        raise OSError(ctypes.get_errno(), "sigqueue")


def read_memory(pid):
    buffer = ctypes.create_string_buffer(8)
    parts = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 8), (ctypes.c_size_t * 2)(4096, 8)
    if libc.process_vm_readv(pid, parts[0], 1, parts[1], 1, 0) < 0:
        raise OSError(ctypes.get_errno(), "process_vm_readv")


for pid in pids:
    attempt("list descriptors", os.listdir, f"/proc/{pid}/fd")
    for number in range(3, 40):
        attempt("open memory", os.open, f"/proc/{pid}/fd/{number}", os.O_RDWR)
    for name in ("environ", "mem", "maps"):
        attempt(name, os.open, f"/proc/{pid}/{name}", os.O_RDONLY)
    attempt("take a descriptor", steal, pid, 5)
    attempt("attach", ptrace, 16, pid)
    attempt("seize", ptrace, 0x4206, pid)
    attempt("read memory", read_memory, pid)
    attempt("kill", os.kill, pid, signal.SIGKILL)
    attempt("end by the signal of global_exit", queue, pid)
