/* How the members of a team on two nodes enter collective calls in kernels, and use their slots again.
 *
 * meet_by_nodes, announce_near, exchange_slots, put_slots, fetch_slots: kernels/rendezvous_of_nodes.py; release: kernels/barrier.py;
 * copy_from_slots: kernels/collectives.py. The last PE is alone on its node; the first PE of a node is its leader. What a
 * leader puts to the other one arrives in the order of the requests. With two nodes there is one step; meeting.pml has the
 * steps of more, which hosts and kernels share. All members make CALLS calls.
 */
#define CALLS 3
#define AGENTS N
#define FLAGS (N * N * 2 + 2 * N)  /* of each PE: the numbers in two slots of each member; lines of its leader and of a step */
#define TIMES CALLS
#define DATA (N * N * 2)       /* of each PE: the rest of the slots */
#define me _pid
#include "weak.pml"

#ifdef NO_SECOND_SLOT
#define PARITY 0
#else
#define PARITY (number & 1)
#endif
#define SLOT(pe, member) (((pe) * 2 + PARITY) * N + (member))
#define LINE(pe) (N * N * 2 + (pe))
#define STEP(pe) (N * N * 2 + N + (pe))
#define ALONE (N - 1)
#define NEAR(pe) ((pe == ALONE) == (me == ALONE))
#define LEADS (me == 0 || me == ALONE)

inline announce_near()
{
    other = 0;
    do
    :: other < N && NEAR(other) ->
        store(SLOT(other, me), number);
#ifdef NO_RELEASE_OF_NUMBER
        set(SLOT(other, me), number);
#else
        set_release(SLOT(other, me), number);
#endif
        other++
    :: other < N && !NEAR(other) -> other++
    :: else -> break
    od;
    other = 0
}

inline await_near()
{
    do
    :: other < N && NEAR(other) ->
        await(SLOT(me, other), number);
#ifndef NO_ACQUIRE_OF_NUMBER
        acquire();
#endif
        other++
    :: other < N && !NEAR(other) -> other++
    :: else -> break
    od;
    other = 0
}

inline exchange_slots()
{
#ifdef NO_DATA_BEFORE_NUMBER
    set_release(STEP(leader), number);
#endif
    do
    :: other < N && NEAR(other) -> load(SLOT(me, other), number); store(SLOT(leader, other), number); other++
    :: other < N && !NEAR(other) -> other++
    :: else -> break
    od;
    other = 0;
#ifndef NO_DATA_BEFORE_NUMBER
    set_release(STEP(leader), number);
#endif
    await(STEP(me), number);
    acquire()
}

inline release_near()
{
    other = 1;
    do
    :: me == 0 && other < ALONE ->
#ifdef NO_RELEASE_OF_LINE
        set(LINE(other), number);
#else
        set_release(LINE(other), number);
#endif
        other++
    :: else -> break
    od;
    other = 0
}

inline fetch_slots()
{
    await(LINE(me), number);
#ifndef NO_ACQUIRE_OF_LINE
    acquire();
#endif
    load(SLOT(0, ALONE), number);
    store(SLOT(me, ALONE), number)
}

inline copy_from_slots()
{
    do
    :: other < N -> load(SLOT(me, other), number); other++
    :: else -> break
    od;
    other = 0
}

active [N] proctype pe()
{
    AGENT;
    byte number, other, leader = ALONE;  /* the leader of the other node, for a leader */
    if :: me == ALONE -> leader = 0 :: else fi;
    do
    :: number < CALLS ->
        number++;
        announce_near();
#ifndef NO_WAIT_FOR_NEAR
        await_near();
#endif
        if
        :: LEADS ->
#ifdef NO_NETWORK_BEFORE_LINE
            release_near(); exchange_slots()
#else
            exchange_slots(); release_near()
#endif
        :: else -> fetch_slots()
        fi;
        copy_from_slots()
    :: else -> break
    od
}
