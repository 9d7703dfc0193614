/* Dispatches and combines whose flags carry the number of their call: kernels/moe.py.
 *
 * In each call a PE puts rows to each peer, and then sets a flag there to the number of the call, also for a list
 * without rows. It waits for the flag of each peer and then reads the peer's rows. The next call of the PE begins after
 * that. Calls use two halves of the rows in turn.
 *
 * The flags of dispatches are in two halves, too: a flag also has the length of its list, which that of a later call
 * would replace. Combines have one flag for all calls, so a PE waits for a number that is at least that of its call.
 * Dispatches and combines have rows and flags of their own, so each run of the model is of one kind.
 *
 * No rows may be written before their owner has read those of the call that last used the place.
 */
#define CALLS 3
#define AGENTS N
#define FLAGS (2 * N * N)
#define TIMES CALLS
#define DATA (2 * N * N)
#define me _pid
#include "weak.pml"

#define PLACE(owner, writer, half) (2 * ((owner) * N + (writer)) + (half))
#ifdef NO_SECOND_HALF_OF_ROWS
#define ROWS(owner, writer) PLACE(owner, writer, 0)
#else
#define ROWS(owner, writer) PLACE(owner, writer, call % 2)
#endif
#ifdef NO_SECOND_HALF_OF_FLAGS
#define FLAG(owner, writer) PLACE(owner, writer, 0)
#else
#define FLAG(owner, writer) PLACE(owner, writer, (combines -> 0 : call % 2))
#endif
#ifdef NO_FLAG_OF_EMPTY_LIST
#define HAS_FLAG(owner, writer) (call % 2 || (owner) != 0)  /* no rows for PE 0 in calls of even number */
#else
#define HAS_FLAG(owner, writer) true
#endif

bool combines, begun;

inline send(peer)
{
    store(ROWS(peer, me), call);
#ifndef NO_RELEASE_BEFORE_FLAG
    release();
#endif
    if :: HAS_FLAG(peer, me) -> set(FLAG(peer, me), call) :: else fi
}

inline receive(peer)
{
    if
    :: HAS_FLAG(me, peer) ->
        await(FLAG(me, peer), call);
#ifndef NO_ACQUIRE_AFTER_FLAG
        acquire();
#endif
        /* a dispatch takes the length of the list from the flag */
        assert(combines || history[MESSAGE(FLAG(me, peer), newest[FLAG(me, peer)])] == call);
        load(ROWS(me, peer), call)
    :: else
    fi
}

active [N] proctype pe()
{
    AGENT;
    byte call = 1, i;
    if
    :: me == 0 -> atomic { if :: combines = true :: true fi; begun = true }
    :: else -> begun
    fi;
    do
    :: call > CALLS -> break
    :: else ->
        i = 1; do :: i < N -> send((me + i) % N); i++ :: else -> break od;
        i = 1; do :: i < N -> receive((me + i) % N); i++ :: else -> break od;
        call++
    od
}
