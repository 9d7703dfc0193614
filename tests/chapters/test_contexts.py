"""Contexts: operations by PEs of a team, quiet of their own, life and errors."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from common import pattern, refused, same, symmetric

import ishmem


@pytest.mark.ishmem
def test_each_operation_in_a_context() -> None:
    """Every operation, on the team that numbers the PEs backwards."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    team = ishmem.TEAM_WORLD.split_strided(n - 1, -1, n)
    values = [pattern("i8", 12, pe) for pe in range(n)]
    source, dest, back = symmetric(values[me]), ishmem.zeros((5, 12), dtype="i8"), np.zeros((4, 12), "i8")
    picked = np.zeros(3, "i8")
    right, left = (me + 1) % n, (me - 1) % n
    to = n - 1 - right
    with team.create_ctx(ishmem.CTX_SERIALIZED | ishmem.CTX_NOSTORE) as ctx:
        assert ctx
        assert ishmem.ctx_get_team(ctx) == team
        ctx.put(dest[0], source, to)
        ctx.put_nbi(dest[1], source, pe=to)
        ctx.iput(dest[2], source, 2, 1, 6, to)
        ctx.ibput(dest[3], source, 4, 2, 2, 3, pe=to)
        for k in range(3):
            ctx.p(dest, me + k, to, index=48 + k)
        ctx.ixput(dest[4], source[:3], np.array([7, 5, 3]), to)
        ctx.fence()
        ctx.quiet()
        ishmem.barrier_all()
        ctx.ixget(picked, source, np.array([11, 0, 4]), pe=to)
        ctx.get(back[0], source, to)
        ctx.get_nbi(back[1], source, pe=to)
        ctx.iget(back[2], source, 2, 1, 6, to)
        ctx.ibget(back[3], source, 4, 2, 2, 3, to)
        ishmem.ctx_quiet(ctx)
        assert ctx.g(source, to, 7) == values[right][7]
    spread, blocks = np.zeros(12, "i8"), np.zeros(12, "i8")
    spread[::2] = values[left][:6]
    blocks.reshape(3, 4)[:, :2] = values[left][:6].reshape(3, 2)
    wanted = np.stack([values[left], values[left], spread, blocks, np.zeros(12, "i8")])
    wanted[4, :3], wanted[4, [7, 5, 3]] = left + np.arange(3), values[left][:3]
    same(dest, wanted)
    same(picked, values[right][[11, 0, 4]])
    spread[::2] = values[right][:6]
    blocks.reshape(3, 4)[:, :2] = values[right][:6].reshape(3, 2)
    same(back, np.stack([values[right], values[right], spread, blocks]))
    team.destroy()


@pytest.mark.ishmem
def test_atomics_and_signals_in_a_context() -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    team = ishmem.TEAM_WORLD.split_strided(n - 1, -1, n)
    ctx = ishmem.ctx_create(team)
    a, old, signal = ishmem.zeros(6, dtype="i8"), np.zeros(1, "i8"), ishmem.zeros(2, dtype="u8")
    last = n - 1  # PE 0 of the world
    for _ in range(20):
        ctx.atomic_add(a, 3, last, 0)
        ctx.atomic_inc(a, pe=last, index=1)
    ctx.atomic_or(a, 1 << me, last, 2)
    ctx.atomic_fetch_add_nbi(old, a, 1, last, 3)
    ctx.quiet()
    assert 0 <= old[0] < n
    ctx.put_signal(a[4:5], a[5:6], signal, 1, ishmem.SIGNAL_ADD, last)
    ctx.signal_add(signal, 2, last)
    ctx.signal_set(signal[1:], 7, pe=last)
    ishmem.barrier_all()
    assert ctx.atomic_fetch(a, last, 0) == 60 * n
    assert ctx.atomic_fetch(a, last, 3) == n
    if me == 0:
        same(a, np.array([60 * n, 20 * n, 2**n - 1, n, 0, 0]))
        same(signal, np.array([3 * n, 7], "u8"))
    ishmem.barrier_all()
    ishmem.ctx_destroy(ctx)
    refused(ishmem.StateError, "destroyed", ctx.quiet)
    team.destroy()


