/* The collectives of the host: a ring of two slots on each PE, and the flags that end calls.
 *
 * publish, await_all, leave, raise, await: ishmem/core/collectives.cpp; the data of IN_SLOT calls: move_in_slot of
 * ishmem/core/collective_copies.cpp, reduce_in_slot of reductions.cpp. MAPPED calls read the sources of others between await_all
 * and leave; TREE calls read the parent's destination once it is filled (broadcast_tree).
 */
#define CALLS 3
#define AGENTS N
#define FLAGS (N * 2 + N * 2)  /* of each PE: the numbers in two slots; Left and Filled */
#define TIMES CALLS
#define DATA (N * 2 + N * 2)   /* of each PE: the rest of the slots; a source and a destination */
#define me _pid
#include "weak.pml"

#ifdef NO_SECOND_SLOT
#define SLOT(pe) ((pe) * 2)
#else
#define SLOT(pe) ((pe) * 2 + (sequence & 1))
#endif
#define LEFT(pe) (N * 2 + (pe))
#define FILLED(pe) (N * 3 + (pe))
#define SOURCE(pe) (N * 2 + (pe))
#define DEST(pe) (N * 3 + (pe))

mtype = { IN_SLOT, MAPPED, TREE };
mtype kind[CALLS];

inline publish()
{
    store(SLOT(me), sequence);
#ifdef NO_RELEASE_IN_PUBLISH
    set(SLOT(me), sequence)
#else
    set_release(SLOT(me), sequence)
#endif
}

inline await_all()
{
    member = 0;
    do
    :: member < N ->
        await(SLOT(member), sequence);
        assert(NEWEST(SLOT(member)) == sequence);  /* the code waits for it */
        member++
    :: else -> break
    od;
    member = 0;
#ifndef NO_ACQUIRE_IN_AWAIT_ALL
    acquire()
#endif
}

inline raise(flag)
{
#ifdef NO_RELEASE_IN_RAISE
    set(flag, sequence)
#else
    set_release(flag, sequence)
#endif
}

inline await_flag(flag)
{
    await(flag, sequence);
#ifndef NO_ACQUIRE_IN_AWAIT
    acquire()
#endif
}

inline leave()
{
    raise(LEFT(me));
    member = 0;
    do
    :: member < N -> await_flag(LEFT(member)); member++
    :: else -> break
    od;
    member = 0
}

inline in_slot()
{
    member = 0;
    do
    :: member < N -> load(SLOT(member), sequence); member++
    :: else -> break
    od;
    member = 0
}

inline mapped()
{
    member = 0;
    do
    :: member < N -> load(SOURCE(member), sequence); member++
    :: else -> break
    od;
    member = 0
}

inline tree()  /* a chain: the parent is the member before */
{
    if
    :: me > 0 -> await_flag(FILLED(me - 1)); load(DEST(me - 1), sequence)
    :: else
    fi;
    store(DEST(me), sequence);
    raise(FILLED(me))
}

active [N] proctype pe()
{
    AGENT;
    byte sequence, member;
    do
    :: sequence < CALLS ->
        atomic {  /* the first PE to arrive chooses the call of all */
            if
            :: kind[sequence] == 0 -> if :: kind[sequence] = IN_SLOT :: kind[sequence] = MAPPED :: kind[sequence] = TREE fi
            :: else
            fi;
            sequence++
        }
        store(SOURCE(me), sequence);  /* the user's program, before the call */
        publish();
        await_all();
        if
        :: kind[sequence - 1] == IN_SLOT -> in_slot()
        :: kind[sequence - 1] == MAPPED -> mapped(); leave()
        :: kind[sequence - 1] == TREE -> tree(); leave()
        fi
    :: else -> break
    od
}
