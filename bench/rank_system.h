// SPDX-License-Identifier: Apache-2.0
//
// Measures a system under test whose ranks have rank_main.c's protocol.
#ifndef COPSE_BENCH_RANK_SYSTEM_H_
#define COPSE_BENCH_RANK_SYSTEM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/background_load.h"
#include "bench/contest.h"
#include "bench/testbed.h"

namespace copse::bench {

struct RankCell {
  std::string mode;  // one of rank_main.c's modes
  std::string collective;
  uint64_t bytes = 0;
  std::vector<std::string> words;  // further words of the cell
};

struct RankOptions {
  absl::Duration budget;  // time for each cell's calls
  uint32_t calls_max = 0;
  absl::Duration cell_timeout;
  absl::Duration start_timeout = absl::Seconds(60);
};

// RankHooks holds the functions that a RankSystem calls; `cell` is the number of a cell.
struct RankHooks {
  std::function<absl::StatusOr<RankProcesses>(const std::vector<std::string>& arguments)> start;
  // Called while the ranks' team exists. Null: the system has no algorithms.
  std::function<absl::StatusOr<std::string>(size_t cell)> algorithm;
  // Returns the samples that count; an error fails the cell. Null: all count.
  std::function<absl::StatusOr<std::vector<double>>(size_t cell, std::vector<double> samples)> take;
};

// A RankSystem launches ranks in each Measure, and ends them. The load, which may be null, computes only while cells
// are measured.
class RankSystem final : public SystemUnderTest {
 public:
  RankSystem(std::string name, RankHooks hooks, std::vector<RankCell> cells, const RankOptions& options,
             BackgroundLoad* load)
      : name_(std::move(name)), hooks_(std::move(hooks)), cells_(std::move(cells)), options_(options), load_(load) {}

  std::string name() const override { return name_; }
  std::string algorithm(size_t cell) const override;
  absl::Status Measure(const std::vector<size_t>& cells, const Report& report) override;

 private:
  absl::Status AwaitReady(const RankProcesses& ranks);
  absl::Status ReadCells(const RankProcesses& ranks, const std::vector<size_t>& cells, const Report& report);

  const std::string name_;
  const RankHooks hooks_;
  const std::vector<RankCell> cells_;
  const RankOptions options_;
  BackgroundLoad* const load_;
  std::map<size_t, std::string> algorithms_;
};

}  // namespace copse::bench

#endif  // COPSE_BENCH_RANK_SYSTEM_H_
