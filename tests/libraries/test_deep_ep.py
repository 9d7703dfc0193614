"""``ishmem.deep_ep``: the interface of DeepEP, and the shapes and distributions of its own tests, against numpy."""

from __future__ import annotations

import inspect
import subprocess
import sys
import threading
from pathlib import Path

import dpctl
import numpy as np
import pytest
from common import dpnp, refused
from subprocesses import program
from test_inference import as_bits, as_numbers
from test_process_group import torchrun

import ishmem
from ishmem import deep_ep
from ishmem.deep_ep.elastic import domain_size
from ishmem.deep_ep.float8 import to_float8
from ishmem.runtime import foreign, unfinished_work

MOST, HIDDEN, TOPK, PER_PE = 8, 64, 3, 4

LINES = (Path(__file__).parents[1] / "deep_ep_interface.txt").read_text().splitlines()[1:]
INTERFACE = {name: given for name, *given in map(str.split, LINES)}


@pytest.mark.parametrize("name", INTERFACE)
def test_parameters_are_those_of_deep_ep(name: str) -> None:
    """Names, order and defaults of parameters are those of DeepEP."""
    found = deep_ep
    for part in name.split("."):
        found = getattr(found, part)
    parameters = inspect.signature(found).parameters.values()
    empty = inspect.Parameter.empty
    given = [each.name if each.default is empty else f"{each.name}={each.default}" for each in parameters]
    assert given == INTERFACE[name]


def inputs(pe, n, masked=0.0, unbalanced=0.0, most=MOST, hidden=HIDDEN, topk=TOPK, per_pe=PER_PE):
    """Return tokens as numbers, experts and weights of a PE: it has ``most - pe`` tokens, as in DeepEP's tests."""
    rng = np.random.default_rng([pe, n, most])
    scores = rng.random((max(most - pe, 1), per_pe * n))
    scores[:, :per_pe] += unbalanced
    topk_idx = np.argsort(-scores, axis=1)[:, :topk].astype(np.int64)
    weights = rng.random(topk_idx.shape, "f4")
    topk_idx[rng.random(topk_idx.shape) < masked] = -1
    weights[topk_idx < 0] = 0
    return rng.standard_normal((len(scores), hidden)).astype("f4"), topk_idx, weights


def of_pe(topk_idx, pe, per_pe=PER_PE):
    local = topk_idx - pe * per_pe
    return np.where((local >= 0) & (local < per_pe), local, -1)


def combined(x, topk_idx, biases, dtype, last=True, per_pe=PER_PE):
    """Return the sums if each expert doubles its tokens: those of a PE rounded, and of all PEs after the biases."""
    total = np.zeros(x.shape, np.float32)
    for bias in biases:
        total += as_numbers(bias, dtype)
    for token, experts in enumerate(topk_idx):
        pes = experts[experts >= 0] // per_pe
        order = reversed(dict.fromkeys(pes[::-1])) if last else sorted(set(pes))
        for pe in order:
            part = sum((2 * as_numbers(x[token], dtype) for _ in pes[pes == pe]), np.float32(0))
            total[token] += as_numbers(as_bits(part, dtype), dtype)
    return as_bits(total, dtype)


def host(*arrays):
    return [each if each is None else each.asnumpy() for each in arrays]


