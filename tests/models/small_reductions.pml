/* How the nodes of a team combine small blocks in kernels, and use the places for them in again.
 *
 * between, combine_nodes, reduce_small: kernels/reductions_of_nodes.py; put_to_leader, copy_bytes; exchange_with_leader,
 * release_on_node: kernels/rendezvous.py; Pairs: ishmem/core/exchange.hpp. There are N nodes. Of two or three nodes the
 * first has a leader and one other member; the others have a leader only. What a leader puts to another one arrives in
 * the order of the requests. All members make CALLS calls. A sum is the set of the nodes in it, with the number of the
 * call.
 */
#define CALLS 3
#if N < 4
#define AGENTS (N + 1)
#else
#define AGENTS N
#endif
#define OTHER N                     /* on the node of leader 0 */
#define STEPS 4                     /* Join, two rounds, Again */
#define FLAGS (N * 2 * STEPS + 2)   /* of each node: two lines of each step; the number of OTHER, and its line */
#define TIMES CALLS
#define DATA (N * 2 * (N + 1))      /* of each node: two blocks of each leader, and of OTHER */
#define me _pid
#include "weak.pml"

#ifdef NO_SECOND_SLOT
#define PARITY 0
#else
#define PARITY (number & 1)
#endif
#define JOIN 0
#define FIRST 1
#define AGAIN (STEPS - 1)
#define LINE(node, step) (((node) * 2 + (number & 1)) * STEPS + (step))
#define NUMBER_OF_OTHER (N * 2 * STEPS)
#define RELEASE (N * 2 * STEPS + 1)
#define BLOCK(node, member) (((node) * 2 + PARITY) * (N + 1) + (member))
#define SUM(of) (number << 4 | (of))
#define ALL ((1 << N) - 1)

#if N == 3
#define JOINED 1
#define ROUNDS 1
#else
#define JOINED 0
#define ROUNDS (N / 2)
#endif
#define IS_JOINED (JOINED && node == 1)
#define TAKES (JOINED && node == 0)
#define NODE_OF(one) ((one) + JOINED * ((one) > 0))       /* with at most one pair */
#define NUMBER (node - JOINED * (node > 0))
#define BIT(node) (1 << (node))
#define NODES_OF(one) (BIT(NODE_OF(one)) | (JOINED * 2) * ((one) == 0))
#define TOTAL (N - 1)               /* from whom leader 0 takes last, where there is OTHER */

inline rendezvous_on_node()
{
    if
    :: me == OTHER ->
        store(BLOCK(0, OTHER), SUM(0));
#ifdef NO_RELEASE_OF_NUMBER
        set(NUMBER_OF_OTHER, number)
#else
        set_release(NUMBER_OF_OTHER, number)
#endif
    :: else ->
        store(BLOCK(node, node), SUM(0));
        if
        :: node == 0 && OTHER < AGENTS ->
#ifndef NO_WAIT_FOR_NEAR
            await(NUMBER_OF_OTHER, number);
            acquire();
#endif
            load(BLOCK(0, OTHER), SUM(0))
        :: else
        fi;
        load(BLOCK(node, node), SUM(0));
        store(BLOCK(node, node), SUM(BIT(node)))
    fi
}

inline send(to, step)
{
#ifdef NO_DATA_BEFORE_LINE
    set_release(LINE(to, step), number);
#endif
    load(BLOCK(node, total), SUM(sum));
    store(BLOCK(to, node), SUM(sum));
#ifdef NO_RELEASE_OF_LINE
    set(LINE(to, step), number)
#else
#ifndef NO_DATA_BEFORE_LINE
    set_release(LINE(to, step), number)
#endif
#endif
}

inline take(step, partner, members)
{
    await(LINE(node, step), number);
#ifndef NO_ACQUIRE_OF_LINE
    acquire();
#endif
    load(BLOCK(node, partner), SUM(members));
    if
    :: step != AGAIN ->
        load(BLOCK(node, total), SUM(sum));
        sum = sum | (members);
        store(BLOCK(node, partner), SUM(sum))
    :: else -> sum = members
    fi;
    total = partner
}

inline steps()
{
    if
    :: IS_JOINED -> send(0, JOIN)
    :: TAKES -> take(JOIN, 1, BIT(1))
    :: else
    fi;
    do
    :: round < ROUNDS && !IS_JOINED ->
        partner = NODE_OF(v ^ (1 << round));
        send(partner, FIRST + round);
        theirs = NODES_OF(v ^ (1 << round)) | (round * NODES_OF(v ^ 3));
        take(FIRST + round, partner, theirs);
        round++
    :: else -> break
    od;
    round = 0;
    if
    :: TAKES -> send(1, AGAIN)
    :: IS_JOINED -> take(AGAIN, 0, ALL)
    :: else
    fi
}

inline release_on_node()
{
    if
    :: node == 0 && OTHER < AGENTS ->
#ifdef NO_RELEASE_OF_TOTAL
        set(RELEASE, number)
#else
        set_release(RELEASE, number)
#endif
    :: else
    fi
}

active [AGENTS] proctype pe()
{
    AGENT;
    byte node = (me == OTHER -> 0 : me);
    byte number, round, v = NUMBER, sum, theirs, partner, total;
    do
    :: number < CALLS ->
        number++;
        total = node;
        sum = BIT(node);
        rendezvous_on_node();
        if
        :: me == OTHER ->
            await(RELEASE, number);
#ifndef NO_ACQUIRE_OF_TOTAL
            acquire();
#endif
            total = TOTAL
        :: else -> steps(); release_on_node()
        fi;
        load(BLOCK(node, total), SUM(ALL))
    :: else -> break
    od
}
