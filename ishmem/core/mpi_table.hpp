// MPI without mpi.h: one table of functions serves MPICH, Intel MPI, Open MPI and the standard ABI on x86-64.
//
// A handle is an int in MPICH's ABI and a pointer in the others. An int argument is the low half of a register or of a
// stack slot, so 8 bytes serve both; where MPI writes a handle, a word that was zero holds it. Arrays of handles and the
// fields of a status differ, so nothing here uses them. All constants come from mpi4py.
#pragma once
#include <cstdint>

namespace ishmem {

using MpiHandle = uintptr_t;

struct Mpi {
    int (*Isend)(const void *, int, MpiHandle, int, int, MpiHandle, MpiHandle *);
    int (*Irecv)(void *, int, MpiHandle, int, int, MpiHandle, MpiHandle *);
    int (*Test)(MpiHandle *, int *, void *);
    int (*Cancel)(MpiHandle *);
    int (*Wait)(MpiHandle *, void *);
};

// Looks the functions up in the library that `file`, mpi4py's compiled module, has loaded. Returns what is missing, or
// null.
const char *look_up(Mpi &mpi, const char *file);

}  // namespace ishmem
