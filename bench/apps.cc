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
#include "bench/testbed.h"
#include "integration_tests/mpi/apps/apps.h"
#include "integration_tests/mpi/statistics_text.h"
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
// A socket that nobody listens to: the library counts and measures, and everything goes by MPI.
constexpr char kNobody[] = "@copse-bench-nobody";

enum class How { kPlain, kMeasured, kCopse, kBlocking, kTnbc };

// The two launches that a benchmark compares.
struct Comparison {
  const char* bench;
  How subject;
  How peer;
  How peer_collectives;  // the launch that tells what the peer spends in collectives
};
constexpr Comparison kWithPlain = {"apps", How::kCopse, How::kPlain, How::kMeasured};
constexpr Comparison kWithBlocking = {"apps-tnbc", How::kTnbc, How::kBlocking, How::kBlocking};

const char* NameOf(How how) {
  switch (how) {
    case How::kPlain:
      return "plain";
    case How::kMeasured:
      return "plain, with statistics";
    case How::kCopse:
      return "with Copse";
    case How::kBlocking:
      return "with Copse, blocking";
    case How::kTnbc:
      return "with Copse, T-NBC";
  }
  return "";
}

// As in rows.
std::string SystemOf(How how, const App& app) {
  if (how == How::kPlain || how == How::kMeasured) return app.library;
  return how == How::kCopse ? "copse" : how == How::kBlocking ? "copse-blocking" : "copse-tnbc";
}

// What one launch has brought.
struct Timed {
  double seconds = 0;
  double in_collectives = 0;  // rank 0's; not of plain ones
  Lines results;
};

double SecondsInCollectives(const std::map<std::string, mpi_test::CollectiveCounts>& statistics) {
  double seconds = 0;
  for (const auto& [name, counts] : statistics) seconds += counts.offloaded_seconds + counts.by_mpi_seconds;
  return seconds;
}

absl::StatusOr<netns::MpiCommand> CommandOf(const App& app, How how, Testbed* testbed, const std::string& folder) {
  netns::MpiJob job = {.ranks = app.ranks, .command = mpi_test::InFolder(app, folder)};
  ASSIGN_OR_RETURN(job.library, netns::ParseMpiLibrary(app.library));
  if (how != How::kPlain) {
    ASSIGN_OR_RETURN(job.environment["LD_PRELOAD"], procs::FindProgram(kPreload));
    job.environment["COPSE_MPI_STATS"] = "1";
  }
  if (how == How::kMeasured) job.environment["COPSE_SOCKET"] = kNobody;
  if (how == How::kBlocking) job.environment["COPSE_TNBC"] = "off";
  if (how == How::kTnbc) job.environment["COPSE_TNBC"] = "auto";
  return netns::MakeMpiCommand(netns::PlaceOn(*testbed->cluster()->network(), testbed->cluster()->folder()), job);
}

// Reads standard output and error, which launchers bring together as they come: the library's may stand behind what the
// program has written, before its end of line.
Lines LinesOf(const std::string& log) {
  constexpr char kOurs[] = "copse-mpi: ";
  Lines lines;
  std::ifstream file(log);
  for (std::string line; std::getline(file, line);) {
    const size_t ours = line.find(kOurs);
    if (ours != std::string::npos && ours > 0) lines.push_back(line.substr(0, ours));
    lines.push_back(ours == std::string::npos ? line : line.substr(ours));
  }
  return lines;
}

// From the launcher's start to its end.
absl::StatusOr<Timed> RunOnce(const App& app, How how, Testbed* testbed, absl::Duration at_most) {
  const std::string folder = absl::StrCat(testbed->cluster()->folder(), "/", app.name);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);  // that of the last run
  RETURN_IF_ERROR(mpi_test::MakeAppFolder(app, folder));
  ASSIGN_OR_RETURN(netns::MpiCommand command, CommandOf(app, how, testbed, folder));
  const std::string log = absl::StrCat(folder, "/log");
  const absl::Time start = absl::Now();
  ASSIGN_OR_RETURN(const auto child, procs::ChildProcess::Start({.arguments = std::move(command.arguments),
                                                                 .environment = std::move(command.environment),
                                                                 .log_file = log}));
  const absl::Status ended = child->AwaitEnd(at_most);
  Timed timed = {.seconds = absl::ToDoubleSeconds(absl::Now() - start)};
  if (!ended.ok()) return absl::Status(ended.code(), absl::StrCat("not done after ", absl::FormatDuration(at_most)));
  if (child->exit_code() != 0) return absl::InternalError(child->DescribeFailure());
  const Lines lines = LinesOf(log);
  ASSIGN_OR_RETURN(const auto statistics, mpi_test::ParseStatisticsText(lines));
  timed.in_collectives = SecondsInCollectives(statistics);
  ASSIGN_OR_RETURN(timed.results, mpi_test::ResultsOf(app, folder, lines));
  return timed;
}

