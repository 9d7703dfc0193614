"""2-D FFT with mpi4py: MPI_Allgather, MPI_Gather or MPI_Alltoall between the same kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ishmem.examples.apps.fft2d import Fft2d, Matrix
from ishmem.examples.apps.frame import Blocks, Run, shared


def program(fft2d: Fft2d, run: Run) -> Any:
    """Run with mpi4py; return what ``Fft2d.run`` returns, on PE 0. Gets are done by MPI_Alltoall."""
    views: dict[int, Any] = {}

    def allocate(shape: Any) -> Any:
        array, view = shared(shape, "c8")
        views[id(array)] = view
        return array

    def by_fcollect(matrix: Matrix) -> None:
        run.comm.Allgather(views[id(matrix.rows)], views[id(matrix.everything)])
        matrix.take()

    def by_gather(matrix: Matrix) -> None:
        matrix.pack()
        for root in range(matrix.n):
            run.comm.Gather(views[id(matrix.packed)][root], views[id(matrix.parts)], root)
        matrix.unpack()

    def by_alltoall(matrix: Matrix) -> None:
        matrix.pack()
        run.comm.Alltoall(views[id(matrix.packed)], views[id(matrix.parts)])
        matrix.unpack()

    ways = {"fcollect": by_fcollect, "gather": by_gather, "gets": by_alltoall, "alltoall": by_alltoall}
    matrix, spectra, seconds = Matrix(fft2d.size, run, allocate), {}, {}
    for way in fft2d.turns:
        fft2d.load(matrix)
        with run.timed():
            seconds[way] = fft2d.transform(run, matrix, ways[way])
        mine = views[id(matrix.rows)][: Blocks(fft2d.size, run.n_pes).counts[run.pe], : fft2d.size, 0]
        columns = run.comm.gather(mine.copy())
        spectra[way] = np.concatenate(columns).T if columns else None
    return {"spectra": spectra, "seconds": seconds}
