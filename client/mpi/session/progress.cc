// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/session/progress.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "client/mpi/api/wait_time.h"

namespace copse::mpi {
namespace {

// Each turn of an MPI moves a fragment or so of a long message. A turn that takes longer than kLongTurn seconds has had
// to wait for the processor, so others want it.
constexpr int kTurnsOfProgress = 4;
constexpr double kLongTurn = 20e-6;
// A slice is so many times as long as a turn, within these seconds: a hundred ranks on a processor leave it half of its
// time, and few ranks sleep no longer than the least.
constexpr double kRestPerTurn = 200;
constexpr double kSliceMin = 1e-3;
constexpr double kSliceMax = 20e-3;
constexpr double kSliceWithWindows = 50e-6;
// The share of a long turn that is remembered at the next.
constexpr double kTurnDecay = 0.5;

}  // namespace

void Progress::Start() {
  Mpi().Query_thread(&thread_level_);
  main_thread_ = syscall(SYS_gettid);
  Mpi().Comm_dup(MPI_COMM_SELF, &own_);
  Mpi().Comm_set_errhandler(own_, MPI_ERRORS_RETURN);
  Mpi().Irecv(nullptr, 0, MPI_BYTE, 0, 0, own_, &never_);
}

void Progress::Stop() {
  Mpi().Cancel(&never_);
  Mpi().Wait(&never_, MPI_STATUS_IGNORE);
  Mpi().Comm_free(&own_);
}

// Looking at a request that is not complete drives all there is, in both MPIs; a probe does not drive MPICH's sends. It
// changes nothing, so several threads may look at one request.
void Progress::TurnMpi() {
  int flag = 0;
  const double start = NowSeconds();
  double taken = 0;
  for (int turn = 0; turn < kTurnsOfProgress && taken < kLongTurn; ++turn) {
    Mpi().Request_get_status(never_, &flag, MPI_STATUS_IGNORE);
    taken = NowSeconds() - start;
  }
  turn_s_.store(std::max(taken, turn_s_.load(std::memory_order_relaxed) * kTurnDecay), std::memory_order_relaxed);
}

double Progress::slice() const {
  if (has_windows()) return kSliceWithWindows;
  return std::clamp(kRestPerTurn * turn_s_.load(std::memory_order_relaxed), kSliceMin, kSliceMax);
}

bool Progress::MayTurn() const { return thread_level_ == MPI_THREAD_MULTIPLE || syscall(SYS_gettid) == main_thread_; }

}  // namespace copse::mpi
