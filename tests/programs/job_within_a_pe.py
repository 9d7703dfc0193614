"""Starts a program that is a job of its own, and a job of two PEs; prints what they print."""

import subprocess
import sys

from victim import start

import ishmem

start()
one = "import ishmem; ishmem.init(); print('alone', ishmem.my_pe(), ishmem.n_pes()); ishmem.finalize()"
alone = [sys.executable, "-c", one]
for command in (alone, [sys.executable, "-m", "ishmem.launch.run", "-n", "2", *alone]):
    done = subprocess.run(command, capture_output=True, text=True)
    print(sorted(done.stdout.splitlines()), done.stderr)
ishmem.free_all()
ishmem.finalize()
