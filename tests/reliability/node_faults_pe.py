"""A PE of ``reliability nodes``: runs operations until its time is over, and records in a file how it ended."""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path

import ishmem  # first: it lets the SYCL stack find the GPUs, or simulated ones

# isort: split
import kills_pe

from ishmem.environment.mpi_variables import launched

FOLDER, SECONDS, SEED, ENDS = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
PE = launched().rank


def tell(**what: object) -> None:
    """Append to this PE's file what happened, with the time of the clock that all processes share."""
    with (FOLDER / f"{PE}.pe").open("a") as file:
        file.write(json.dumps({"at": time.monotonic(), **what}) + "\n")


def end(*_: object) -> None:
    """End in the way that the test asks for, wherever the program is."""
    if ENDS == "raise":
        raise RuntimeError("no more")
    sys.exit(7)


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, end)
    kills_pe.tell = tell
    init = ishmem.init

    def start(**arguments: object) -> None:
        init(**arguments)
        tell(ready=True)

    ishmem.init = start
    try:
        kills_pe.work(SECONDS, SEED)
    except ishmem.PeerLost as error:
        tell(lost=error.pe, words=str(error))
        raise
    tell(done=True)
