/* Requests of kernels to the proxy: a full ring, and work-items that run in lockstep.
 *
 * Lanes 0 and 1 of PE 0 are a sub-group: they leave a loop together. Lane 2 runs by itself. Each lane lets the proxy store
 * a word at another PE, waits for it in quiet, and signals a PE: by an atomic of its own, or by an atomic of the proxy,
 * whose result it reads. That PE then reads the word.
 *
 * take_ticket, is_free, has_sent, post, submit, completed, release_slot: kernels/proxy_ring.py; request_and_wait,
 * await_requests: kernels/proxy.py; run, serve, move_far, atomic: ishmem/core/proxy.cpp. Loads of the ring are plain: a cache may return
 * the same old value forever unless an acquire invalidates it (NO_ACQUIRE_IN_SPIN).
 */
#define LANES 3
#define SLOTS 2
#define AGENTS (LANES + 1 + N - 1)
#define PROXY LANES
#define OBSERVER(pe) (LANES + (pe))         /* of PE 1, 2: they only wait and read */
#define FLAGS (2 + 2 * SLOTS + LANES)
#define TIMES (2 * LANES)
#define DATA (SLOTS + LANES)                /* the rest of the slots; what each lane stores at another PE */
#include "weak.pml"

#define TICKETS 0
#define COMPLETED 1
#define TURN(ticket) (2 + (ticket) % SLOTS)
#define POSTED(ticket) (2 + SLOTS + (ticket) % SLOTS)
#define TOLD(lane) (2 + 2 * SLOTS + (lane))        
#define SLOT(ticket) ((ticket) % SLOTS)
#define FAR(lane) (SLOTS + (lane))
#define LAP(ticket) ((ticket) / SLOTS)
#define HOME(lane) (1 + (lane) % (N - 1))           /* the PE that reads what a lane has stored */

#define STORE 0
#define ATOMIC 1
#define REQUEST(kind, lane) ((kind) * LANES + (lane))
#define RESULT 99

#define FREE(lane) (NEWEST(TURN(ticket[lane])) == LAP(ticket[lane]))
#define SERVED(lane) (NEWEST(COMPLETED) > ticket[lane])

bool by_proxy[LANES];  /* how a lane signals */

byte ticket[LANES];
bool posted[LANES], done[LANES];

#ifdef NO_ACQUIRE_IN_SPIN
bool blind[LANES];     /* has read an old value, and reads the same forever */
#define LOOKS(lane) !blind[lane]
#else
#define LOOKS(lane) true
#endif

inline take_ticket(lane)
{
    atomic { me = lane; ticket[me] = NEWEST(TICKETS); update(TICKETS, ticket[me] + 1) }
}

/* Write the request into a free slot and post it. */
inline post(kind)
{
    await(TURN(ticket[me]), LAP(ticket[me]));
#ifndef NO_ACQUIRE_OF_TURN
    acquire();
#endif
    store(SLOT(ticket[me]), REQUEST(kind, me));
#ifndef NO_RELEASE_IN_POST
    release();
#endif
    set(POSTED(ticket[me]), LAP(ticket[me]) + 1);
    posted[me] = true
}

inline read_result()
{
    await(COMPLETED, ticket[me] + 1);
#ifndef NO_ACQUIRE_OF_COMPLETED
    acquire();
#endif
    load(SLOT(ticket[me]), RESULT);
#ifndef NO_RELEASE_OF_RESULT
    release();
#endif
    set(TURN(ticket[me]), LAP(ticket[me]) + 1);
    done[me] = true
}

inline submit()
{
    take_ticket(first);
    if :: last > first -> take_ticket(last) :: else fi;
#ifdef NO_POST_IN_LOOP
    FREE(first) && FREE(last);  /* a loop of its own, which lanes leave together */
#endif
    do
    :: atomic { !posted[first] && FREE(first) && LOOKS(first) -> me = first; post(STORE) }
    :: atomic { !posted[last] && FREE(last) && LOOKS(last) -> me = last; post(STORE) }
#ifdef NO_ACQUIRE_IN_SPIN
    :: d_step { !posted[first] && !FREE(first) && LOOKS(first) -> blind[first] = true }
#endif
    :: d_step { posted[first] && posted[last] -> posted[first] = false; posted[last] = false }; break
    od
}

