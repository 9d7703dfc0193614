"""The same programs with mpi4py. The same kernels do the local work, in memory that MPI accesses without copies."""
