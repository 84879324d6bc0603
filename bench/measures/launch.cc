// SPDX-License-Identifier: Apache-2.0
//
// What `copse-run --daemons` adds to a launch: a planner and a daemon on each node, by a user without privileges.
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "bench/benchmarks.h"
#include "bench/contest.h"
#include "testbed/netns/mpi_launch.h"
#include "testbed/netns/test_network.h"
#include "testbed/netns/user_place.h"
#include "testbed/processes/child_process.h"
#include "testbed/processes/temp_folder.h"

namespace copse::bench {
namespace {

constexpr uint32_t kRuns = 7;
// A daemon may take 2 s to end, and as long again if its keeper is late.
constexpr absl::Duration kEndPatience = absl::Seconds(20);
constexpr char kProgram[] = "testbed/netns/mpi_hello";

struct Shape {
  uint32_t nodes, ppn;
};

std::map<std::string, std::string> Programs() {
  std::map<std::string, std::string> programs = {{"client/run/copse-run", "bin"},
                                                 {"daemon/copsed", "bin"},
                                                 {"planner/server/copse-planner", "bin"},
                                                 {"client/mpi/libcopse-mpi.so", "lib/copse"}};
  for (const char* library : {"openmpi", "mpich"}) {
    programs[absl::StrCat("client/mpi/libcopse-mpi-", library, ".so")] = "lib/copse";
    programs[absl::StrCat(kProgram, "_", library)] = "programs";
  }
  return programs;
}

// Cell 0: from the launcher's start to its end; cell 1: from then until nothing of the job is left.
class LaunchSystem final : public SystemUnderTest {
 public:
  LaunchSystem(const std::string& library, bool daemons, const Shape& shape, const netns::UserPlace& user,
               const std::string& run_dir, absl::Duration at_most)
      : library_(library), daemons_(daemons), shape_(shape), user_(user), run_dir_(run_dir), at_most_(at_most) {}

  std::string name() const override { return daemons_ ? library_ + kUnderMpi : library_; }
  absl::Status Measure(const std::vector<size_t>& cells, const Report& report) override {
    ASSIGN_OR_RETURN(netns::MpiCommand command, Command());
    const absl::Time start = absl::Now();
    ASSIGN_OR_RETURN(const auto child, procs::ChildProcess::Start({.arguments = std::move(command.arguments),
                                                                   .environment = std::move(command.environment),
                                                                   .stdout_pipe = true,
                                                                   .log_file = user_.folder() + "/log"}));
    std::vector<std::string> lines;
    RETURN_IF_ERROR(child->ReadToEnd(at_most_, &lines));
    const absl::Time end = absl::Now();
    if (child->exit_code() != 0) return absl::InternalError(child->DescribeFailure());
    const uint32_t ranks = shape_.nodes * shape_.ppn;
    const std::string sum = absl::StrCat("sum ", ranks * (ranks + 1) / 2);
    if (lines.empty() || lines.back() != sum) return absl::InternalError("launch: not what was to come: " + sum);
    RETURN_IF_ERROR(AwaitNothing());
    for (const size_t cell : cells) {
      report(cell, {absl::ToDoubleSeconds(cell == 0 ? end - start : absl::Now() - end)});
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<netns::MpiCommand> Command() const {
    netns::MpiPlace place = user_.place();
    if (daemons_) {
      place.enter.push_back(user_.folder() + "/bin/copse-run");
      place.enter.push_back("--daemons");
    }
    netns::MpiJob job = {.ranks = shape_.nodes * shape_.ppn,
                         .ppn = shape_.ppn,
                         .command = {absl::StrCat(user_.folder(), "/programs/mpi_hello_", library_)}};
    ASSIGN_OR_RETURN(job.library, netns::ParseMpiLibrary(library_));
    ASSIGN_OR_RETURN(netns::MpiCommand command, netns::MakeMpiCommand(place, job));
    command.environment["COPSE_RUN_DIR"] = run_dir_;
    return command;
  }

  absl::Status AwaitNothing() const {
    const absl::Time deadline = absl::Now() + kEndPatience;
    while (!std::filesystem::is_empty(run_dir_)) {
      if (absl::Now() > deadline) return absl::InternalError("launch: a folder of the job is left");
      absl::SleepFor(absl::Milliseconds(1));  // tidy: allow(sleep) because keepers are no children, and give no event
    }
    return absl::OkStatus();
  }

  const std::string library_;
  const bool daemons_;
  const Shape shape_;
  const netns::UserPlace& user_;
  const std::string run_dir_;
  const absl::Duration at_most_;
};

absl::Status Measure(const Options& options, const Shape& shape, const std::vector<Row>& rows, const Reporter& report) {
  const procs::TempFolder folder;
  ASSIGN_OR_RETURN(const auto network, netns::TestNetwork::Create({.nodes = shape.nodes, .folder = folder.path()}));
  ASSIGN_OR_RETURN(const auto user, netns::UserPlace::Create(*network, Programs()));
  ASSIGN_OR_RETURN(const std::string run_dir, user->MakeFolder("run"));
  std::vector<LaunchSystem> systems;
  ContestOptions contest = {.runs = options.runs > 0 ? options.runs : options.quick ? 1 : kRuns, .differences = true};
  for (const std::string library : {"openmpi", "mpich"}) {
    contest.pairs.emplace_back(library + kUnderMpi, library);
    for (const bool daemons : {true, false}) {
      systems.emplace_back(library, daemons, shape, *user, run_dir, options.cell_timeout);
    }
  }
  std::vector<SystemUnderTest*> wanted;
  for (LaunchSystem& system : systems) {
    if (WantedSystem(options, system.name())) wanted.push_back(&system);
  }
  RunContest(rows, wanted, contest, report);
  return absl::OkStatus();
}

}  // namespace

absl::Status RunLaunch(const Options& options, const Contest&, const Reporter& report) {
  for (const Shape& shape : {Shape{1, 2}, Shape{4, 1}, Shape{16, 1}}) {
    if (options.quick && shape.nodes != 4) continue;
    std::vector<Row> rows;
    for (const char* what : {"start to end", "end to nothing left"}) {
      rows.push_back({.bench = "launch",
                      .what = absl::StrCat("a daemon on each node, ", what),
                      .nodes = shape.nodes,
                      .ppn = shape.ppn,
                      .metric = "time",
                      .unit = "s"});
    }
    if (!Wanted(options, rows[0]) && !Wanted(options, rows[1])) continue;
    RETURN_IF_ERROR(Measure(options, shape, rows, report));
  }
  return absl::OkStatus();
}

}  // namespace copse::bench
