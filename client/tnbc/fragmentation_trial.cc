// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/fragmentation_trial.h"

namespace copse::tnbc {
namespace {

// A trial has these calls: kFragmentedCalls are enough for a CircuitBreaker to measure both of its ways, and
// kWholeCalls follow, the first of which is not counted. After kFirstCalls the ranks check whether any of them could
// return early.
constexpr uint64_t kFirstCalls = 2;
constexpr uint64_t kFragmentedCalls = 10;
constexpr uint64_t kWholeCalls = 3;

}  // namespace

bool FragmentationTrial::AgreesBeforeNext() const {
  return !verdict_.holds() && ((call_ == kFirstCalls && !has_begun_) || call_ == kFragmentedCalls + kWholeCalls);
}

FragmentationTrial::Figures FragmentationTrial::Mine() const {
  const uint64_t fragmented = early_.calls > 0 ? early_.Get() : blocking_.Get(), whole = whole_.Get();
  // A rank without samples of both variants abstains.
  const bool has_both = fragmented > 0 && whole > 0;
  return {has_both ? fragmented : 0, has_both ? whole : 0, early_returns_};
}

void FragmentationTrial::Adopt(const Figures& sums) {
  const auto [fragmented, whole, early] = sums;
  if (has_begun_) return Settle(Verdict::IsPlainBetter(static_cast<double>(fragmented), static_cast<double>(whole)));
  if (early == 0) return Settle(/*is_whole=*/true);
  has_begun_ = true;
}

void FragmentationTrial::Settle(bool is_whole) {
  verdict_.Find(is_whole);
  call_ = early_returns_ = 0;
  has_begun_ = false;
  early_ = blocking_ = whole_ = SampleMean();
}

bool FragmentationTrial::FragmentsNext() {
  is_trial_whole_ = false;
  if (verdict_.holds()) {
    verdict_.CountCall();
    return !is_whole();
  }
  is_trial_whole_ = call_++ >= kFragmentedCalls;
  return !is_trial_whole_;
}

void FragmentationTrial::CountFragmented(uint64_t nanoseconds, bool returned_early) {
  if (verdict_.holds()) return;
  (returned_early ? early_ : blocking_).Count(nanoseconds);
}

void FragmentationTrial::CountWhole(uint64_t nanoseconds) {
  // Fragmented calls that are still in flight may share the network with the first whole one.
  if (is_trial_whole_ && call_ > kFragmentedCalls + 1) whole_.Count(nanoseconds);
}

}  // namespace copse::tnbc
