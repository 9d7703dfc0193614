"""``ishmem.moe``: tokens at their experts, and the weighted sums of the outputs, against numpy."""

from __future__ import annotations

import time

import numpy as np
import pytest
from common import CHECKING, dpnp, refused, ring
from halves import as_bits, as_numbers, named

import ishmem
from ishmem.moe import Buffer

MOST, HIDDEN, TOPK = 6, 35, 3
WHOLE_UNITS = 40  # elements of a row that is some units of 16 bytes, of each dtype
PER_PE = 2

ROUTES = {
    "random": lambda rng, pe, n: np.stack([rng.permutation(PER_PE * n + 1)[:TOPK] - 1 for _ in range(MOST)]),
    "one expert": lambda rng, pe, n: np.tile([PER_PE * n - 1, -1, -1], (MOST, 1)),
    "some PEs without tokens": lambda rng, pe, n: rng.integers(0, PER_PE * n, (MOST * (pe % 2), TOPK)),
    "fewer tokens and choices": lambda rng, pe, n: rng.integers(0, PER_PE * n, (MOST - 1, TOPK - 1)),
    "no expert": lambda rng, pe, n: np.full((2, TOPK), -1),
    "an expert twice": lambda rng, pe, n: np.repeat(rng.integers(0, PER_PE * n, (MOST, 1)), TOPK, axis=1),
}


def inputs(route, pe, n, dtype, seed=0, hidden=HIDDEN):
    """Return tokens, choices and weights of a PE; weights are powers of 2, so that products are exact."""
    rng = np.random.default_rng([pe, n, seed])
    topk_idx = ROUTES[route](rng, pe, n).astype(np.int64)
    x = as_bits(rng.standard_normal((len(topk_idx), hidden)) * 10.0 ** rng.integers(-2, 3), dtype)
    return x, topk_idx, (2.0 ** rng.integers(-3, 2, topk_idx.shape)).astype(np.float32)


def received(expert, n, given):
    """Return the tokens that an expert gets: those of PE 0 first."""
    rows = [x[(topk_idx == expert).any(axis=1)] for x, topk_idx, _ in given]
    return np.concatenate(rows), [len(each) for each in rows]


def of_expert(numbers, expert):
    """Return the output of an expert for tokens: a power of 2 is exact."""
    return numbers * np.float32(2.0 ** (expert % 4 - 1))


def combined(x, topk_idx, weights, dtype):
    """Return the sum of the outputs for each token, in the order of its choices, rounded once."""
    total = np.zeros(x.shape, np.float32)
    for choice in range(topk_idx.shape[1]):
        for token, expert in enumerate(topk_idx[:, choice]):
            if expert >= 0:
                output = as_numbers(as_bits(of_expert(as_numbers(x[token], dtype), expert), dtype), dtype)
                total[token] += weights[token, choice] * output
    return as_bits(total, dtype)


def outputs_of(recv_x, counts, first, dtype):
    """Return what the experts of this PE make of their tokens; the rest of the rows is no number."""
    y = as_bits(np.full(recv_x.shape, np.nan), dtype)
    for local, count in enumerate(counts):
        y[local, :count] = as_bits(of_expert(as_numbers(recv_x[local, :count], dtype), first + local), dtype)
    return y


