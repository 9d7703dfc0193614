// Messages between nodes over TCP, in place of MPI: for jobs that go on after a loss, as no MPI library is sure to survive it.
//
// Each pair of PEs on different nodes has a connection, on which a message is a header and its bytes, in order. The
// functions are those that the engine calls of MPI, and are called under its lock. What is sent to a PE whose connection has
// ended is dropped; what is to be received from it waits until `drop_socket`.
#pragma once
#include <vector>

#include "mpi_table.hpp"

namespace ishmem {

constexpr int GONE = -2;  // of Test: what was to be received will not come

// Takes the connections, by PE; -1: none. `payloads` is the communicator of what is no packet.
Mpi open_sockets(const std::vector<int> &sockets, MpiHandle payloads);
void drop_socket(int pe);
void close_sockets();

}  // namespace ishmem