def check_handle(handle, given, alignment, sync):
    """Check the numbers in a handle, and return the rows and the choices that the PE gets."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    local = [of_pe(each[1], me, handle.num_experts // n) for each in given]
    rows = [(each >= 0).any(axis=1) for each in local]
    mine = np.concatenate([each[row] for each, row in zip(local, rows)])
    counts = [(mine == expert).sum() for expert in range(handle.num_experts // n)]
    padded = [-(-count // alignment) * alignment for count in counts]
    starts = np.cumsum(padded) - padded
    assert handle.num_recv_tokens_per_expert_list == (padded if sync else [])
    ranks, ends, unaligned, meta = host(
        handle.psum_num_recv_tokens_per_scaleup_rank, handle.psum_num_recv_tokens_per_expert,
        handle.num_unaligned_recv_tokens_per_expert, handle.recv_src_metadata,
    )  # fmt: skip
    assert ranks.tolist() == np.cumsum([row.sum() for row in rows]).tolist() and unaligned.tolist() == counts
    assert ends.tolist() == (starts + (counts if handle.do_expand else padded)).tolist()
    sources = [pe * handle.num_max_tokens_per_rank + np.flatnonzero(row) for pe, row in enumerate(rows)]
    assert meta[: len(mine), 0].tolist() == np.concatenate(sources).tolist()
    if sync:
        assert (handle.num_recv_tokens, handle.num_expanded_tokens) == (len(mine), sum(padded))
    return rows, mine, meta[: len(mine), 2:]


def check_elastic(buffer, dtype, alignment=1, biases=0, sync=True, expand=False, **how):
    """Dispatch, combine, and dispatch again with the handle; compare everything with numpy."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    given = [inputs(pe, n, **how) for pe in range(n)]
    per_pe = how.get("per_pe", PER_PE)
    numbers, topk_idx, weights = given[me]
    x, idx, shares = as_bits(numbers, dtype), dpnp.asarray(topk_idx), dpnp.asarray(weights)
    stats = dpnp.ones(per_pe, dtype="i4")
    recv_x, recv_idx, recv_weights, handle, event = buffer.dispatch(
        dpnp.asarray(x), idx, shares, stats, num_experts=per_pe * n, do_expand=expand, expert_alignment=alignment,
        do_cpu_sync=sync, do_zero_padding=expand, num_max_tokens_per_rank=how.get("most", MOST),
    )  # fmt: skip
    idx[...] = -7  # the handle has a copy
    event.current_stream_wait()
    rows, mine, places = check_handle(handle, given, alignment, sync)
    wanted_x = np.concatenate([as_bits(each[0], dtype)[row] for each, row in zip(given, rows)])
    wanted_weights = np.concatenate([each[2][row] for each, row in zip(given, rows)])
    assert (stats.asnumpy() - 1).tolist() == [(mine == expert).sum() for expert in range(per_pe)]
    if expand:
        assert recv_idx is None and (places >= 0).tolist() == (mine >= 0).tolist()
        full = np.zeros((len(recv_x), x.shape[1]), x.dtype)
        full[places[mine >= 0]] = np.repeat(wanted_x, (mine >= 0).sum(axis=1), axis=0)
        np.testing.assert_array_equal(recv_x.asnumpy(), full)
        np.testing.assert_array_equal(recv_weights.asnumpy()[places[mine >= 0]], wanted_weights[mine >= 0])
        y = as_bits(2 * as_numbers(full, dtype), dtype)
    else:
        assert len(recv_x) == (len(mine) if sync else n * how.get("most", MOST))
        for found, wanted in ((recv_x, wanted_x), (recv_idx, mine), (recv_weights, wanted_weights)):
            np.testing.assert_array_equal(found.asnumpy()[: len(mine)], wanted)
        assert (recv_idx.asnumpy()[len(mine) :] == -1).all()
        y = np.zeros(recv_x.shape, x.dtype)
        y[: len(mine)] = as_bits(2 * as_numbers(wanted_x, dtype) * (mine >= 0).sum(axis=1)[:, None], dtype)
    bias = [as_bits(numbers[::-1] * 3 + number, dtype) for number in range(biases)]
    out, out_weights, event = buffer.combine(
        dpnp.asarray(y), handle, recv_weights, tuple(map(dpnp.asarray, bias)) if biases else None,
        previous_event=buffer.capture(),
    )  # fmt: skip
    event.current_stream_wait()
    np.testing.assert_array_equal(out.asnumpy(), combined(x, topk_idx, bias, dtype, per_pe=per_pe))
    np.testing.assert_array_equal(out_weights.asnumpy(), weights)
    again_x, _, none, same, _ = buffer.dispatch(dpnp.asarray(x), handle=handle, do_expand=expand)
    assert none is None and same is handle and again_x.shape == recv_x.shape
    found, wanted = again_x.asnumpy(), recv_x.asnumpy()
    used = places[mine >= 0] if expand else slice(len(mine))
    np.testing.assert_array_equal(found[used], wanted[used])


