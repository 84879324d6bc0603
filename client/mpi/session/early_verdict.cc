// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/session/early_verdict.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "client/mpi/session/sentence.h"
#include "client/tnbc/fragmentation.h"

namespace copse::mpi {
namespace {

constexpr uint64_t kKibibyte = 1 << 10;
// A smaller share of the calls' time than this is no gain: fragments and page faults have costs that are not measured.
constexpr double kGain = 0.05;

std::string Remedy(BlockReason reason) {
  switch (reason) {
    case BlockReason::kTooShort:
      return Sentence("calls return early from limit=", tnbc::kWholeBytesMin / kKibibyte, "KiB on, with blocks from ",
                      tnbc::kBlockBytesMin / kKibibyte, " KiB on; leave --tnbc off");
    case BlockReason::kCombined:
      return "the library combines these once all data has come; leave --tnbc off";
    case BlockReason::kDoesNotPay:
      return "they were measured to be faster when they block; leave --tnbc off";
    case BlockReason::kNotSafe:
      return "windows, threads that wait, or, with auto, devices and error handlers; transparent.md tells more";
    default:
      return "results on stacks, in shared memory or with gaps, or no room for copies; transparent.md tells more";
  }
}

// Returns the reason of most calls that blocked.
BlockReason MainReason(const EarlyFigures& early) {
  const auto* const most = std::max_element(early.blocked.begin(), early.blocked.end());
  return static_cast<BlockReason>(most - early.blocked.begin());
}

// Returns the counts, such as "calls=56, blocked=9, too short=7".
std::string Counts(const EarlyFigures& early) {
  const uint64_t blocked = std::accumulate(early.blocked.begin(), early.blocked.end(), uint64_t{0});
  const std::string counts = Sentence("calls=", early.calls, ", blocked=", blocked);
  const BlockReason reason = MainReason(early);
  return blocked == 0 ? counts
                      : Sentence(counts, ", ", NameOf(reason), "=", early.blocked[static_cast<size_t>(reason)]);
}

std::string NoneReturnedEarly(const EarlyFigures& early) {
  const BlockReason reason = MainReason(early);
  const bool has_blocked = early.blocked[static_cast<size_t>(reason)] > 0;
  return Sentence("no call returned early (", Counts(early),
                  "): ", has_blocked ? Remedy(reason) : "no blocking call was offloaded; try --offload all");
}

}  // namespace

const char* NameOf(BlockReason reason) {
  static constexpr const char* kNames[] = {"too short", "combined by the library", "does not pay", "not safe",
                                           "memory"};
  static_assert(std::size(kNames) == static_cast<size_t>(BlockReason::kCount));
  return kNames[static_cast<size_t>(reason)];
}

double HiddenNs(const EarlyFigures& early) {
  return static_cast<double>(early.behind_ns) - static_cast<double>(early.inside_ns) -
         static_cast<double>(early.waited_ns);
}

std::string VerdictOf(const EarlyFigures& early) {
  if (early.calls == 0) return NoneReturnedEarly(early);
  const double hidden = HiddenNs(early), behind = static_cast<double>(early.behind_ns);
  const double share = behind > 0 ? hidden / behind : 0;
  const bool gains = share > kGain;
  const char* const advice =
      !gains ? "the program needs the data at once; try --tnbc off"
      : early.is_auto
          ? "calls block where auto measured that to be faster"
          : "fragments take longer than whole calls, so compare run times, or try --tnbc auto, which measures";
  return Sentence(gains ? "it hid " + TimeText(hidden) : "it hid nothing", " of the ", TimeText(behind),
                  " that the data of ", early.calls, " calls took: ", TimeText(early.inside_ns), " in the calls and ",
                  TimeText(early.waited_ns), " waiting for data later count in the table's times (", Counts(early),
                  ", hidden=", std::lround(100 * share), "%); ", advice);
}

}  // namespace copse::mpi
