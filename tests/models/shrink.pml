/* How the members of a team that are left after losses agree on who they are.
 *
 * Hub._report_survivors and Hub._lose: ipc/hub.py; Links.agree_on_survivors: ipc/links.py; shrink: ishmem/teams.py.
 * The hub handles one message or loss at a time; what it sends to a PE arrives in order. Any PE may die at any moment, all
 * of them too, or leave after an answer. Each PE asks for its team, and again for those that were left when it hears of
 * a further loss. All that get an answer for a team get the same one, after the losses that it counts, and nobody waits
 * forever.
 */
#define ALL ((1 << N) - 1)
#define BIT(pe) (1 << (pe))
#define me _pid
#define TEAMS 16 /* sets of at most 4 PEs */
mtype = { ASK, LEAVE, GONE, ANSWER };
chan to_hub[N] = [3] of { mtype, byte };
chan from_hub[N] = [2 * N] of { mtype, byte };
byte dead, agreed[N + 1]; /* the answers that PEs get, one after the other */

active [N] proctype pe()
{
    byte team = ALL, known, got, round;
    {
        skip;
ask:    to_hub[me]!ASK, team;
        do
        :: from_hub[me]?GONE, got -> known = known | BIT(got)
        :: from_hub[me]?ANSWER, got ->
            assert(got & BIT(me));
            assert((team & ~got & ~known) == 0 && (got & known) == 0);
            assert(agreed[round] == 0 || agreed[round] == got);
            agreed[round] = got;
            round++;
            team = got;
            break
        od;
        do
        :: from_hub[me]?GONE, got ->
            known = known | BIT(got);
            if
            :: team & BIT(got) -> goto ask
            :: else
            fi
        :: to_hub[me]!LEAVE, 0 -> break
        od;
        skip
    } unless { dead & BIT(me) }
}

active proctype death()
{
    byte who;
    for (who : 0 .. N - 1) {
        if
        :: dead = dead | BIT(who)
        :: skip
        fi
    }
}

byte gone, noticed, asked[TEAMS]; /* of the hub */

inline tell_gone(which)
{
    for (i : 0 .. N - 1) {
        if
        :: !(gone & BIT(i)) -> from_hub[i]!GONE, which
        :: else
        fi
    }
}

inline lose(which)
{
    if
    :: !(gone & BIT(which)) ->
        gone = gone | BIT(which);
#ifdef NO_LOSS_FIRST
        count();
        tell_gone(which)
#else
        tell_gone(which);
#ifndef NO_COUNT_AFTER_A_LOSS
        count()
#endif
#endif
    :: else
    fi
}

inline count()
{
    for (t : 1 .. ALL) {
        left = t & ~gone;
        if
#ifdef NO_WAIT_FOR_ALL
        :: asked[t] & left ->
#else
        :: left && (asked[t] & left) == left ->
#endif
            for (i : 0 .. N - 1) {
                if
                :: asked[t] & left & BIT(i) -> from_hub[i]!ANSWER, left
                :: else
                fi
            }
            asked[t] = 0
        :: else
        fi
    }
}

inline handle(from)
{
    to_hub[from]?kind, what;
    if
    :: kind == ASK -> asked[what] = asked[what] | BIT(from); count()
    :: else -> lose(from)
    fi
}

active proctype hub()
{
    mtype kind;
    byte what, left, p, t, i;
end:
    do
    :: d_step { nempty(to_hub[0]) -> handle(0) }
    :: d_step { nempty(to_hub[1]) -> handle(1) }
#if N > 2
    :: d_step { nempty(to_hub[2]) -> handle(2) }
#endif
#if N > 3
    :: d_step { nempty(to_hub[3]) -> handle(3) }
#endif
    :: d_step { (dead & ~noticed) != 0 ->
        p = 0;
        do
        :: dead & ~noticed & BIT(p) -> break
        :: else -> p++
        od;
        noticed = noticed | BIT(p);
        do
        :: nempty(to_hub[p]) -> handle(p)
        :: else -> break
        od;
        lose(p) }
    od
}
