// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "bench/papers/tnbc.h"

namespace copse::bench::papers {
namespace {

constexpr size_t kHeadFigures = 3;  // of a line, before those of calls
constexpr size_t kCallFigures = 4;

// A kernel's launches at one place.
class KernelAnalysis final : public Analysis {
 public:
  explicit KernelAnalysis(const Contest& contest)
      : calls_(absl::StrSplit(contest.line.at("calls_of_iteration"), ' ')),
        place_(static_cast<uint32_t>(std::find(calls_.begin(), calls_.end(), contest.cases.front().row.collective) -
                                     calls_.begin())) {}

  absl::StatusOr<Samples> Take(const std::string& system, const Case& what, Samples samples) override {
    ASSIGN_OR_RETURN(const KernelRun run, ParseKernelRun(samples, calls(), what.row.nodes, what.row.ppn));
    // Results are the same whoever carries the data.
    const uint64_t expected = hashes_.try_emplace(what.row.what, run.hash).first->second;
    if (run.hash != expected) return absl::DataLossError("results differ from those of the first launch");
    runs_[{system, what.row.what}].push_back(run);
    return Samples{run.total};
  }

  // The contest's row, and what it does not say about a system's time.
  void OnRow(const Row& row, const Reporter& report) override {
    report(row);
    const std::vector<KernelRun>& runs = runs_[{row.system, row.what}];
    if (!row.peer.empty() || row.metric == "unfinished" || runs.empty()) return;
    ReportProfile(row, runs, report);
    const std::string library = LibraryOf(row.system);
    if (row.system != library + kTnbc) return;
    // Beside the same calls by the same daemons: what these win against MPI is no overlap.
    ReportMissed(row, "ceiling missed", runs_[{library + kBlocking, row.what}], runs, "of what T-NBC may save at most",
                 report);
    // Beside the program as it is, to which all that Copse saves counts.
    ReportMissed(row, "plain ceiling missed", runs_[{library, row.what}], runs,
                 "of what could be hidden of plain MPI's calls; calls that are faster count, too", report);
  }

 private:
  uint32_t calls() const { return static_cast<uint32_t>(calls_.size()); }

  // The long call and what follows, on average; a value a run.
  void ReportProfile(const Row& row, const std::vector<KernelRun>& runs, const Reporter& report) const {
    std::vector<double> in_calls, behind;
    for (const KernelRun& run : runs) {
      double in_call = 0, computation = 0;
      for (size_t i = place_; i < run.calls.size(); i += calls()) {
        in_call += run.calls[i].call;
        computation += run.calls[i].blocking() - run.calls[i].call;
      }
      const double iterations = static_cast<double>(run.calls.size()) / calls();
      in_calls.push_back(in_call / iterations);
      behind.push_back(computation / iterations);
    }
    report(Figure(row, "in " + calls_[place_], "ms", in_calls));
    report(Figure(row, "until the next call, from " + calls_[place_], "ms", behind));
  }

  // What of the first launches' ceiling the second have not brought, run by run.
  void ReportMissed(Row row, const std::string& metric, const std::vector<KernelRun>& before,
                    const std::vector<KernelRun>& after, const std::string& note, const Reporter& report) const {
    std::vector<double> values;
    for (size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
      values.push_back(NotReachedPercent(CeilingOf(before[i], place_, calls()), before[i].total - after[i].total));
    }
    if (values.empty()) return;
    row.note = note;
    report(Figure(row, metric, "%", values));
  }

  const std::vector<std::string> calls_;  // of an iteration
  const uint32_t place_;                  // in them: the long one, which is what the kernel is about
  std::map<std::pair<std::string, std::string>, std::vector<KernelRun>> runs_;  // by system and case
  std::map<std::string, uint64_t> hashes_;                                      // of the first launch, by case
};

}  // namespace

absl::StatusOr<KernelRun> ParseKernelRun(const std::vector<double>& samples, uint32_t calls_an_iteration,
                                         uint32_t nodes, uint32_t ppn) {
  const size_t an_iteration = calls_an_iteration * kCallFigures;
  if (samples.size() < kHeadFigures + an_iteration || (samples.size() - kHeadFigures) % an_iteration != 0) {
    return absl::InternalError(absl::StrCat("not the figures of iterations (count=", samples.size(), ")"));
  }
  KernelRun run = {.total = samples[0] / 1e3,
                   .hash = static_cast<uint64_t>(samples[1]) << 32 | static_cast<uint64_t>(samples[2])};
  for (size_t i = kHeadFigures; i < samples.size(); i += kCallFigures) {
    run.calls.push_back({.call = samples[i] / 1e3,
                         .unrelated = samples[i + 1] / 1e3,
                         .related = samples[i + 2] / 1e3,
                         .rest = samples[i + 3] / 1e3,
                         .blocks = nodes * ppn,
                         .first_part = 1.0 / ppn});
  }
  return run;
}

double CeilingOf(const KernelRun& run, uint32_t place, uint32_t calls_an_iteration) {
  double sum = 0;
  for (size_t i = place; i < run.calls.size(); i += calls_an_iteration) sum += Ceiling(run.calls[i]);
  return sum;
}

std::unique_ptr<Analysis> NewKernelAnalysis(const Contest& contest) {
  return std::make_unique<KernelAnalysis>(contest);
}

}  // namespace copse::bench::papers
