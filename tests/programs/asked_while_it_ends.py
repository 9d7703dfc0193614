"""A PE is asked where it is when it no longer has a handler for that."""

import faulthandler
import os

import ishmem
from ishmem.common.status_board import INSIST

ishmem.init()
ishmem.finalize()
faulthandler.unregister(INSIST)  # as the interpreter does when it ends
os.kill(os.getpid(), INSIST)
print("goes on", flush=True)
