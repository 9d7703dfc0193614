/* A memory as weak as that of SPIR-V and C++, for the models beside it.
 *
 * An agent (a PE, a work-item, a host thread) knows of some stores. It learns of others only by reading a flag: after an
 * acquire, it knows of all stores that were published by the release before the store to that flag.
 *
 * Flags are words that agents access at the same time: atomics, and aligned words written and read by one instruction.
 * Each flag keeps its history. A load returns any value that is not older than those its agent knows of. So stores may
 * be delayed and overtake each other, and loads may be early, unless a fence forbids it. An update reads the newest.
 *
 * All other words are data. Two accesses to such a word, one of them a store, must be ordered by a chain of releases and
 * acquires; otherwise the hardware or the compiler may perform them in either order. The model then stops with a failed
 * assertion, without trying the values that could be read.
 *
 * A fence of a work-item does not publish the stores of others in its work-group: what it learns from them at a barrier
 * of the group is in `near`. Other models leave `near` empty.
 *
 * A model defines AGENTS, FLAGS, TIMES (stores to one flag), DATA, and `me`, the number of the agent that acts. The
 * statements that use this declare AGENT. Names of flags and data are numbers from 0.
 */
#define BITS 31
#define MESSAGES (FLAGS * (TIMES + 1))
#define EVENTS (FLAGS * TIMES + DATA * (1 + AGENTS))
#define SIZE ((EVENTS + BITS - 1) / BITS)

typedef View { int in[SIZE] };      /* a set of stores to flags, last stores to data, and last loads of data */
View known[AGENTS];                 /* what the agent knows of */
View near[AGENTS];                  /* what it knows of within its work-group only */
View released[AGENTS];              /* what it knew at its last release fence: its stores to flags publish that */
View offered[AGENTS];               /* what the flags that it has read published: an acquire fence makes it known */
View everyone;                      /* what was known at sequentially consistent fences */
View published[MESSAGES];
byte history[MESSAGES], newest[FLAGS], content[DATA + 1], readers[DATA + 1];
bool written[DATA + 1];

#define MESSAGE(flag, time) ((flag) * (TIMES + 1) + (time))
#define STORED(flag, time) ((flag) * TIMES + (time) - 1)
#define WROTE(data) (FLAGS * TIMES + (data) * (1 + AGENTS))
#define READ(data, agent) (WROTE(data) + 1 + (agent))
#define HAS(view, event) ((view.in[(event) / BITS] >> ((event) % BITS)) & 1)
#define ADD(view, event) view.in[(event) / BITS] = view.in[(event) / BITS] | (1 << ((event) % BITS))
#define DROP(view, event) view.in[(event) / BITS] = view.in[(event) / BITS] & ~(1 << ((event) % BITS))
#define KNOWS(event) (HAS(known[me], event) || HAS(near[me], event))
#define NEWEST(flag) history[MESSAGE(flag, newest[flag])]
#define AGENT byte i_, t_

inline copy(to, from)
{
    i_ = 0; do :: i_ < SIZE -> to.in[i_] = from.in[i_]; i_++ :: else -> break od; i_ = 0
}

inline join(to, from)
{
    i_ = 0; do :: i_ < SIZE -> to.in[i_] = to.in[i_] | from.in[i_]; i_++ :: else -> break od; i_ = 0
}

/* The event happens again: no agent knows of it yet. */
inline forget(event)
{
    i_ = 0;
    do
    :: i_ < AGENTS ->
        DROP(known[i_], event); DROP(near[i_], event); DROP(released[i_], event); DROP(offered[i_], event); i_++
    :: else -> break
    od;
    i_ = 0; do :: i_ < MESSAGES -> DROP(published[i_], event); i_++ :: else -> break od;
    DROP(everyone, event);
    i_ = 0
}

/* ---- data */

inline store(data, value)
{
    d_step {
        assert(!written[data] || KNOWS(WROTE(data)));  /* ordered after the previous store */
        t_ = 0;
        do                                                      /* and after all loads of the old value */
        :: t_ < AGENTS -> assert(t_ == me || !(readers[data] >> t_ & 1) || KNOWS(READ(data, t_))); t_++
        :: else -> break
        od;
        t_ = 0;
        forget(WROTE(data));
        ADD(known[me], WROTE(data));
        written[data] = true; readers[data] = 0; content[data] = value
    }
}

inline load(data, expected)
{
    d_step {
        assert(!written[data] || KNOWS(WROTE(data)));
        assert(content[data] == (expected));
        forget(READ(data, me));
        ADD(known[me], READ(data, me));
        readers[data] = readers[data] | 1 << me
    }
}

/* ---- fences */

inline release() { d_step { copy(released[me], known[me]) } }
inline acquire() { d_step { join(known[me], offered[me]) } }
inline acquire_release() { d_step { join(known[me], offered[me]); copy(released[me], known[me]) } }
inline sequential()
{
    d_step {
        join(known[me], offered[me]); join(known[me], everyone);
        copy(everyone, known[me]); copy(released[me], known[me])
    }
}

/* ---- flags */

inline append(flag, value)
{
    assert(newest[flag] < TIMES);
    history[MESSAGE(flag, newest[flag] + 1)] = value;
    newest[flag]++;
    ADD(known[me], STORED(flag, newest[flag]))
}

/* Stores of two agents to one flag must be ordered: otherwise use an update. */
#define ORDERED(flag) assert(newest[flag] == 0 || KNOWS(STORED(flag, newest[flag])))

inline set(flag, value)  /* relaxed */
{
    d_step { ORDERED(flag); append(flag, value); copy(published[MESSAGE(flag, newest[flag])], released[me]) }
}

inline set_release(flag, value)
{
    d_step { ORDERED(flag); append(flag, value); copy(published[MESSAGE(flag, newest[flag])], known[me]) }
}

/* Relaxed read-modify-write of the newest value; the new value also publishes what the old one published. */
inline update(flag, value)
{
    d_step {
        append(flag, value);
        copy(published[MESSAGE(flag, newest[flag])], released[me]);
        join(offered[me], published[MESSAGE(flag, newest[flag] - 1)]);
        join(published[MESSAGE(flag, newest[flag])], published[MESSAGE(flag, newest[flag] - 1)])
    }
}

/* The load number t_ in the history of a flag. */
inline got(flag)
{
    if
    :: t_ > 0 -> ADD(known[me], STORED(flag, t_)); join(offered[me], published[MESSAGE(flag, t_)])
    :: else
    fi
}

#define OLDER_IS_ALLOWED(flag) t_ > 0 && !KNOWS(STORED(flag, t_))

/* Relaxed load of any value that may be read. */
inline get(flag, value)
{
    atomic {
        t_ = newest[flag];
        do :: OLDER_IS_ALLOWED(flag) -> t_-- :: break od;
        skip;
        d_step { value = history[MESSAGE(flag, t_)]; got(flag); t_ = 0 }
    }
}

/* Wait until a growing flag is at least a number. Relaxed atomic loads see each store eventually. */
inline await(flag, number)
{
    atomic {
        NEWEST(flag) >= (number);
        t_ = newest[flag];
        do :: OLDER_IS_ALLOWED(flag) && history[MESSAGE(flag, t_ - 1)] >= (number) -> t_-- :: break od;
        skip;
        d_step { got(flag); t_ = 0 }
    }
}
