"""PEs, named by the arguments, die one after the other; after each the others shrink, and use what they have."""

import os
import signal
import sys
import time

import numpy as np

import ishmem
from ishmem import locks

victims = [int(each) for each in sys.argv[1:]]


def die_and_notice(team, victim, flag):
    """Let a PE die while the others wait for it, or for a variable."""
    me = ishmem.my_pe()
    if me == victim:
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        if (victim + 1) % ishmem.n_pes() == me:
            ishmem.wait_until(flag, ishmem.CMP_EQ, 1)
        else:
            team.sync()
    except ishmem.PeerLost as error:
        assert error.pe == victim, error
    else:
        raise AssertionError("no PeerLost")


def refused(call, *arguments):
    try:
        call(*arguments)
    except ishmem.PeerLost as error:
        return error.pe in victims
    return False


def use_lock(left, pes):
    """Count under a lock of those that are left, for which they wait for each other."""
    words, count = ishmem.zeros(ishmem.n_pes(), dtype="i8"), ishmem.zeros(1, dtype="i8")
    index = next(i for i in range(words.size) if locks.find("set_lock", words, i)[2] in pes)
    for _ in range(5):
        with ishmem.lock(words, index):
            ishmem.p(count, ishmem.g(count, pes[0]) + 1, pes[0])
    left.sync()
    assert ishmem.my_pe() != pes[0] or int(count[0]) == 5 * len(pes)
    left.sync()


def use(left, a, flag, dead):
    """Use the team of those that are left, and what names a lost PE."""
    me, size = ishmem.my_pe(), left.n_pes()
    pes = [left.translate_pe(member, ishmem.TEAM_WORLD) for member in range(size)]
    assert pes == [pe for pe in range(ishmem.n_pes()) if pe not in dead]
    for pe in dead:
        assert left.shape.index(pe) == -1 and not ishmem.pe_accessible(pe)
        assert refused(ishmem.p, a, 1, pe) and refused(ishmem.get, np.empty(3), a, pe)
        assert refused(ishmem.put, a, np.ones(3), pe) and refused(ishmem.atomic_add, flag, 1, pe)
    assert refused(ishmem.barrier_all) and refused(ishmem.sum_reduce, a, a)
    b = ishmem.array([me], dtype="i8")
    total, all_of = ishmem.zeros(1, dtype="i8"), ishmem.zeros(size, dtype="i8")
    ishmem.sum_reduce(total, b, left)
    ishmem.fcollect(all_of, b, left)
    assert (int(total[0]), all_of.asnumpy().tolist()) == (sum(pes), pes), (total, all_of, b)
    left.sync()  # all have read what they contribute
    ishmem.p(b, me, pes[(left.my_pe() + 1) % size])
    ishmem.quiet()
    left.sync()
    assert int(b[0]) == pes[left.my_pe() - 1]
    last = left.split_strided(1, 1, size - 1)
    if last:
        assert list(last.shape) == pes[1:]
        last.sync()
    left.sync()
    ishmem.free(b)
    use_lock(left, pes)


with ishmem.init(heap_size="16M"):
    a, flag, left = ishmem.zeros(3), ishmem.zeros(1, dtype="u8"), ishmem.TEAM_WORLD
    ishmem.barrier_all()
    for count, victim in enumerate(victims, 1):
        die_and_notice(left, victim, flag)
        left = ishmem.shrink(left)
        use(left, a, flag, victims[:count])
    ishmem.free_all()
    print("fine")
