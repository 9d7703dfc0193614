"""What programs about failing PEs share: which PE fails, how and when, and what the others tell."""

import ctypes
import os
import signal
import sys
import threading
import time

import ishmem

VICTIM = 1
me = int(os.environ["ISHMEM_PE"])
ENDS = {
    "SIGKILL": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "SIGSEGV": lambda: ctypes.string_at(0),
    "0": lambda: os._exit(0),
    "7": lambda: os._exit(7),
}


def start():
    """Initialise; return two elements and a lock."""
    ishmem.init()
    a, lock = ishmem.zeros(2, dtype="i8"), ishmem.zeros(1, dtype="i8")
    ishmem.barrier_all()
    return a, lock


def end():
    """End this PE in the way of the first argument."""
    ENDS[sys.argv[1]]()


def end_soon():
    """End this PE while it goes on."""
    threading.Timer(0.5, end).start()


def until(condition):
    """Wait until the status board satisfies a condition."""
    from ishmem.common.status_board import StatusBoard

    board = StatusBoard.find(os.environ["ISHMEM_BOARD"], int(os.environ["ISHMEM_NPES"]))
    while not condition(board):
        time.sleep(0.01)


def told(call, *args):
    """Make a call that raises PeerLost, print the error and exit."""
    try:
        call(*args)
    except ishmem.PeerLost as error:
        print("told", error.pe, error, flush=True)
        raise SystemExit(5) from None
    print("not told")
