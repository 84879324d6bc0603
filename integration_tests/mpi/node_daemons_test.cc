// SPDX-License-Identifier: Apache-2.0
//
// copse-run --daemons over nodes with networks of their own: each gets a daemon, and nothing is left. Needs root.
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "integration_tests/mpi/mpi_fixture.h"
#include "integration_tests/mpi/mpi_job.h"
#include "testbed/netns/mpi_launch.h"
#include "testbed/netns/test_network.h"
#include "testbed/processes/child_process.h"
#include "testbed/processes/programs.h"
#include "testbed/processes/temp_folder.h"

namespace copse::mpi_test {
namespace {

constexpr absl::Duration kJobPatience = absl::Minutes(2);
// A keeper learns at once that the other side has gone, and gives a daemon 2 s to end.
constexpr absl::Duration kEndPatience = absl::Seconds(20);
constexpr absl::Duration kSignalPatience = absl::Seconds(10);
constexpr int kSignalsMax = 3;
const Words kOptions = {"--daemons", "--stats", "--offload", "all", "--calls-before", "2"};

uint32_t NodeCount() {
  const char* nodes = getenv("COPSE_TEST_NODES");
  uint32_t count = 3;
  EXPECT_TRUE(nodes == nullptr || absl::SimpleAtoi(nodes, &count));
  return count;
}

// Processes that are no children of this one, and files that they make, are looked for again and again.
void Pause() {
  absl::SleepFor(absl::Milliseconds(5));  // tidy: allow(sleep) because none of these gives an event
}

// A process of this job, or of what it has started.
struct Process {
  pid_t pid;
  std::string command;  // words end with a space
};

class NodeDaemonsTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const absl::Status possible = netns::CheckNamespaces(false); !possible.ok()) {
      GTEST_SKIP() << possible.message();
    }
    auto network = netns::TestNetwork::Create({.nodes = NodeCount(), .folder = folder_.path()});
    ASSERT_TRUE(network.ok()) << network.status();
    network_ = *std::move(network);
    std::filesystem::create_directory(run_dir_);
    WriteRemoteShell();
  }

  // As ssh does, it starts commands in a fresh environment; it writes down what others can read of them.
  void WriteRemoteShell() {
    std::ofstream(shell_) << "#!/bin/sh\necho \"$@\" >> '" << shell_lines_
                          << "'\nexec env -i PATH=\"$PATH\" HOME=/root '" << network_->remote_shell() << "' \"$@\"\n";
    chmod(shell_.c_str(), 0755);
  }

  netns::MpiPlace Place() const {
    netns::MpiPlace place = netns::PlaceOn(*network_, folder_.path());
    place.remote_shell = shell_;
    return place;
  }
  std::unique_ptr<procs::ChildProcess> Start(uint32_t ranks, const Words& program, netns::MpiPlace place,
                                             const Words& options = kOptions) {
    place.enter.push_back(PathOf("client/run/copse-run"));
    place.enter.insert(place.enter.end(), options.begin(), options.end());
    auto command = netns::MakeMpiCommand(
        place, {.library = *netns::ParseMpiLibrary(GetParam()), .ranks = ranks, .command = program});
    EXPECT_TRUE(command.ok()) << command.status();
    command->environment["COPSE_RUN_DIR"] = run_dir_;
    std::ofstream(log_, std::ios::trunc);
    auto child = procs::ChildProcess::Start(
        {.arguments = command->arguments, .environment = command->environment, .stdout_pipe = true, .log_file = log_});
    EXPECT_TRUE(child.ok()) << child.status();
    return *std::move(child);
  }
  // Ends a job by a signal to its launcher, as its user does: again if nothing comes of it. A proxy of Hydra's passes
  // the signal on to a rank that has not executed its program yet, and so still ignores it. The others of this job die,
  // and that one waits for them, also without Copse.
  static void End(procs::ChildProcess* job, int signal) {
    for (int i = 0; i < kSignalsMax && !job->AwaitEnd(i == 0 ? absl::ZeroDuration() : kSignalPatience).ok(); ++i) {
      job->Signal(signal);
    }
  }
  MpiResult Finish(procs::ChildProcess* job) {
    MpiResult result;
    if (job->ReadToEnd(kJobPatience, &result.out).ok()) result.code = job->exit_code();
    result.error = LinesOf(log_);
    return result;
  }
  static Words Situation(const std::string& name) {
    return {PathOf(absl::StrCat("integration_tests/mpi/situations_", GetParam())), name};
  }

  // Keepers have no other sign of the job than their environment, Hydra's proxies than the remote shell.
  std::vector<Process> Processes() const {
    std::vector<Process> found;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
      pid_t pid = 0;
      if (!absl::SimpleAtoi(entry.path().filename().string(), &pid) || pid == getpid()) continue;
      std::string command = procs::ContentOf(entry.path() / "cmdline");
      std::replace(command.begin(), command.end(), '\0', ' ');
      const std::string environment = procs::ContentOf(entry.path() / "environ");
      if (command.empty()) continue;  // it has ended
      if (absl::StrContains(command, run_dir_) || absl::StrContains(environment, run_dir_) ||
          absl::StrContains(command, shell_)) {
        found.push_back({pid, command});
      }
    }
    return found;
  }
  std::vector<Process> ProcessesOf(const std::string& word) const {
    std::vector<Process> all = Processes(), found;
    for (const Process& each : all) {
      if (absl::StrContains(each.command, word)) found.push_back(each);
    }
    return found;
  }
  Words Files() const {
    Words files;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(run_dir_, error)) files.push_back(entry.path());
    return files;
  }
  void ExpectNoResidue() const {
    const absl::Time deadline = absl::Now() + kEndPatience;
    while (!(Files().empty() && Processes().empty()) && absl::Now() < deadline) Pause();
    EXPECT_EQ(Files(), Words());
    EXPECT_EQ(SharedMemory(), Words());
    for (const Process& each : Processes()) ADD_FAILURE() << each.pid << " " << each.command;
  }
  // Files of the daemons' own in shared memory have their name.
  static Words SharedMemory() {
    Words files;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", error)) {
      if (absl::StrContains(entry.path().string(), "copse")) files.push_back(entry.path());
    }
    return files;
  }
  // Waits until `count` daemons or more have been accepted by the planner.
  void AwaitDaemons(size_t count) const {
    const absl::Time deadline = absl::Now() + kJobPatience;
    const auto ready = [this] {
      const Words files = Files();
      return static_cast<size_t>(std::count_if(files.begin(), files.end(), [](const std::string& folder) {
        return std::filesystem::exists(folder + "/copsed.port");
      }));
    };
    while (ready() < count) {
      ASSERT_LT(absl::Now(), deadline);
      Pause();
    }
  }

  const procs::TempFolder folder_;
  const std::string run_dir_ = folder_ / "run", shell_ = folder_ / "shell", shell_lines_ = folder_ / "shell.lines",
                    log_ = folder_ / "mpi.log";
  std::unique_ptr<netns::TestNetwork> network_;
};

