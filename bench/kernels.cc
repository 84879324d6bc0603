// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "bench/contest.h"
#include "bench/entrants.h"
#include "bench/rank_contest.h"
#include "bench/row.h"
#include "bench/site.h"
#include "bench/tnbc_systems.h"

namespace copse::bench {
namespace {

using Reporter = std::function<void(const Row&)>;

constexpr uint32_t kNodes = 4;
constexpr size_t kHeadFigures = 3;  // of a line, before those of calls
constexpr size_t kCallFigures = 4;

struct Class {
  const char* name;
  uint32_t iterations;       // as many as are made
  uint32_t iterations_real;  // as NPB has them
};

struct Kernel {
  const char* name;
  std::vector<const char*> calls;  // of an iteration
  uint32_t place;                  // in them: the long one, which is what the kernel is about
  std::vector<Class> classes;
};

Kernel Ft(bool quick) {
  Kernel kernel = {.name = "ft", .calls = {"alltoall", "reduce"}, .place = 0};
  kernel.classes = quick ? std::vector<Class>{{"S", 2, 6}} : std::vector<Class>{{"A", 6, 6}, {"B", 4, 20}};
  return kernel;
}

Kernel Is(bool quick) {
  Kernel kernel = {.name = "is", .calls = {"allreduce", "alltoall", "alltoallv"}, .place = 2};
  kernel.classes = quick ? std::vector<Class>{{"S", 2, 10}} : std::vector<Class>{{"A", 10, 10}, {"B", 10, 10}};
  return kernel;
}

struct Place {
  uint32_t nodes;
  uint32_t ppn;
  LinkRate rate;
};

std::vector<Place> Places(bool quick) {
  if (quick) return {{2, 2, kFastLink}};
  return {{kNodes, 2, kSlowLink}, {kNodes, 2, kFastLink}, {kNodes, 4, kSlowLink}, {kNodes, 4, kFastLink}};
}

RankContest ContestOf(const Options& options, const Kernel& kernel, const Place& place) {
  RankContest contest;
  contest.bench = kernel.name;
  contest.metric = "time";
  contest.unit = "ms";
  contest.ppn = place.ppn;
  for (const std::string library : kTnbcLibraries) {
    contest.systems.insert(contest.systems.end(), {library + kTnbc, library + kBlocking, library});
    contest.pairs.insert(
        contest.pairs.end(),
        {{library + kTnbc, library}, {library + kTnbc, library + kBlocking}, {library + kBlocking, library}});
  }
  for (const Class& each : kernel.classes) {
    contest.cases.push_back({absl::StrCat("class ", each.name, ", shaped ", place.rate.name),
                             {kernel.name, each.name, each.iterations, {}}});
  }
  contest.note = "more ranks than cores: MPI polls, Copse sleeps";
  contest.runs = options.quick ? 1 : 5;
  contest.peer_time_max = absl::InfiniteDuration();
  return contest;
}

// Of all launches at one place: what each has said, by system and class.
struct Said {
  std::map<std::pair<std::string, size_t>, std::vector<KernelRun>> runs;
  std::map<size_t, uint64_t> hashes;  // of the first launch

  absl::Status Add(const std::string& system, size_t index, const KernelRun& run) {
    const uint64_t expected = hashes.try_emplace(index, run.hash).first->second;
    if (run.hash != expected) return absl::DataLossError("results differ from those of the first launch");
    runs[{system, index}].push_back(run);
    return absl::OkStatus();
  }
};

// A kernel's launches at one place, as rows.
class Reports {
 public:
  Reports(const Kernel& kernel, const Said& said, const Reporter& report)
      : kernel_(kernel), said_(said), report_(report) {}

  // What the contest's row about a system's time does not say.
  void Add(const Row& row, size_t index) const {
    const std::vector<KernelRun>& runs = RunsOf(row.system, index);
    if (runs.empty()) return;
    AddProfile(row, runs);
    const std::string library = LibraryOf(row.system);
    if (row.system != library + kTnbc) return;
    // Beside the same calls by the same daemons: what these win against MPI is no overlap.
    const std::string overlap = "of what T-NBC may save at most";
    AddMissed(row, "ceiling missed", CeilingOf, RunsOf(library + kBlocking, index), runs, overlap);
    AddMissed(row, "replay missed", ReplayedOf, RunsOf(library + kBlocking, index), runs, overlap);
    // Beside the program as it is, to which all that Copse saves counts.
    AddMissed(row, "plain ceiling missed", CeilingOf, RunsOf(library, index), runs,
              "of what could be hidden of plain MPI's calls; calls that are faster count, too");
    AddNoise(row, RunsOf(library + kBlocking, index));
  }

 private:
  using Bound = double (*)(const KernelRun& run, uint32_t place, uint32_t calls_an_iteration);

  uint32_t calls() const { return static_cast<uint32_t>(kernel_.calls.size()); }

  const std::vector<KernelRun>& RunsOf(const std::string& system, size_t index) const {
    static const auto& none = *new std::vector<KernelRun>;
    const auto found = said_.runs.find({system, index});
    return found == said_.runs.end() ? none : found->second;
  }

