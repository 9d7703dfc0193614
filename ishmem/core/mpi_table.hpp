// MPI without mpi.h: one function table serves MPICH, Intel MPI, Open MPI and the standard ABI on x86-64.
//
// A handle is an int in MPICH's ABI and a pointer in the others. An int argument occupies the low half of a register
// or stack slot, so an 8-byte handle serves both; a handle that MPI writes must be zero before. The layouts of handle
// arrays and of MPI_Status differ, so this code uses neither. All constants come from mpi4py.
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

// Looks up the functions in the MPI library that `file`, mpi4py's compiled module, has loaded. Returns the first
// missing name, or null.
const char *look_up(Mpi &mpi, const char *file);

}  // namespace ishmem
