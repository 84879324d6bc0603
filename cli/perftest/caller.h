// SPDX-License-Identifier: Apache-2.0
//
// The calls of one cell: a collective with a number of elements.
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
  int64_t overall_ns = 0;  // from the caller's start of a call to its end
  int64_t compute_ns = 0;  // computation included in it
};

// A Caller owns the buffers and requests of a cell and makes its calls, in the mode of the options.
//
// Calls follow Allocate (Prepare Call Verify?)*, the same on all ranks; after an error only the destructor.
// Thread-compatible.
class Caller {
 public:
  // All pointers must outlive this object.
  Caller(Session* session, const Options* options, Collective collective, uint64_t count);
  ~Caller();
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  // Allocates buffers; local. The library's refusals, for size or another reason, are reported here.
  absl::Status Allocate();
  // Does the unmeasured work of call number `call`: its root, its request if requests are persistent, its data if data
  // is checked, and the barrier.
  absl::Status Prepare(uint64_t call);
  // Makes the call. With `rounds` above 0 it computes between post and completion.
  absl::Status Call(Computation* computation, uint64_t rounds, CallTime* time);
  // Counts the wrong elements of this rank's result. 0 where the collective leaves none.
  uint64_t Verify(uint64_t call);

 private:
  // Allocation is one buffer of so many elements.
  struct Allocation {
    void* data = nullptr;
    uint64_t count = 0;
    uint64_t bytes = 0;
  };

  absl::Status CountBlocks();
  absl::Status AllocateBuffer(uint64_t count, Allocation* allocation);
  absl::Status Initialize(copse_request_t** request);
  // Sets the arguments that depend on the root.
  void SetArguments(uint64_t call);
  void PutContribution(uint64_t call);
  bool is_root() const { return args_.root == session_->rank(); }  // root of the prepared call
  // In place, the block that need not move is in the send buffer.
  bool is_scatter() const { return traits_.nesting == Nesting::kReceiveInSend; }
  bool in_place() const;
  bool has_sent() const;
  bool has_received() const;
  // Returns the elements of the block from one rank to another.
  uint64_t LengthOf(uint32_t from, uint32_t to) const;
  copse_status_t Complete(copse_request_t* request) const;
  copse_status_t Compute(Computation* computation, uint64_t rounds, copse_request_t* request, CallTime* time) const;

  Session* const session_;
  const Options* const options_;
  const Collective collective_;
  const CollectiveTraits& traits_;
  const uint64_t count_;
  const Pattern pattern_;
  std::vector<uint64_t> lengths_;                    // by rank
  std::vector<uint64_t> send_counts_, recv_counts_;  // alltoallv: this rank's blocks
  uint64_t own_count_ = 0;                           // this rank's one block
  uint64_t blocks_count_ = 0;                        // sum of all blocks
  Allocation send_, recv_;
  std::vector<uint8_t> expected_;
  copse_coll_args_t args_{};
  std::map<uint32_t, copse_request_t*> kept_;  // by root
  copse_request_t* kept_request_ = nullptr;    // request of the prepared call
};

}  // namespace copse::perftest

#endif  // COPSE_CLI_PERFTEST_CALLER_H_
