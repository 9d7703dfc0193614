"""Makes each call of inference twice; marks begin and end of the second one."""

import sys

import dpnp

import ishmem

with ishmem.init():
    tp, experts = ishmem.inference.Communicator(1 << 16), ishmem.moe.Buffer(4, 8, 2, 1)
    x, tokens, chosen = dpnp.ones(1000, dtype="f4"), dpnp.ones((4, 8), dtype="f4"), dpnp.zeros((4, 1), dtype="i8")
    rest, factors = dpnp.ones_like(x), dpnp.ones((4, 1), dtype="f4")

    def dispatch():
        global received
        received = experts.low_latency_dispatch(tokens, chosen)
        return received[3]

    calls = (
        lambda: tp.all_reduce(x),
        lambda: tp.all_gather(x, rest),
        lambda: tp.reduce_scatter(x, rest),
        lambda: tp.all_reduce_add_rms_norm(x, rest, rest),
        dispatch,
        lambda: experts.low_latency_combine(received[0], chosen, factors, received[2])[1],
    )
    for turn in range(2):
        for call in calls:
            ishmem.barrier_all()
            print("<begin>" if turn else "<warm-up>", file=sys.stderr, flush=True)
            event = call()
            print("<end>", file=sys.stderr, flush=True)
            event.wait()
    tp.free()
    experts.free()
