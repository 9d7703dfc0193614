/* quiet completes stores: what is loaded after it is not older.
 *
 * Each PE puts into a word, calls quiet and gets the next PE's word. The last PE must see a store. kernels/order.py,
 * ishmem/core/order.cpp. A fence would not be enough: it orders only stores among each other.
 */
#define AGENTS N
#define FLAGS N
#define TIMES 1
#define DATA 0
#define me _pid
#include "weak.pml"

byte done, missed;

inline quiet()
{
#ifdef NO_SEQUENTIAL_QUIET
    acquire_release()
#else
    sequential()
#endif
}

active [N] proctype pe()
{
    AGENT;
    byte seen;
    set(me, 1);              /* p */
    quiet();
    get((me + 1) % N, seen); /* g */
    d_step { missed = missed + (seen == 0); done++; assert(done < N || missed < N) }
}