def check_layer(buffer, route, dtype, seed=0, hooks=False):
    """Dispatch, apply the experts, and combine; compare each step."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    given = [inputs(route, pe, n, dtype, seed, buffer.hidden) for pe in range(n)]
    x, topk_idx, weights = given[me]
    idx = dpnp.asarray(topk_idx)
    recv_x, counts, handle, event, hook = buffer.low_latency_dispatch(dpnp.asarray(x), idx, return_recv_hook=hooks)
    event = hook() if hooks else event
    event.wait()
    found, lengths, layout = recv_x.asnumpy(), counts.asnumpy(), handle.layout.asnumpy()
    assert found.shape == (PER_PE, n * MOST, buffer.hidden)
    for local in range(PER_PE):
        wanted, by_pe = received(me * PER_PE + local, n, given)
        assert lengths[local] == len(wanted) and layout[local, :, 1].tolist() == by_pe
        assert layout[local, :, 0].tolist() == (np.cumsum(by_pe) - by_pe).tolist()
        np.testing.assert_array_equal(found[local, : len(wanted)], wanted)
    y = dpnp.asarray(outputs_of(found, lengths, me * PER_PE, dtype))
    out, event, hook = buffer.low_latency_combine(
        y, idx, dpnp.asarray(weights), handle, return_recv_hook=hooks, **named(dtype)
    )
    event = hook() if hooks else event
    event.wait()
    np.testing.assert_array_equal(out.asnumpy(), combined(x, topk_idx, weights, dtype))


def check_layers(dtype, routes=tuple(ROUTES), hooks=False):
    for hidden in (HIDDEN, WHOLE_UNITS):
        with Buffer(MOST, hidden, PER_PE * ishmem.n_pes(), TOPK, dtype=dtype) as buffer:
            for seed, route in enumerate(routes):
                check_layer(buffer, route, dtype, seed, hooks)


@pytest.mark.slow_cases("the same on other numbers of PEs", "3pes-float32", "4pes-float32")
@pytest.mark.slow_cases("bfloat16", "2pes-float16")
@pytest.mark.one_type("float32")
@pytest.mark.ishmem([1, 2, 3, 4])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_dispatch_and_combine_of_each_route(dtype) -> None:
    check_layers(dtype)


@pytest.mark.slow_cases("the same on other numbers of PEs", "3pes")
@pytest.mark.ishmem([2, 3])
def test_hooks_receive() -> None:
    check_layers("float32", ("random", "some PEs without tokens", "random"), True)


@pytest.mark.ishmem([2, 3])
def test_calls_of_late_pes_follow_each_other() -> None:
    """Up to 5 dispatches, then as many combines, without a wait of the host, by PEs that fall behind at random."""
    seed, layers = 7, 30
    me, n = ishmem.my_pe(), ishmem.n_pes()
    late, names = np.random.default_rng([seed, me]), list(ROUTES)
    with Buffer(MOST, HIDDEN, PER_PE * n, TOPK) as buffer:
        given = [inputs(names[turn % len(names)], me, n, "float32", turn) for turn in range(layers)]
        on_device = [tuple(map(dpnp.asarray, each)) for each in given]
        outs = []
        for first in range(0, layers, 5):
            now = on_device[first : first + 5]
            dispatched = []
            for x, topk_idx, _ in now:
                if late.random() < 0.2:
                    time.sleep(late.random() / 50)
                dispatched.append(buffer.low_latency_dispatch(x, topk_idx))
            for (_, topk_idx, weights), (recv_x, _, handle, _, _) in zip(now, dispatched):
                if late.random() < 0.2:
                    time.sleep(late.random() / 50)
                outs.append(buffer.low_latency_combine(recv_x, topk_idx, weights, handle))
        outs[-1][1].wait()
        for (x, topk_idx, weights), (out, _, _) in zip(given, outs):
            np.testing.assert_array_equal(out.asnumpy(), same_from_all(x, topk_idx, weights))


def same_from_all(x, topk_idx, weights):
    """Return the sum of a token for each of its choices, with the weights."""
    total = np.zeros_like(x)
    for chosen, weight in zip(topk_idx.T, weights.T):
        total += np.where(chosen >= 0, weight, 0)[:, None] * x
    return total


@pytest.mark.ishmem(2)
def test_results_use_memory_that_was_dropped() -> None:
    """Results use the memory of those that the program has dropped, views included, and no other's."""
    n = ishmem.n_pes()
    topk_idx = dpnp.zeros((2, 1), dtype="i8")
    with Buffer(2, 8, n, 1) as buffer:

        def dispatched(number):
            recv_x, _, _, event, _ = buffer.low_latency_dispatch(dpnp.full((2, 8), number, dtype="f4"), topk_idx)
            event.wait()
            recv_x.sycl_queue.wait()  # what a launch holds until its kernel has ended is let go by a host task
            return recv_x

        first = dispatched(1)
        kept, place = first[0, 1:], first.get_array().usm_data._pointer
        del first
        assert dispatched(2).get_array().usm_data._pointer != place
        if ishmem.my_pe() == 0:
            assert (kept.asnumpy()[0] == 1).all()
        del kept
        assert place in [each.get_array().usm_data._pointer for each in (dispatched(3), dispatched(4))]


