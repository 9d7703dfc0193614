"""3-D FFT with mpi4py: MPI_Alltoallv on the rows and columns of the grid, between the same kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ishmem.examples.apps.corner_turn import Exchange, Turn
from ishmem.examples.apps.fft3d import Fft3d
from ishmem.examples.apps.frame import Run, shared


def program(fft3d: Fft3d, run: Run) -> Any:
    """Run with mpi4py; return what ``Fft3d.run`` returns, on PE 0. Turns are done by MPI_Alltoallv."""
    wide = fft3d.grid(run.n_pes)[1]
    row, column = run.comm.Split(run.pe // wide, run.pe), run.comm.Split(run.pe % wide, run.pe)
    made = [shared(fft3d.capacity(run.n_pes), fft3d.dtype) for _ in range(4)]
    views = {id(array): view for array, view in made}

    def alltoallv(turn: Turn) -> Exchange:
        comm = row if 2 in (turn.split, turn.join) else column

        def exchange(received: Any, packed: Any, arrive: list[int], leave: list[int]) -> None:
            with run.communication():
                comm.Alltoallv((views[id(packed)], leave), (views[id(received)], arrive))

        return exchange

    buffers = [array for array, _view in made]
    back = fft3d.solve(run, buffers[:3], buffers[3], alltoallv)
    result: dict[str, Any] = {}
    for name, buffer, turned in (("spectrum", buffers[3], True), ("back", back[0], False)):
        parts = fft3d.parts(run.pe, run.n_pes, turned)
        size = np.empty(fft3d.shape, "i1")[parts].size
        found = run.comm.gather(views[id(buffer)][:size].copy())
        if found:
            result[name] = fft3d.assembled(run.n_pes, turned, lambda pe, _size, found=found: found[pe])
    row.Free()
    column.Free()
    return result
