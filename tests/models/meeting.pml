/* How the leaders of a team's nodes combine sums, and use what they combine them in again.
 *
 * Meeting: ishmem/core/meeting.cpp; Pairs: ishmem/core/exchange.hpp. Each PE is alone on its node. What a PE puts to
 * another one arrives in the order of the requests. All members make CALLS calls. A sum is the set of the members in it,
 * with the number of the call.
 */
#define CALLS 3
#define AGENTS N
#define STEPS 4                   /* Join, two rounds, Again */
#define FLAGS (N * 2 * STEPS)     /* of each PE: the lines of two meetings */
#define TIMES CALLS
#define DATA (N * 2 * STEPS)      /* of each PE: a buffer for each step of two meetings; that of Again has the sum */
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
#define AT(pe, step) (((pe) * 2 + PARITY) * STEPS + (step))
#define SUM(of) (number << 4 | (of))
#define ALL ((1 << N) - 1)

#if N == 3
#define JOINED 1
#define ROUNDS 1
#else
#define JOINED 0
#define ROUNDS (N / 2)
#endif
#define IS_JOINED (JOINED && me == 1)
#define TAKES (JOINED && me == 0)
#define NODE_OF(one) ((one) + JOINED * ((one) > 0))       /* with at most one pair */
#define NUMBER (me - JOINED * (me > 0))
#define BIT(pe) (1 << (pe))
#define NODES_OF(one) (BIT(NODE_OF(one)) | (JOINED * 2) * ((one) == 0))

inline send(to, step)
{
    load(AT(me, AGAIN), SUM(sum));
    store(AT(to, step), SUM(sum));
#ifdef NO_RELEASE_OF_LINE
    set(AT(to, step), number)
#else
    set_release(AT(to, step), number)
#endif
}

inline take(step, members)
{
    await(AT(me, step), number);
#ifndef NO_ACQUIRE_OF_LINE
    acquire();
#endif
    load(AT(me, step), SUM(members));
    if
    :: step != AGAIN -> sum = sum | (members); store(AT(me, AGAIN), SUM(sum))
    :: else -> sum = members
    fi
}

active [N] proctype pe()
{
    AGENT;
    byte number, round, v = NUMBER, sum, theirs;
    do
    :: number < CALLS ->
        number++;
        sum = BIT(me);
        store(AT(me, AGAIN), SUM(sum));
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
        load(AT(me, AGAIN), SUM(ALL))
    :: else -> break
    od
}
