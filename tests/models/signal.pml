/* Data, then a signal, then the same buffer again.
 *
 * A token passes round the PEs LAPS times. Each PE waits for its signal, reads its buffer and the word that PE 0 wrote
 * for all, puts into the buffer of the next PE, and signals it.
 *
 * put, p: kernels/rma.py, ishmem/core/rma.cpp. put_signal: kernels/signals.py, ishmem/core/signals.cpp. fence, quiet:
 * kernels/order.py, ishmem/core/order.cpp. atomic_set, atomic_add: kernels/amo.py, ishmem/core/amo.cpp. wait_until, test
 * and those of sets: kernels/wait.py, kernels/wait_sets.py, ishmem/core/wait.cpp. signal_fetch: kernels/signals.py.
 */
#define LAPS 2
#define AGENTS N
#define FLAGS N
#define TIMES LAPS
#define DATA (N + 1)
#define ALL N  /* written by PE 0 for all */
#define me _pid
#include "weak.pml"

inline put_signal()
{
    store(next, lap);
#ifndef NO_RELEASE_IN_PUT_SIGNAL
    release();
#endif
    if :: set(next, lap) :: update(next, lap) fi  /* SIGNAL_SET, SIGNAL_ADD */
}

inline put_fence_atomic()
{
    store(next, lap);
#ifndef NO_RELEASE_IN_FENCE
    release();
#endif
    if :: set(next, lap) :: update(next, lap) fi  /* p or atomic_set, atomic_add */
}

inline put_quiet_atomic()
{
    store(next, lap);
#ifndef NO_RELEASE_IN_QUIET
    sequential();
#endif
    if :: set(next, lap) :: update(next, lap) fi
}

inline wait_until(flag, number)
{
    await(flag, number);
#ifndef NO_ACQUIRE_IN_WAIT
    acquire()
#endif
}

inline signal_fetch_until(flag, number)
{
    await(flag, number);
#ifndef NO_ACQUIRE_IN_SIGNAL_FETCH
    acquire()
#endif
}

/* Poll by atomic_fetch, and call quiet before reading the data. */
inline atomic_fetch_until(flag, number)
{
    await(flag, number);
#ifndef NO_ACQUIRE_IN_QUIET
    sequential()
#endif
}

inline receive(number)
{
    if
    :: wait_until(me, number)
    :: signal_fetch_until(me, number)
    :: atomic_fetch_until(me, number)
    fi;
    load(me, number)
}

active [N] proctype pe()
{
    AGENT;
    byte lap = 1, next = (me + 1) % N;
    do
    :: lap <= LAPS ->
        if
        :: me == 0 -> if :: lap > 1 -> receive(lap - 1) :: else fi; store(ALL, lap)
        :: else -> receive(lap); load(ALL, lap)
        fi;
        if
        :: put_signal()
        :: put_fence_atomic()
        :: put_quiet_atomic()
        fi;
        lap++
    :: else -> break
    od
}
