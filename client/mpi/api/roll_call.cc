// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/api/roll_call.h"

#include <vector>

#include "client/mpi/api/launcher_notes.h"
#include "client/mpi/api/mpi_api.h"

namespace copse::mpi {
namespace {

constexpr int kChildren = 8;
// All messages are received before MPI_Init returns, so the program cannot receive them.
constexpr int kTag = 0;

void Notify(int rank, int is_complete) { Mpi().Send(&is_complete, 1, MPI_INT, rank, kTag, MPI_COMM_WORLD); }
bool Receive(int rank) {
  int is_complete = 0;
  return Mpi().Recv(&is_complete, 1, MPI_INT, rank, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
         is_complete != 0;
}

// Returns whether all ranks have the library. Looking up all entries would take each rank time in proportion to the
// number of ranks. So the ranks form a tree, in which each looks up its parent and children, and those with the library
// exchange messages: first from the leaves up, then down. A missing rank cuts its subtree off, so every part of the
// tree that remains has a rank next to it, which finds it missing, and notifies its part.
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
