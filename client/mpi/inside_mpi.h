// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_CLIENT_MPI_INSIDE_MPI_H_
#define COPSE_CLIENT_MPI_INSIDE_MPI_H_

namespace copse::mpi {

// While one exists, what this thread calls is MPI's own doing, or ours, and goes straight to MPI.
class InsideMpi {
 public:
  InsideMpi() { ++depth; }
  ~InsideMpi() { --depth; }
  InsideMpi(const InsideMpi&) = delete;
  InsideMpi& operator=(const InsideMpi&) = delete;

  static bool IsNested() { return depth > 0; }

 private:
  // Not inline: that would be one variable for all libraries of a process.
  static constinit thread_local int depth;
};

}  // namespace copse::mpi

#endif  // COPSE_CLIENT_MPI_INSIDE_MPI_H_
