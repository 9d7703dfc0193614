"""The experimental calls of DeepEP's V2, against numpy: Engram storage, pipelines, sessions of all-gathers."""

from __future__ import annotations

import numpy as np
import pytest
from common import dpnp, refused
from subprocesses import program
from test_inference import CHECKING
from test_process_group import torchrun

import ishmem
from ishmem import deep_ep


def new_buffer() -> deep_ep.ElasticBuffer:
    return deep_ep.ElasticBuffer(ishmem.TEAM_WORLD)


def check_engram(dtype: str, entries: int, hidden: int, tokens: int, each: int) -> None:
    """Fetch rows of all PEs, twice: from rows that the second call of ``engram_write`` replaces."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    buffer, rng = new_buffer(), np.random.default_rng(7)
    for _ in range(2):
        rows = rng.integers(0, 100, (n * entries, hidden)).astype(dtype)
        scales = rng.random((n * entries, 3)).astype("f4")
        indices = np.random.default_rng(me).integers(0, n * entries, (tokens, each)).astype("i4")
        sf = dpnp.asarray(scales) if rows.itemsize == 1 else None
        buffer.engram_write(dpnp.asarray(rows[me * entries : (me + 1) * entries]), sf)
        hook = buffer.engram_fetch(dpnp.asarray(indices))
        data, factors = hook()
        assert data.dtype == dtype and (data.asnumpy() == rows[indices.ravel()].reshape(tokens, -1)).all()
        assert (factors is None) == (sf is None)
        assert factors is None or (factors.asnumpy() == scales[indices.ravel()].reshape(tokens, -1)).all()
        ishmem.sync_all()  # the rows are not replaced while a PE fetches them
    buffer.destroy()


SHAPES = (("float32", 5, 7, 3, 2), ("uint8", 6, 33, 4, 3), ("int16", 1, 1, 1, 1), ("float32", 40, 128, 300, 1))


@pytest.mark.slow_cases("the same on other numbers of PEs", "1pes", "3pes")
@pytest.mark.ishmem([1, 2, 3])
def test_entries_of_an_engram() -> None:
    for shape in SHAPES:
        check_engram(*shape)


def check_pipeline(most: int, rounds: int) -> None:
    """Send to both neighbours, more tensors than there are slots, of different sizes; PEs receive late."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    buffer, sizes = new_buffer(), [1, 30, 100]
    buffer.pp_set_config(400, most)
    neighbours = {(me + 1) % n: 0, (me - 1) % n: 1} if n > 2 else {(me + 1) % n: 0}
    received, wanted = [], []
    for i in range(rounds):
        size = sizes[i % len(sizes)]
        for pe in neighbours:
            buffer.pp_send(dpnp.arange(size, dtype="i4") + (1000 * me + 10 * i + pe), pe)
        for pe in reversed(neighbours):
            out = dpnp.full(size + 1, -1, dtype="i4")
            buffer.pp_recv(out[:size], pe)
            received.append(out)
            wanted.append([*(np.arange(size) + 1000 * pe + 10 * i + me), -1])
    for out, values in zip(received, wanted):
        assert out.tolist() == values
    buffer.destroy()


@CHECKING
def test_an_entry_that_no_pe_has() -> None:
    buffer, n = new_buffer(), ishmem.n_pes()
    buffer.engram_write(dpnp.ones((4, 16), dtype="f4"))
    buffer.engram_fetch(dpnp.full((1, 1), 4 * n, dtype="i4"))()
    refused(IndexError, f"pe is {n}", ishmem.quiet)
    ishmem.sync_all()
    buffer.destroy()


@pytest.mark.slow_cases("the same on other numbers of PEs", "1pes", "4pes")
@pytest.mark.ishmem([1, 2, 3, 4])
def test_tensors_of_a_pipeline() -> None:
    check_pipeline(2, 9)


@pytest.mark.ishmem([2])
def test_sends_run_ahead() -> None:
    """As many tensors as there are slots are on the way before the other PE receives one."""
    me, buffer = ishmem.my_pe(), new_buffer()
    buffer.pp_set_config(80, 3)
    if me == 0:
        for i in range(3):
            buffer.pp_send(dpnp.full(20, i, dtype="f4"), 1)
    ishmem.sync_all()
    if me:
        out = dpnp.empty((3, 20), dtype="f4")
        for i in range(3):
            buffer.pp_recv(out[i], 0)
        assert (out.asnumpy() == np.arange(3)[:, None]).all()
    buffer.destroy()


