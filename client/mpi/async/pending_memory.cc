// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/async/pending_memory.h"

#include <algorithm>

#include "client/mpi/api/inside_mpi.h"
#include "client/mpi/session/session.h"

namespace copse::mpi {
namespace {

tnbc::PageGuard* the_guard = nullptr;
tnbc::AsynchronousCompletion* the_early_return = nullptr;

void Turn() {
  if (Session* const session = TheSession(); session != nullptr) session->progress.Turn();
}

}  // namespace

void SetPageGuard(tnbc::PageGuard* guard) { the_guard = guard; }
tnbc::PageGuard* ThePageGuard() { return the_guard; }
void SetEarlyReturn(tnbc::AsynchronousCompletion* early_return) { the_early_return = early_return; }

bool AnyPending() { return the_guard != nullptr && the_guard->pending().load(std::memory_order_relaxed) != 0; }

// MPI must make progress while a thread waits here, since other ranks may need operations that this process has
// started. A thread that a fault has stopped within an MPI call must not call MPI again.
void TurnWhileWaiting() {
  Session* const session = TheSession();
  if (session == nullptr || !session->progress.MayTurn() || InsideMpi::IsNested() || CallingMpi::IsNested()) return;
  const InsideMpi inside;
  session->progress.Turn();
}

bool AwaitEverything() { return !AnyPending() || the_guard->AwaitAll(TurnWhileWaiting); }

tnbc::Range MemoryOf(const void* buffer, int64_t count, MPI_Datatype type) {
  if (count <= 0 || type == MPI_DATATYPE_NULL || buffer == MPI_IN_PLACE) return {};
  MPI_Aint low = 0, extent = 0, true_low = 0, true_extent = 0;
  const bool known = Mpi().Type_get_extent(type, &low, &extent) == MPI_SUCCESS &&
                     Mpi().Type_get_true_extent(type, &true_low, &true_extent) == MPI_SUCCESS;
  if (!known) return {0, UINTPTR_MAX};
  // The extent may be negative, so that elements lie in descending order.
  const MPI_Aint last = static_cast<MPI_Aint>(count - 1) * extent;
  const MPI_Aint begin = std::min<MPI_Aint>(last, 0) + true_low,
                 end = std::max<MPI_Aint>(last, 0) + true_low + true_extent;
  if (end <= begin) return {};
  const uintptr_t address = reinterpret_cast<uintptr_t>(buffer) + static_cast<uintptr_t>(begin);
  return {address, address + static_cast<uintptr_t>(end - begin)};
}

bool AwaitRange(const tnbc::Range& memory) {
  if (!AnyPending() || memory.bytes() == 0) return true;
  return the_guard->Await(reinterpret_cast<const void*>(memory.begin), memory.bytes(),  // NOLINT: MPI's
                          TurnWhileWaiting);
}

bool AwaitMessage(const void* buffer, int64_t count, MPI_Datatype type) {
  return !AnyPending() || AwaitRange(MemoryOf(buffer, count, type));
}

bool AwaitBuffers(const Communicator& communicator, const Offload& offload) {
  if (!AnyPending()) return true;
  const auto rank = static_cast<uint32_t>(communicator.rank()), size = static_cast<uint32_t>(communicator.size());
  bool is_there = false;
  const bool known = the_early_return != nullptr && offload.has_plain_buffers() &&
                     the_early_return->AwaitBuffers(offload.args, rank, size, Turn, &is_there);
  return known ? is_there : AwaitEverythingInCall();
}

bool AwaitEverythingInCall() { return !AnyPending() || the_guard->AwaitAll(Turn); }

}  // namespace copse::mpi
