#include "mpi_table.hpp"

#include <dlfcn.h>

namespace ishmem {

const char *look_up(Mpi &mpi, const char *file) {
    void *library = dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
    if (!library) return file;
    const struct {
        const char *name;
        void *at;
    } wanted[] = {
        {"MPI_Isend", &mpi.Isend}, {"MPI_Irecv", &mpi.Irecv}, {"MPI_Test", &mpi.Test},
        {"MPI_Cancel", &mpi.Cancel}, {"MPI_Wait", &mpi.Wait},
    };
    for (const auto &each : wanted) {
        void *found = dlsym(library, each.name);  // searches the dependencies of the file, too
        if (!found) return each.name;
        *static_cast<void **>(each.at) = found;
    }
    return nullptr;
}

}  // namespace ishmem
