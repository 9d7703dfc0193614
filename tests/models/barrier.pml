/* The dissemination barrier, and what is put before it and read after it.
 *
 * flat_barrier, next_number: kernels/barrier.py; barrier: ishmem/core/barrier.cpp; used by barrier_all, sync_all and
 * team_sync.
 * Each PE puts into a word of its right neighbour and stores a word of its own, which its left neighbour gets after the
 * barrier. A second barrier follows before the words are used again.
 */
#if N < 4
#define CALLS 2
#else
#define CALLS 1
#endif
#define AGENTS N
#define FLAGS (N * 2)  /* lines: of each PE, one for each round */
#define TIMES (2 * CALLS)
#define DATA (2 * N)
#define me _pid
#include "weak.pml"
#define LINE(pe, round) ((pe) * 2 + (round))

inline dissemination_barrier()
{
    number++;  /* next_number */
    round = 0; distance = 1;
    do
    :: distance < N ->
#ifdef NO_RELEASE_OF_LINE
        set(LINE((me + distance) % N, round), number);
#else
        set_release(LINE((me + distance) % N, round), number);
#endif
        await(LINE(me, round), number);
#ifndef NO_ACQUIRE_OF_LINE
#ifdef NO_ACQUIRE_BETWEEN_ROUNDS
        if :: distance * 2 >= N -> acquire() :: else fi;
#else
        acquire();
#endif
#endif
        distance = distance * 2; round++
    :: else -> break
    od;
    round = 0; distance = 0
}

active [N] proctype pe()
{
    AGENT;
    byte number, round, distance, call = 1;
    do
    :: call <= CALLS ->
        store((me + 1) % N, call);
        store(N + me, call);
        dissemination_barrier();
        load(me, call);
        load(N + (me + 1) % N, call);
        dissemination_barrier();
        call++
    :: else -> break
    od
}
