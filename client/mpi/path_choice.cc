// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/path_choice.h"

#include <algorithm>
#include <limits>

namespace copse::mpi {
namespace {

constexpr uint32_t kGlanceCalls = 4;
constexpr uint32_t kTrialCalls = 32;
// What a glance takes for granted: one path at least so many times as long as the other.
constexpr double kPlain = 2;
// Copse's calls sleep and leave the processor to others, so it may take a little longer.
constexpr double kAllowance = 1.05;
// The other path is looked at again once it costs no more than this share of the calls' time.
constexpr double kRecheckShare = 0.01;
constexpr uint64_t kSettledCallsMin = 512;
constexpr uint64_t kSettledCallsMax = uint64_t{1} << 24;

Path Other(Path path) { return path == Path::kCopse ? Path::kMpi : Path::kCopse; }

double Mean(uint64_t ns, uint64_t calls) {
  return static_cast<double>(std::max<uint64_t>(ns, 1)) / static_cast<double>(std::max<uint64_t>(calls, 1));
}

}  // namespace

PathChoice::PathChoice() { Measure(Stage::kGlance, Path::kCopse, kGlanceCalls); }

void PathChoice::Measure(Stage stage, Path first, uint32_t calls) {
  stage_ = stage;
  is_first_call_ = path_ != first || stage == Stage::kGlance;
  is_last_part_ = stage == Stage::kRecheck;
  path_ = first;
  left_ = calls;
}

void PathChoice::Settle(Path path, uint64_t calls) {
  stage_ = Stage::kSettled;
  is_first_call_ = path != path_;
  path_ = path;
  left_ = calls;
}

bool PathChoice::Count(uint64_t nanoseconds) {
  if (is_final_) return false;
  if (is_first_call_) {
    is_first_call_ = false;
    return false;
  }
  (path_ == Path::kCopse ? times_.copse_ns : times_.mpi_ns) += nanoseconds;
  (path_ == Path::kCopse ? times_.copse_calls : times_.mpi_calls) += 1;
  if (--left_ > 0) return false;
  if (stage_ == Stage::kSettled) {
    Measure(Stage::kRecheck, Other(path_), kGlanceCalls);
    return false;
  }
  if (is_last_part_) return true;
  is_last_part_ = true;
  is_first_call_ = true;
  path_ = Other(path_);
  left_ = stage_ == Stage::kGlance ? kGlanceCalls : kTrialCalls;
  return false;
}

void PathChoice::Decide(const PathTimes& of_all_ranks, bool copse_only) {
  times_ = {};
  if (copse_only) {
    is_final_ = true;
    Settle(Path::kCopse, std::numeric_limits<uint64_t>::max());
    return;
  }
  const double copse = Mean(of_all_ranks.copse_ns, of_all_ranks.copse_calls);
  const double mpi = Mean(of_all_ranks.mpi_ns, of_all_ranks.mpi_calls);
  const double apart = std::max(copse, mpi) / std::min(copse, mpi);
  const Path faster = copse <= mpi * kAllowance ? Path::kCopse : Path::kMpi;
  // A recheck that finds what was known is no reason to measure at length.
  const bool confirms = stage_ == Stage::kRecheck && faster != path_;
  if (stage_ != Stage::kTrial && apart < kPlain && !confirms) {
    Measure(Stage::kTrial, path_, kTrialCalls);
    return;
  }
  const double calls = kGlanceCalls * (apart - 1) / kRecheckShare;
  Settle(faster,
         calls < kSettledCallsMax ? std::max(kSettledCallsMin, static_cast<uint64_t>(calls)) : kSettledCallsMax);
}

}  // namespace copse::mpi
