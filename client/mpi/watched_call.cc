// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/watched_call.h"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "client/mpi/wait_time.h"

namespace copse::mpi {
namespace {

// Of the longest buffer. What is longer is copied once more here than by the MPI alone, and may as well go to the
// daemons, which leave the processor to others for as long as it takes.
constexpr uint64_t kWatchedBytesMax = 16 << 10;
// The team is looked at once a call has taken so long, seconds, then each time it has taken twice as long, or so much
// longer. Most calls are over before.
constexpr double kFirstLook = 0.05;
constexpr double kLookInterval = 1;
// How long the answer is waited for: MPI stands still meanwhile.
constexpr double kAnswerTime = 0.1;

// What MPI reads and writes. It stays MPI's for ever if the call is given up, for MPI may still write to it then.
struct Memory {
  std::vector<char> send, recv;
};

bool IsReduction(const Offload& offload) {
  return offload.args.collective == COPSE_COLL_REDUCE || offload.args.collective == COPSE_COLL_ALLREDUCE;
}

// One call on its way. Buffers are bytes; those of reductions are elements of the program's type.
class ByMpi {
 public:
  ByMpi(const Communicator& communicator, const Offload& offload)
      : args_(offload.args),
        element_(offload.element),
        operation_(offload.operation),
        comm_(communicator.comm()),
        bytes_(IsReduction(offload) ? offload.known_bytes : args_.count),
        rank_(static_cast<uint64_t>(communicator.rank())),
        size_(static_cast<uint64_t>(communicator.size())) {}

  int Start();
  // As MPI_Test.
  int Test(bool* is_over);
  // Once it is over and has succeeded: to where the offload has its result.
  void CopyResult();
  // It is not over and will not be tested again.
  void Leave() { static_cast<void>(memory_.release()); }

 private:
  bool IsRoot() const { return rank_ == args_.root; }
  bool HasResult() const;
  uint64_t ResultBytes() const { return has_blocks() ? bytes_ * size_ : bytes_; }
  bool has_blocks() const { return args_.collective == COPSE_COLL_GATHER || args_.collective == COPSE_COLL_ALLGATHER; }
  void TakeContribution();

  const copse_coll_args_t args_;
  const MPI_Datatype element_;
  const MPI_Op operation_;
  const MPI_Comm comm_;
  const uint64_t bytes_;  // a rank's contribution
  const uint64_t rank_, size_;
  std::unique_ptr<Memory> memory_ = std::make_unique<Memory>();
  MPI_Request request_ = MPI_REQUEST_NULL;
};

bool ByMpi::HasResult() const {
  switch (args_.collective) {
    case COPSE_COLL_BARRIER:
      return false;
    case COPSE_COLL_BCAST:
      return !IsRoot();
    case COPSE_COLL_REDUCE:
    case COPSE_COLL_GATHER:
      return IsRoot();
    default:
      return true;
  }
}

void ByMpi::TakeContribution() {
  const char* from = static_cast<const char*>(args_.send);
  if (args_.collective == COPSE_COLL_BCAST) {
    from = static_cast<const char*>(args_.recv);
  } else if (args_.send == COPSE_IN_PLACE) {
    from = static_cast<const char*>(args_.recv) + (has_blocks() ? rank_ * bytes_ : 0);
  }
  memory_->send.assign(from, from + bytes_);
}

int ByMpi::Start() {
  const int bytes = static_cast<int>(bytes_), count = static_cast<int>(args_.count),
            root = static_cast<int>(args_.root);
  if (args_.collective == COPSE_COLL_BARRIER) return Mpi().Ibarrier(comm_, &request_);
  if (args_.collective != COPSE_COLL_BCAST || IsRoot()) TakeContribution();
  if (HasResult()) memory_->recv.resize(ResultBytes());
  char* const send = memory_->send.data();
  char* const recv = memory_->recv.data();
  switch (args_.collective) {
    case COPSE_COLL_BCAST:
      return Mpi().Ibcast(IsRoot() ? send : recv, bytes, MPI_BYTE, root, comm_, &request_);
    case COPSE_COLL_REDUCE:
      return Mpi().Ireduce(send, recv, count, element_, operation_, root, comm_, &request_);
    case COPSE_COLL_ALLREDUCE:
      return Mpi().Iallreduce(send, recv, count, element_, operation_, comm_, &request_);
    case COPSE_COLL_GATHER:
      return Mpi().Igather(send, bytes, MPI_BYTE, recv, bytes, MPI_BYTE, root, comm_, &request_);
    default:
      return Mpi().Iallgather(send, bytes, MPI_BYTE, recv, bytes, MPI_BYTE, comm_, &request_);
  }
}

int ByMpi::Test(bool* is_over) {
  int flag = 0;
  const int error = Mpi().Test(&request_, &flag, MPI_STATUS_IGNORE);
  *is_over = error != MPI_SUCCESS || flag != 0;
  return error;
}

void ByMpi::CopyResult() {
  if (HasResult()) std::memcpy(args_.recv, memory_->recv.data(), memory_->recv.size());
}

}  // namespace

bool CanWatch(const Offload& offload) {
  switch (offload.args.collective) {
    case COPSE_COLL_BARRIER:
      return true;
    case COPSE_COLL_REDUCE:
    case COPSE_COLL_ALLREDUCE:
      if (offload.element == MPI_DATATYPE_NULL) return false;
      [[fallthrough]];
    case COPSE_COLL_BCAST:
    case COPSE_COLL_GATHER:
    case COPSE_COLL_ALLGATHER:
      return offload.known_bytes > 0 && offload.known_bytes <= kWatchedBytesMax;
    default:
      return false;
  }
}

copse_status_t WatchByMpi(Session* session, const Communicator& communicator, Offload* offload, int* result,
                          std::string* why) {
  if (const copse_status_t packed = offload->Pack(); packed != COPSE_OK) return packed;
  ByMpi call(communicator, *offload);
  const double since = NowSeconds();
  double next_look = since + kFirstLook;
  bool is_over = false;
  *result = call.Start();
  if (*result != MPI_SUCCESS) return COPSE_OK;
  while (*result = call.Test(&is_over), !is_over) {
    // Others are to come, and may want this processor for that.
    sched_yield();
    const double now = NowSeconds();
    if (session->IsOver(since)) {
      call.Leave();
      *why = kTimeIsOver;
      return COPSE_ERR_TIMED_OUT;
    }
    if (now < next_look) continue;
    const copse_status_t team = offload->Ping(communicator.team(), kAnswerTime);
    if (team != COPSE_OK && team != COPSE_ERR_TIMED_OUT) {
      call.Leave();
      *why = offload->error();
      return team;
    }
    next_look = now + std::min(now - since, kLookInterval);
  }
  if (*result != MPI_SUCCESS) return COPSE_OK;
  call.CopyResult();
  return offload->Unpack();
}

}  // namespace copse::mpi
