/* quiet in a kernel completes the puts of the host to other nodes, which the engine has not yet seen acknowledged.
 *
 * The host puts N times. After each put it lets another work-item call quiet. A work-item that finds HOST_PUTS set posts
 * a request, for which the proxy clears HOST_PUTS and waits for all puts that the engine has at that time. A work-item
 * that finds it clear waits for the request of the other one.
 *
 * host_has_put: ishmem/core/proxy.cpp (the host), kernels/proxy_ring.py; complete_host_puts, await_requests:
 * kernels/proxy.py; begin_quiet, is_done: ishmem/core/proxy.cpp. proxy_ring.pml is the model of the ring.
 */
#define AGENTS (N + 2)
#define HOST 0
#define PROXY (N + 1)
#define FLAGS 5
#define TIMES (2 * N + 2)
#define DATA 0
#include "weak.pml"

#define HOST_PUTS 0
#define GO 1
#define TICKETS 2
#define COMPLETED 3
#define MUTEX 4

byte started, arrived;  /* puts that the engine has, under its mutex; puts that are acknowledged */

/* Lock and unlock the mutex of the engine. */
#define LOCKED update(MUTEX, 0); acquire_release()

inline host_has_put()
{
    get(HOST_PUTS, seen);
    if :: !seen -> update(HOST_PUTS, 1) :: else fi
}

inline put(number)
{
#ifdef NO_PUT_BEFORE_FLAG
    host_has_put();
#endif
    atomic { release(); LOCKED; started = number };
#ifndef NO_PUT_BEFORE_FLAG
    host_has_put();
#endif
    set_release(GO, number)
}

proctype host()
{
    AGENT;
    byte me = HOST, number = 1, seen;
    do
    :: number <= N -> put(number); number++; seen = 0
    :: else -> break
    od
}

inline begin_quiet()
{
#ifndef NO_CLEAR_BEFORE_MARK
#ifndef NO_RELEASE_OF_CLEAR
    release();
#endif
    update(HOST_PUTS, 0);
#endif
    atomic { release(); LOCKED; mark = started };
#ifdef NO_CLEAR_BEFORE_MARK
    release();
    update(HOST_PUTS, 0)
#endif
}

proctype serve()
{
    AGENT;
    byte me = PROXY, next, mark;
end:
    do
    :: await(TICKETS, next + 1);
       acquire();
       begin_quiet();
       d_step { arrived = (mark > arrived -> mark : arrived); next++; mark = 0 };
       set_release(COMPLETED, next)
    od
}

proctype quiet(byte me)
{
    AGENT;
    byte seen, wanted;
    await(GO, me);
    acquire();
    get(HOST_PUTS, seen);
#ifndef NO_ACQUIRE_OF_FLAG
    acquire();
#endif
    if
    :: seen -> atomic { release(); update(TICKETS, NEWEST(TICKETS) + 1); wanted = NEWEST(TICKETS) }
    :: else ->
#ifndef NO_WAIT_FOR_OTHERS
        get(TICKETS, wanted)
#else
        skip
#endif
    fi;
    await(COMPLETED, wanted);
    assert(arrived >= me)
}

init
{
    atomic {
        byte lane = 1;
        run host(); run serve();
        do :: lane <= N -> run quiet(lane); lane++ :: else -> break od
    }
}
