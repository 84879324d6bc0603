// SPDX-License-Identifier: Apache-2.0
//
// Measures several systems in equal cells, alternately: if the machine's speed drifts, only results that were measured
// close together in time can be compared.
#ifndef COPSE_BENCH_CONTEST_H_
#define COPSE_BENCH_CONTEST_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bench/row.h"

namespace copse::bench {

// A SystemUnderTest launches and measures one system. In each Measure its processes start, measure and end, so that
// none of them runs (MPI libraries poll) while another system is measured.
class SystemUnderTest {
 public:
  virtual ~SystemUnderTest() = default;

  virtual std::string name() const = 0;  // the system's name in rows
  virtual std::string algorithm(size_t /*cell*/) const { return ""; }
  // Measures the cells of these numbers in their order; calls `report` for each as soon as it is done. An error belongs
  // to the cell after the last reported one: DEADLINE_EXCEEDED if that cell did not finish in its time.
  using Report = std::function<void(size_t cell, std::vector<double> samples)>;
  virtual absl::Status Measure(const std::vector<size_t>& cells, const Report& report) = 0;
};

struct ContestOptions {
  uint32_t runs = 1;
  // A system that has left this many cells unfinished is not measured any further, nor is one that does not start
  // (UNAVAILABLE before the first cell of a launch). Its results so far are kept.
  uint32_t unfinished_max = 2;
  // A system other than the first that has taken this long has no further runs; its results are over the runs so far.
  absl::Duration time_max = absl::InfiniteDuration();
  bool ratios_to_first = false;  // ratios are other / first, for a first system that the others might replace
  // The systems to compare instead, by name: first / second. A pair is left out if one of them does not take part.
  std::vector<std::pair<std::string, std::string>> pairs;
  // Reports differences instead of ratios, with metric "added", in the cells' unit.
  bool differences = false;
};

// Makes run 0 of each system, then run 1 of each, and so on. `cells` are rows that lack system, algorithm and results.
// Reports for each cell a row per system, over the samples of all runs, and for each system but the first a row with
// metric "ratio": first / other (unless options say otherwise) of the medians of each run, over the runs. Differences
// have no peer but a note. A cell that a system did not finish becomes a row with metric "unfinished" and the reason in
// its note, and is not tried in later runs; a ratio that lacks one of its results is reported in this way, too.
void RunContest(const std::vector<Row>& cells, const std::vector<SystemUnderTest*>& systems,
                const ContestOptions& options, const std::function<void(const Row&)>& report);

}  // namespace copse::bench

#endif  // COPSE_BENCH_CONTEST_H_
