"""The emulated card without its execution units and without Intel's driver: packets, memory, ioctls, files."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path

import card_programs
import pytest

import ishmem

PROGRAMS = [
    name
    for name, function in inspect.getmembers(card_programs, inspect.isfunction)
    if function.__module__ == card_programs.__name__ and not name.startswith("_")
]
CARDS = {
    "peer_memory": "b580:2",
    "peer_atomics": "max1550:2",
    "tiles": "max1550",
    "files": "b580:2,lnl",
    "no_card": "b581",
    "no_number": "b580:x",
}


def _library() -> Path:
    places = [Path(folder, "emulator", "libishmem_emulator.so") for folder in ishmem.__path__]
    return next(place for place in places if place.exists())


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_of_commands(name: str, tmp_path: Path) -> None:
    card = {"LD_PRELOAD": str(_library()), "ISHMEM_CARD": CARDS.get(name, "b580"), "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-W", "ignore", card_programs.__file__, name]
    done = subprocess.run(command, env={**os.environ, **card}, capture_output=True, text=True, timeout=120)
    _, *expected = (inspect.getdoc(getattr(card_programs, name)) or "").splitlines()
    assert done.returncode == 0, done.stderr
    if not expected:
        assert done.stderr == ""
    for line in expected[-1].split("|") if expected else ():
        assert line in done.stderr
    assert not list(tmp_path.iterdir())