@pytest.mark.ishmem(2)
def test_tokens_of_float8() -> None:
    """Tokens of one byte per element, with scales, are moved as bits; choices are int32."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    rng = [np.random.default_rng([pe, n]) for pe in range(n)]
    given = [
        (r.integers(0, 256, (4, HIDDEN), "u1"), r.random((4, 2), "f4"), r.integers(0, n, (4, 1), "i4")) for r in rng
    ]
    with Buffer(4, HIDDEN, n, 1, dtype="bfloat16") as buffer:
        x, scales, topk_idx = map(dpnp.asarray, given[me])
        (recv_x, recv_scales), counts, _, event, _ = buffer.low_latency_dispatch((x, scales), topk_idx)
        event.wait()
        count = int(counts[0])
        for found, place in ((recv_x, 0), (recv_scales, 1)):
            wanted = np.concatenate([each[place][each[2][:, 0] == me] for each in given])
            np.testing.assert_array_equal(found.asnumpy()[0, :count], wanted, strict=True)


@pytest.mark.ishmem(4)
def test_calls_of_teams() -> None:
    row, team = ishmem.TEAM_WORLD.split_2d(2)
    me, n = team.my_pe(), team.n_pes()
    with Buffer(2, 8, n, 1, team) as buffer:
        x, idx = dpnp.full((2, 8), ishmem.my_pe(), dtype="f4"), dpnp.full((2, 1), (me + 1) % n)
        recv_x, _, _, event, _ = buffer.low_latency_dispatch(x, idx)
        event.wait()
        assert (recv_x[0, :2].asnumpy() == team.translate_pe((me - 1) % n, ishmem.TEAM_WORLD)).all()
    row.destroy()
    team.destroy()


def of_pe(topk_idx, pe):
    """Return the choices among the experts of a PE, numbered from 0, or -1."""
    local = topk_idx - pe * PER_PE
    return np.where((local >= 0) & (local < PER_PE), local, -1)


def many_inputs(route, pe, n, dtype, seed):
    """Return the inputs of up to 3 rounds and a part of one more, of another number for each PE."""
    parts = [inputs(route, pe, n, dtype, seed + 10 * turn) for turn in range(1 + (2 * pe + seed) % 4)]
    whole = [np.concatenate(each) for each in zip(*parts)]
    return tuple(each[: len(each) - 2] for each in whole) if pe % 2 else tuple(whole)


def check_normal(dtype, routes=tuple(ROUTES), inputs=inputs):
    me, n = ishmem.my_pe(), ishmem.n_pes()
    with Buffer(MOST, HIDDEN, PER_PE * n, TOPK, dtype=dtype) as buffer:
        for seed, route in enumerate(routes):
            given = [inputs(route, pe, n, dtype, seed) for pe in range(n)]
            check_layout(buffer, given[me][1])
            rows = [(of_pe(idx, me) >= 0).any(axis=1) for _, idx, _ in given]
            x, topk_idx, weights = map(dpnp.asarray, given[me])
            recv_x, recv_idx, recv_weights, lengths, handle = buffer.dispatch(x, topk_idx, weights)
            np.testing.assert_array_equal(recv_x.asnumpy(), np.concatenate([e[0][r] for e, r in zip(given, rows)]))
            wanted = np.concatenate([of_pe(e[1][r], me) for e, r in zip(given, rows)])
            np.testing.assert_array_equal(recv_idx.asnumpy(), wanted, strict=True)
            np.testing.assert_array_equal(
                recv_weights.asnumpy(), np.concatenate([e[2][r] for e, r in zip(given, rows)])
            )
            assert lengths == [(wanted == local).any(axis=1).sum() for local in range(PER_PE)]
            y = as_bits(of_expert(as_numbers(recv_x.asnumpy(), dtype), me), dtype)
            out, event = buffer.combine(dpnp.asarray(y), handle, **named(dtype))
            event.wait()
            np.testing.assert_array_equal(out.asnumpy(), sum_of_pes(*given[me][:2], dtype))


def check_layout(buffer, topk_idx):
    n = ishmem.n_pes()
    per_pe, per_expert, in_pe = (each.asnumpy() for each in buffer.get_dispatch_layout(dpnp.asarray(topk_idx)))
    wanted = np.stack([(of_pe(topk_idx, pe) >= 0).any(axis=1) for pe in range(n)], axis=1)
    np.testing.assert_array_equal(in_pe, wanted, strict=True)
    assert per_pe.tolist() == wanted.sum(axis=0).tolist()
    assert per_expert.tolist() == [(topk_idx == e).any(axis=1).sum() for e in range(PER_PE * n)]


def sum_of_pes(x, topk_idx, dtype):
    """Return the sums of the rows that come back from the PEs of each token, in the order of its choices."""
    total = np.zeros((len(x), HIDDEN), np.float32)
    for token, experts in enumerate(topk_idx):
        for pe in dict.fromkeys(experts[experts >= 0] // PER_PE):
            row = as_bits(of_expert(as_numbers(x[token], dtype), pe), dtype)
            total[token] += as_numbers(row, dtype)
    return as_bits(total, dtype)


@pytest.mark.slow_cases("the same on other numbers of PEs", "3pes-float32")
@pytest.mark.slow_cases("bfloat16", "2pes-float16")
@pytest.mark.one_type("float32")
@pytest.mark.ishmem
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_normal_calls_of_each_route(dtype) -> None:
    check_normal(dtype, tuple(ROUTES) if dtype == "float32" else ("random", "an expert twice"))


@pytest.mark.slow_cases("the same on other numbers of PEs", "2pes", "3pes")
@pytest.mark.ishmem([1, 2, 3])
def test_normal_in_rounds() -> None:
    check_normal("float32", inputs=many_inputs)
    check_normal("bfloat16", routes=("random",), inputs=many_inputs)


@pytest.mark.ishmem([1, 2, 3])
@pytest.mark.parametrize("tokens", [2, 5])
def test_normal_calls_of_float8(tokens) -> None:
    """Tokens of one byte per element, with scales, in one round and in several."""
    me, n, right, before = ring()
    with Buffer(2, 8, n, 1) as buffer:
        x, scales = dpnp.full((tokens, 8), me + 1, dtype="u1"), dpnp.full((tokens, 3), me / 2, dtype="f4")
        topk_idx, weights = dpnp.full((tokens, 1), right), dpnp.full((tokens, 1), me, dtype="f4")
        (recv_x, recv_scales), chosen, recv_weights, lengths, handle = buffer.dispatch((x, scales), topk_idx, weights)
        assert recv_x.shape == (tokens, 8) and (recv_x.asnumpy() == before + 1).all() and lengths == [tokens]
        assert recv_scales.shape == (tokens, 3) and (recv_scales.asnumpy() == before / 2).all()
        assert (recv_weights.asnumpy() == before).all() and not chosen.asnumpy().any()
        assert handle.layout.asnumpy()[0, before].tolist() == [0, tokens]
        assert handle.origins.asnumpy()[0, :tokens].tolist() == list(range(tokens))


@pytest.mark.ishmem(2, exact=True)
def test_wrong_arguments_are_refused() -> None:
    for given, kind, words in (
        ((0, 8, 2, 1), ValueError, "max_tokens is 0; allowed are positive numbers"),
        ((2, 8, 3, 1), ValueError, "num_experts is 3; allowed are multiples of 2, the PEs"),
        ((2, 8.0, 2, 1), TypeError, "hidden is an integer, got float"),
    ):
        refused(kind, words, Buffer, *given)
    me = ishmem.my_pe()
    kind = ishmem.SymmetryError if me else ValueError
    refused(kind, "num_experts is 3; allowed are multiples", Buffer, 2, 8, 2 if me else 3, 1)
    refused(ValueError, "", Buffer, 2, 8, 2, 1, ishmem.TEAM_INVALID)
    refused(TypeError, "dtype is 'int8'; allowed are float32, float16, bfloat16", Buffer, 2, 8, 2, 1, dtype="int8")
    buffer = Buffer(2, 8, 2, 1, dtype="float16")
    x, idx, weights = dpnp.zeros((2, 8), dtype="f2"), dpnp.zeros((2, 1), dtype="i8"), dpnp.zeros((2, 1), dtype="f4")
    dispatch, combine = buffer.low_latency_dispatch, buffer.low_latency_combine
    for given, kind, words in (
        ((dpnp.zeros((3, 8), dtype="f2"), idx), ValueError, r"x has shape \(3, 8\); allowed are \[tokens, 8\] with at"),
        ((dpnp.zeros((2, 8), dtype="f8"), idx), ValueError, "a row of x has 64 bytes and 0 beside it"),
        ((np.zeros((2, 8)), idx), TypeError, "x is in host memory; it must be a dpnp array"),
        ((x, idx[:1]), ValueError, r"topk_idx has shape \(1, 1\); allowed are \[2, choices\] with 1 to 1 choices"),
        ((x, dpnp.zeros((2, 2), dtype="i8")), ValueError, "topk_idx has shape"),
        ((x, weights), TypeError, r"topk_idx.*float32; allowed are int32, int64"),
        ((x.T, idx), ValueError, "x is not C-contiguous"),
        (((x, dpnp.zeros(2)), idx), ValueError, r"the scales of x has shape \(2,\); it needs \(2, 2\)"),
        (((x, weights[:1]), idx), ValueError, r"the scales of x has shape \(1, 1\); it needs \(2, 1\)"),
    ):
        refused(kind, words, dispatch, *given)
    with pytest.raises(ValueError, match="a row of x has 16 bytes and 20 beside it; this buffer takes 32 in all"):
        buffer.dispatch((x, dpnp.zeros((2, 2), dtype="f4")), idx, weights)
    recv_x, _, handle, _, hook = dispatch(x, idx, return_recv_hook=True)
    refused(ishmem.StateError, "the hook of the last dispatch was not called", dispatch, x, idx)
    hook()
    refused(ishmem.StateError, "this hook of a dispatch was called before", hook)
    refused(ValueError, r"y has shape \(2, 8\); it needs \(1, 4, 8\)", combine, x, idx, weights, handle)
    with pytest.raises(TypeError, match=r"y.*int16; allowed are float32, float16"):
        combine(dpnp.zeros((1, 4, 8), dtype="i2"), idx, weights, handle)
    with pytest.raises(TypeError, match="out has dtype float32 and y has dtype float16"):
        combine(recv_x, idx, weights, handle, dpnp.zeros((2, 8), dtype="f4"))
    combine(recv_x, idx, weights, handle)[1].wait()
    buffer.free()
    for call in (lambda: dispatch(x, idx), buffer.free, hook):
        refused(ishmem.StateError, "the buffer was freed", call)


def check_experts():
    with Buffer(2, 8, 4, 1) as buffer:
        x, idx = dpnp.zeros((2, 8), dtype="f4"), dpnp.asarray([[3], [4]])
        with pytest.raises(ValueError, match=r"topk_idx\[1, 0\] is 4; experts are numbered 0 to 3, and -1 is none"):
            buffer.low_latency_dispatch(x, idx)


def check_rows():
    """Tokens of other dtypes on another PE are an error on both, and the next call is right."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    idx = dpnp.full((2, 1), 1 - me)
    with Buffer(2, 8, n, 1) as buffer:
        buffer.low_latency_dispatch(dpnp.zeros((2, 8), dtype="f4" if me else "f2"), idx)[3].wait()
        sizes = [f"{32 if pe else 16} bytes and 0 of scales" for pe in (me, 1 - me)]
        words = f"Buffer.dispatch in a kernel on PE {me}: a token has {sizes[0]} here, and {sizes[1]} on PE {1 - me}; "
        refused(ishmem.SymmetryError, words, ishmem.quiet)
        recv_x, _, _, event, _ = buffer.low_latency_dispatch(dpnp.full((2, 8), me, dtype="f4"), idx)
        event.wait()
        assert (recv_x.asnumpy()[0, :2] == 1 - me).all()


