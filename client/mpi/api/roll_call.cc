// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/api/roll_call.h"

#include <algorithm>
#include <vector>

#include "client/mpi/api/launcher_notes.h"
#include "client/mpi/api/mpi_api.h"

namespace copse::mpi {
namespace {

constexpr int kChildren = 8;
// Its messages are all received before MPI_Init returns, so the program never meets them.
constexpr int kTag = 0;

void Notify(int rank, int is_complete) { Mpi().Send(&is_complete, 1, MPI_INT, rank, kTag, MPI_COMM_WORLD); }
bool Receive(int rank) {
  int is_complete = 0;
  return Mpi().Recv(&is_complete, 1, MPI_INT, rank, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
         is_complete != 0;
}

// Looking for every rank's note would take each rank time in proportion to the number of ranks. So the ranks form a
// tree, each looks for the notes of its parent and children, and ranks that are there notify each other by messages: a
// gap is known to all ranks above it, up to the root or another gap, and to all ranks below.
bool IsComplete(int rank, int size) {
  const int parent = (rank - 1) / kChildren;
  const bool has_parent = rank > 0 && LauncherNotes::IsThere(parent);
  bool is_complete = rank == 0 || has_parent;
  std::vector<int> children;
  for (int child = kChildren * rank + 1; child <= kChildren * rank + kChildren && child < size; ++child) {
    if (LauncherNotes::IsThere(child)) {
      children.push_back(child);
    } else {
      is_complete = false;
    }
  }
  for (const int child : children) is_complete = Receive(child) && is_complete;
  if (has_parent) {
    Notify(parent, is_complete ? 1 : 0);
    is_complete = Receive(parent);
  }
  for (const int child : children) Notify(child, is_complete ? 1 : 0);
  return is_complete;
}

}  // namespace

RollCall CallTheRoll(int rank, int size) {
  RollCall result;
  if (!LauncherNotes::AreThere()) return result;
  result.is_complete = IsComplete(rank, size);
  if (!result.is_complete) {
    int first = 0;
    while (first < rank && !LauncherNotes::IsThere(first)) ++first;
    result.speaks = first == rank;
    for (int other = size - 1; result.speaks && other >= 0; --other) {
      if (other == rank || LauncherNotes::IsThere(other)) continue;
      ++result.absent;
      result.first_absent = other;
    }
  }
  LauncherNotes::End();
  return result;
}

}  // namespace copse::mpi
