"""Damages the file of the argument, which has machine code, in several ways; builds its module after each."""

import sys
from pathlib import Path

from build_module import build

path = Path(sys.argv[1])
good = path.read_bytes()
middle = len(good) // 2
for bad in (b"", good[:-1], good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1 :], good + b"x"):
    path.write_bytes(bad)
    build()
    assert len(path.read_bytes()) == len(good)
