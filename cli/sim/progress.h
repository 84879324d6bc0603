// SPDX-License-Identifier: Apache-2.0
#ifndef COPSE_CLI_SIM_PROGRESS_H_
#define COPSE_CLI_SIM_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>

#include "absl/strings/str_format.h"

namespace copse::simcli {

// A Progress reports the share of a long task that is done, in at most one line per second and none in the first
// second.
// `*err` must outlive it.
class Progress {
 public:
  Progress(std::ostream* err, std::string what) : err_(err), what_(std::move(what)) {}

  void Tell(uint64_t done, uint64_t all) {
    const auto now = std::chrono::steady_clock::now();
    if (now - told_ < std::chrono::seconds(1)) return;
    told_ = now;
    const double share = 100.0 * static_cast<double>(done) / static_cast<double>(all);
    *err_ << absl::StrFormat("copse-sim: %.0f %%, %d of %d %s\n", share, done, all, what_) << std::flush;
  }

 private:
  std::ostream* const err_;
  const std::string what_;
  std::chrono::steady_clock::time_point told_ = std::chrono::steady_clock::now();
};

}  // namespace copse::simcli

#endif  // COPSE_CLI_SIM_PROGRESS_H_
