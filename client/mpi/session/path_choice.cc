// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/session/path_choice.h"

#include <algorithm>

namespace copse::mpi {
namespace {

constexpr uint64_t kGlanceCalls = 4;
// A trial makes as many calls by each path as the slower one makes in kTrialNs, within these bounds. A short trial
// comes first.
constexpr double kTrialNs = 20e6;
constexpr double kTrialCallsMin = 4;
constexpr double kShortTrialCallsMax = 10;
constexpr double kTrialCallsMax = 32;
// The slowest call of a part does not count; from this many calls on, the slowest two do not.
constexpr uint64_t kManyCalls = 16;
// If the two paths' times differ at least by these factors, a glance or recheck, and a short trial, decide without more
// calls.
constexpr double kPlain = 2.5;
constexpr double kPlainInTrial = 1.6;
// Copse is chosen if its calls take at most this many times as long as MPI's, since they block and leave the core to
// others.
constexpr double kAllowance = 1.05;
// A recheck follows when its extra cost is no more than this share of the time of the calls since the last one.
constexpr double kRecheckShare = 0.01;
constexpr uint64_t kSettledCallsMin = 512;
constexpr uint64_t kSettledCallsMax = uint64_t{1} << 24;
// A comparison takes one call of Copse, so the first is made after the time of this many calls; then intervals double.
constexpr double kCallsBeforeLook = 20;
constexpr uint64_t kLookMin = 32;
// If the chosen path has become slower than the other one by this factor, both are measured again. The time alone does
// not decide, as it may be the ranks' waiting for each other.
constexpr double kWorse = 1.5;

Path Other(Path path) { return path == Path::kCopse ? Path::kMpi : Path::kCopse; }

uint64_t Rounded(double calls, uint64_t least) {
  return static_cast<uint64_t>(std::clamp(calls, static_cast<double>(least), static_cast<double>(kSettledCallsMax)));
}

}  // namespace

PathChoice::PathChoice() { Measure(Stage::kGlance, Path::kCopse, kGlanceCalls); }

void PathChoice::Measure(Stage stage, Path first, uint64_t calls) {
  stage_ = stage;
  is_first_call_ = path_ != first || stage == Stage::kGlance;
  is_last_part_ = false;
  path_ = first;
  part_calls_ = left_ = calls;
}

uint64_t PathChoice::TrialCalls(double most) const {
  const double calls = kTrialNs / std::max(copse_mean_, mpi_mean_);
  return static_cast<uint64_t>(std::clamp(calls, kTrialCallsMin, most));
}

Path PathChoice::Faster() const { return copse_mean_ <= mpi_mean_ * kAllowance ? Path::kCopse : Path::kMpi; }

void PathChoice::Settle(bool confirmed) {
  stage_ = Stage::kSettled;
  const Path path = Faster();
  is_first_call_ = path != path_;
  path_ = path;
  const double apart = mean(Other(path)) / mean(path) - 1;
  until_recheck_ = Rounded(kGlanceCalls * apart / kRecheckShare, kSettledCallsMin);
  until_look_ = confirmed ? 2 * until_look_ : Rounded(kCallsBeforeLook * copse_mean_ / mean(path), kLookMin);
  left_ = std::min(until_look_, until_recheck_);
}

// Continues in kSettled after a comparison: starts a recheck, or sets the next interval.
void PathChoice::GoOn() {
  if (until_recheck_ == 0 || mean(path_) > kWorse * mean(Other(path_))) {
    Measure(Stage::kRecheck, path_, kGlanceCalls);
    return;
  }
  until_look_ *= 2;
  left_ = std::min(until_look_, until_recheck_);
}

void PathChoice::DropSlowest() {
  const size_t dropped = part_calls_ < kManyCalls ? 1 : 2;
  for (size_t i = 0; i < dropped; ++i) {
    times_.of(path_).ns -= slowest_[i];
    times_.of(path_).calls -= 1;
  }
  slowest_ = {};
}

bool PathChoice::Count(uint64_t nanoseconds) {
  if (is_final_) return false;
  if (is_first_call_) {
    is_first_call_ = false;
    return false;
  }
  times_.of(path_).ns += nanoseconds;
  times_.of(path_).calls += 1;
  if (stage_ == Stage::kSettled) {
    --until_recheck_;
    return --left_ == 0;
  }
  slowest_[1] = std::max(slowest_[1], std::min(slowest_[0], nanoseconds));
  slowest_[0] = std::max(slowest_[0], nanoseconds);
  if (--left_ > 0) return false;
  DropSlowest();
  if (is_last_part_) return true;
  is_last_part_ = true;
  is_first_call_ = true;
  path_ = Other(path_);
  left_ = part_calls_;
  return false;
}

void PathChoice::Decide(const PathTimes& longest, bool copse_only) {
  times_ = {};
  if (copse_only) {
    is_final_ = true;
    stage_ = Stage::kSettled;
    path_ = Path::kCopse;
    return;
  }
  const auto note = [](const PathTime& time, double* mean) {
    if (time.calls > 0) *mean = static_cast<double>(std::max<uint64_t>(time.ns, 1)) / static_cast<double>(time.calls);
  };
  note(longest.copse, &copse_mean_);
  note(longest.mpi, &mpi_mean_);
  if (stage_ == Stage::kSettled) {
    GoOn();
    return;
  }
  compared_ = {.copse = copse_mean_, .mpi = mpi_mean_};
  const double apart = std::max(copse_mean_, mpi_mean_) / std::min(copse_mean_, mpi_mean_);
  // A recheck starts with the chosen path and ends at the other. It confirms the choice if that other one is not the
  // faster, and then no trial follows.
  const bool confirms = stage_ == Stage::kRecheck && Faster() != path_;
  const uint64_t calls = TrialCalls(kTrialCallsMax);
  if (stage_ == Stage::kShortTrial && apart < kPlainInTrial && calls > part_calls_) {
    Measure(Stage::kTrial, path_, calls);
  } else if (stage_ != Stage::kShortTrial && stage_ != Stage::kTrial && apart < kPlain && !confirms) {
    Measure(Stage::kShortTrial, path_, TrialCalls(kShortTrialCallsMax));
  } else {
    Settle(confirms);
  }
}

}  // namespace copse::mpi
