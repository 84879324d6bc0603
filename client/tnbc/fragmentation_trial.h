// SPDX-License-Identifier: Apache-2.0
//
// Decides whether calls of a kind are fragmented at all, by measuring whether that pays.
#ifndef COPSE_CLIENT_TNBC_FRAGMENTATION_TRIAL_H_
#define COPSE_CLIENT_TNBC_FRAGMENTATION_TRIAL_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "client/tnbc/verdict.h"

namespace copse::tnbc {

// A fragmented call costs more than a whole one even if it blocks (CircuitBreaker), since its edges are sent first and
// its fragments one after another. A FragmentationTrial compares the two ways: some calls are fragmented and a few are
// whole; then the ranks agree on the way that has cost them less in total. They keep it for a number of calls that
// grows while the outcome stays the same (Verdict), and try again. If no rank could return early from the first calls,
// the trial ends with whole calls.
//
// All ranks count the same calls, so they try and agree at the same calls. Thread-compatible.
class FragmentationTrial {
 public:
  // The ranks add up this many figures.
  static constexpr size_t kFigures = 3;
  using Figures = std::array<uint64_t, kFigures>;

  // Returns whether the ranks have to agree before the next call: they add up their figures and call Adopt.
  bool AgreesBeforeNext() const;
  // Returns this rank's figures: mean ns of a fragmented call, mean ns of a whole one (both 0 if one is not known), and
  // the number of calls that returned early.
  Figures Mine() const;
  // Takes the sums of all ranks' figures; the same on all ranks.
  void Adopt(const Figures& sums);
  // Returns whether a trial begins with the next call.
  bool is_new() const { return !verdict_.holds() && call_ == 0; }
  // Counts the next call and returns whether it is fragmented.
  bool FragmentsNext();

  void CountEarlyReturn() { ++early_returns_; }
  // Counts what a fragmented call of a trial has cost this rank: the time in it, and the time for which threads have
  // waited for its data since.
  void CountFragmented(uint64_t nanoseconds, bool returned_early);
  // Counts the time of a whole call. It is ignored unless the call belongs to a trial and is not the first whole one of
  // it.
  void CountWhole(uint64_t nanoseconds);

  // Returns the latest outcome: calls are whole.
  bool is_whole() const { return verdict_.is_plain(); }

 private:
  struct SampleMean {
    void Count(uint64_t nanoseconds) { ns += nanoseconds, ++calls; }
    // Returns the mean of the samples; 0: there were none.
    uint64_t Get() const { return calls == 0 ? 0 : ns / calls; }
    uint64_t ns = 0, calls = 0;
  };

  void Settle(bool is_whole);

  SampleMean early_, blocking_, whole_;
  uint64_t early_returns_ = 0;
  bool has_begun_ = false;  // the ranks have agreed to continue this trial
  Verdict verdict_;
  uint64_t call_ = 0;            // calls of this trial so far
  bool is_trial_whole_ = false;  // the latest call is a whole one of a trial
};

}  // namespace copse::tnbc

#endif  // COPSE_CLIENT_TNBC_FRAGMENTATION_TRIAL_H_
