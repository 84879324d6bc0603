// SPDX-License-Identifier: Apache-2.0
//
// Programs whose blocking collectives may return early (early.h): they see what they see by MPI alone. With
// COPSE_TEST_CAMPAIGN, at more lengths, on 2 to 5 ranks; on 3, also left to the library's judgement, and by MPI alone.
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "integration_tests/mpi/mpi_fixture.h"
#include "integration_tests/mpi/mpi_job.h"
#include "nlohmann/json.hpp"
#include "testbed/processes/child_process.h"
#include "testbed/script/cluster.h"

namespace copse::mpi_test {
namespace {

using copse::testing::Names;

// The limit of one job, which takes seconds; in a campaign a minute.
constexpr absl::Duration kJobPatience = absl::Minutes(4);
constexpr absl::Duration kAskAgain = absl::Milliseconds(10);

const std::map<std::string, std::string> kStrict = {{"COPSE_TNBC_SYSCALLS", "strict"}};

class TnbcTest : public ShimTest {
 protected:
  // Returns a result that is right.
  MpiResult RunEarly(uint32_t ranks, const std::string& mode, const Words& arguments,
                     const std::map<std::string, std::string>& environment = {}) {
    MpiRun run = EarlyJobOf(ranks, mode, arguments);
    for (const auto& [name, value] : environment) run.environment[name] = value;
    return ExpectDone(Run(run, kJobPatience));
  }
  // `options`: arguments before the group.
  void ExpectRight(const std::string& group, uint32_t ranks, const std::string& mode = "on", Words options = {},
                   const std::map<std::string, std::string>& environment = {}) {
    const bool has_options = !options.empty();
    options.push_back(group);
    if (!IsCampaign()) {
      RunEarly(ranks, mode, options, environment);
      return;
    }
    options.insert(options.begin(), "thorough");
    for (ranks = 2; ranks <= 5 && !HasFailure(); ++ranks) {
      for (const std::string& way : ranks == 3 ? Words{"by MPI alone", "auto", "on"} : Words{"on"}) {
        SCOPED_TRACE(absl::StrCat(group, ", ", ranks, " ranks, ", way));
        if (has_options && way != "on") continue;
        MpiRun run = EarlyJobOf(ranks, way, options);
        run.environment.insert(environment.begin(), environment.end());
        run.preload = way != "by MPI alone";
        ExpectDone(Run(run, kJobPatience));
      }
    }
  }
};

// What the MPI has no part in, as it only starts the ranks: its calls are made under both in the tests of TnbcTest.
class TnbcOfOneMpiTest : public TnbcTest {};
// What runs under Open MPI in other ways, with memory that is adopted or by strict system calls.
class TnbcOfMpichTest : public TnbcTest {};

TEST_P(TnbcOfOneMpiTest, BlocksOfAllSizes) { ExpectRight("sizes", 3); }
// Each kind of kinds.h once, with nothing in its way.
TEST_P(TnbcTest, EveryKindReturnsEarly) {
  const MpiResult result = RunEarly(3, "on", {"sizes/kinds"});
  ExpectSaidOnce(result, "early returns: 16 calls, 0 more waited");
  const Words verdicts = result.ErrorsWith("verdict of T-NBC: ");
  ASSERT_EQ(verdicts.size(), 1u) << result.Text();
  EXPECT_THAT(verdicts[0], Names("calls=16"));
}
TEST_P(TnbcOfOneMpiTest, AnUnknownModeIsSaidOnceAndIgnored) {
  const MpiResult result = RunEarly(2, "sometimes", {"sizes/kinds"});
  ExpectSaidOnce(result, "copse-mpi: COPSE_TNBC: ");
  EXPECT_TRUE(result.ErrorsWith("early returns").empty()) << result.Text();
}
TEST_P(TnbcOfOneMpiTest, AnUnknownSettingIsSaidOnceAndIgnored) {
  const MpiResult result = RunEarly(3, "on", {"sizes/kinds"}, {{"COPSE_TNBC_SYSCALLS", "some"}});
  ExpectSaidOnce(result, "copse-mpi: COPSE_TNBC_SYSCALLS: ");
  ExpectSaidOnce(result, "early returns: 16 calls, 0 more waited");
}
TEST_P(TnbcOfOneMpiTest, AllKindsOfMemory) { ExpectRight("memory", 2); }
TEST_P(TnbcTest, MemoryOfTheMpi) { RunEarly(2, "on", {"memory/alloc_mem", "memory/window_of_node"}); }
// Pages of copse_alloc are shared, so calls with them would wait if results did not land there by themselves.
TEST_P(TnbcTest, MemoryOfTheMpisAllocatorIsReached) {
  ExpectSaidOnce(RunEarly(2, "on", {"memory/alloc_mem_both"}), "calls, 0 more waited");
}
// From the second call on, in pages that were exchanged.
TEST_P(TnbcOfOneMpiTest, MemoryThatResultsComeToAgain) { ExpectRight("adoption", 3, "on", {"repeats"}); }
TEST_P(TnbcOfOneMpiTest, WhatIsDoneToMemoryThatIsAdopted) {
  for (const char* group : {"memory_calls", "processes", "transfers", "sends"})
    ExpectRight(group, 2, "on", {"repeats"});
  if (!IsCampaign()) return;
  for (const char* group : {"sizes", "memory", "touching"}) ExpectRight(group, 2, "on", {"repeats"});
}
TEST_P(TnbcOfOneMpiTest, MemoryIsNotAdoptedWhereThatIsNotWanted) {
  const Words kept = {"repeats", "sends/kept_and_written", "sends/kept_and_forked", "sends/kept_in_memory_of_mpi",
                      "sends/of_a_result"};
  ExpectSaidOnce(RunEarly(2, "on", kept, {{"COPSE_TNBC_ADOPT", "off"}}), "; 0 buffers adopted");
  const MpiResult some = RunEarly(2, "on", kept, {{"COPSE_TNBC_ADOPT", "sometimes"}});
  ExpectSaidOnce(some, "copse-mpi: COPSE_TNBC_ADOPT: ");
  ExpectSaidOnce(some, "buffers adopted");
  EXPECT_TRUE(some.ErrorsWith("; 0 buffers adopted").empty()) << some.Text();
}
TEST_P(TnbcOfOneMpiTest, AllWaysToTouch) { ExpectRight("touching", 2); }
TEST_P(TnbcOfMpichTest, SystemCallsAndStreams) { ExpectRight("transfers", 2); }
TEST_P(TnbcOfMpichTest, MemoryThatIsGivenBackOrProtected) { ExpectRight("memory_calls", 2); }
TEST_P(TnbcTest, OtherFunctionsOfMpi) { ExpectRight("mpi_calls", 3); }
TEST_P(TnbcOfMpichTest, ProcessesThatAreStarted) { ExpectRight("processes", 2); }
TEST_P(TnbcTest, SignalsOfTheProgram) { ExpectRight("signals", 2); }
TEST_P(TnbcOfMpichTest, ThreadsThatTouch) { ExpectRight("threads", 2); }
// Over a network, where long messages take turns of both sides.
TEST_P(TnbcTest, ThreadsThatWaitForDataThatWaitsForMessages) {
  for (const char* name : {"threads/waits_for_new_worker", "threads/waits_for_worker"}) {
    MpiRun run = EarlyJobOf(2, "on", {name});
    run.environment.insert(
        {{"MPIR_CVAR_NOLOCAL", "1"}, {"UCX_TLS", "tcp,self"}, {"OMPI_MCA_pml", "ob1"}, {"OMPI_MCA_btl", "tcp,self"}});
    ExpectDone(Run(run, 3 * kDeathPatience));
  }
}
TEST_P(TnbcTest, ThreadsThatCall) { ExpectRight("threads_multiple", 3); }
// To divide calls costs something: not where nobody gains by it.
TEST_P(TnbcOfOneMpiTest, CallsThatCannotReturnEarlyAreNotDividedByDefault) {
  const MpiResult result = RunEarly(3, "auto", {"order/on_stacks"});
  ExpectSaidOnce(result, "early returns: 0 calls, 2 more waited");
  ExpectSaidOnce(result, "; 1 fuses blown");
  ExpectSaidOnce(RunEarly(3, "on", {"order/on_stacks"}), "early returns: 0 calls, 60 more waited");
}
// The kernel reads pinned pages without a fault.
TEST_P(TnbcOfOneMpiTest, MemoryThatIsPinnedIsNotPendingByDefault) {
  const MpiResult result = RunEarly(3, "auto", {"default/pinned"});
  if (!result.ErrorsWith("io_uring is not allowed here").empty()) GTEST_SKIP() << "io_uring is not allowed here";
  ExpectSaidOnce(result, "early returns: 0 calls");
}
TEST_P(TnbcOfOneMpiTest, MemoryThatIsPinnedIsNotAdoptedAnyMore) {
  const MpiResult result = RunEarly(3, "on", {"default/pinned_later"});
  if (!result.ErrorsWith("io_uring is not allowed here").empty()) GTEST_SKIP() << "io_uring is not allowed here";
}
TEST_P(TnbcTest, ProgramsThatHandleErrorsBlockByDefault) {
  ExpectSaidOnce(RunEarly(3, "auto", {"default/errors_return"}), "early returns: 0 calls");
  ExpectSaidOnce(RunEarly(3, "on", {"default/errors_return"}), "early returns: 5 calls");
}
TEST_P(TnbcTest, ThreadsThatCallByDefault) { ExpectRight("threads_multiple", 2, "auto"); }
// Ranks call on several communicators, each in another order: what finds no room in the port's data area must not wait
// for calls that have it.
TEST_P(TnbcTest, ThreadsWhoseCallsFillTheDataArea) { ExpectRight("threads_crossing", 4); }
TEST_P(TnbcOfOneMpiTest, SystemCallsPastLibc) { RunEarly(2, "on", {"system_calls", "processes"}, kStrict); }
TEST_P(TnbcOfOneMpiTest, SignalsAndThreadsWhoseSystemCallsAreStopped) {
  RunEarly(2, "on",
           {"signals/goes_on", "signals/handler_looks", "signals/blocked_by_thread",
            "signals/blocked_in_thread_before_init", "signals/alarm_looks", "threads", "threads_multiple"},
           kStrict);
}
TEST_P(TnbcOfOneMpiTest, CallsAfterCalls) { ExpectRight("order", 4); }
TEST_P(TnbcOfMpichTest, SendBuffersBehindTheCall) { ExpectRight("sends", 3); }
TEST_P(TnbcOfOneMpiTest, SendBuffersThatAreCopiedInTheCall) {
  ExpectRight("sends", 2, "on", {}, {{"COPSE_TNBC_SNAPSHOT", "copy"}});
}

// What early returns have brought: each rank says it, and the daemons, which add up what their ranks say.
class TnbcCountersTest : public TnbcTest {
 protected:
  // Returns the counters of `copsectl stats`, summed up over all nodes.
  std::map<std::string, uint64_t> Stats() {
    std::map<std::string, uint64_t> sums;
    auto copsectl = procs::ChildProcess::Start(
        {.arguments = {PathOf("cli/ctl/copsectl"), "-e", cluster_.planner_address(), "stats", "-w", "json"},
         .stdout_pipe = true});
    EXPECT_TRUE(copsectl.ok()) << copsectl.status();
    Words lines;
    EXPECT_TRUE((*copsectl)->ReadToEnd(kJobPatience, &lines).ok());
    const std::string text = absl::StrJoin(lines, "");
    EXPECT_EQ((*copsectl)->exit_code(), 0) << text;
    const nlohmann::json nodes = nlohmann::json::parse(text, nullptr, false);
    EXPECT_EQ(nodes.size(), kNodes) << text;
    if (!nodes.is_array()) return sums;
    for (const auto& node : nodes) {
      for (const auto& [name, value] : node["counters"].items()) sums[name] += value.get<uint64_t>();
    }
    return sums;
  }
};

TEST_P(TnbcCountersTest, RanksAndDaemonsTellTheSame) {
  constexpr uint32_t kRanks = 3;
  for (const auto& [name, value] : Stats()) {
    if (!absl::StartsWith(name, "early.")) continue;
    EXPECT_EQ(value, 0u) << name;
  }
  const MpiResult result = RunEarly(kRanks, "on", {"sizes/alltoall"}, {{"COPSE_TNBC_STATS", "1"}});
  uint64_t calls = 0, waited = 0, touches = 0;
  double inside_s = 0, behind_s = 0;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    const std::string beginning = absl::StrCat("rank ", rank, ": ");
    const Words lines = result.ErrorsWith(beginning + "early returns: ");
    ASSERT_EQ(lines.size(), 1u) << result.Text();
    unsigned long of_calls = 0, of_waited = 0, of_touches = 0;
    double pending = 0, inside = 0, behind = 0;
    const std::string text = lines[0].substr(lines[0].find(beginning) + beginning.size());
    ASSERT_EQ(sscanf(text.c_str(),
                     "early returns: %lu calls, %lu more waited; pending at return %lf MiB; in the calls %lf s, until "
                     "the data was there %lf s; %lu touches",
                     &of_calls, &of_waited, &pending, &inside, &behind, &of_touches),
              6)
        << text;
    EXPECT_GT(of_calls, 0u) << text;
    calls += of_calls;
    waited += of_waited;
    touches += of_touches;
    inside_s += inside;
    behind_s += behind;
  }
  // The ranks have left.
  std::map<std::string, uint64_t> stats = Stats();
  EXPECT_EQ(stats["early.calls"], calls);
  EXPECT_EQ(stats["early.calls_waited"], waited);
  EXPECT_EQ(stats["early.touches"], touches);
  EXPECT_GT(stats["early.pending_bytes"], calls * 4096);
  constexpr double kMicrosecond = 1e-6;
  EXPECT_NEAR(static_cast<double>(stats["early.inside_us"]) * kMicrosecond, inside_s, 1e-4);
  EXPECT_NEAR(static_cast<double>(stats["early.behind_us"]) * kMicrosecond, behind_s, 1e-4);
  EXPECT_LE(stats["early.hidden_us"], stats["early.behind_us"]);
  EXPECT_EQ(stats["early.fuses_blown"], 0u);
}

// What goes wrong in a job of four ranks, the first two of which are node 0's.
class TnbcAccidentsTest : public TnbcTest {
 protected:
  void SetUp() override {
    TnbcTest::SetUp();
    lines_ = FilePath("lines");
    pipe_ = MakePipe();
  }
  // Returns what its ranks print, too, as errors. The job has to end in time.
  MpiResult RunAccident(const std::string& name) {
    std::ofstream(lines_, std::ios::trunc);
    MpiResult result = RunInTime(EarlyJobOf(4, "on", {"accidents/" + name, "--", lines_, pipe_}));
    const Words printed = LinesOf(lines_);
    result.error.insert(result.error.end(), printed.begin(), printed.end());
    return result;
  }
  // Node 1's goes as soon as it knows of a call that lacks rank 0, which enters then.
  MpiResult LoseADaemon(const std::string& name) {
    MpiResult result;
    std::thread job([&] { result = RunAccident(name); });
    EXPECT_TRUE(AwaitLines("comes to the last one", 4) && AwaitCallWithoutRankZero());
    cluster_.KillDaemon(1);
    // For reading, too: whoever would read may be dead by now.
    const int pipe = open(pipe_.c_str(), O_RDWR | O_CLOEXEC);
    EXPECT_EQ(write(pipe, "go\n", 3), 3);
    job.join();
    close(pipe);
    return result;
  }
  // Node 1's goes when all ranks but 0 have returned from a broadcast whose data that has not sent.
  MpiResult LoseADaemonBehindACall(const std::string& name) {
    MpiResult result;
    std::thread job([&] { result = RunAccident(name); });
    EXPECT_TRUE(AwaitLines("has returned", 3));
    cluster_.KillDaemon(1);
    job.join();
    return result;
  }

