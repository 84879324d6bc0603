// SPDX-License-Identifier: Apache-2.0
//
// Makes the calls of one cell, which is a collective with a number of elements.
#ifndef COPSE_CLI_PERFTEST_CALLER_H_
#define COPSE_CLI_PERFTEST_CALLER_H_

#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/status.h"
#include "cli/perftest/computation.h"
#include "cli/perftest/options.h"
#include "cli/perftest/pattern.h"
#include "cli/perftest/session.h"
#include "client/copse.h"

namespace copse::perftest {

struct CallTime {
  int64_t overall_ns = 0;  // from before the call to after its completion
  int64_t compute_ns = 0;  // the time of Computation::Run in overall_ns
};

// A Caller owns the buffers and requests of a cell and makes its calls, in the mode of the options.
//
// The order is Allocate (Prepare Call Verify?)*, with equal arguments on all ranks; after an error, only the destructor
// may be called. Thread-compatible.
class Caller {
 public:
  // All pointers must outlive this object.
  Caller(Session* session, const Options* options, Collective collective, uint64_t count);
  ~Caller();
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  // Allocates and fills the buffers, and initializes one request so that the library can refuse the call before any
  // rank makes it. Communicates with no other rank. Errors: those of ToStatus; INVALID_ARGUMENT or ABORTED if the
  // buffers exceed a limit or the node's memory.
  absl::Status Allocate();
  // Does the unmeasured work of call number `call`: sets its root, creates its persistent request if there is none yet,
  // writes its data if data is checked, and makes the barrier unless calls are back to back.
  absl::Status Prepare(uint64_t call);
  // Makes the prepared call and sets `*time`. If `rounds` > 0, runs that many rounds of `*computation` between post and
  // completion; the mode must then not be kBlocking. Errors: those of ToStatus.
  absl::Status Call(Computation* computation, uint64_t rounds, CallTime* time);
  // Counts the wrong elements of this rank's result of the latest call, which was number `call`. Returns 0 if data is
  // not checked or this rank has no result.
  uint64_t Verify(uint64_t call);

 private:
  // An Allocation is one buffer of `count` elements; without elements it is null.
  struct Allocation {
    void* data = nullptr;
    uint64_t count = 0;
    uint64_t bytes = 0;
  };

  absl::Status CountBlocks();
  absl::Status AllocateBuffer(uint64_t count, Allocation* allocation);
  absl::Status Initialize(copse_request_t** request);
  // Sets the arguments of call number `call`, which depend on its root.
  void SetArguments(uint64_t call);
  void PutContribution(uint64_t call);
  bool is_root() const { return args_.root == session_->rank(); }  // root of the prepared call
  // Returns whether the collective is scatter or scatterv. In place, their root's own block stays in the send buffer.
  bool is_scatter() const { return traits_.nesting == Nesting::kReceiveInSend; }
  bool in_place() const;
  bool has_sent() const;
  bool has_received() const;
  // Returns the number of elements in the block from one rank to another.
  uint64_t LengthOf(uint32_t from, uint32_t to) const;
  copse_status_t Complete(copse_request_t* request) const;
  copse_status_t Compute(Computation* computation, uint64_t rounds, copse_request_t* request, CallTime* time) const;

  Session* const session_;
  const Options* const options_;
  const Collective collective_;
  const CollectiveTraits& traits_;
  const uint64_t count_;
  const Pattern pattern_;
  std::vector<uint64_t> lengths_;                    // by rank; empty for regular collectives
  std::vector<uint64_t> send_counts_, recv_counts_;  // alltoallv: this rank's blocks
  uint64_t own_count_ = 0;                           // elements of this rank's block
  uint64_t blocks_count_ = 0;                        // elements of all blocks
  Allocation send_, recv_;
  std::vector<uint8_t> expected_;
  copse_coll_args_t args_{};
  std::map<uint32_t, copse_request_t*> kept_;  // by root
  copse_request_t* kept_request_ = nullptr;    // request of the prepared call
};

}  // namespace copse::perftest

#endif  // COPSE_CLI_PERFTEST_CALLER_H_
