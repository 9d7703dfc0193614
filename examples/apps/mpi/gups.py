"""Random access with mpi4py: MPI_Accumulate with MPI_BXOR, flushed after each 64 updates."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpi4py import MPI

from ishmem.examples.apps.frame import Blocks, Run
from ishmem.examples.apps.gups import IN_FLIGHT, Gups, following, starts


def program(gups: Gups, run: Run) -> Any:
    """Run with mpi4py; return what ``Gups.run`` returns, on PE 0; on others, None for the table."""
    blocks = Blocks(gups.elements, run.n_pes)
    window = MPI.Win.Allocate(8 * blocks.size, 8, comm=run.comm)
    table = np.asarray(window.tomemory()).view("i8")
    table[:] = np.arange(run.pe * blocks.size, (run.pe + 1) * blocks.size)
    numbers, lengths = starts(*gups.part(run), IN_FLIGHT)
    window.Lock_all()
    with run.timed():
        for step in range(max(lengths)):
            numbers = following(numbers)
            places = numbers & (gups.elements - 1)
            owners, offsets = (places // blocks.size).tolist(), (places % blocks.size).tolist()
            with run.communication():
                for lane in np.flatnonzero(step < lengths).tolist():
                    one = (numbers[lane : lane + 1], MPI.INT64_T)
                    window.Accumulate(one, owners[lane], (offsets[lane], 1, MPI.INT64_T), MPI.BXOR)
                window.Flush_all()
    whole = run.gathered(table, blocks.counts)
    window.Unlock_all()
    window.Free()
    return {"table": whole, "block": blocks.size}
