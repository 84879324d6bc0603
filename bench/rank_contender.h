// SPDX-License-Identifier: Apache-2.0
//
// A contest's side that runs ranks of rank_main.c.
#ifndef COPSE_BENCH_RANK_CONTENDER_H_
#define COPSE_BENCH_RANK_CONTENDER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/contest.h"
#include "bench/hogs.h"
#include "bench/site.h"

namespace copse::bench {

struct RankCell {
  std::string mode;  // of rank_main.c
  std::string collective;
  uint64_t bytes = 0;
  std::vector<std::string> words;  // those behind
};

struct RankOptions {
  absl::Duration budget;  // of each cell's calls
  uint32_t calls_max = 0;
  absl::Duration cell_timeout;
  absl::Duration start_timeout = absl::Seconds(60);
};

// Each Measure launches the ranks anew, and ends them. The hogs (may be null) compute only while cells are measured.
class RankContender final : public Contender {
 public:
  using Start = std::function<absl::StatusOr<RankProcesses>(const std::vector<std::string>& arguments)>;
  // Of a cell, asked while the ranks' team exists; may be null.
  using Algorithm = std::function<absl::StatusOr<std::string>(const RankCell& cell)>;
  RankContender(std::string system, Start start, Algorithm algorithm, std::vector<RankCell> cells, RankOptions options,
                Hogs* hogs);

  std::string system_name() const override { return system_; }
  std::string algorithm(size_t cell) const override;
  absl::Status Measure(const std::vector<size_t>& cells, const Report& report) override;

 private:
  absl::Status AwaitReady(const RankProcesses& ranks);
  absl::Status ReadCells(const RankProcesses& ranks, const std::vector<size_t>& cells, const Report& report);

  const std::string system_;
  const Start start_;
  const Algorithm ask_algorithm_;
  const std::vector<RankCell> cells_;
  const RankOptions options_;
  Hogs* const hogs_;
  std::map<size_t, std::string> algorithms_;
};

}  // namespace copse::bench

#endif  // COPSE_BENCH_RANK_CONTENDER_H_
