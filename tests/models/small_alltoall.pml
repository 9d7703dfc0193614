/* How the members of a team on two nodes send each other small blocks in an alltoall of kernels, and use the slots again.
 *
 * put_to_aggregators, exchange_nodes, put_to_partner, copy_from_aggregators: kernels/small_alltoall.py; write_header_near,
 * rendezvous_on_node: kernels/rendezvous.py; disseminate: kernels/barrier.py. The last PE is alone on its node. The first PE
 * of a node is the aggregator for its own node; PE 1 is that for the other node. What a PE puts to another node arrives in
 * the order of the requests. All members make CALLS calls, which are not compared. A word of data stands for the blocks of
 * a PE for all members of a node.
 */
#define CALLS 3
#define AGENTS N
#define FLAGS (N * N * 2 + 4 * N)   /* of each PE: two headers of each member; two lines of each round of a barrier */
#define TIMES CALLS
#define DATA (3 * 2 * 2 * N)        /* of each node: two blocks of each member for it, for the other node, and from there */
#define me _pid
#include "weak.pml"

#ifdef NO_SECOND_SLOT
#define PARITY 0
#else
#define PARITY (number & 1)
#endif
#define HEADER(pe, member) (((pe) * 2 + (number & 1)) * N + (member))
#define LINE(pe, round) (N * N * 2 + (pe) * 4 + (round) * 2 + (number & 1))
#define BLOCK(area, node, member) ((((area) * 2 + (node)) * 2 + PARITY) * N + (member))
#define NEAR 0
#define FAR 1
#define ARRIVED 2
#define ALONE N - 1  /* Spin cannot parse parentheses here */
#define NODE(pe) ((pe) == ALONE)
#define AGGREGATOR(node) ((node) -> ALONE : 1)   /* for the other node */
#define IS_NEAR(pe) (NODE(pe) == node)

inline put_to_aggregators()
{
    store(BLOCK(NEAR, node, me), number);
    store(BLOCK(FAR, node, me), number)
}

inline write_header_near()
{
    do
    :: other < N && IS_NEAR(other) ->
#ifdef NO_RELEASE_OF_NUMBER
        set(HEADER(other, me), number);
#else
        set_release(HEADER(other, me), number);
#endif
        other++
    :: other < N && !IS_NEAR(other) -> other++
    :: else -> break
    od;
    other = 0
}

inline await_near()
{
    do
    :: other < N && IS_NEAR(other) -> await(HEADER(me, other), number); other++
    :: other < N && !IS_NEAR(other) -> other++
    :: else -> break
    od;
    other = 0;
#ifndef NO_ACQUIRE_OF_NUMBER
    acquire()
#endif
}

inline disseminate()
{
    round = 0;
    do
    :: (1 << round) < width ->
#ifdef NO_RELEASE_IN_BARRIER
        set(LINE((me + (1 << round)) % width, round), number);
#else
        set_release(LINE((me + (1 << round)) % width, round), number);
#endif
        await(LINE(me, round), number);
#ifndef NO_ACQUIRE_IN_BARRIER
        acquire();
#endif
        round++
    :: else -> break
    od;
    round = 0
}

inline put_to_partner()
{
#ifdef NO_DATA_BEFORE_FLAG
    set_release(HEADER(AGGREGATOR(1 - node), me), number);
#endif
    do
    :: other < N && IS_NEAR(other) ->
        load(BLOCK(FAR, node, other), number);
        store(BLOCK(ARRIVED, 1 - node, other), number);
        other++
    :: other < N && !IS_NEAR(other) -> other++
    :: else -> break
    od;
    other = 0;
#ifndef NO_DATA_BEFORE_FLAG
    set_release(HEADER(AGGREGATOR(1 - node), me), number)
#endif
}

inline exchange_nodes()
{
    if
    :: me == AGGREGATOR(node) ->
        put_to_partner();
#ifndef NO_WAIT_FOR_FLAG
        await(HEADER(me, AGGREGATOR(1 - node)), number);
#ifndef NO_ACQUIRE_OF_FLAG
        acquire()
#endif
#endif
    :: else
    fi;
#ifndef NO_BARRIER
    disseminate()
#endif
}

inline copy_from_aggregators()
{
    do
    :: other < N && IS_NEAR(other) -> load(BLOCK(NEAR, node, other), number); other++
    :: other < N && !IS_NEAR(other) -> load(BLOCK(ARRIVED, node, other), number); other++
    :: else -> break
    od;
    other = 0
}

active [N] proctype pe()
{
    AGENT;
    byte number, other, round, node = NODE(me), width = (me == ALONE -> 1 : N - 1);
    do
    :: number < CALLS ->
        number++;
        put_to_aggregators();
        write_header_near();
#ifndef NO_WAIT_FOR_NEAR
        await_near();
#endif
        exchange_nodes();
        copy_from_aggregators()
    :: else -> break
    od
}
