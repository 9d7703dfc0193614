"""Calls the collectives of `ishmem.inference` and `ishmem.moe` and prints which of their kernels are compiled."""

import logging
import sys

import dpnp

import ishmem
from ishmem.inference import Communicator
from ishmem.moe import Buffer

logging.basicConfig(stream=sys.stdout, format="%(message)s")


def call(communicator: Communicator, buffer: Buffer, n: int) -> None:
    """Call each once, and compare."""
    x, out, rows = dpnp.ones(8 * n, dtype="f4"), dpnp.zeros(8 * n, dtype="f4"), dpnp.ones((n, 8), dtype="f4")
    communicator.all_reduce(x, out).wait()
    assert dpnp.asnumpy(out).tolist() == [n] * 8 * n
    communicator.reduce_scatter(x, out[:8]).wait()
    communicator.all_gather(x[:8], out).wait()
    assert dpnp.asnumpy(out).tolist() == [1] * 8 * n
    residual = dpnp.zeros((n, 8), dtype="f4")
    communicator.all_reduce_add_rms_norm(rows, residual, rows[0], 1e-6).wait()
    assert dpnp.asnumpy(residual).tolist() == [[n] * 8] * n
    choices, tokens = dpnp.zeros((2, 1), dtype="i8"), dpnp.ones((2, 8), dtype="f4")
    received, _counts, handle, event, _hook = buffer.low_latency_dispatch(tokens, choices)
    event.wait()
    summed, event, _hook = buffer.low_latency_combine(received, choices, dpnp.ones((2, 1), dtype="f4"), handle)
    event.wait()
    assert dpnp.asnumpy(summed).tolist() == [[1] * 8] * 2


with ishmem.init(), Communicator(1024) as communicator, Buffer(2, 8, ishmem.n_pes(), 1) as buffer:
    logging.getLogger("ishmem").setLevel("DEBUG")
    call(communicator, buffer, ishmem.n_pes())
