"""Serve on 4 PEs, of which one is killed; the others go on: dispatch, compute, combine, all-reduce, each checked.

Arguments: the PE that is killed, seconds from the first step on, the steps of the others after the loss, and whether
the tokens for experts that are lost are rerouted.
"""

import os
import signal
import sys
import threading
import time

import dpnp
import numpy as np

import ishmem

victim, delay, steps, reroutes = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "reroute"
TOKENS, HIDDEN, LOCAL, TOPK = 6, 32, 2, 2
n = 4
EXPERTS = n * LOCAL
SPARE = np.array([(expert + LOCAL) % EXPERTS for expert in range(EXPERTS)])


def chosen(pe, step):
    """Return the experts of the tokens of a PE in a step."""
    tokens = np.arange(TOKENS)[:, None]
    return (tokens * 3 + pe + step + np.arange(TOPK)[None, :] * 5) % EXPERTS


def factor(expert, is_lost):
    """Return by what the outputs for an expert's tokens are multiplied."""
    if is_lost and expert // LOCAL == victim:
        return factor(SPARE[expert], False) if reroutes else 0.0
    return float(expert + 1)


def all_reduce_over(team):
    """Return a function that returns the sums of an array over a team, in memory of the device."""
    if ishmem.TEAM_NODE.n_pes() < n:  # the kernels of a Communicator do not reach other nodes
        total, part = ishmem.zeros((TOKENS, HIDDEN), dtype="f4"), ishmem.zeros((TOKENS, HIDDEN), dtype="f4")

        def by_the_host(x):
            part[:] = x
            ishmem.sum_reduce(total, part, team)
            return total

        return by_the_host
    tp = ishmem.inference.Communicator(1 << 12, team)

    def by_kernels(x):
        total = dpnp.array(x)
        tp.all_reduce(total).wait()
        return total

    return by_kernels


def serve(step, experts, all_reduce, me, pes):
    """Run a step over these PEs, and check its results."""
    is_lost = len(pes) < n
    x = dpnp.asarray(np.tile(np.arange(TOKENS, dtype="f4")[:, None] + me + step, (1, HIDDEN)))
    topk = dpnp.asarray(chosen(me, step))
    weights = dpnp.full((TOKENS, TOPK), 0.5, dtype="f4")
    received, _, handle, event, _ = experts.low_latency_dispatch(x, topk)
    event.wait()
    scale = dpnp.asarray(np.array([me * LOCAL + 1, me * LOCAL + 2], dtype="f4")[:, None, None])
    combined, event, _ = experts.low_latency_combine(received * scale, topk, weights, handle)
    event.wait()
    total = all_reduce(combined)
    ishmem.quiet()  # raises if a wait of these kernels has ended
    wanted = {
        pe: (np.arange(TOKENS) + pe + step) * [0.5 * sum(factor(e, is_lost) for e in row) for row in chosen(pe, step)]
        for pe in pes
    }
    np.testing.assert_allclose(combined.asnumpy(), np.tile(wanted[me][:, None], (1, HIDDEN)), rtol=1e-5)
    np.testing.assert_allclose(total.asnumpy()[:, 0], sum(wanted.values()), rtol=1e-5)


def kill(me):
    if me == victim:
        threading.Timer(delay, os.kill, (os.getpid(), signal.SIGKILL)).start()


def until_lost(experts, all_reduce, me):
    """Serve until a PE is lost; return the number of the step, and when the loss was noticed."""
    step = 0
    while True:
        try:
            serve(step, experts, all_reduce, me, range(n))
        except ishmem.PeerLost as error:
            assert error.pe == victim, error
            return step, time.monotonic()
        if not step:
            kill(me)
        step += 1


def main():
    me, word = ishmem.my_pe(), ishmem.zeros(2, dtype="i8")
    experts = ishmem.moe.Buffer(TOKENS, HIDDEN, EXPERTS, TOPK)
    step, noticed = until_lost(experts, all_reduce_over(ishmem.TEAM_WORLD), me)
    left = ishmem.shrink(ishmem.TEAM_WORLD)
    pes = [left.translate_pe(member, ishmem.TEAM_WORLD) for member in range(left.n_pes())]
    assert pes == [pe for pe in range(n) if pe != victim]
    word[0] = step
    ishmem.min_reduce(word[1:], word[:1], left)  # another PE may be a step behind
    step = int(word[1])
    experts.mask(left, SPARE if reroutes else None)
    all_reduce = all_reduce_over(left)
    serve(step, experts, all_reduce, me, pes)
    print(f"went on after {time.monotonic() - noticed:.2f} s", flush=True)
    for later in range(1, steps):
        serve(step + later, experts, all_reduce, me, pes)
    ishmem.free_all()
    print("served", flush=True)


with ishmem.init(heap_size="64M"):
    main()
