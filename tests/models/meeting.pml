/* How the members of a team that spans nodes combine sums, and use what arrives for them in again.
 *
 * Meeting: ishmem/core/rendezvous_of_nodes.cpp; Pairs: ishmem/core/exchange.hpp. There are N nodes. Of two or three nodes
 * the first has a leader and one other member, which sends nothing; the others have a leader only. What a leader puts to
 * another one arrives in the order of the requests. All members make CALLS calls. A sum is the set of the nodes in it,
 * with the number of the call.
 */
#define CALLS 3
#if N < 4
#define AGENTS (N + 1)
#else
#define AGENTS N
#endif
#define OTHER N                   /* on the node of leader 0 */
#define STEPS 4                   /* Join, two rounds, Again */
#define FLAGS (N * 2 * STEPS + 2) /* of each node: the lines of two meetings; the slots of leader 0 and of OTHER */
#define TIMES CALLS
#define DATA (N * 2 * STEPS + 4)  /* of each node: a buffer for each step of two meetings; two slots of both members */
#define me _pid
#include "weak.pml"

#ifdef NO_SECOND_MEETING
#define PARITY 0
#else
#define PARITY (number & 1)
#endif
#define JOIN 0
#define FIRST 1
#define AGAIN (STEPS - 1)
#define AT(node, step) (((node) * 2 + PARITY) * STEPS + (step))
#define SLOT(member) (N * 2 * STEPS + ((member) == OTHER))
#define IN_SLOT(member) (N * 2 * STEPS + 2 * ((member) == OTHER) + (number & 1))
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

/* The members of the first node publish their slots for each other. */
inline enter()
{
    if
    :: node == 0 && OTHER < AGENTS ->
        store(IN_SLOT(me), number);
        set_release(SLOT(me), number);
        await(SLOT(0), number); await(SLOT(OTHER), number);
        acquire();
        load(IN_SLOT(0), number); load(IN_SLOT(OTHER), number)
    :: else
    fi
}

inline send(to, step)
{
    if
    :: me != OTHER -> put(to, step)
    :: else
    fi
}

inline put(to, step)
{
    store(AT(to, step), SUM(sum));
#ifdef NO_RELEASE_OF_LINE
    set(AT(to, step), number)
#else
    set_release(AT(to, step), number)
#endif
}

inline take(step, members)
{
    await(AT(node, step), number);
#ifndef NO_ACQUIRE_OF_LINE
    acquire();
#endif
    load(AT(node, step), SUM(members));
    sum = (step == AGAIN -> 0 : sum) | (members)
}

active [AGENTS] proctype pe()
{
    AGENT;
    byte node = (me == OTHER -> 0 : me);
    byte number, round, v = NUMBER, sum, theirs;
    do
    :: number < CALLS ->
        number++;
        sum = BIT(node);
        enter();
        if
        :: IS_JOINED -> send(0, JOIN)
        :: TAKES -> take(JOIN, BIT(1))
        :: else
        fi;
        do
        :: round < ROUNDS && !IS_JOINED ->
            send(NODE_OF(v ^ (1 << round)), FIRST + round);
            theirs = NODES_OF(v ^ (1 << round)) | (round * NODES_OF(v ^ 3));
            take(FIRST + round, theirs);
            round++
        :: else -> break
        od;
        round = 0;
        if
        :: TAKES -> send(1, AGAIN)
        :: IS_JOINED -> take(AGAIN, ALL)
        :: else
        fi;
        assert(sum == ALL)
    :: else -> break
    od
}
