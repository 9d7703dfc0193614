/* Collectives whose words carry the number of their call: kernels/communicator.py.
 *
 * In each call a PE writes a slot of every peer and polls its own slots, in any order. A slot has the number of the call
 * and the data in one word, so whoever sees the number has the data. A kernel makes one call, so the accesses of a call
 * are ordered before those of the next one of the same PE. Calls use two halves of the slots in turn.
 *
 * No slot may be written before its owner has completed the call that last used it.
 */
#define CALLS 4
#ifdef NO_SECOND_HALF
#define HALVES 1
#else
#define HALVES 2
#endif
#define SLOT(owner, writer, call) (((owner) * N + (writer)) * HALVES + (call) % HALVES)

byte slots[N * N * HALVES], completed[N];

inline send(peer)
{
    d_step {
        assert(call <= HALVES || completed[peer] >= call - HALVES);
        slots[SLOT(peer, _pid, call)] = call;
        sent = sent | 1 << peer
    }
}

#define ALL ((1 << N) - 1)
#ifdef NO_WORD_FROM_ALL  /* a PE with an empty part of the message sends nothing */
#define EXPECTED (ALL & ~(1 << (_pid + 1) % N))
#else
#define EXPECTED ALL
#endif

active [N] proctype pe()
{
    byte call = 1, sent, seen, peer;
    do
    :: call > CALLS -> break
    :: else ->
        sent = 1 << _pid; seen = sent | (ALL & ~EXPECTED);
        do
        :: sent == ALL && seen == ALL -> break
        :: else ->
            select(peer : 0 .. N - 1);
            if
            :: !(sent >> peer & 1) -> send(peer)
            :: !(seen >> peer & 1) && slots[SLOT(_pid, peer, call)] == call -> seen = seen | 1 << peer
            :: (sent >> peer & 1) && (seen >> peer & 1)
            :: (sent >> peer & 1) && !(seen >> peer & 1) && slots[SLOT(_pid, peer, call)] != call
            fi
        od;
        completed[_pid] = call; call++
    od
}
