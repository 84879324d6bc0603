// SPDX-License-Identifier: Apache-2.0
//
// Whether calls of a kind are fragmented at all.
#ifndef COPSE_CLIENT_TNBC_FRAGMENTATION_TRIAL_H_
#define COPSE_CLIENT_TNBC_FRAGMENTATION_TRIAL_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "client/tnbc/verdict.h"

namespace copse::tnbc {

// A call that is fragmented costs more than a whole one, also where it blocks (CircuitBreaker): its ends travel first,
// and its fragments one after another. So a FragmentationTrial compares the two ways: some calls are fragmented, a few
// are whole, then the ranks agree on what has cost all of them less, and stay with it for a time; then they try again,
// ever more seldom while that changes nothing. Where no rank could return early from the first calls, the rest is not
// tried.
//
// All ranks count the same calls, so they try and agree at the same ones. Thread-compatible.
class FragmentationTrial {
 public:
  // What ranks put together, as sums.
  static constexpr size_t kFigures = 3;
  using Figures = std::array<uint64_t, kFigures>;

  // Returns whether the ranks are to agree before the next call; then Adopt comes first.
  bool AgreesBeforeNext() const;
  Figures Mine() const;
  void Adopt(const Figures& sums);
  // Returns whether a trial begins with the next call.
  bool is_new() const { return !verdict_.holds() && call_ == 0; }
  // Returns whether the next call, which this counts, is fragmented.
  bool FragmentsNext();

  void CountEarlyReturn() { ++early_returns_; }
  // What a fragmented call has cost this rank: the time in it, and what threads have waited for its data since.
  void CountFragmented(uint64_t nanoseconds, bool returned_early);
  // What a whole one has taken. Others than those of a trial are not counted.
  void CountWhole(uint64_t nanoseconds);

  // As was agreed last.
  bool is_whole() const { return verdict_.is_plain(); }

 private:
  struct SampleMean {
    void Count(uint64_t nanoseconds) { ns += nanoseconds, ++calls; }
    // 0: none was counted.
    uint64_t Get() const { return calls == 0 ? 0 : ns / calls; }
    uint64_t ns = 0, calls = 0;
  };

  void Settle(bool is_whole);

  SampleMean early_, blocking_, whole_;
  uint64_t early_returns_ = 0;
  bool has_begun_ = false;  // and the ranks have agreed to go on
  Verdict verdict_;
  uint64_t call_ = 0;  // of this trial
  bool is_trial_whole_ = false;
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_FRAGMENTATION_TRIAL_H_
