/* How the nodes reduce the parts of a large block, and use buffers and results in again without a barrier.
 *
 * NodeReduction, with the algorithm `levels`: ishmem/core/between_nodes.cpp; Pairs, put_landing, tell: exchange.hpp. There
 * are N nodes with one owner each. A call has PARTS rounds of parts. A part has a piece for each node that is not
 * joined. The nodes halve what they combine, at distance 1 first, and then exchange the totals in the opposite order. What a
 * node puts to another one arrives in the order of the requests. A sum is the set of nodes in it, with the number of the
 * round of parts.
 */
#define PARTS 3
#define AGENTS N
#if N == 3
#define JOINED 1
#define ROUNDS 1
#else
#define JOINED 0
#define ROUNDS (N / 2)
#endif
#define PIECES (2 * ROUNDS)       /* 2 to the power of 1 or 2 */

#define JOIN 0
#define SUMMED(round) (1 + (round))
#define RESULT(round) (1 + ROUNDS + (round))
#define AGAIN (1 + 2 * ROUNDS)
#define LINES (2 + 2 * ROUNDS)
#define FLAGS (N * LINES)         /* of each node */
#define TIMES PARTS
#define DATA (N * 3 * PIECES)     /* of each node: the results; a buffer for each round; one for the joined node */
#define me _pid
#include "weak.pml"

#define LINE(node, line) ((node) * LINES + (line))
#define TOTAL(node, piece) ((node) * 3 * PIECES + (piece))
#ifdef NO_OTHER_BUFFER
#define IN(node, round, piece) ((node) * 3 * PIECES + PIECES + (piece))
#else
#define IN(node, round, piece) ((node) * 3 * PIECES + PIECES + (round) * (PIECES / 2) + (piece))
#endif
#define IN_JOIN(node, piece) ((node) * 3 * PIECES + 2 * PIECES + (piece))

#define SUM(of) (number << 4 | (of))
#define ALL ((1 << N) - 1)
#define BIT(node) (1 << (node))
#define IS_JOINED (JOINED && me == 1)
#define TAKES (JOINED && me == 0)
#define NODE_OF(one) ((one) + JOINED * ((one) > 0))       /* with at most one pair */
#define NODES_OF(one) (BIT(NODE_OF(one)) | (JOINED * 2) * ((one) == 0))
#define AFTER(one, rounds) (NODES_OF(one) | ((rounds) > 0) * NODES_OF((one) ^ 1) | ((rounds) > 1) * (NODES_OF((one) ^ 2) | NODES_OF((one) ^ 3)))
#define PARTNER(round) (v ^ (1 << (round)))
#define KEPT(one, rounds) (((rounds) > 0) * ((one) & 1) * (PIECES / 2) + ((rounds) > 1) * ((one) >> 1 & 1) * (PIECES / 4))
#define LENGTH(rounds) (PIECES >> (rounds))

/* Tell a node of what has been put to it. */
inline tell(node, line)
{
#ifdef NO_RELEASE_OF_LINE
    set(LINE(node, line), number)
#else
    set_release(LINE(node, line), number)
#endif
}

inline hear(line)
{
    await(LINE(me, line), number);
#ifndef NO_ACQUIRE_OF_LINE
    acquire()
#endif
}

inline reduce_near()
{
    do :: piece < PIECES -> store(TOTAL(me, piece), SUM(BIT(me))); piece++ :: else -> break od;
    piece = 0
}

inline join_pair()
{
    if
    :: IS_JOINED ->
        do :: piece < PIECES -> load(TOTAL(1, piece), SUM(BIT(1))); store(IN_JOIN(0, piece), SUM(BIT(1))); piece++ :: else -> break od;
        tell(0, JOIN)
    :: TAKES ->
        hear(JOIN);
        do
        :: piece < PIECES ->
            load(IN_JOIN(0, piece), SUM(BIT(1))); load(TOTAL(0, piece), SUM(BIT(0)));
            store(TOTAL(0, piece), SUM(BIT(0) | BIT(1)));
            piece++
        :: else -> break
        od
    :: else
    fi;
    piece = 0
}

inline send_sum()
{
    to = NODE_OF(PARTNER(round));
    first = KEPT(PARTNER(round), round + 1);
#ifdef NO_DATA_BEFORE_LINE
    tell(to, SUMMED(round));
#endif
    do
    :: piece < LENGTH(round + 1) ->
        load(TOTAL(me, first + piece), SUM(AFTER(v, round)));
        store(IN(to, round, piece), SUM(AFTER(v, round)));
        piece++
    :: else -> break
    od;
#ifndef NO_DATA_BEFORE_LINE
    tell(to, SUMMED(round));
#endif
    piece = 0
}

inline take_sum()
{
    hear(SUMMED(round));
    first = KEPT(v, round + 1);
    do
    :: piece < LENGTH(round + 1) ->
        load(IN(me, round, piece), SUM(AFTER(PARTNER(round), round)));
        load(TOTAL(me, first + piece), SUM(AFTER(v, round)));
        store(TOTAL(me, first + piece), SUM(AFTER(v, round + 1)));
        piece++
    :: else -> break
    od;
    piece = 0
}

inline send_result()
{
    to = NODE_OF(PARTNER(round));
    first = KEPT(v, round + 1);
    do
    :: piece < LENGTH(round + 1) ->
        load(TOTAL(me, first + piece), SUM(ALL));
        store(TOTAL(to, first + piece), SUM(ALL));
        piece++
    :: else -> break
    od;
    tell(to, RESULT(round));
    piece = 0
}

inline part_again()
{
    if
    :: TAKES ->
        do :: piece < PIECES -> load(TOTAL(0, piece), SUM(ALL)); store(TOTAL(1, piece), SUM(ALL)); piece++ :: else -> break od;
        tell(1, AGAIN)
    :: IS_JOINED -> hear(AGAIN)
    :: else
    fi;
    piece = 0
}

inline copy_results()
{
    do :: piece < PIECES -> load(TOTAL(me, piece), SUM(ALL)); piece++ :: else -> break od;
    piece = 0
}

active [N] proctype owner()
{
    AGENT;
    byte number, round, piece, to, first;
    byte v = me - JOINED * (me > 0);
    do
    :: number < PARTS ->
        number++;
        atomic { reduce_near() };
        atomic { join_pair() };
        do
        :: round < ROUNDS && !IS_JOINED -> atomic { send_sum() }; atomic { take_sum() }; round++
        :: else -> break
        od;
        do
        :: round > 0 && !IS_JOINED ->
            round--;
            atomic { send_result() };
#ifdef NO_WAIT_FOR_RESULT
            if :: number == PARTS -> atomic { hear(RESULT(round)) } :: else fi
#else
            atomic { hear(RESULT(round)) }
#endif
        :: else -> break
        od;
        round = 0;
        atomic { part_again() };
#ifndef NO_WAIT_FOR_RESULT
        atomic { copy_results() }
#endif
    :: else -> break
    od
}