def check_sessions(rounds: int) -> None:
    """Gather tensors in place and copied, alone and several at once, in sessions that use the buffer anew."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    buffer, shapes = new_buffer(), ((3, 5), (1,), (64,))
    nbytes = buffer.get_agrs_num_max_session_bytes(ishmem.TEAM_WORLD, shapes, "float32")
    assert nbytes == sum(-(-n * size * 4 // 32) * 32 for size in (15, 1, 64))
    buffer.agrs_set_config(nbytes, 3)
    for i in range(rounds):
        wanted = [np.stack([np.full(shape, 100 * i + 10 * pe + k, "f4") for pe in range(n)])
                  for k, shape in enumerate(shapes)]  # fmt: skip
        tensors = [dpnp.asarray(each[me]) for each in wanted]
        with buffer.agrs_new_session():
            if i % 2:
                own = buffer.agrs_get_inplace_tensor(shapes, "float32")
                for to, each in zip(own, tensors):
                    to[...] = each
                tensors = list(own)
            if i % 3:
                *found, handle = buffer.all_gather(tensors)
                handle()
            else:
                found, handles = zip(*(buffer.all_gather(each) for each in tensors))
                for handle in handles:
                    handle()
            copies = [dpnp.copy(each) for each in found]
        for copy, each in zip(copies, wanted):
            assert (copy.asnumpy() == each).all()
    with buffer.agrs_new_session(False):
        pass
    buffer.destroy()


@pytest.mark.slow_cases("the same on other numbers of PEs", "1pes", "4pes")
@pytest.mark.ishmem([1, 2, 3, 4])
def test_sessions_gather() -> None:
    check_sessions(12)


@pytest.mark.ishmem(2, exact=True)
def test_wrong_arguments_are_refused() -> None:
    buffer, x, rows = new_buffer(), dpnp.zeros(8, dtype="f4"), dpnp.zeros((2, 8), dtype="f4")
    for call in (lambda: buffer.pp_send(x, 1), lambda: buffer.engram_fetch(x), buffer.create_agrs_session):
        refused(ishmem.StateError, "was not called; it allocates the memory of this call", call)
    buffer.pp_set_config(32, 1)
    buffer.engram_write(rows)
    buffer.agrs_set_config(64, 1)
    me = ishmem.my_pe()
    cases = (
        (lambda: buffer.pp_send(x, me), ValueError, f"dst_rank_idx is {me}; allowed are {1 - me} and {1 - me}"),
        (lambda: buffer.pp_recv(rows, 1 - me), ValueError, "the tensor has 64 bytes; allowed are at most 32"),
        (lambda: buffer.pp_set_config(0, 1), ValueError, "num_max_tensor_bytes is 0; allowed are positive numbers"),
        (lambda: buffer.engram_write(x), ValueError, r"storage has shape \(8,\); allowed is \[entries, hidden\]"),
        (lambda: buffer.engram_write(rows, rows), ValueError, r"sf has shape \(2, 8\); allowed are \[4, any"),
        (lambda: buffer.engram_fetch(x), ValueError, "indices has shape .* and dtype float32; allowed is int32"),
        (lambda: buffer.engram_fetch(x.astype("i4")), ValueError, r"indices has shape \(8,\); allowed is \[tokens"),
        (lambda: buffer.all_gather(x), ishmem.StateError, "no session has begun"),
    )
    for call, kind, words in cases:
        refused(kind, words, call)
    with buffer.agrs_new_session():
        refused(ishmem.StateError, "a session has begun", buffer.create_agrs_session)
        refused(ishmem.StateError, "a session has begun", buffer.agrs_set_config, 128, 2)
        with pytest.raises(ValueError, match="128 bytes and 1 all-gathers of a session; allowed are at most 64 and 1"):
            buffer.all_gather(rows)
        _, handle = buffer.all_gather(x)
        handle()
    refused(ishmem.StateError, "the session of the all-gather has ended", handle)
    buffer.destroy()


def test_sizes_that_the_hints_return() -> None:
    hints = deep_ep.ElasticBuffer
    assert hints.get_engram_storage_size_hint(1 << 20, 15, 5) == (2 << 20, 32 << 20)
    assert hints.get_engram_storage_size_hint(1, 1, 1, "float32") == (2 << 20, 2 << 20)
    assert hints.get_pp_buffer_size_hint((1 << 20) - 3, 3) == 12 << 20


@pytest.mark.slow("the same on one node")
def test_calls_between_nodes(pool_with) -> None:
    for check, *arguments in ((check_engram, *SHAPES[0]), (check_pipeline, 2, 5), (check_sessions, 4)):
        pool_with(2, nodes=[1, 1]).run(check, *arguments)


@pytest.mark.slow("the same with arrays of dpnp")
def test_calls_take_tensors() -> None:
    """Tensors of torch on the CPU."""
    assert torchrun(2, program("deep_ep_experimental")) == [f"rank {rank} of 2: right" for rank in range(2)]
