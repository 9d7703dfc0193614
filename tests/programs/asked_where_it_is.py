"""PE 1 is asked again and again where it is, in Python and in code that holds the interpreter."""

import contextlib
import ctypes
import os
import subprocess
import time

from victim import VICTIM, me

import ishmem
from ishmem.common.status_board import StatusBoard


def count(n):
    def numbers():
        yield from range(3)

    with contextlib.suppress(ZeroDivisionError):
        exec("1 / 0")
    return sum(numbers()) + (count(n - 1) if n else 0)


def held():
    other = subprocess.Popen(["sh", "-c", "sleep 2; echo"], stdout=subprocess.PIPE)
    ctypes.PyDLL(None).read(other.stdout.fileno(), ctypes.create_string_buffer(1), 1)  # held


ishmem.init()
done = ishmem.zeros(1, dtype="i8")
board = StatusBoard.find(os.environ["ISHMEM_BOARD"], ishmem.n_pes())
if me == VICTIM:
    while ishmem.g(done, me) == 0:
        count(5)
    ishmem.barrier_all()
    held()
else:
    places = set()
    for _ in range(300):
        places |= {board.find_places([VICTIM]).get(VICTIM)}
    ishmem.p(done, 1, VICTIM)
    ishmem.barrier_all()
    time.sleep(0.2)
    print(len(places - {None}), board.find_places([VICTIM]), flush=True)
ishmem.finalize()