  // A call of each kind and what follows, on average; a value a run.
  void AddProfile(const Row& row, const std::vector<KernelRun>& runs) const {
    for (uint32_t place = 0; place < calls(); ++place) {
      std::vector<double> in_calls, behind;
      for (const KernelRun& run : runs) {
        double in_call = 0, computation = 0;
        for (size_t i = place; i < run.calls.size(); i += calls()) {
          in_call += run.calls[i].call;
          computation += run.calls[i].blocking() - run.calls[i].call;
        }
        const double iterations = static_cast<double>(run.calls.size()) / calls();
        in_calls.push_back(in_call / iterations);
        behind.push_back(computation / iterations);
      }
      const std::string name = kernel_.calls[place];
      report_(Figure(row, "in " + name, "ms", in_calls));
      report_(Figure(row, "until the next call, from " + name, "ms", behind));
    }
    AddBound(row, "ceiling", CeilingOf, runs);
    AddBound(row, "replayed", ReplayedOf, runs);
  }

  void AddBound(Row row, const std::string& metric, Bound bound, const std::vector<KernelRun>& runs) const {
    std::vector<double> values;
    for (const KernelRun& run : runs) values.push_back(bound(run, kernel_.place, calls()));
    row.note = absl::StrCat("of ", kernel_.calls[kernel_.place], " alone: others have less than a page");
    report_(Figure(row, metric, "ms", values));
  }

  // What of the first launches' bound the second have not brought, run by run.
  void AddMissed(Row row, const std::string& metric, Bound bound, const std::vector<KernelRun>& before,
                 const std::vector<KernelRun>& after, const std::string& note) const {
    std::vector<double> values;
    for (size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
      values.push_back(NotReachedPercent(bound(before[i], kernel_.place, calls()), before[i].total - after[i].total));
    }
    if (values.empty()) return;
    row.note = note;
    report_(Figure(row, metric, "%", values));
  }

  // How far apart launches are that do the same: where that is as much as the ceiling, what was missed says nothing.
  void AddNoise(Row row, const std::vector<KernelRun>& runs) const {
    std::vector<double> totals, values;
    for (const KernelRun& run : runs) totals.push_back(run.total);
    if (totals.size() < 2) return;
    const double median = Median(totals);
    for (const KernelRun& run : runs) {
      const double bound = CeilingOf(run, kernel_.place, calls());
      if (bound > 0) values.push_back(100 * std::abs(run.total - median) / bound);
    }
    if (values.empty()) return;
    row.note = "of the ceiling: blocking launches from their median";
    report_(Figure(row, "noise", "%", values));
  }

  const Kernel& kernel_;
  const Said& said_;
  const Reporter& report_;
};

// A row, with what of NPB it is.
Row WithIterations(Row row, const Class& each) {
  absl::StrAppend(&row.note, row.note.empty() ? "" : "; ", each.iterations, " of ", each.iterations_real,
                  " iterations");
  return row;
}

absl::Status RunPlace(const Options& options, const Kernel& kernel, const Place& place, const Reporter& report) {
  RankContest contest = ContestOf(options, kernel, place);
  if (!AnyWanted(options, contest, place.nodes)) return absl::OkStatus();
  ASSIGN_OR_RETURN(
      const auto site,
      Site::Open({.nodes = place.nodes, .parent = options.folder, .rate_bits_per_s = place.rate.bits_per_s}));
  contest.start = [&](const std::string& system, const std::vector<std::string>& arguments) {
    const std::string program = absl::StrCat("bench/mpi_", kernel.name);
    return StartTnbc(system, {.program = program, .ppn = place.ppn, .in_turn = true, .arguments = arguments},
                     site.get());
  };
  Said said;
  contest.take = [&](const std::string& system, size_t index,
                     const std::vector<double>& samples) -> absl::StatusOr<std::vector<double>> {
    ASSIGN_OR_RETURN(const KernelRun run,
                     ParseKernelRun(samples, static_cast<uint32_t>(kernel.calls.size()), place.nodes, place.ppn));
    RETURN_IF_ERROR(said.Add(system, index, run));
    return std::vector<double>{run.total};
  };
  return RunRankContest(options, contest, site.get(), [&](Row row) {
    const auto index =
        static_cast<size_t>(std::find_if(contest.cases.begin(), contest.cases.end(),
                                         [&row](const RankCase& each) { return each.what == row.what; }) -
                            contest.cases.begin());
    // A cell's class and iterations are not what rows mean by these.
    row.collective = kernel.calls[kernel.place];
    row.bytes = 0;
    const Reporter with_iterations = [&](const Row& each) { report(WithIterations(each, kernel.classes[index])); };
    with_iterations(row);
    if (row.peer.empty() && row.metric != "unfinished") Reports(kernel, said, with_iterations).Add(row, index);
  });
}

absl::Status RunKernel(const Options& options, const Kernel& kernel, const Reporter& report) {
  for (const Place& place : Places(options.quick)) {
    RETURN_IF_ERROR(RunPlace(WithTimeForTnbc(options), kernel, place, report));
  }
  return absl::OkStatus();
}

// The sum of a bound over the calls with this place in an iteration.
double SumOver(const KernelRun& run, uint32_t place, uint32_t calls_an_iteration,
               double (*bound)(const CallAndComputation&)) {
  double sum = 0;
  for (size_t i = place; i < run.calls.size(); i += calls_an_iteration) sum += bound(run.calls[i]);
  return sum;
}

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
  return SumOver(run, place, calls_an_iteration, Ceiling);
}

double ReplayedOf(const KernelRun& run, uint32_t place, uint32_t calls_an_iteration) {
  return SumOver(run, place, calls_an_iteration, OverlapAllowed);
}

absl::Status RunFt(const Options& options, const Reporter& report) {
  return RunKernel(options, Ft(options.quick), report);
}

absl::Status RunIs(const Options& options, const Reporter& report) {
  return RunKernel(options, Is(options.quick), report);
}

}  // namespace copse::bench