@pytest.mark.ishmem
def test_pe_quiet_counts_in_the_team() -> None:
    """By the numbers of the team; an operation on a PE that is named has completed."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    team, to = ishmem.TEAM_WORLD.split_strided(n - 1, -1, n), (n - 1 - (me + 1)) % n
    dest, source, flag = ishmem.zeros(8), np.full(8, me + 1.0), ishmem.zeros(1, dtype="i8")
    with team.create_ctx() as ctx:
        ctx.put_nbi(dest, source, to)
        ctx.pe_quiet([to])
        ishmem.atomic_set(flag, 1, (me + 1) % n)
        ishmem.wait_until(flag, ishmem.CMP_EQ, 1)
        same(dest, np.full(8, (me - 1) % n + 1.0))
        ishmem.ctx_pe_quiet(ctx, to)
        ctx.pe_quiet(())
        for wrong in (n, [0, -1], "0", None, True):
            refused((IndexError, TypeError), "target_pes", ctx.pe_quiet, wrong)
    refused(ishmem.StateError, "destroyed", ctx.pe_quiet, 0)
    refused(ishmem.StateError, "destroyed", ctx.flush)
    ishmem.CTX_INVALID.pe_quiet([n])
    ishmem.CTX_INVALID.flush()
    team.destroy()


def check_session_blocks(ctx: ishmem.Ctx) -> None:
    with ctx.session_start(ishmem.CTX_SESSION_BATCH, total_ops=5) as same_ctx:
        assert same_ctx is ctx and ctx.session == ishmem.CtxSession(ishmem.CTX_SESSION_BATCH, 5)
        with ishmem.ctx_session_start(ctx, total_ops=6):
            assert ctx.session == ishmem.CtxSession(ishmem.CTX_SESSION_BATCH, 6)
        assert ctx.session == ishmem.CtxSession(ishmem.CTX_SESSION_BATCH, 5)
    assert ctx.session is None
    with ishmem.CTX_INVALID.session_start(total_ops=1) as invalid:
        assert not invalid
    with pytest.raises(ValueError, match="negative"), ctx.session_start(total_ops=-1):
        pass
    assert ctx.session is None


@pytest.mark.ishmem
def test_sessions_keep_their_hints() -> None:
    """Hints are kept, and change no result."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    counter, right = ishmem.zeros(1, dtype="i8"), (me + 1) % n
    with ishmem.ctx_create() as ctx:
        assert ctx.session is None
        ctx.session_start(ishmem.CTX_SESSION_BATCH, total_ops=10)
        for _ in range(10):
            ctx.atomic_inc(counter, right)
        assert ctx.session == ishmem.CtxSession(ishmem.CTX_SESSION_BATCH, 10)
        ctx.session_start()
        assert ctx.session == ishmem.CtxSession(ishmem.CTX_SESSION_BATCH, 10)
        ctx.session_start(total_ops=20)
        assert ctx.session == ishmem.CtxSession(ishmem.CTX_SESSION_BATCH, 20)
        ctx.session_stop()
        ctx.session_stop()
        assert ctx.session is None
        check_session_blocks(ctx)
        for options, total, words in ((2, 1, "CTX_SESSION_BATCH"), (-1, 1, "CTX_SESSION_BATCH"), (0, -1, "negative")):
            refused(ValueError, words, ctx.session_start, options, total_ops=total)
        refused(TypeError, "options is an integer", ctx.session_start, "x")
    refused(ishmem.StateError, "destroyed", ctx.session_start)
    ishmem.ctx_session_start(ishmem.CTX_DEFAULT, ishmem.CTX_SESSION_BATCH)
    ishmem.ctx_session_stop(ishmem.CTX_DEFAULT)
    ishmem.CTX_INVALID.session_start(99)
    ishmem.CTX_INVALID.session_stop()
    ishmem.barrier_all()
    same(counter, np.array([10]))


