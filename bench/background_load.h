// SPDX-License-Identifier: Apache-2.0
//
// Processes that compute beside what is measured.
#ifndef COPSE_BENCH_BACKGROUND_LOAD_H_
#define COPSE_BENCH_BACKGROUND_LOAD_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "testbed/processes/child_process.h"

namespace copse::bench {

// Compute-bound processes at nice 0, one on each processor, then the next on each. They stand still until
// Resume, and after Pause: launching is not what is measured. Killed by the destructor.
class BackgroundLoad {
 public:
  static absl::StatusOr<std::unique_ptr<BackgroundLoad>> Start(uint32_t count);

  void Pause();
  void Resume();
  const std::vector<std::unique_ptr<procs::ChildProcess>>& processes() const { return processes_; }

 private:
  std::vector<std::unique_ptr<procs::ChildProcess>> processes_;
};

}  // namespace copse::bench

#endif  // COPSE_BENCH_BACKGROUND_LOAD_H_