@pytest.mark.slow("test_values.py, test_runtime_checks.py")
@CHECKING
def test_checks_find_nothing_wrong() -> None:
    check_experts()
    check_rows()
    check_layers("float32", ("random",))
    check_normal("float32", ("random",))


@pytest.mark.ishmem(2)
def test_experts_out_of_range_get_nothing() -> None:
    """They are taken for -1."""
    n = ishmem.n_pes()
    with Buffer(2, 8, 2 * n, 2) as buffer:
        x, idx = dpnp.ones((2, 8), dtype="f4"), dpnp.asarray([[1 << 40, -7], [2 * n, 2 * n - 1]])
        recv_x, counts, handle, _, _ = buffer.low_latency_dispatch(x, idx)
        out, event, _ = buffer.low_latency_combine(recv_x, idx, dpnp.ones((2, 2), dtype="f4"), handle)
        event.wait()
        assert counts.asnumpy().tolist() == [0, n * (ishmem.my_pe() == n - 1)]
        assert out.asnumpy()[:, 0].tolist() == [0, 1]


@pytest.mark.slow("test_dispatch_and_combine_of_each_route, and test_chapters_on_nodes.py::test_chapter, on two nodes")
def test_calls_between_nodes(pool_with):
    pool = pool_with(4, nodes=[2, 2])
    pool.run(check_layers, "float32", ("random", "one expert"))
    pool.run(check_normal, "float32", ("random",))


@pytest.mark.slow("the same with other settings")
@pytest.mark.parametrize("settings", [{"ISHMEM_SIM_ORDER": "late:3"}, {"ISHMEM_SIM_PEERS": "none"}], ids=str)
def test_calls_without_access_to_peers(pool_with, settings):
    pool_with(2, settings).run(check_layers, "float32", ("random", "random", "one expert"))