// What all runs of a cell have brought, in seconds.
struct Figures {
  std::vector<double> peer, subject, peer_collectives, subject_collectives;
};

absl::Status AddRun(const App& app, const Comparison& sides, Testbed* testbed, BackgroundLoad* load,
                    absl::Duration at_most, Figures* figures) {
  std::map<How, Timed> timed;
  for (const How how : {sides.peer, sides.subject, sides.peer_collectives}) {
    if (timed.contains(how)) continue;
    if (load != nullptr) load->Resume();
    auto one = RunOnce(app, how, testbed, at_most);
    if (load != nullptr) load->Pause();
    if (!one.ok()) {
      return absl::Status(one.status().code(), absl::StrCat(NameOf(how), ": ", std::string(one.status().message())));
    }
    timed[how] = std::move(*one);
  }
  const std::string difference =
      mpi_test::DescribeDifference(timed[sides.peer].results, timed[sides.subject].results, app.tolerance);
  if (!difference.empty()) return absl::InternalError(absl::StrCat(NameOf(sides.subject), ": ", difference));
  figures->peer.push_back(timed[sides.peer].seconds);
  figures->subject.push_back(timed[sides.subject].seconds);
  figures->peer_collectives.push_back(timed[sides.peer_collectives].in_collectives);
  figures->subject_collectives.push_back(timed[sides.subject].in_collectives);
  return absl::OkStatus();
}

// A row each, and their ratio run by run.
void ReportPair(Row row, const std::string& peer_system, const std::vector<double>& peer,
                const std::vector<double>& subject, const Reporter& report) {
  const std::string system = row.system;
  row.metric = "time";
  row.unit = "s";
  Summarize(subject, &row);
  report(row);
  row.system = peer_system;
  Summarize(peer, &row);
  report(row);
  std::vector<double> ratios;
  for (size_t i = 0; i < peer.size(); ++i) {
    if (peer[i] > 0) ratios.push_back(subject[i] / peer[i]);
  }
  if (ratios.empty()) return;
  row.system = system;
  row.peer = peer_system;
  row.metric = "ratio";
  row.unit = "1";
  Summarize(ratios, &row);
  report(row);
}

void RunCell(const Options& options, const App& app, const Comparison& sides, Testbed* testbed, BackgroundLoad* load,
             Row row, const Reporter& report) {
  const std::string what = row.what;
  Figures figures;
  const uint32_t runs = options.runs > 0 ? options.runs : options.quick ? 1 : kRuns;
  for (uint32_t run = 0; run < runs; ++run) {
    const absl::Status status = AddRun(app, sides, testbed, load, kCellsAnApp * options.cell_timeout, &figures);
    if (status.ok()) continue;
    row.metric = "unfinished";
    row.note = std::string(status.message());
    report(row);
    return;
  }
  const std::string peer = SystemOf(sides.peer, app);
  ReportPair(row, peer, figures.peer, figures.subject, report);
  row.what = absl::StrCat(what, ", in collectives");
  ReportPair(row, peer, figures.peer_collectives, figures.subject_collectives, report);
}

absl::Status RunAll(const Options& options, const Comparison& sides, const Reporter& report) {
  std::unique_ptr<Testbed> testbed;
  ASSIGN_OR_RETURN(const std::unique_ptr<BackgroundLoad> load, BackgroundLoad::Start(kLoadProcesses));
  for (const App& app : mpi_test::Apps()) {
    for (const bool busy : {false, true}) {
      const Row row = {.bench = sides.bench,
                       .what = absl::StrCat(app.name, busy ? ", busy" : ", idle"),
                       .system = SystemOf(sides.subject, app),
                       .nodes = kNodes,
                       .ppn = app.ranks / kNodes};
      if (!Wanted(options, row) || (options.quick && busy)) continue;
      if (testbed == nullptr) {
        ASSIGN_OR_RETURN(testbed, Testbed::Open({.nodes = kNodes, .parent = options.folder}));
      }
      RunCell(options, app, sides, testbed.get(), busy ? load.get() : nullptr, row, report);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunApps(const Options& options, const Reporter& report) { return RunAll(options, kWithPlain, report); }

absl::Status RunAppsTnbc(const Options& options, const Reporter& report) {
  return RunAll(options, kWithBlocking, report);
}

}  // namespace copse::bench
