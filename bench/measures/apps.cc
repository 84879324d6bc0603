// SPDX-License-Identifier: Apache-2.0
#include "bench/benchmarks.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "bench/background_load.h"
#include "bench/contest.h"
#include "bench/testbed.h"
#include "integration_tests/mpi/apps/apps.h"
#include "testbed/netns/mpi_launch.h"
#include "testbed/processes/child_process.h"
#include "testbed/processes/programs.h"

namespace copse::bench {
namespace {

using mpi_test::App;
using Lines = std::vector<std::string>;

constexpr uint32_t kNodes = 2;
constexpr uint32_t kLoadProcesses = 2;
constexpr uint32_t kRuns = 5;
// An application may take as long as so many cells: it is no single call.
constexpr int kCellsAnApp = 8;
constexpr char kPreload[] = "client/mpi/libcopse-mpi.so";

// A system and the environment that makes it; without `under_copse` the MPI library alone, by whose name rows have it.
struct Side {
  const char* system;
  bool under_copse;
  std::map<std::string, std::string> environment;
};

// One application with one system; a cell is a launch, from the launcher's start to its end.
class AppSystem final : public SystemUnderTest {
 public:
  // The first launch of all systems leaves its results in `*expected`. No load: null.
  AppSystem(const App& app, const Side& side, Testbed* testbed, BackgroundLoad* load, absl::Duration at_most,
            Lines* expected)
      : app_(app), side_(side), testbed_(testbed), load_(load), at_most_(at_most), expected_(expected) {}

  std::string name() const override { return side_.under_copse ? side_.system : app_.library; }
  absl::Status Measure(const std::vector<size_t>& cells, const Report& report) override {
    if (load_ != nullptr) load_->Resume();
    const absl::StatusOr<double> seconds = Launch();
    if (load_ != nullptr) load_->Pause();
    RETURN_IF_ERROR(seconds.status());
    report(cells.front(), {*seconds});
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<netns::MpiCommand> Command(const std::string& folder) const {
    netns::MpiJob job = {
        .ranks = app_.ranks, .environment = side_.environment, .command = mpi_test::InFolder(app_, folder)};
    ASSIGN_OR_RETURN(job.library, netns::ParseMpiLibrary(app_.library));
    if (side_.under_copse) {
      ASSIGN_OR_RETURN(job.environment["LD_PRELOAD"], procs::FindProgram(kPreload));
    }
    return netns::MakeMpiCommand(netns::PlaceOn(*testbed_->cluster()->network(), testbed_->cluster()->folder()), job);
  }

  absl::StatusOr<double> Launch() {
    const std::string folder = absl::StrCat(testbed_->cluster()->folder(), "/", app_.name);
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);  // that of the last run
    RETURN_IF_ERROR(mpi_test::MakeAppFolder(app_, folder));
    ASSIGN_OR_RETURN(netns::MpiCommand command, Command(folder));
    const std::string log = absl::StrCat(folder, "/log");
    const absl::Time start = absl::Now();
    ASSIGN_OR_RETURN(const auto child, procs::ChildProcess::Start({.arguments = std::move(command.arguments),
                                                                   .environment = std::move(command.environment),
                                                                   .log_file = log}));
    RETURN_IF_ERROR(child->AwaitEnd(at_most_));
    const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
    if (child->exit_code() != 0) return absl::InternalError(child->DescribeFailure());
    std::ifstream file(log);
    Lines lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    ASSIGN_OR_RETURN(const Lines results, mpi_test::ResultsOf(app_, folder, lines));
    if (expected_->empty()) *expected_ = results;
    const std::string difference = mpi_test::DescribeDifference(*expected_, results, app_.tolerance);
    if (!difference.empty()) return absl::InternalError(difference);
    return seconds;
  }

  const App& app_;
  const Side& side_;
  Testbed* const testbed_;
  BackgroundLoad* const load_;
  const absl::Duration at_most_;
  Lines* const expected_;
};

absl::Status RunAll(const Options& options, const char* bench, const Side& subject, const Side& peer,
                    const Reporter& report) {
  std::unique_ptr<Testbed> testbed;
  ASSIGN_OR_RETURN(const std::unique_ptr<BackgroundLoad> load, BackgroundLoad::Start(kLoadProcesses));
  const uint32_t runs = options.runs > 0 ? options.runs : options.quick ? 1 : kRuns;
  for (const App& app : mpi_test::Apps()) {
    for (const bool busy : {false, true}) {
      const Row row = {.bench = bench,
                       .what = absl::StrCat(app.name, busy ? ", busy" : ", idle"),
                       .nodes = kNodes,
                       .ppn = app.ranks / kNodes,
                       .metric = "time",
                       .unit = "s"};
      if (!Wanted(options, row) || (options.quick && busy)) continue;
      if (testbed == nullptr) {
        ASSIGN_OR_RETURN(testbed, Testbed::Open({.nodes = kNodes, .parent = options.folder}));
      }
      Lines expected;
      const auto with = [&](const Side& side) {
        return AppSystem(app, side, testbed.get(), busy ? load.get() : nullptr, kCellsAnApp * options.cell_timeout,
                         &expected);
      };
      AppSystem ours = with(subject), theirs = with(peer);
      RunContest({row}, {&ours, &theirs}, {.runs = runs, .unfinished_max = 1}, report);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunApps(const Options& options, const Contest&, const Reporter& report) {
  return RunAll(options, "apps", {"copse", true, {}}, {"", false, {}}, report);
}

absl::Status RunAppsTnbc(const Options& options, const Contest&, const Reporter& report) {
  return RunAll(options, "apps-tnbc", {"copse-tnbc", true, {{"COPSE_TNBC", "auto"}}},
                {"copse-blocking", true, {{"COPSE_TNBC", "off"}}}, report);
}

}  // namespace copse::bench
