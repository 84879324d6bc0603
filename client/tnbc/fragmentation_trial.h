// SPDX-License-Identifier: Apache-2.0
//
// Whether calls of a kind are divided at all.
#ifndef COPSE_CLIENT_TNBC_FRAGMENTATION_TRIAL_H_
#define COPSE_CLIENT_TNBC_FRAGMENTATION_TRIAL_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "client/tnbc/verdict.h"

namespace copse::tnbc {

// A call that is divided costs more than a whole one, also where it blocks (Fuse): its ends travel first, and its parts
// one after another. So a DivisionTrial compares the two ways: some calls are divided, a few are whole, then the ranks
// agree on what has cost all of them less, and stay with it for a time; then they try again, ever more seldom while
// that changes nothing. Where no rank could return early from the first calls, the rest is not tried.
//
// All ranks count the same calls, so they try and agree at the same ones. Thread-compatible.
class DivisionTrial {
 public:
  // What ranks put together, as sums.
  static constexpr size_t kFigures = 3;
  using Figures = std::array<uint64_t, kFigures>;

  // Whether the ranks are to agree before the next call; then Adopt comes first.
  bool AgreesBeforeNext() const;
  Figures Mine() const;
  void Adopt(const Figures& sums);
  // Whether a trial begins with the next call.
  bool is_new() const { return !verdict_.holds() && call_ == 0; }
  // Whether the next call, which this counts, is divided.
  bool DividesNext();

  void CountEarlyReturn() { ++early_returns_; }
  // What a divided call has cost this rank: the time in it, and what threads have waited for its data since.
  void CountDivided(uint64_t nanoseconds, bool returned_early);
  // What a whole one has taken. Others than those of a trial are not counted.
  void CountWhole(uint64_t nanoseconds);

  // As was agreed last.
  bool is_whole() const { return verdict_.is_plain(); }

 private:
  struct Mean {
    void Count(uint64_t nanoseconds) { ns += nanoseconds, ++calls; }
    // 0: none was counted.
    uint64_t Get() const { return calls == 0 ? 0 : ns / calls; }
    uint64_t ns = 0, calls = 0;
  };

  void Settle(bool is_whole);

  Mean early_, blocking_, whole_;
  uint64_t early_returns_ = 0;
  bool has_begun_ = false;  // and the ranks have agreed to go on
  Verdict verdict_;
  uint64_t call_ = 0;  // of this trial
  bool is_trial_whole_ = false;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_FRAGMENTATION_TRIAL_H_