MODES = (
    {"dtype": "bfloat16", "alignment": 16, "biases": 2},
    {"dtype": "bfloat16", "alignment": 16, "biases": 1, "expand": True, "masked": 0.4},
    {"dtype": "float32", "sync": False, "unbalanced": 0.5},
    {"dtype": "float16", "alignment": 4, "sync": False, "expand": True, "biases": 2, "unbalanced": 0.5},
    {"dtype": "bfloat16", "masked": 1.0},
    {"dtype": "bfloat16", "masked": 1.0, "expand": True},
)


def check_modes(modes=MODES):
    buffer = deep_ep.ElasticBuffer(ishmem.TEAM_WORLD, num_max_tokens_per_rank=MOST, hidden=HIDDEN, num_topk=TOPK)
    for mode in modes:
        check_elastic(buffer, **mode)
    buffer.destroy()


@pytest.mark.slow_cases("the same on other numbers of PEs", "1pes", "3pes", "4pes")
@pytest.mark.ishmem([1, 2, 3, 4])
def test_tokens_of_elastic_buffers() -> None:
    check_modes()


@pytest.mark.slow_cases("test_tokens_of_elastic_buffers, with smaller sizes", "2pes")
@pytest.mark.ishmem(2)
def test_tokens_of_the_sizes_of_deep_ep() -> None:
    """The hidden size, experts and choices of DeepEP's tests."""
    n = ishmem.n_pes()
    buffer = deep_ep.ElasticBuffer(ishmem.TEAM_WORLD)
    shape = {"most": 32, "hidden": 7168, "topk": 6, "per_pe": 256 // n}
    for expand in (False, True):
        check_elastic(buffer, "bfloat16", 128, 1, expand=expand, **shape)
    buffer.destroy()


@pytest.mark.ishmem([2])
def test_a_barrier_waits_for_the_work_on_the_stream_of_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    flag, buffer = ishmem.zeros(1, dtype="u8"), deep_ep.ElasticBuffer(ishmem.TEAM_WORLD)
    monkeypatch.setattr(foreign, "queue", lambda: flag.sycl_queue)  # as with an XPU
    event = ishmem.signal_wait_until_on_queue(flag, ishmem.CMP_EQ, 1, dpnp.zeros(1, dtype="u8"), flag.sycl_queue)
    later = threading.Timer(0.2, ishmem.atomic_set, (flag, 1, ishmem.my_pe()))
    later.start()
    buffer.barrier()
    assert event.execution_status == dpctl.event_status_type.complete
    later.join()
    buffer.destroy()


@pytest.mark.slow_cases("the same on other numbers of PEs", "3pes")
@pytest.mark.ishmem([2, 3])
def test_without_a_wait_of_the_host() -> None:
    """PE 0 dispatches with a handle and combines before the others do, and is the adjoint of both."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    flag, buffer = ishmem.zeros(1, dtype="i8"), deep_ep.ElasticBuffer(ishmem.TEAM_WORLD)
    x, idx, _ = inputs(me, n)
    x = np.round(x * 4)
    first, *_, handle, _ = buffer.dispatch(dpnp.asarray(x), dpnp.asarray(idx), None, None, PER_PE * n, MOST)
    g = dpnp.asarray(np.round(np.random.default_rng(me).standard_normal(first.shape) * 4).astype("f4"))
    x = dpnp.asarray(x)
    ishmem.barrier_all()
    if me:
        ishmem.wait_until(flag, ishmem.CMP_EQ, 1)
    y, *_ = buffer.dispatch(x, handle=handle)
    back, _, event = buffer.combine(g, handle)
    if me == 0:
        with unfinished_work.following():
            for pe in range(1, n):
                ishmem.atomic_set(flag, 1, pe)
    event.current_stream_wait()
    sums = ishmem.zeros(2, dtype="f8")
    sums[0], sums[1] = float((y * g).sum()), float((back * x).sum())
    ishmem.sum_reduce(sums, sums)
    assert float(sums[0]) == float(sums[1]) != 0
    buffer.destroy()


@pytest.mark.slow_cases("the same on other numbers of PEs", "1pes-", "3pes-")
@pytest.mark.ishmem([1, 2, 3])
@pytest.mark.parametrize("worst", [False, True])
def test_tokens_of_buffers_of_v1(worst) -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    given = [inputs(pe, n, 0.2) for pe in range(n)]
    numbers, topk_idx, weights = given[me]
    x, biases = as_bits(numbers, "bfloat16"), [as_bits(numbers[::-1], "bfloat16")]
    tokens, idx, shares, bias = map(dpnp.asarray, (x, topk_idx, weights, biases[0]))
    buffer = deep_ep.Buffer(ishmem.TEAM_WORLD, 1 << 20)
    per_rank, none, per_expert, in_rank, _ = buffer.get_dispatch_layout(idx, PER_PE * n)
    rows = [(of_pe(each[1], me) >= 0).any(axis=1) for each in given]
    mine = np.concatenate([of_pe(each[1], me)[row] for each, row in zip(given, rows)])
    named = {"num_worst_tokens": n * MOST} if worst else {"expert_alignment": 4}
    recv_x, recv_idx, recv_weights, lengths, handle, event = buffer.dispatch(
        (tokens, shares), None, per_rank, none, in_rank, per_expert, idx, shares, **named
    )
    with event:
        pass
    assert handle[0].asnumpy()[:, me].tolist() == np.cumsum([row.sum() for row in rows]).tolist()
    padded = [-(-(mine == expert).sum() // 4) * 4 for expert in range(PER_PE)]
    assert lengths == ([] if worst else padded) and len(recv_idx) == (n * MOST if worst else len(mine))
    raw = np.concatenate([each[2][row] for each, row in zip(given, rows)])
    bits = np.concatenate([as_bits(each[0], "bfloat16")[row] for each, row in zip(given, rows)])
    wanted = (bits, raw, mine, np.where(mine >= 0, raw, 0))
    for found, right in zip((*recv_x, recv_idx, recv_weights), wanted):
        np.testing.assert_array_equal(found.asnumpy()[: len(mine)], right)
    y = np.zeros(recv_x[0].shape, np.int16)
    y[: len(mine)] = as_bits(2 * as_numbers(bits, "bfloat16") * (mine >= 0).sum(axis=1)[:, None], "bfloat16")
    out, out_weights, _ = buffer.combine(dpnp.asarray(y), handle, recv_weights, bias)
    np.testing.assert_array_equal(out.asnumpy(), combined(x, topk_idx, biases, "bfloat16", False))
    np.testing.assert_array_equal(out_weights.asnumpy(), weights)
    again, *nones, event = buffer.dispatch(tokens, handle)
    assert nones == [None] * 4
    np.testing.assert_array_equal(again.asnumpy()[: len(mine)], bits)
    buffer.destroy()


@pytest.mark.slow_cases("the same on other numbers of PEs", "3pes-")
@pytest.mark.ishmem([2, 3])
@pytest.mark.parametrize("hooks", [False, True])
def test_tokens_of_low_latency_calls(hooks) -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    given = [inputs(pe, n, 0.2) for pe in range(n)]
    x, topk_idx, weights = map(dpnp.asarray, given[me])
    buffer = deep_ep.Buffer(ishmem.TEAM_WORLD, low_latency_mode=True)
    stats = dpnp.zeros(PER_PE, dtype="i4")
    recv_x, counts, handle, event, hook = buffer.low_latency_dispatch(
        x, topk_idx, MOST, PER_PE * n, stats, use_fp8=False, return_recv_hook=hooks
    )
    assert (hook is not None) == hooks and handle[2:] == (MOST, HIDDEN, PER_PE * n)
    hook() if hooks else event.current_stream_wait()
    found, numbers, source, ranges, total = host(recv_x, counts, handle[0], handle[1], stats)
    for local in range(PER_PE):
        chosen = [(each[1] == me * PER_PE + local).any(axis=1) for each in given]
        wanted = np.concatenate([each[0][row] for each, row in zip(given, chosen)])
        np.testing.assert_array_equal(found[local, : len(wanted)], wanted)
        assert numbers[local] == total[local] == len(wanted) and (ranges[local] & 0xFFFFFFFF).sum() == len(wanted)
        assert source[local, : len(wanted)].tolist() == np.concatenate([np.flatnonzero(row) for row in chosen]).tolist()
    into = buffer.get_next_low_latency_combine_buffer(handle)
    assert into.shape == recv_x.shape
    out = dpnp.empty_like(x)
    same, event, hook = buffer.low_latency_combine(recv_x, topk_idx, weights, handle, return_recv_hook=hooks, out=out)
    hook() if hooks else event.current_stream_wait()
    factors = np.where(given[me][1] >= 0, given[me][2], 0).sum(axis=1)[:, None]
    assert same is out
    np.testing.assert_allclose(out.asnumpy(), given[me][0] * factors, rtol=1e-5, atol=1e-6)
    buffer.destroy()


@pytest.mark.ishmem(2, exact=True)
def test_wrong_arguments_are_refused() -> None:
    buffer, n = deep_ep.ElasticBuffer(ishmem.TEAM_WORLD, num_bytes=1 << 21), ishmem.n_pes()
    x, idx = dpnp.zeros((2, 8), dtype="f4"), dpnp.zeros((2, 1), dtype="i8")
    sizes = {"num_experts": n, "num_max_tokens_per_rank": 2}
    *_, handle, _ = buffer.dispatch(x, idx, **sizes)
    cases = (
        ((x, idx), {**sizes, "num_experts": 3}, ValueError, "num_experts is 3; allowed are positive multiples of 2"),
        ((x, idx), {"num_experts": 2}, ValueError, "num_max_tokens_per_rank is 0 and expert_alignment None; allowed"),
        ((x, idx), {**sizes, "do_zero_padding": True}, ValueError, "do_zero_padding is given without do_expand"),
        ((x, idx[:1]), sizes, ValueError, r"topk_idx has shape \(1, 1\) and dtype int64; allowed are \[2, choices\]"),
        ((x[:, :3], idx), sizes, ValueError, r"x has shape \(2, 3\); allowed are \[tokens, hidden\] of rows of 16 n"),
        ((x, idx, idx), sizes, ValueError, r"topk_weights has shape \(2, 1\) and dtype int64; allowed is \(2, 1\)"),
        ((np.zeros((2, 8)), idx), sizes, TypeError, "x is ndarray; allowed is an array of dpnp"),
        ((x, idx), {"handle": handle}, ValueError, "topk_idx or do_cpu_sync is given with a handle"),
        ((x,), {"handle": handle, "num_experts": 4}, ValueError, "num_experts is 4; allowed is 2, that of the handle"),
        ((x[:1],), {"handle": handle}, ValueError, r"x has shape \(1, 8\); allowed is \(2, 8\), that of the handle's"),
        ((x, idx), {**sizes, "num_max_tokens_per_rank": 1}, ValueError, "x has 2 tokens; allowed are at most 1"),
        ((x, idx), {**sizes, "num_max_tokens_per_rank": 1 << 20}, ValueError, "num_bytes is 2097152; 1048576 tokens"),
        ((x, idx), {**sizes, "previous_event": 3}, TypeError, "previous_event is int; allowed are EventHandle"),
    )
    for given, named, kind, words in cases:
        refused(kind, words, buffer.dispatch, *given, **named)
    refused(ValueError, r"x has shape \(1, 8\) and dtype float32; allowed is", buffer.combine, x[:1], handle)
    *_, expanded, _ = buffer.dispatch(x, idx, **sizes, do_expand=True)
    rows = dpnp.zeros((expanded.num_expanded_tokens, 8))
    refused(ValueError, "x has dtype float64; allowed are float32, float16", buffer.combine, rows, expanded)
    refused(ValueError, "group and comm are None", deep_ep.Buffer, None)
    with pytest.raises(TypeError, match="group is NoneType; allowed are a ProcessGroup of torch and a team of ishmem"):
        deep_ep.ElasticBuffer(None)
    legacy = deep_ep.Buffer(ishmem.TEAM_WORLD, enable_shrink=True)
    refused(ishmem.StateError, "this job ends with the first loss", legacy.low_latency_update_mask_buffer, 1, True)
    with pytest.raises(ValueError, match="dispatch_wait_recv_cost_stats is given; allowed is None"):
        legacy.low_latency_dispatch(x, idx, 2, n, None, x)
    buffer.destroy()


@pytest.mark.ishmem(2, exact=True)
def test_a_rank_without_tokens_receives_weights() -> None:
    me = ishmem.my_pe()
    buffer, count = deep_ep.ElasticBuffer(ishmem.TEAM_WORLD, num_bytes=0), 2 - 2 * me
    x, experts = dpnp.ones((count, 8), dtype="f4"), dpnp.ones((count, 1), dtype="i8")
    weights = dpnp.full((count, 1), 0.5, dtype="f4")
    _, _, found, _, _ = buffer.dispatch(x, experts, weights, num_experts=2, num_max_tokens_per_rank=2)
    assert found.asnumpy().tolist() == [[0.5]] * (2 * me)
    buffer.destroy()


@pytest.mark.parametrize(
    ("nodes", "found"), [([0, 0, 0], (1, 3)), ([0, 1, 0, 1], (2, 2)), ([0, 0, 1, 1, 1, 1], (1, 6))]
)
def test_all_ranks_get_the_same_domain_size(nodes: list[int], found: tuple[int, int]) -> None:
    assert domain_size(nodes) == found


def test_tokens_that_are_no_tensor_are_not_converted_to_float8() -> None:
    pytest.importorskip("torch")
    with pytest.raises(ValueError, match="x is list; allowed with use_fp8 are tensors"):
        to_float8([1.0], False, False)


@pytest.mark.slow("test_tokens_of_elastic_buffers, and test_chapters_on_nodes.py::test_chapter, on two nodes")
def test_tokens_between_nodes(pool_with) -> None:
    pool_with(2, nodes=[1, 1]).run(check_modes, MODES[:2])


@pytest.mark.slow_cases("test_tokens_of_elastic_buffers", "2")
@pytest.mark.slow_cases("the same on other numbers of PEs", "3")
@pytest.mark.parametrize("n", [2, 3])
def test_a_program_for_deep_ep_runs(n: int) -> None:
    """A program for DeepEP's V1 and V2 in a process group, with one import changed."""
    assert torchrun(n, program("deep_ep_of_torch")) == [f"rank {rank} of {n}: right" for rank in range(n)]


def test_import_of_deep_ep_finds_the_installed_package_first(tmp_path: Path) -> None:
    """After ``python -m ishmem.deep_ep``, ``import deep_ep`` finds ours, unless a real one is installed."""
    (tmp_path / "deep_ep").mkdir()
    (tmp_path / "deep_ep" / "__init__.py").write_text("real = True\n")
    code = f"""
import site, sys, sysconfig
from ishmem.deep_ep import __main__ as command
sysconfig.get_path = lambda _: {str(tmp_path)!r}
command.main([])
path = list(sys.path)
site.addsitedir({str(tmp_path)!r})
import deep_ep
assert deep_ep.real
del sys.modules["deep_ep"]
sys.path.remove({str(tmp_path)!r})
import deep_ep, ishmem.deep_ep
from deep_ep.utils import EventHandle, EventOverlap
assert deep_ep.Buffer is ishmem.deep_ep.Buffer and EventOverlap is deep_ep.EventOverlap
command.main(["--remove"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.glob("*.pth"))
