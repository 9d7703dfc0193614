/* How the members of a team enter and leave collective calls in kernels, and use their slots again.
 *
 * Functions of kernels/rendezvous.py, kernels/collective_calls.py and kernels/barrier.py, copy_from_slots of
 * kernels/collectives.py, and tiles of kernels/reductions.py. All members make the same CALLS calls, of any kinds:
 * SMALL, whose data go with the rendezvous; LARGE, which puts its data into the members' arrays between a rendezvous
 * and a barrier, and uses its own slots for tiles; SYNC, a barrier alone. Rendezvous and barriers share one sequence of
 * numbers: `number`. Where PEs check their calls, a synchronisation is a rendezvous without data, which SMALL covers.
 */
#define CALLS 3
#define AGENTS N
#define FLAGS (N * N * 2 + N * 2)  /* of each PE: the numbers in two slots of each member, and lines of the barrier */
#define TIMES (CALLS + 1)
#define DATA (N * N * 2 + N * N)   /* of each PE: the rest of the slots, and an array with a block of each member */
#define me _pid
#include "weak.pml"

#ifdef NO_SECOND_SLOT
#define PARITY 0
#else
#define PARITY (number & 1)
#endif
#define SLOT(pe, member) (((pe) * 2 + PARITY) * N + (member))
#define LINE(pe, round) (N * N * 2 + (pe) * 2 + (round))
#define BLOCK(pe, member) (N * N * 2 + (pe) * N + (member))

mtype = { SMALL, LARGE, SYNC };
mtype kind[CALLS];

inline rendezvous()  /* meet, and put_small_blocks before it: one loop here, as no PE waits between them */
{
    step = 1;
    do
    :: step <= N ->
#ifndef NO_DATA_BEFORE_NUMBER
        store(SLOT((me + step) % N, me), number);
#endif
        if
        :: step < N ->
#ifdef NO_RELEASE_OF_NUMBER
            set(SLOT((me + step) % N, me), number);
#else
            set_release(SLOT((me + step) % N, me), number);
#endif
        :: else
        fi;
#ifdef NO_DATA_BEFORE_NUMBER
        store(SLOT((me + step) % N, me), number);
#endif
        step++
    :: else -> break
    od;
    step = 0;
    do
    :: step < N ->
        if :: step != me -> await(SLOT(me, step), number) :: else fi;
        step++
    :: else -> break
    od;
#ifndef NO_ACQUIRE_IN_RENDEZVOUS
    acquire();
#endif
    step = 0
}

inline copy_from_slots()
{
    step = 0;
    do
    :: step < N -> load(SLOT(me, step), number); step++
    :: else -> break
    od;
    step = 0
}

inline move()
{
    step = 0;
    do
    :: step < N ->
        store(SLOT(me, step), number + CALLS);  /* a tile: of another member first, then the result for it */
        load(SLOT(me, step), number + CALLS);
        store(BLOCK((me + step) % N, me), number + 1);
        step++
    :: else -> break
    od;
    step = 0
}

inline use()  /* the user's program, after the call */
{
    step = 0;
    do
    :: step < N -> load(BLOCK(me, step), number); step++
    :: else -> break
    od;
    step = 0
}

inline dissemination_barrier()
{
    number++;
    step = 1;
    do
    :: step < N ->
#ifdef NO_RELEASE_OF_LINE
        set(LINE((me + step) % N, step - 1), number);
#else
        set_release(LINE((me + step) % N, step - 1), number);
#endif
        await(LINE(me, step - 1), number);
#ifndef NO_ACQUIRE_OF_LINE
        acquire();
#endif
        step = step * 2
    :: else -> break
    od;
    step = 0
}

active [N] proctype pe()
{
    AGENT;
    byte number, call, step;
    do
    :: call < CALLS ->
        atomic {  /* the first PE to arrive chooses the call of all */
            if
            :: kind[call] == 0 -> if :: kind[call] = SMALL :: kind[call] = LARGE :: kind[call] = SYNC fi
            :: else
            fi
        }
        if
        :: kind[call] == SMALL -> number++; rendezvous(); copy_from_slots()
        :: kind[call] == LARGE -> number++; rendezvous(); move(); dissemination_barrier(); use()
        :: kind[call] == SYNC -> dissemination_barrier()
        fi;
        call++
    :: else -> break
    od
}
