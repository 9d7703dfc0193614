"""A handler of a signal uses a name of ishmem, all the time, also in the midst of the imports of others."""

import itertools
import signal

import ishmem

names = itertools.cycle(sorted(set(ishmem.__all__) - {"torch"}))
calls, wrong = itertools.count(), []


def handler(*_):
    signal.setitimer(signal.ITIMER_REAL, 0)
    name = next(names)
    try:
        getattr(ishmem, name)
        if ishmem.is_initialized():
            ishmem.my_pe()
    except Exception as error:
        wrong.append(f"{name}: {type(error).__name__}: {error}")
    next(calls)
    signal.setitimer(signal.ITIMER_REAL, 0.001)


signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.001)
with ishmem.init():
    a = ishmem.zeros(1, dtype="i8")
    ishmem.barrier_all()
    ishmem.sum_reduce(a, a)
    ishmem.atomic_fetch_add(a, 1, ishmem.my_pe())
    ishmem.free(a)
    signal.setitimer(signal.ITIMER_REAL, 0)
    kept = signal.getsignal(signal.SIGALRM) is handler
print("handled", next(calls) > 10, kept, *wrong[:3])
