// SPDX-License-Identifier: Apache-2.0
#include "integration_tests/mpi/mpi_job.h"

#include <fstream>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/string_view.h"
#include "gtest/gtest.h"
#include "testbed/processes/child_process.h"
#include "testbed/processes/programs.h"

namespace copse::mpi_test {
namespace {

using procs::ChildProcess;

constexpr char kPreload[] = "client/mpi/libcopse-mpi.so";

}  // namespace

Words MpiResult::ErrorsWith(std::string_view words) const {
  Words found;
  for (const std::string& line : error) {
    if (absl::StrContains(line, AbslView(words))) found.push_back(line);
  }
  return found;
}

std::string MpiResult::Text() const {
  return absl::StrCat("exit code ", code, "\n", absl::StrJoin(out, "\n"), "\n--- standard error\n",
                      absl::StrJoin(error, "\n"));
}

std::string PathOf(const std::string& label) {
  const absl::StatusOr<std::string> path = procs::FindProgram(label);
  EXPECT_TRUE(path.ok()) << path.status();
  return path.value_or("no program");
}

Words LinesOf(const std::string& path) {
  Words lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

MpiResult RunMpi(const MpiRun& run, const std::string& folder, absl::Duration timeout) {
  MpiResult result;
  netns::MpiJob job = {.library = *netns::ParseMpiLibrary(run.library),
                       .ranks = run.ranks,
                       .copse = true,
                       .environment = run.environment,
                       .command = run.command};
  if (run.preload) job.environment["LD_PRELOAD"] = PathOf(kPreload);
  netns::MpiPlace place = {.folder = folder, .sockets = run.sockets};
  for (size_t node = 0; node < run.sockets.size(); ++node) place.hosts.push_back(absl::StrCat("n", node));
  if (run.network != nullptr) place = netns::PlaceOn(*run.network, folder);
  absl::StatusOr<netns::MpiCommand> command = netns::MakeMpiCommand(place, job);
  EXPECT_TRUE(command.ok()) << command.status();
  if (!command.ok()) return result;
  Words& words = command->arguments;
  words.insert(words.begin() + 1, run.launcher_options.begin(), run.launcher_options.end());
  words.insert(words.begin(), run.before_launcher.begin(), run.before_launcher.end());
  const std::string log = absl::StrCat(folder, "/mpi.log");
  std::ofstream(log, std::ios::trunc);
  const auto child = ChildProcess::Start(
      {.arguments = words, .environment = command->environment, .stdout_pipe = true, .log_file = log});
  EXPECT_TRUE(child.ok()) << child.status();
  if (!child.ok()) return result;
  if ((*child)->ReadToEnd(timeout, &result.out).ok()) result.code = (*child)->exit_code();
  result.error = LinesOf(log);
  return result;
}

std::map<std::string, CollectiveCounts> ParseStatistics(const MpiResult& result) {
  const auto statistics = ParseStatisticsText(result.error);
  EXPECT_TRUE(statistics.ok()) << statistics.status();
  return statistics.value_or(std::map<std::string, CollectiveCounts>());
}

}  // namespace copse::mpi_test
