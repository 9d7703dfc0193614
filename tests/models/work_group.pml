/* Data of all work-items of a group, then a signal by the first one.
 *
 * put_signal_work_group: kernels/signals.py; fence_work_group, quiet_work_group: kernels/order.py; group_sync:
 * kernels/rendezvous.py; wait_until_work_group: kernels/wait.py. As in signal.pml, a token passes round; each PE is a
 * group of two work-items, each of which puts one part and reads the other.
 */
#define LAPS 3  /* by group_sync and a flag, by put_signal_work_group, by fence_work_group and an atomic */
#define AGENTS (N * 2)
#define FLAGS N
#define TIMES LAPS
#define DATA (N * 2)
#define me _pid
#include "weak.pml"
#include "group.inc"

inline put_signal_work_group()
{
    store(next * 2 + item, lap);
#ifndef NO_RELEASE_OF_ITEMS
    release();
#endif
    group_barrier();
    if
    :: item == 0 ->
#ifndef NO_RELEASE_OF_FIRST_ITEM
        release();
#endif
        set(next, lap)
    :: else
    fi;
    group_barrier()
}

inline group_sync()
{
#ifndef NO_RELEASE_IN_GROUP_SYNC
    release();
#endif
    group_barrier()
}

inline put_group_sync_flag()
{
    store(next * 2 + item, lap);
    group_sync();
    if
    :: item == 0 -> set_release(next, lap)
    :: else
    fi;
    group_sync()
}

inline put_fence_work_group()
{
    store(next * 2 + item, lap);
    group_sync();
#ifndef NO_RELEASE_IN_FENCE_WORK_GROUP
    release();
#endif
    group_barrier();
    if
    :: item == 0 -> set(next, lap)
    :: else
    fi
}

inline wait_until_work_group(number)
{
    group_barrier();
    if
    :: item == 0 ->
        await(pe, number);
#ifndef NO_ACQUIRE_IN_WAIT
        acquire()
#endif
    :: else
    fi;
    group_barrier()
}


active [N * 2] proctype work_item()
{
    AGENT;
    byte pe = me / 2, item = me & 1, next = (me / 2 + 1) % N, arrivals, sent, lap = 1;
    do
    :: lap <= LAPS ->
        sent = lap - (pe == 0);  /* the lap of the token that comes next */
        if
        :: sent > 0 -> wait_until_work_group(sent); load(pe * 2 + 1 - item, sent)
        :: else
        fi;
        if
        :: lap == 1 -> put_group_sync_flag()
        :: lap == 2 -> put_signal_work_group()
        :: lap == 3 -> put_fence_work_group()
        fi;
        lap++
    :: else -> break
    od
}
