"""Dispatches and combines twice; marks begin and end of the first time."""

import sys

import dpnp

import ishmem

with ishmem.init():
    buffer = ishmem.moe.Buffer(4, 64, 2, 1)
    x, idx, weights = dpnp.ones((4, 64), dtype="f4"), dpnp.ones((4, 1), dtype="i8"), dpnp.ones((4, 1), dtype="f4")
    for mark in ("begin", "end"):
        print(mark, file=sys.stderr, flush=True)
        recv_x, _, handle, _, _ = buffer.low_latency_dispatch(x, idx)
        out, event, _ = buffer.low_latency_combine(recv_x, idx, weights, handle)
        event.wait()
    buffer.free()