inline await_lane(lane)
{
    atomic {
        me = lane;
#ifndef NO_WAIT_FOR_REQUESTS
        get(TICKETS, ticket[me]);
        await(COMPLETED, ticket[me]);
#endif
#ifndef NO_SEQUENTIAL_AFTER_REQUESTS
        sequential();
#endif
        ticket[me] = 0
    }
}

inline await_requests()
{
    await_lane(first);
    if :: last > first -> await_lane(last) :: else fi
}

inline request_and_wait()
{
    take_ticket(first);
    if :: last > first -> take_ticket(last) :: else fi;
    do
    :: atomic { !posted[first] && FREE(first) -> me = first; post(ATOMIC) }
    :: atomic { !posted[last] && FREE(last) -> me = last; post(ATOMIC) }
#ifdef NO_READ_IN_LOOP
    :: posted[first] && posted[last] -> break
    od;
    do  /* a loop of its own */
#endif
    :: atomic { posted[first] && !done[first] && SERVED(first) -> me = first; read_result() }
    :: atomic { posted[last] && !done[last] && SERVED(last) -> me = last; read_result() }
    :: done[first] && done[last] -> break
    od
}

/* Lanes that leave loops together. */
proctype sub_group(byte first, last)
{
    AGENT;
    byte me = first;
    submit();
    await_requests();
    if
    :: by_proxy[first] -> request_and_wait()
    :: else ->
        atomic { me = first; set(TOLD(me), 1) };
        if :: last > first -> atomic { me = last; set(TOLD(me), 1) } :: else fi
    fi
}

inline complete()
{
#ifdef NO_RELEASE_OF_COMPLETED
    set(COMPLETED, next + 1)
#else
    set_release(COMPLETED, next + 1)
#endif
}

inline free_slot()
{
#ifdef NO_RELEASE_OF_TURN
    set(TURN(next), LAP(next) + 1)
#else
    set_release(TURN(next), LAP(next) + 1)
#endif
}

proctype serve()  /* the proxy */
{
    AGENT;
    byte me = PROXY, next, lane;
    bool fetches;
end:
    do
    :: atomic {
            await(POSTED(next), LAP(next) + 1);
#ifndef NO_ACQUIRE_OF_POSTED
            acquire();
#endif
            load(SLOT(next), content[SLOT(next)]);
            lane = content[SLOT(next)] % LANES;
            fetches = content[SLOT(next)] / LANES == ATOMIC;
            if
            :: fetches ->
#ifndef NO_RELEASE_OF_FAR
                release();
#endif
                update(TOLD(lane), 1);
                store(SLOT(next), RESULT)
            :: else -> store(FAR(lane), 1)
            fi
        }
        if  /* the slot is free before the request is complete, unless the source of a put is still read */
        :: !fetches -> free_slot(); complete()
        :: complete(); if :: fetches :: else -> free_slot() fi
        fi;
        d_step { next++; lane = 0; fetches = false }
    od
}

proctype observer(byte pe)
{
    AGENT;
    byte me = OBSERVER(pe), lane;
    do
    :: lane < LANES ->
        if
        :: HOME(lane) == pe ->
            atomic { await(TOLD(lane), 1); acquire(); load(FAR(lane), 1) }
        :: else
        fi;
        lane++
    :: else -> break
    od
}

init
{
    atomic {
        if :: by_proxy[0] = true; by_proxy[1] = true :: skip fi;
        if :: by_proxy[2] = true :: skip fi;
        run sub_group(0, 1); run sub_group(2, 2); run serve(); run observer(1);
#if N > 2
        run observer(2)
#endif
    }
}