@pytest.mark.ishmem(2, env={"ISHMEM_COPY_CUTOVER": "1"}, exact=True)
def test_quiet_completes_its_own_context_only() -> None:
    """The quiet of one context does not complete the operations of another."""
    from ishmem.runtime import job

    this, pe = job.current(), ishmem.n_pes() - 1
    a, b = ishmem.zeros(8), ishmem.ones(8)
    one, two = ishmem.ctx_create(), ishmem.ctx_create()
    one.put_nbi(a[:4], b[:4], pe)
    two.put_nbi(a[4:], b[4:], pe)
    ishmem.put_nbi(a[:1], b[:1], pe)
    outstanding = [one._engine, two._engine, this.default_engine]
    assert [engine.outstanding for engine in outstanding] == [True, True, True]
    two.quiet()
    assert [engine.outstanding for engine in outstanding] == [True, False, True]
    ishmem.quiet()
    assert [engine.outstanding for engine in outstanding] == [True, False, False]
    one.destroy()
    assert not this.default_engine.outstanding
    with pytest.raises(TypeError):
        two.put(a[:4], np.zeros(4, "i4"), pe)
    assert this.engine is this.default_engine
    ishmem.CTX_DEFAULT.put_nbi(a[:1], b[:1], pe)
    assert this.default_engine.outstanding
    ishmem.CTX_DEFAULT.quiet()
    assert not this.default_engine.outstanding
    two.destroy()
    ishmem.barrier_all()
    if ishmem.my_pe() == pe:
        same(a, np.ones(8))
    test_each_operation_in_a_context()
    test_atomics_and_signals_in_a_context()


@pytest.mark.ishmem([1, 3])
def test_contexts_end_with_their_team() -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    a = ishmem.zeros(2, dtype="i4")
    team = ishmem.TEAM_WORLD.split_strided(0, 1, 1)
    ctx = team.create_ctx()
    assert bool(ctx) == bool(team) == (me == 0)
    if me == 0:
        refused(IndexError, "numbered 0 to 0", ctx.p, a, 1, 1)
    else:
        assert ctx is ishmem.CTX_INVALID
        assert ctx.get_team() == ishmem.TEAM_INVALID
        ctx.quiet(), ctx.fence(), ctx.destroy()
        refused(ValueError, "CTX_INVALID", ctx.p, a, 1, 0)
    team.destroy()  # and its contexts
    if me == 0:
        refused(ishmem.StateError, "destroyed", ctx.p, a, 1, 0)
        refused(ishmem.StateError, "destroyed", team.create_ctx)
    refused(ValueError, "CTX_DEFAULT", ishmem.ctx_destroy, ishmem.CTX_DEFAULT)
    refused(ValueError, "CTX_SERIALIZED, CTX_PRIVATE, CTX_NOSTORE", ishmem.ctx_create, options=8)
    refused(TypeError, "team is a Team", ishmem.ctx_create, "world")
    ishmem.barrier_all()
    ishmem.CTX_DEFAULT.p(a, 7, (me + 1) % n, 1)
    ishmem.ctx_fence(ishmem.CTX_DEFAULT)
    ishmem.barrier_all()
    same(a, np.array([0, 7], "i4"))


@pytest.mark.ishmem(1)
def test_contexts_are_limited() -> None:
    from ishmem import contexts

    made = [ishmem.ctx_create() for _ in range(contexts.MAX_CONTEXTS)]
    refused(ishmem.IshmemError, "256 contexts are alive", ishmem.ctx_create)
    made.pop().destroy()
    made.append(ishmem.ctx_create())
    for ctx in made:
        ctx.destroy()


@pytest.mark.ishmem(2)
def test_contexts_in_threads() -> None:
    """A private context refuses other threads; each thread with one of its own."""
    me, n, rounds = ishmem.my_pe(), ishmem.n_pes(), 200
    private = ishmem.ctx_create(options=ishmem.CTX_PRIVATE)
    a = ishmem.zeros(4, dtype="i8")

    def work(number: int) -> None:
        refused(ishmem.StateError, "CTX_PRIVATE", private.quiet)
        with ishmem.ctx_create(options=ishmem.CTX_PRIVATE) as ctx:
            for _ in range(rounds):
                ctx.atomic_inc(a, (me + 1) % n, number)
                ctx.g(a, me, number)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    private.destroy()
    ishmem.barrier_all()
    same(a, np.full(4, rounds))
