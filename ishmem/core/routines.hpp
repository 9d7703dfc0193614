// The collective routines and what distinguishes them: the table of ishmem/common/collective_table.py, which explains it.
#pragma once

namespace ishmem {

enum class Root { None, Sends, Receives };
enum class InPlace { Never, Same, OwnBlock };
enum class Combines { Nothing, Reduction, Scan };

struct Traits {
    Root root;
    InPlace in_place;
    Combines combines;
    bool dest_blocks, source_blocks, own_counts, is_plain, gives_all_the_same;
};

#include "routine_table.inc"

inline const Traits &traits(Routine routine) { return TRAITS[routine]; }

inline bool combines(Routine routine) { return traits(routine).combines != Combines::Nothing; }
inline bool is_scan(Routine routine) { return traits(routine).combines == Combines::Scan; }
inline bool is_reduction(Routine routine) { return traits(routine).combines == Combines::Reduction; }

}  // namespace ishmem
