/* Data of all work-items of a group, then a signal of its first one.
 *
 * put_signal_work_group: kernels/signals.py; rally: kernels/rendezvous.py; wait_until_work_group: kernels/sync.py. As in
 * signal.pml a token goes round; the PEs are groups of two work-items, each of which puts a part and reads the other.
 */
#define LAPS 2  /* the first by rally and a flag, the second by put_signal_work_group */
#define AGENTS (N * 2)
#define FLAGS N
#define TIMES LAPS
#define DATA (N * 2)
#define me _pid
#include "weak.pml"

byte arrived[N];

inline group_barrier()  /* who comes last lets all know */
{
    arrivals = arrivals + 2;
    d_step {
        arrived[pe]++;
        if
        :: arrived[pe] == arrivals ->
            join(near[pe * 2], known[pe * 2 + 1]); join(near[pe * 2], near[pe * 2 + 1]);
            join(near[pe * 2 + 1], known[pe * 2]); join(near[pe * 2 + 1], near[pe * 2]);
            join(known[pe * 2], released[pe * 2 + 1]); join(known[pe * 2 + 1], released[pe * 2])
        :: else
        fi
    };
    arrived[pe] >= arrivals
}

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

inline rally()
{
#ifndef NO_RELEASE_IN_RALLY
    release();
#endif
    group_barrier()
}

inline put_rally_flag()
{
    store(next * 2 + item, lap);
    rally();
    if
    :: item == 0 -> set_release(next, lap)
    :: else
    fi;
    rally()
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
        :: lap & 1 -> put_rally_flag()
        :: else -> put_signal_work_group()
        fi;
        lap++
    :: else -> break
    od
}
