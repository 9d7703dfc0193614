/* How the members of a team on two nodes enter collective calls in kernels, and use their slots again.
 *
 * put_to_leader: kernels/collective_calls.py; rendezvous_of_nodes, rendezvous_on_node, write_header_near, release_on_node, exchange,
 * put_carried_blocks, exchange_with_leader: kernels/rendezvous.py; release: kernels/barrier.py; copy_from_slots:
 * kernels/collectives.py. The last PE is alone on its node; the first PE of a node is its leader. What a leader puts to
 * the other one arrives in the order of the requests. With two nodes there is one step; small_reductions.pml and
 * meeting.pml have the steps of more. All members make CALLS calls, which carry the blocks of all, and compare them.
 */
#define CALLS 3
#define AGENTS N
#define FLAGS (N * N * 2 + 3 * N)          /* of each PE: the numbers in two headers of each member; a line of its leader, two of a step */
#define TIMES CALLS
#define DATA (N * N * 2 + N * 2 * N + 3 * N)  /* of each PE: the rest of the headers; two blocks of each member; whether calls are the same; two digests */
#define me _pid
#include "weak.pml"

#ifdef NO_SECOND_SLOT
#define PARITY 0
#else
#define PARITY (number & 1)
#endif
#ifdef NO_SECOND_LINE
#define LINES 0
#else
#define LINES PARITY
#endif
#define HEADER(pe, member) (((pe) * 2 + PARITY) * N + (member))
#define BLOCK(pe, member) (N * N * 2 + ((pe) * 2 + PARITY) * N + (member))
#define SAME(pe) (2 * N * N * 2 + (pe))
#define DIGEST(pe) (2 * N * N * 2 + N + (pe) * 2 + LINES)
#define LINE(pe) (N * N * 2 + (pe))
#define STEP(pe) (N * N * 2 + N + (pe) * 2 + LINES)
#define ALONE (N - 1)
#define NEAR(pe) ((pe == ALONE) == (me == ALONE))
#define LEADS (me == leader)

inline put_to_leader() { store(BLOCK(leader, me), number) }

inline write_header_near()
{
    other = 0;
    do
    :: other < N && NEAR(other) ->
        store(HEADER(other, me), number);
#ifdef NO_RELEASE_OF_NUMBER
        set(HEADER(other, me), number);
#else
        set_release(HEADER(other, me), number);
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
        await(HEADER(me, other), number);
#ifndef NO_ACQUIRE_OF_NUMBER
        acquire();
#endif
        load(HEADER(me, other), number);
        other++
    :: other < N && !NEAR(other) -> other++
    :: else -> break
    od;
    other = 0
}

inline exchange()
{
#ifdef NO_DATA_BEFORE_NUMBER
    set_release(STEP(partner), number);
#endif
    do
    :: other < N && NEAR(other) -> load(BLOCK(me, other), number); store(BLOCK(partner, other), number); other++
    :: other < N && !NEAR(other) -> other++
    :: else -> break
    od;
    other = 0;
    store(DIGEST(partner), number);
#ifndef NO_DATA_BEFORE_NUMBER
    set_release(STEP(partner), number);
#endif
    await(STEP(me), number);
    acquire();
    load(DIGEST(me), number)
}

inline release_on_node()
{
    other = 1;
    do
    :: me == 0 && other < ALONE ->
        store(SAME(other), number);
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

inline await_release()
{
    await(LINE(me), number);
#ifndef NO_ACQUIRE_OF_LINE
    acquire();
#endif
    load(SAME(me), number)
}

inline copy_from_slots()
{
    do
    :: other < N -> load(BLOCK(leader, other), number); other++
    :: else -> break
    od;
    other = 0
}

active [N] proctype pe()
{
    AGENT;
    byte number, other, leader = (me == ALONE -> ALONE : 0), partner = (me == ALONE -> 0 : ALONE);
    do
    :: number < CALLS ->
        number++;
        put_to_leader();
        write_header_near();
#ifndef NO_WAIT_FOR_NEAR
        await_near();
#endif
        if
        :: LEADS ->
#ifdef NO_NETWORK_BEFORE_LINE
            release_on_node(); exchange()
#else
            exchange(); release_on_node()
#endif
        :: else -> await_release()
        fi;
        copy_from_slots()
    :: else -> break
    od
}
