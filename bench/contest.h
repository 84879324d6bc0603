// SPDX-License-Identifier: Apache-2.0
//
// Several systems measured in the same cells, in turns: on a machine whose speed drifts only figures taken side by side
// can be compared.
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

// A SystemUnderTest is one system's side. Each Measure is a launch of its own: processes start, measure and end, so
// that nothing of it runs (MPI libraries poll) while another system is measured.
class SystemUnderTest {
 public:
  virtual ~SystemUnderTest() = default;

  virtual std::string name() const = 0;  // as in rows
  virtual std::string algorithm(size_t /*cell*/) const { return ""; }
  // Measures the cells of these numbers in their order; calls `report` for each as soon as it is done. An error belongs
  // to the cell that is next after the last reported one: DEADLINE_EXCEEDED if it did not finish in its time.
  using Report = std::function<void(size_t cell, std::vector<double> samples)>;
  virtual absl::Status Measure(const std::vector<size_t>& cells, const Report& report) = 0;
};

struct ContestOptions {
  uint32_t runs = 1;
  // A system that left so many cells unfinished is not asked for more: what it has measured stands. One that
  // does not even start (UNAVAILABLE before its first cell) is not asked again either.
  uint32_t unfinished_max = 2;
  // A system but the first that has taken so long runs no more: its figures are over the runs that it has had.
  absl::Duration time_max = absl::InfiniteDuration();
  bool ratios_to_first = false;  // other / first, where the first is what is there and the others might replace it
  // The systems to compare instead, by names: first / second. A pair is left out if one of them does not take part.
  std::vector<std::pair<std::string, std::string>> pairs;
  // In place of ratios: metric "added", what the one takes more than the other, in the cells' unit.
  bool differences = false;
};

// Run 0 of each system in turn, then run 1 of each, and so on. `cells` are rows that lack system, algorithm and
// figures. Reports for each cell a row a system, whose figures are over the samples of all runs, and for each
// system but the first, a row with metric "ratio": first / other (unless options say so), by the medians of each
// run, whose figures are over the runs; differences have no peer, but a note. A cell that a system did not finish is
// a row with metric "unfinished" that says why in its note, as is a ratio without two figures; it is not tried in later
// runs.
void RunContest(const std::vector<Row>& cells, const std::vector<SystemUnderTest*>& systems,
                const ContestOptions& options, const std::function<void(const Row&)>& report);

}  // namespace copse::bench

#endif  // COPSE_BENCH_CONTEST_H_
