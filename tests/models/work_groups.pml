/* The barrier of all work-groups of a launch: sync_work_groups of kernels/work_groups.py.
 *
 * Each of N work-groups has two work-items. In each lap a work-item writes its word; after the barrier it reads the words
 * of all others; after another barrier the next lap begins. The counter, a flag, has the number of the barrier in its
 * upper half and of the work-groups that have arrived in the lower half.
 */
#if N == 2
#define LAPS 2
#else
#define LAPS 1  /* fewer states */
#endif
#define BARRIERS (2 * LAPS - 1)
#define AGENTS (N * 2)
#define FLAGS 1
#define TIMES (BARRIERS * (N + 1))
#define DATA (N * 2)
#define me _pid
#include "weak.pml"
#include "group.inc"

#define COUNTER 0
#define ONE 16  /* in the upper half */

inline await_groups()
{
    atomic { before = NEWEST(COUNTER); update(COUNTER, before + 1) };
    if
    :: before % ONE == N - 1 -> atomic { before = NEWEST(COUNTER); update(COUNTER, before + ONE - N) }
    :: else -> await(COUNTER, (before / ONE + 1) * ONE)
    fi
}

inline sync_work_groups()
{
#ifndef NO_RELEASE_OF_ITEMS
    release();
#endif
    group_barrier();
    if
    :: item == 0 ->
#ifndef NO_RELEASE_OF_FIRST_ITEM
        release();
#endif
        await_groups();
#ifndef NO_ACQUIRE
        acquire()
#endif
    :: else
    fi;
#ifndef NO_SECOND_GROUP_BARRIER
    group_barrier()
#endif
}

active [N * 2] proctype work_item()
{
    AGENT;
    byte pe = me / 2, item = me & 1, arrivals, before, lap = 1, i;
    do
    :: lap <= LAPS ->
        store(me, lap);
        sync_work_groups();
        i = 0; do :: i < N * 2 -> load(i, lap); i++ :: else -> break od;
#ifndef NO_BARRIER_BEFORE_NEXT_LAP
        if :: lap < LAPS -> sync_work_groups() :: else fi;
#endif
        lap++
    :: else -> break
    od
}
