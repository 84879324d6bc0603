// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/session/progress.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "client/mpi/api/wait_time.h"

namespace copse::mpi {
namespace {

// Each call of MPI's progress engine transfers about one fragment of a long message, so several calls are made. If they
// take longer than kLongTurn seconds, the thread has had to wait for the core, and makes no more.
constexpr int kTurnsOfProgress = 4;
constexpr double kLongTurn = 20e-6;
// A slice is kRestPerTurn times as long as the longest recent TurnMpi, within the limits below, in seconds. So a
// hundred ranks on a core use half of its time, and few ranks have the shortest slice.
constexpr double kRestPerTurn = 200;
constexpr double kSliceMin = 1e-3;
constexpr double kSliceMax = 20e-3;
constexpr double kSliceWithWindows = 50e-6;
// The longest duration decays by this factor at each TurnMpi.
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

// In MPICH and Open MPI, testing a request that is not complete makes progress on all operations; a probe does not do
// so for MPICH's sends. MPI_Request_get_status does not change the request, so several threads may test it.
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