TEST_P(NodeDaemonsTest, UnevenNodesHaveADaemonEachThatCarriesCheckedSums) {
  const uint32_t ranks = NodeCount() + 1;  // two on some nodes, one on another
  const auto job = Start(ranks, Situation("kinds_of_calls"), Place());
  const MpiResult result = ExpectDone(Finish(job.get()));
  EXPECT_GT(ParseStatistics(result)["MPI_Allreduce"].offloaded, 0u) << result.Text();
  ExpectNoResidue();
}

TEST_P(NodeDaemonsTest, NobodyElseReadsTheSecret) {
  const auto job = Start(NodeCount(), Situation("until_it_ends"), Place());
  AwaitDaemons(NodeCount());
  std::string secret;
  for (const Process& rank : ProcessesOf("until_it_ends")) {
    for (const auto entry : absl::StrSplit(procs::ContentOf(absl::StrCat("/proc/", rank.pid, "/environ")), '\0')) {
      if (absl::StartsWith(entry, "COPSE_RUN_SECRET=")) secret = std::string(entry.substr(entry.find('=') + 1));
    }
  }
  ASSERT_EQ(secret.size(), 64u);
  for (const Process& each : Processes()) EXPECT_FALSE(absl::StrContains(each.command, secret)) << each.command;
  const std::string lines = procs::ContentOf(shell_lines_);
  EXPECT_FALSE(lines.empty());
  EXPECT_FALSE(absl::StrContains(lines, secret)) << lines;
  for (const std::string& folder : Files()) {
    struct stat about;
    ASSERT_EQ(stat(folder.c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777, 0700u) << folder;
  }
  job->Signal(SIGINT);
  Finish(job.get());
  ExpectNoResidue();
}

// COPSE_TEST_KILLS=N: a campaign of N random kills, with all phases.
const char* Campaign() { return getenv("COPSE_TEST_KILLS"); }

TEST_P(NodeDaemonsTest, NothingIsLeftWhateverIsKilled) {
  size_t round = 0;
  bool late = std::string_view(GetParam()) == "mpich";
  for (const char* victim : {"mpiexec", "copse-planner", "/copsed ", "copse-run: keeper", "until_it_ends"}) {
    // Without a campaign each is killed before the daemons of one MPI's job are there, and after those of the other's.
    late = !late;
    std::vector<size_t> phases = {late ? NodeCount() : 0};
    if (Campaign() != nullptr) phases = {0, 1, NodeCount()};
    for (const size_t daemons : phases) {
      SCOPED_TRACE(absl::StrCat(victim, " when there are daemons: ", daemons));
      const auto job = Start(NodeCount(), Situation("until_it_ends"), Place());
      const absl::Time deadline = absl::Now() + kJobPatience;
      AwaitDaemons(daemons);
      std::vector<Process> victims;
      while ((victims = ProcessesOf(victim)).empty()) {
        ASSERT_LT(absl::Now(), deadline);
        Pause();
      }
      kill(victims[round++ % victims.size()].pid, SIGKILL);
      // A job that is stuck without its planner, or goes on without it, is its user's to end.
      if (!job->AwaitEnd(absl::Seconds(2)).ok()) End(job.get(), SIGINT);
      Finish(job.get());
      ExpectNoResidue();
    }
  }
}

TEST_P(NodeDaemonsTest, NothingIsLeftOfAJobThatLosesAnyProcessAtAnyTime) {
  int kills = 2;
  ASSERT_TRUE(Campaign() == nullptr || absl::SimpleAtoi(Campaign(), &kills));
  std::mt19937 chance(static_cast<unsigned>(kills));
  for (int i = 0; i < kills; ++i) {
    SCOPED_TRACE(i);
    const auto job = Start(NodeCount(), Situation("until_it_ends"), Place());
    const absl::Status ended = job->AwaitEnd(absl::Milliseconds(chance() % 1500));
    std::vector<Process> all = Processes();
    if (!ended.ok() && !all.empty()) kill(all[chance() % all.size()].pid, SIGKILL);
    if (!job->AwaitEnd(absl::Milliseconds(500)).ok()) End(job.get(), SIGTERM);
    Finish(job.get());
    ExpectNoResidue();
  }
}

TEST_P(NodeDaemonsTest, AHostThatIsNotThereLeavesNothing) {
  netns::MpiPlace place = Place();
  place.hosts[1] = "no-such-host";
  const auto job = Start(NodeCount(), Situation("kinds_of_calls"), place);
  // Hydra waits for the others' ends, and they wait for ranks that were never started, until its user loses patience.
  if (!job->AwaitEnd(absl::Seconds(3)).ok()) End(job.get(), SIGTERM);
  const MpiResult result = Finish(job.get());
  EXPECT_GT(result.code, 0) << result.Text();
  ExpectNoResidue();
}

TEST_P(NodeDaemonsTest, ANodeThatCannotReachTheLauncherIsNamedAndTheJobRunsOnItsMpi) {
  Words program = {"/usr/bin/env", "COPSE_RUN_CONTACT=9/9/127.0.0.1"};
  for (const std::string& word : Situation("kinds_of_calls")) program.push_back(word);
  const auto job = Start(2, program, Place());
  const MpiResult result = ExpectDone(Finish(job.get()));
  ExpectSaidOnce(result, "the launching machine cannot be reached");
  EXPECT_EQ(ParseStatistics(result)["MPI_Allreduce"].offloaded, 0u) << result.Text();
  ExpectNoResidue();
}

COPSE_BOTH_MPIS(NodeDaemonsTest);

}  // namespace
}  // namespace copse::mpi_test