 private:
  bool AwaitLines(const std::string& words, size_t count) {
    const absl::Time deadline = absl::Now() + kDeathPatience;
    for (; absl::Now() < deadline; cluster_.Pass(kAskAgain)) {
      if (MpiResult{.error = LinesOf(lines_)}.ErrorsWith(words).size() >= count) return true;
    }
    return false;
  }
  bool AwaitCallWithoutRankZero() {
    const absl::Time deadline = absl::Now() + kDeathPatience;
    for (; absl::Now() < deadline; cluster_.Pass(kAskAgain)) {
      const auto calls = cluster_.ListCalls("mpi-world");
      if (!calls.ok()) continue;  // no team yet
      for (const scenario::ListedCall& call : *calls) {
        if (call.collective == "bcast" && call.missing == std::vector<uint32_t>{0}) return true;
      }
    }
    return false;
  }

  std::string lines_, pipe_;
};

TEST_P(TnbcAccidentsTest, ADaemonThatDiesEndsTheJobWithTheCallsName) {
  const MpiResult result = LoseADaemon("daemon_dies");
  ExpectNobodyWentOn(result);
  EXPECT_FALSE(result.ErrorsWith("MPI_Bcast").empty()) << result.Text();
  EXPECT_FALSE(result.ErrorsWith("copse").empty()) << result.Text();
}

TEST_P(TnbcAccidentsTest, WhoTouchesLostDataEndsTheJob) {
  const MpiResult result = LoseADaemon("daemon_dies_and_data_is_touched");
  ExpectNobodyWentOn(result);
  const Words said = result.ErrorsWith("(address=");
  ASSERT_FALSE(said.empty()) << result.Text();
  EXPECT_THAT(said[0], Names("copse-mpi: ", "MPI_Bcast: "));
}
TEST_P(TnbcAccidentsTest, WhoHandlesErrorsIsToldByTheNextCall) {
  ExpectAllWereTold(LoseADaemon("daemon_dies_and_errors_return"));
}

TEST_P(TnbcAccidentsTest, CallsOnOtherCommunicatorsFailWhoseDataIsLost) {
  const MpiResult result = LoseADaemonBehindACall("data_is_lost");
  ExpectAllWereTold(result);
  for (const std::string call : {"MPI_Send", "MPI_File_write", "MPI_Allreduce", "MPI_Iallreduce", "MPI_Pack",
                                 "MPI_Reduce_local", "MPI_Neighbor_allgather", "MPI_Put", "MPI_Get"}) {
    EXPECT_EQ(result.ErrorsWith(absl::StrCat("copse-mpi: ", call, ": ")).size(), 3u) << result.Text();
  }
  EXPECT_GE(result.ErrorsWith("copse-mpi: MPI_Start: ").size(), 6u) << result.Text();
}

TEST_P(TnbcAccidentsTest, ARankThatLeavesEndsTheJob) {
  for (const std::string way : {"exits", "exits_in_order", "aborts", "aborts_alone", "is_killed", "execs"}) {
    SCOPED_TRACE(way);
    ExpectNobodyWentOn(RunAccident(way));
  }
}

TEST_P(TnbcAccidentsTest, AFaultOfTheProgramsOwnEndsTheJob) {
  for (const std::string way : {"null_dereference", "own_protected_page"}) {
    SCOPED_TRACE(way);
    ExpectNobodyWentOn(RunAccident(way));
  }
}

COPSE_BOTH_MPIS(TnbcTest);
COPSE_ONE_MPI(TnbcOfOneMpiTest, "openmpi");
COPSE_ONE_MPI(TnbcOfMpichTest, "mpich");
COPSE_BOTH_MPIS(TnbcCountersTest);
COPSE_BOTH_MPIS(TnbcAccidentsTest);

}  // namespace
}  // namespace copse::mpi_test
