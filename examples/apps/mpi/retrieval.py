"""Image retrieval with mpi4py: MPI_Fetch_and_op on the counter, MPI_Get and MPI_Put of pictures and correlograms."""

from __future__ import annotations

from typing import Any

import dpnp
import numpy as np
from mpi4py import MPI

from ishmem import dpex
from ishmem.dpex import kernel_api as kapi
from ishmem.examples.apps.correlogram import FEATURES, correlate, quantise
from ishmem.examples.apps.frame import Blocks, Run
from ishmem.examples.apps.retrieval import BEST, GROUPS, Retrieval, compare, merged, nearest, several


@dpex.kernel
def describe_local(item: kapi.NdItem, pixels, colours, counts, own, size):
    """Compute the features of the pictures in ``pixels`` into ``own``, a group for each."""
    group, item_id = item.get_group(), item.get_local_id(0)
    g = item.get_group().get_group_id(0)
    quantise(item_id, pixels[g], colours[g])
    correlate(group, item_id, colours[g], size, counts[g], own[g])


@dpex.kernel
def match_local(item: kapi.NdItem, features, wanted, distances):
    """Write the distances of this PE's pictures to the queries ``wanted``, a group for each."""
    q = item.get_group().get_group_id(0)
    compare(item.get_local_id(0), wanted[q], features, distances[q])


def describe(retrieval: Retrieval, run: Run, windows: Any, arrays: Any, views: Any, block: int) -> None:
    """Take pictures from the counter, as many at once as the kernel has groups, and put back their features."""
    counter, pictures, features = windows
    pixels, own = views
    number, many = np.zeros(1, "i8"), np.full(1, GROUPS, "i8")
    while True:
        with run.communication():
            counter.Fetch_and_op(many, number, 0)
            counter.Flush(0)
            first = int(number[0])
            taken = range(first, min(first + GROUPS, retrieval.pictures))
            for row, i in zip(pixels, taken):
                pictures.Get(row, i // block, i % block)
            pictures.Flush_all()
        if not taken:
            return
        dpex.call_kernel(describe_local, several(len(taken)), *arrays, retrieval.size)
        with run.communication():
            for row, i in zip(own, taken):
                features.Put(row, i // block, i % block)
            features.Flush_all()


def program(retrieval: Retrieval, run: Run) -> Any:
    """Run with mpi4py; return what ``Retrieval.run`` returns, on PE 0."""
    blocks, made = Blocks(retrieval.pictures, run.n_pes), retrieval.made(run)
    count, nbytes = blocks.counts[run.pe], made.shape[1]
    pictures, counter = np.zeros((blocks.size, nbytes), "u1"), np.zeros(1, "i8")
    pictures[:count] = made
    pixels = run.zeros((GROUPS, nbytes), "u1")
    features, own, wanted = (run.zeros((n, FEATURES), "f4") for n in (blocks.size, GROUPS, retrieval.queries))
    features_view, wanted_view = run.view(features), run.view(wanted)
    distances = dpnp.zeros((retrieval.queries, blocks.size))
    arrays = (pixels, *retrieval.scratch()[1:3], own)
    parts = (counter, 8), (pictures, nbytes), (features_view, features_view[0].nbytes)
    windows = [MPI.Win.Create(memory, unit, comm=run.comm) for memory, unit in parts]
    for window in windows:
        window.Lock_all()
    with run.timed():
        describe(retrieval, run, windows, arrays, (run.view(pixels), run.view(own)), blocks.size)
        with run.communication():
            run.barrier()
            for q in range(retrieval.queries):
                windows[2].Get(wanted_view[q], q // blocks.size, q % blocks.size)
            windows[2].Flush_all()
        dpex.call_kernel(match_local, several(retrieval.queries), features, wanted, distances)
        best = nearest(distances.asnumpy()[:, :count], blocks.part(run.pe).start)
        everything = np.empty((run.n_pes, retrieval.queries, BEST, 2))
        with run.communication():
            run.comm.Gather(best, everything, 0)
    for window in windows:
        window.Unlock_all()
        window.Free()
    return merged(everything)
