"""Rank 1 of 3 is killed between two low-latency calls of DeepEP's interface; the others mask it and go on."""

import os
import signal

import dpnp
import numpy as np

import ishmem
from ishmem import deep_ep

TOKENS, HIDDEN, EXPERTS, VICTIM = 4, 32, 6, 1


def serve(buffer, me, lost):
    """Dispatch, double at the experts, and combine; tokens for lost experts count as 0."""
    x = dpnp.full((TOKENS, HIDDEN), me + 1, dtype="f4")
    chosen = np.array([[0, 3], [2, 5], [4, 1], [3, 2]])
    weights = dpnp.ones(chosen.shape, dtype="f4")
    received, _, handle, event, _ = buffer.low_latency_dispatch(
        x, dpnp.asarray(chosen), TOKENS, EXPERTS, use_fp8=False
    )
    event.current_stream_wait()
    combined, event, _ = buffer.low_latency_combine(received * 2, dpnp.asarray(chosen), weights, handle)
    event.current_stream_wait()
    ishmem.quiet()  # raises if a wait of these kernels has ended
    wanted = 2.0 * (me + 1) * (~np.isin(chosen // 2, lost)).sum(axis=1)
    np.testing.assert_array_equal(combined.asnumpy(), np.tile(wanted[:, None], (1, HIDDEN)))


with ishmem.init(on_loss="continue"):
    me = ishmem.my_pe()
    buffer = deep_ep.Buffer(ishmem.TEAM_WORLD, low_latency_mode=True)
    serve(buffer, me, [])
    ishmem.barrier_all()
    if me == VICTIM:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        while True:
            serve(buffer, me, [])
    except ishmem.PeerLost as error:
        assert error.pe == VICTIM, error
    try:
        buffer.low_latency_update_mask_buffer(0, True)
    except ishmem.IshmemError as error:
        assert "rank 0 is not lost; lost are [1]" in str(error)
    buffer.low_latency_clean_mask_buffer()  # nothing is masked
    buffer.low_latency_update_mask_buffer(VICTIM, True)
    status = np.full(3, 7, dtype="i4")
    buffer.low_latency_query_mask_buffer(status)
    assert status.tolist() == [0, 1, 0], status
    for _ in range(3):
        serve(buffer, me, [VICTIM])
    for wrong in (lambda: buffer.low_latency_update_mask_buffer(VICTIM), buffer.low_latency_clean_mask_buffer):
        try:
            wrong()
        except ishmem.IshmemError as error:
            assert "rank 1 is lost and stays masked" in str(error)
        else:
            raise AssertionError
    ishmem.free_all()
    print("fine", flush=True)
