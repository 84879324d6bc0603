// SPDX-License-Identifier: Apache-2.0
//
// Runs background load: processes that compute while a benchmark measures.
#ifndef COPSE_BENCH_BACKGROUND_LOAD_H_
#define COPSE_BENCH_BACKGROUND_LOAD_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "testbed/processes/child_process.h"

namespace copse::bench {

// A BackgroundLoad owns compute-bound processes at nice 0, pinned to the processors in turn. They are stopped until
// Resume and after Pause, so that they do not disturb the launch of ranks. The destructor kills them.
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
