// SPDX-License-Identifier: Apache-2.0
//
// Makes the agreements of a team's members on its asynchronous calls: on which nodes ranks are, which calls are
// fragmented, and in which order their fragments are received.
#ifndef COPSE_CLIENT_TNBC_TEAM_CALLS_H_
#define COPSE_CLIENT_TNBC_TEAM_CALLS_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "client/copse.h"
#include "client/tnbc/access_order.h"
#include "client/tnbc/caller.h"
#include "client/tnbc/circuit_breaker.h"
#include "client/tnbc/fragmentation.h"
#include "client/tnbc/fragmentation_trial.h"

namespace copse::tnbc {

struct CallKind;

// A CallSite gets the costs of calls of one kind that the program makes at one place. Each rank has its own.
struct CallSite {
  // Adds the cost of a call that has returned early, and learns from its accesses. Thread-safe.
  void Learn(const Caller::Cost& cost) const;
  // Count a fragmented call that has returned: early, or after blocking for `nanoseconds`. Thread-safe.
  void CountEarlyReturn() const;
  void CountBlocking(uint64_t nanoseconds) const;

  CallKind* kind = nullptr;
  const void* address = nullptr;
  CircuitBreaker* breaker = nullptr;  // owned by `kind`
};

// A CallKind holds what the ranks have measured and agreed on for calls of one kind.
struct CallKind {
  // Returns the call site of the program's `address`. Beyond a limit, new sites share a circuit breaker.
  CallSite At(const void* address);
  // Counts the time of a call that was not fragmented. Thread-safe.
  void CountWhole(uint64_t nanoseconds);

  std::map<const void*, CircuitBreaker> breakers;  // by address; only the thread that makes the calls uses the map
  std::mutex mutex;  // guards order, trial and waited_ns, since another team's thread may report a call's cost
  AccessOrder order;
  FragmentationTrial trial;
  uint64_t waited_ns = 0;  // time for which threads waited for these calls' data, since the latest call began

  // An IrregularAgreement says whether calls of a kind are fragmented on which the ranks have to agree
  // (NeedsAgreement). Only the thread that makes the calls uses it.
  struct IrregularAgreement {
    uint64_t calls = 0;
    uint64_t at = 1;  // number of the call before which the ranks agree again
    bool fragments = false;
  };
  IrregularAgreement agreement;
  uint64_t calls = 0;  // fragmented calls; only the thread that makes the calls uses it
};

// A TeamCalls decides how the calls of one team are fragmented, together with the other members. Only the thread that
// makes the calls uses it.
class TeamCalls {
 public:
  // TeamOperations makes the team's own calls, and knows this rank's settings.
  class TeamOperations {
   public:
    virtual ~TeamOperations() = default;
    // Makes a blocking call in the team's order. Returns its result.
    virtual copse_status_t Make(const copse_coll_args_t& args) = 0;
    // Forms the second team of the same members, unless that was done before. Returns whether there is one, which may
    // differ between ranks.
    virtual bool FormStream() = 0;
    // Returns the order of a call's fragments that all ranks know without learning it, or null. `call`: the call's
    // number within its kind, from 1.
    virtual const std::vector<uint32_t>* KnownOrder(uint32_t fragments, uint64_t call) = 0;
    // Returns whether a thread of the program may wait for data, or for another thread that does, without making MPI
    // progress meanwhile.
    virtual bool may_wait_idly() const = 0;
    // Returns whether orders are learned from accesses.
    virtual bool learns() const = 0;
    // Returns whether calls are to be fragmented only where that pays; they are if this is true on all ranks.
    virtual bool tries() const = 0;
  };

  // `node` is a number that is the same for all ranks of a node.
  TeamCalls(uint32_t rank, uint32_t size, uint64_t node) : rank_(rank), size_(size), node_(node) {}
  TeamCalls(const TeamCalls&) = delete;
  TeamCalls& operator=(const TeamCalls&) = delete;

  // Returns whether the call is fragmented, and how. All ranks get the same result, and make the same calls of `team`
  // to find it. `kind` is the call's (KindOf), the same on all ranks. `site`: where this rank's program makes the call,
  // which may differ between ranks. If a call of `team` fails, the program's call fails, too, on all ranks.
  bool FragmentCall(const copse_coll_args_t& args, CallKind* kind, const void* site, TeamOperations* team,
                    Fragmentation* fragmentation);
  // Returns the calls of a kind, which has the same number on all ranks. The object stays valid.
  CallKind* KindOf(uint64_t kind) { return &kinds_[kind]; }

 private:
  bool LearnLayout(TeamOperations* team);
  bool AgreesOnIrregular(const copse_coll_args_t& args, CallKind* kind, TeamOperations* team);
  void AgreeOnOrder(CallKind* kind, TeamOperations* team);
  // Returns whether the next call of a kind is fragmented.
  static bool IsFragmented(CallKind* kind, TeamOperations* team);
  std::vector<uint32_t> OrderOf(const copse_coll_args_t& args, CallKind* kind, const void* site, TeamOperations* team);

  const uint32_t rank_, size_;
  const uint64_t node_;
  bool has_learned_ = false;
  bool tries_ = false;
  bool announces_ = false;
  std::optional<NodeLayout> layout_;  // nullopt after LearnLayout: no call is fragmented
  std::map<uint64_t, CallKind> kinds_;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_TEAM_CALLS_H_
