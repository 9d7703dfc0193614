/* The ticket lock: one word, updated by relaxed atomics. Only the owner reads and writes the data.
 *
 * set_lock, test_lock, clear_lock: kernels/locks.py and ishmem/locks.py. Each PE takes the lock TURNS times, by either.
 */
#define TURNS (4 - N)
#define AGENTS N
#define FLAGS 1
#define TIMES (3 * TURNS * N)
#define DATA 1
#define me _pid
#include "weak.pml"

#define LOCK 0
#define SHARED 0
#define WORD(next, serving, holder) ((next) << 5 | (serving) << 2 | (holder))
#define NEXT(word) ((word) >> 5)
#define SERVING(word) ((word) >> 2 & 7)
#define HOLDER(word) ((word) & 3)

byte held;  /* how many times the lock was acquired */

inline set_lock()
{
    atomic { ticket = NEXT(NEWEST(LOCK)); update(LOCK, NEWEST(LOCK) + WORD(1, 0, 0)) }  /* atomic_fetch_add */
    atomic {                                                                            /* atomic_fetch, until */
        SERVING(NEWEST(LOCK)) == ticket;
        t_ = newest[LOCK];
        do
        :: OLDER_IS_ALLOWED(LOCK) && SERVING(history[MESSAGE(LOCK, t_ - 1)]) == ticket -> t_--
        :: break
        od;
        d_step { got(LOCK); t_ = 0; ticket = 0 }
    }
    update(LOCK, NEWEST(LOCK) + me + 1);                                                /* atomic_add */
#ifndef NO_ACQUIRE_IN_SET_LOCK
    acquire();
#endif
    has = true
}

inline test_lock()
{
    get(LOCK, word);                                                                    /* atomic_fetch */
    if
    :: HOLDER(word) || SERVING(word) != NEXT(word)
    :: else ->
        atomic {                                                                        /* atomic_compare_swap */
            if
            :: NEWEST(LOCK) == word -> update(LOCK, word + WORD(1, 0, me + 1)); has = true
            :: else
            fi
        }
        if
        :: has ->
#ifndef NO_ACQUIRE_IN_TEST_LOCK
            acquire()
#else
            skip
#endif
        :: else
        fi
    fi;
    word = 0
}

inline clear_lock()
{
#ifndef NO_RELEASE_IN_CLEAR_LOCK
    sequential();                                                                       /* complete */
#endif
    update(LOCK, NEWEST(LOCK) + WORD(0, 1, 0) - (me + 1));
    has = false
}

active [N] proctype pe()
{
    AGENT;
    byte ticket, word, turn;
    bool has;
    do
    :: turn < TURNS ->
        if :: set_lock() :: test_lock() fi;
        if
        :: has ->
            load(SHARED, held);
            d_step { held++ }
            store(SHARED, held);
            clear_lock()
        :: else
        fi;
        turn++
    :: else -> break
    od
}
