// SPDX-License-Identifier: Apache-2.0
//
// The agreements of a team's members about its asynchronous calls: where its ranks are, which calls are fragmented, and
// in which order their fragments come.
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

// The calls of one kind that the program makes at one place; each rank has its own.
struct CallSite {
  // Takes the cost of a call that has returned early. Thread-safe.
  void Learn(const Caller::Cost& cost) const;
  // Count a fragmented call that has returned: early, or after so long.
  void CountEarlyReturn() const;
  void CountBlocking(uint64_t nanoseconds) const;

  CallKind* kind = nullptr;
  const void* address = nullptr;
  CircuitBreaker* breaker = nullptr;  // the kind's
};

// Calls of one kind.
struct CallKind {
  CallSite At(const void* address);
  // Counts the time of a call that was not fragmented.
  void CountWhole(uint64_t nanoseconds);

  std::map<const void*, CircuitBreaker> breakers;  // by place; by their own thread alone
  std::mutex mutex;  // guards what follows, since another team's thread may report a call's cost
  AccessOrder order;
  FragmentationTrial trial;
  uint64_t waited_ns = 0;  // for their data, since the last one began

  // Where the ranks have to agree whether such calls are fragmented; by their own thread alone.
  struct IrregularAgreement {
    uint64_t calls = 0;
    uint64_t at = 1;  // calls, when they look at it again
    bool fragments = false;
  };
  IrregularAgreement agreement;
  uint64_t calls = 0;  // that were fragmented; by their own thread alone
};

// The calls of one team. The thread that makes them uses it.
class TeamCalls {
 public:
  // How the team's own calls are made.
  class TeamOperations {
   public:
    virtual ~TeamOperations() = default;
    // A call in the team's order, to its end.
    virtual copse_status_t Make(const copse_coll_args_t& args) = 0;
    // Forms the second team of the same members, unless it is there. Returns whether it has worked may differ by rank.
    virtual bool FormStream() = 0;
    // An order of a call's fragments that all ranks know without having learnt it; null: none. `call`: its number of
    // its kind, from 1.
    virtual const std::vector<uint32_t>* KnownOrder(uint32_t fragments, uint64_t call) = 0;
    // Returns whether the program may wait for data, or for one of its threads that does, without giving MPI turns
    // meanwhile.
    virtual bool may_wait_idly() const = 0;
    // Returns whether orders are learnt.
    virtual bool learns() const = 0;
    // Returns whether calls are fragmented only where that pays, if all ranks say so.
    virtual bool tries() const = 0;
  };

  // `node`: a name of this rank's node, equal for ranks of one.
  TeamCalls(uint32_t rank, uint32_t size, uint64_t node) : rank_(rank), size_(size), node_(node) {}
  TeamCalls(const TeamCalls&) = delete;
  TeamCalls& operator=(const TeamCalls&) = delete;

  // Returns whether the call is one of those that are fragmented, and how. All ranks find the same, and make the same
  // calls of `team` to find it. `kind`: of calls of one collective, which is the same one on all ranks. `site`: where
  // this rank's program makes the call, which may be elsewhere than the others'.
  bool FragmentCall(const copse_coll_args_t& args, CallKind* kind, const void* site, TeamOperations* team,
                    Fragmentation* fragmentation);
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
  bool has_learnt_ = false;
  bool tries_ = false;
  bool announces_ = false;
  std::optional<NodeLayout> layout_;  // none, though it has learnt: no call is fragmented
  std::map<uint64_t, CallKind> kinds_;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_TEAM_CALLS_H_
