"""PE 1 dies; arguments: how, and at which moment, one of the functions of this program."""

import sys
import time

from victim import VICTIM, end, end_soon, me, start, told, until

import ishmem


def end_when_others_are_in_init():
    until(lambda board: board[0].state and board[2].state)
    end()


def before_init():
    if me == VICTIM:
        end_when_others_are_in_init()
    told(ishmem.init)


def before_init_one_late():
    from ishmem.ipc.links import Links

    join = Links._join

    def late(*args):
        if me == 2:
            until(lambda board: board[0].ended)
        return join(*args)

    if me == VICTIM:
        end_when_others_are_in_init()
    Links._join = late
    told(ishmem.init)


def while_exchanging():
    from ishmem.runtime.heap import SymmetricHeap

    if me == VICTIM:
        SymmetricHeap.exchange_handles = lambda *_: end()
    told(ishmem.init)


def while_mapping():
    from ishmem.runtime.heap import SymmetricHeap

    if me == VICTIM:
        SymmetricHeap.attach = lambda *_: end()
    told(ishmem.init)


def between_operations():
    start()
    if me == VICTIM:
        time.sleep(0.3)
        end()
    told(ishmem.barrier_all)


def in_a_wait():
    a, _ = start()
    if me == VICTIM:
        end_soon()
    told(ishmem.wait_until, a, ishmem.CMP_EQ, 9)


def in_a_sync():
    a, _ = start()
    if me == VICTIM:
        end_soon()
        ishmem.sync_all()
    told(ishmem.wait_until_any, a, ishmem.CMP_EQ, 9)


def in_a_barrier():
    a, _ = start()
    if me == VICTIM:
        end_soon()
        ishmem.barrier_all()
    told(ishmem.wait_until, a, ishmem.CMP_EQ, 9)


def with_a_lock():
    _, lock = start()
    if me == VICTIM:
        ishmem.set_lock(lock)
        ishmem.barrier_all()
        time.sleep(0.3)
        end()
    ishmem.barrier_all()
    told(ishmem.set_lock, lock)


def waiting_for_a_lock():
    _, lock = start()
    if me == 0:
        ishmem.set_lock(lock)
    ishmem.barrier_all()
    if me == VICTIM:
        end_soon()
        ishmem.set_lock(lock)
    told(ishmem.barrier_all)


def in_a_team_split():
    start()
    if me == VICTIM:
        end()
    told(ishmem.TEAM_WORLD.split_strided, 0, 1, 2)


def in_an_allocation():
    start()
    if me == VICTIM:
        end()
    told(ishmem.zeros, 5)


def in_a_collective():
    a, _ = start()
    if me == VICTIM:
        end()
    told(ishmem.broadcast, a, a, 0)


def in_a_reduction():
    a, _ = start()
    if me == VICTIM:
        end()
    told(ishmem.sum_reduce, a, a)


def before_finalize():
    start()
    ishmem.free_all()
    if me == VICTIM:
        end()
    told(ishmem.finalize)


globals()[sys.argv[2]]()
