// SPDX-License-Identifier: Apache-2.0
//
// Unmodified MPI programs on real daemons, under both MPIs.

#include <map>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/process/time_slice.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "integration_tests/mpi/mpi_fixture.h"
#include "integration_tests/mpi/mpi_job.h"

namespace copse::mpi_test {
namespace {

using copse::testing::Names;
using ::testing::ElementsAre;

const char* const kCollectives[] = {"Barrier",  "Bcast",     "Reduce",    "Allreduce",      "Gather",
                                    "Gatherv",  "Scatter",   "Scatterv",  "Allgather",      "Allgatherv",
                                    "Alltoall", "Alltoallv", "Alltoallw", "Reduce_scatter", "Reduce_scatter_block",
                                    "Scan",     "Exscan"};

// Its functions in `library`.
Words ModesOf(const std::string& library, const std::string& name) {
  Words modes = {"MPI_" + name, "MPI_I" + absl::AsciiStrToLower(name)};
  if (library == "openmpi") return modes;
  modes.push_back("MPI_" + name + "_init");
  if (name == "Barrier") return modes;
  for (int i = 0; i < 3; ++i) modes.push_back(modes[i] + "_c");
  return modes;
}

bool Combines(const std::string& name) { return absl::StrContains(name, "educe") || absl::StrContains(name, "can"); }

// Numbers of ranks, and how much each does. MPICH takes tens of milliseconds for a call of its own, to compare with,
// where there are more ranks than processors.
std::map<uint32_t, std::string> ConformanceRuns(const std::string& library) {
  if (IsCampaign()) {
    std::map<uint32_t, std::string> runs;
    for (uint32_t ranks = 2; ranks <= 9; ++ranks) runs[ranks] = ranks <= 5 ? "all" : "quick";
    return runs;
  }
  if (library == "mpich") return {{2, "all"}};
  return {{4, "all"}, {5, "quick"}};
}

TEST_P(ShimTest, EveryCollectiveIsOffloadedAndGivesWhatMpiGives) {
  for (const auto& [ranks, how] : ConformanceRuns(GetParam())) {
    const MpiResult result = Run(JobOf(ranks, "conformance", {how}));
    ExpectConformance(result);
    const auto statistics = ParseStatistics(result);
    for (const std::string name : kCollectives) {
      for (const std::string& collective : ModesOf(GetParam(), name)) {
        ASSERT_EQ(statistics.count(collective), 1u) << collective << "\n" << result.Text();
        const CollectiveCounts& counts = statistics.at(collective);
        EXPECT_GT(counts.offloaded, 0u) << collective;
        // Only what is documented goes by MPI.
        for (const auto& [reason, count] : counts.reasons) {
          const bool expected =
              reason == "first calls" || reason == "one rank" ||
              (Combines(name) && (reason == "operation of the program" || reason == "operation and type"));
          EXPECT_TRUE(expected) << collective << ": " << reason << ": " << count;
        }
      }
    }
  }
}

TEST_P(ShimTest, WithoutADaemonEverywhereOneWarningAndPlainMpi) {
  const std::string nobody = FilePath("nobody");
  const auto run_with = [&](uint32_t ranks, const std::string& program, const std::string& argument,
                            const Words& sockets, const std::string& missing, const std::string& first) {
    MpiRun run = JobOf(ranks, program, {argument});
    run.sockets = sockets;
    const MpiResult result = Run(run);
    const Words warnings = result.ErrorsWith("(missing=");
    EXPECT_THAT(warnings, ElementsAre(Names("copse-mpi: ", "missing=" + missing, absl::StrCat("ranks=", ranks),
                                            "first=" + first, "tried=" + nobody)))
        << result.Text();
    for (const auto& [collective, counts] : ParseStatistics(result)) {
      EXPECT_EQ(counts.offloaded, 0u) << collective;
      EXPECT_EQ(counts.reasons.count("not all ranks have a daemon"), 1u) << collective;
    }
    return result;
  };
  ExpectConformance(run_with(2, "conformance", "by-mpi", {nobody, nobody}, "2", "0"));
  ExpectConformance(run_with(2, "conformance", "by-mpi", {cluster_.SocketOf(0), nobody}, "1", "1"));
  ExpectDone(run_with(4, "situations", "pending_send", {cluster_.SocketOf(0), nobody}, "2", "2"));
}

TEST_P(ShimTest, AProgramThatRunsAloneHearsOfNoMissingDaemon) {
  MpiRun run = JobOf(1, "conformance", {"by-mpi"});
  run.sockets = {FilePath("nobody")};
  const MpiResult result = Run(run);
  ExpectConformance(result);
  EXPECT_TRUE(result.ErrorsWith("(missing=").empty()) << result.Text();
  EXPECT_EQ(ParseStatistics(result)["MPI_Barrier"].reasons.count("one rank"), 1u) << result.Text();
}

TEST_P(ShimTest, ATeamIsFormedAtTheCallThatWasAskedFor) {
  MpiRun run = JobOf(2, "situations", {"pending_send"});  // 9 barriers
  run.environment["COPSE_MPI_CALLS_BEFORE"] = "7";
  const MpiResult result = ExpectDone(Run(run));
  const CollectiveCounts barriers = ParseStatistics(result)["MPI_Barrier"];
  EXPECT_EQ(barriers.offloaded, 2u) << result.Text();
  EXPECT_EQ(barriers.reasons, (std::map<std::string, uint64_t>{{"first calls", 7}}));
}

TEST_P(ShimTest, TheWorldGetsATeamSoonerThanOthers) {
  MpiRun run = JobOf(2, "situations", {"calls_on_two"});  // 100 on each
  run.environment.erase("COPSE_MPI_CALLS_BEFORE");
  const MpiResult result = ExpectDone(Run(run));
  auto statistics = ParseStatistics(result);
  EXPECT_EQ(statistics["MPI_Barrier"].offloaded, 96u) << result.Text();
  EXPECT_EQ(statistics["MPI_Allreduce"].offloaded, 36u) << result.Text();
}

TEST_P(ShimTest, AFewCallsAreNotWorthATeam) {
  const MpiResult result = RunByDefaults("calls_on_two", 2);  // 100 on each
  ExpectDone(result);
  const CollectiveCounts on_dup = ParseStatistics(result)["MPI_Allreduce"];
  EXPECT_EQ(on_dup.reasons, (std::map<std::string, uint64_t>{{"first calls", 100}})) << result.Text();
}

// What the MPI has no part in.
class ShimOfOneMpiTest : public ShimTest {};

TEST_P(ShimOfOneMpiTest, CallsThatCostMuchAreWorthATeam) {
  const MpiResult result = ExpectDone(RunByDefaults("calls_that_cost", 2));
  CollectiveCounts barriers = ParseStatistics(result)["MPI_Barrier"];
  EXPECT_GE(barriers.offloaded, 5u) << result.Text();
}

constexpr uint64_t kKindCalls = 700;  // as the situations have it

// Whatever is faster on this machine now.
TEST_P(ShimTest, CallsTakeTheFasterWay) {
  const MpiResult result = ExpectDone(Run(JobByChoice("kinds_of_calls", 3)));
  constexpr uint64_t kFirst = 4;
  auto statistics = ParseStatistics(result);
  struct Calls {
    uint64_t all;
    uint64_t each_way;  // at least. Gathers are measured together with short sums, which are gathered, too
  };
  const std::map<std::string, Calls> calls = {{"MPI_Barrier", {kKindCalls, 5}},
                                              {"MPI_Allreduce", {2 * kKindCalls, 5}},
                                              {"MPI_Bcast", {kKindCalls, 5}},
                                              {"MPI_Gather", {kKindCalls, 1}},
                                              {"MPI_Allgather", {kKindCalls, 1}}};
  for (const auto& [name, expected] : calls) {
    CollectiveCounts& counts = statistics[name];
    EXPECT_EQ(counts.offloaded + counts.by_mpi, expected.all) << result.Text();
    EXPECT_GE(counts.offloaded, expected.each_way) << result.Text();
    const uint64_t chosen = counts.reasons["measured beside Copse"] + counts.reasons["faster by MPI"];
    EXPECT_GE(chosen, expected.each_way) << result.Text();
    EXPECT_EQ(chosen + counts.reasons["first calls"], counts.by_mpi) << result.Text();
  }
  // The same in every run: longer sums of floating point. To be got out of the way: what is not blocking.
  EXPECT_GE(statistics["MPI_Reduce"].offloaded, kKindCalls - kFirst) << result.Text();
  EXPECT_GE(statistics["MPI_Ibarrier"].offloaded, kKindCalls - kFirst) << result.Text();
}

// They do not wait by MPI for a rank that was told of a failure and has gone elsewhere.
TEST_P(ShimTest, CallsGoToTheDaemonsWhereARankHandlesErrors) {
  for (const auto& [situation, is_measured] :
       {std::pair{"kinds_of_calls_handled", false}, {"kinds_of_calls_handled_later", true}}) {
    const MpiResult result = ExpectDone(Run(JobByChoice(situation, 3)));
    EXPECT_EQ(!result.ErrorsWith("measured beside Copse").empty(), is_measured) << result.Text();
    EXPECT_TRUE(result.ErrorsWith("faster by MPI").empty()) << result.Text();
    for (const char* name : {"MPI_Bcast", "MPI_Gather", "MPI_Allgather"}) {
      EXPECT_GT(ParseStatistics(result)[name].offloaded, kKindCalls / 2) << result.Text();
    }
  }
}

TEST_P(ShimTest, WithinANodeWithACoreForEachRankMpiIsFaster) {
  MpiRun run = JobByChoice("kinds_of_calls", 2);
  run.sockets = {cluster_.SocketOf(0)};
  const MpiResult result = ExpectDone(Run(run));
  EXPECT_GT(ParseStatistics(result)["MPI_Bcast"].reasons["faster by MPI"], 400u) << result.Text();
}

TEST_P(ShimTest, RanksHaveShortTimeSlicesWhereTheKernelHasThem) {
  const uint64_t own_us = TimeSlice().value_or(0) / 1000;  // of this process; 0: the kernel has none
  for (const auto& [setting, expected_us] :
       std::map<std::string, uint64_t>{{"", 100}, {"300", 300}, {"0", own_us}, {"1", 100}}) {
    MpiRun run = JobOf(2, "situations", {"print_time_slice"});
    run.environment["COPSE_MPI_TIME_SLICE"] = setting;
    const MpiResult result = Run(run);
    const std::string slices = absl::StrCat("slices: ", own_us, " before, ", own_us == 0 ? 0 : expected_us, " now");
    EXPECT_EQ(result.out, (Words{slices, "done"})) << result.Text();
    EXPECT_EQ(result.ErrorsWith("copse-mpi: COPSE_MPI_TIME_SLICE: ").size(), setting == "1" ? 1u : 0u) << result.Text();
  }
}

TEST_P(ShimTest, AMessageUnderWayArrivesWhileItsSenderWaits) { ExpectDone(RunSituation("pending_send")); }
TEST_P(ShimTest, CommunicatorsComeAndGo) { ExpectDone(RunSituation("many_communicators")); }
TEST_P(ShimTest, AForkedChildIsLeftAlone) { ExpectDone(RunSituation("forks")); }
TEST_P(ShimTest, BadArgumentsAreRefusedByMpi) { ExpectDone(RunSituation("bad_arguments", 2)); }

TEST_P(ShimTest, InterCommunicatorsGoByMpi) {
  const MpiResult result = ExpectDone(RunSituation("inter_communicator"));
  auto statistics = ParseStatistics(result);
  EXPECT_EQ(statistics["MPI_Allreduce"].reasons.count("inter-communicator"), 1u) << result.Text();
  EXPECT_GT(statistics["MPI_Barrier"].offloaded, 0u) << "of what they were merged to";
}

TEST_P(ShimTest, RanksThatDisagreeAreToldThroughTheErrorHandler) {
  const MpiResult result = RunSituation("mismatch", 3);
  ExpectWereTold(result, 3);
  for (int rank = 0; rank < 3; ++rank) {
    // Once for each, with what copse_last_error() says.
    ExpectSaidOnce(result, absl::StrCat("(rank=", rank, ", size=3)"));
  }
  EXPECT_EQ(result.ErrorsWith("copse-mpi: MPI_Allreduce: copse: ").size(), 3u) << result.Text();
}

TEST_P(ShimTest, ACallThatCopiesMoreThanMayBeKeptSucceeds) {
  MpiRun run = JobOf(4, "situations", {"long_blocks"});
  run.environment["COPSE_COPIES_MIB"] = "2";
  const MpiResult result = ExpectDone(Run(run));
  auto statistics = ParseStatistics(result);
  for (const char* const name : {"Gatherv", "Scatterv", "Alltoallv", "Alltoallw", "Ialltoallv"}) {
    EXPECT_EQ(statistics[absl::StrCat("MPI_", name)].offloaded, 1u) << name << "\n" << result.Text();
  }
}

// `absent`: ranks, each with a comma behind it, that a script relieves of the library.
MpiRun Without(const std::string& absent, MpiRun run) {
  const std::string script =
      absl::StrCat("case ,", absent, " in *,${PMI_RANK-$OMPI_COMM_WORLD_RANK},*) ",
                   "export LD_PRELOAD=$(echo $LD_PRELOAD | sed 's/[^:]*libcopse-mpi.so:*//');; esac; exec \"$@\"");
  run.command.insert(run.command.begin(), {"/bin/sh", "-c", script, "sh"});
  return run;
}

TEST_P(ShimTest, RanksWithoutTheLibraryAreNamedAndTheJobRunsOnMpi) {
  const std::map<std::string, std::string> cases = {{"1,", "libcopse-mpi.so (missing=1, ranks=4, first=1)"},
                                                    {"2,3,", "libcopse-mpi.so (missing=2, ranks=4, first=2)"},
                                                    {"0,", "libcopse-mpi.so (missing=1, ranks=4, first=0)"},
                                                    {"0,1,2,", "libcopse-mpi.so (missing=3, ranks=4, first=0)"}};
  for (const auto& [absent, warning] : cases) {
    const MpiResult result = ExpectDone(RunInTime(Without(absent, JobOf(4, "situations", {"pending_send"}))));
    ExpectSaidOnce(result, "(missing=");
    ExpectSaidOnce(result, warning);
    if (absent[0] == '0') continue;  // the rank that would tell statistics
    CollectiveCounts barriers = ParseStatistics(result)["MPI_Barrier"];
    EXPECT_EQ(barriers.offloaded, 0u) << result.Text();
    EXPECT_EQ(barriers.reasons["not all ranks have the library"], barriers.by_mpi) << result.Text();
  }
}

// There are more ranks than one rank looks for by itself.
TEST_P(ShimTest, ARankWithoutTheLibraryIsMissedByAll) {
  for (const char* const absent : {"1", "10"}) {
    const MpiResult result =
        ExpectDone(Run(Without(absl::StrCat(absent, ","), JobOf(11, "situations", {"pending_send"}))));
    ExpectSaidOnce(result, absl::StrCat("libcopse-mpi.so (missing=1, ranks=11, first=", absent, ")"));
  }
}

TEST_P(ShimTest, ATimeoutSaysWhichCallAndHowLong) {
  MpiRun run = JobOf(3, "situations", {"one_is_late"});
  run.environment["COPSE_TIMEOUT"] = "0.5";
  const MpiResult result = Run(run, 3 * kDeathPatience);
  ExpectWereTold(result, 2);
  EXPECT_EQ(result.ErrorsWith("copse-mpi: MPI_Allreduce: allreduce (count=1, root=0): ").size(), 2u) << result.Text();
  EXPECT_EQ(result.ErrorsWith("(cause=caller-time-out, limit=500)").size(), 2u) << result.Text();
}

TEST_P(ShimTest, ATimeoutThatIsNoNumberIsToldAsSuch) {
  MpiRun run = JobOf(2, "situations", {"pending_send"});
  run.environment["COPSE_TIMEOUT"] = "5s";
  const MpiResult result = ExpectDone(Run(run));
  const Words warnings = result.ErrorsWith("(missing=");
  ASSERT_EQ(warnings.size(), 1u) << result.Text();
  EXPECT_THAT(warnings[0], Names("COPSE_TIMEOUT", "value=5s"));
  EXPECT_FALSE(absl::StrContains(warnings[0], "tried=")) << warnings[0];
}

TEST_P(ShimTest, ARankThatFinalizesWithoutACallIsNamed) {
  const MpiResult result = Run(JobOf(3, "situations", {"finalizes_early"}), 3 * kDeathPatience);
  ExpectWereTold(result, 2);
  // On two communicators.
  EXPECT_EQ(result.ErrorsWith("(cause=member-left, node=n1, rank=2)").size(), 4u) << result.Text();
}

TEST_P(ShimTest, AFailureConcernsOneCommunicator) { ExpectDone(RunSituation("mismatch_on_dup", 3)); }

TEST_P(ShimTest, TheDefaultErrorHandlerEndsTheJob) {
  const MpiResult result = RunSituation("fatal", 3);
  EXPECT_FALSE(result.ErrorsWith("copse-mpi: MPI_Bcast: copse: ").empty()) << result.Text();
  ExpectNobodyWentOn(result);
}

TEST_P(ShimTest, ARankThatDiesEndsTheOthersCallsWithItsName) {
  const std::string file = FilePath("survivors"), pipe = MakePipe();
  MpiRun run = JobOf(4, "situations", {"dies", file, pipe});
  // The launcher does not see the death before all is over: a shell stands in for the rank.
  const Words shell = {"/bin/sh", "-c", "\"$@\" || read line <\"$0\"", pipe};
  run.command.insert(run.command.begin(), shell.begin(), shell.end());
  run.launcher_options = {std::string(GetParam()) == "mpich" ? "-disable-auto-cleanup" : "--enable-recovery"};
  // Hydra tells ranks of each other's ends, and stays for ever if one ends at that moment. The survivors say what
  // counts.
  const MpiResult result = Run(run, kDeathPatience);
  const MpiResult survivors = {.error = LinesOf(file)};
  for (int rank = 0; rank < 3; ++rank) {
    ExpectSaidOnce(survivors, absl::StrCat("rank ", rank, " survives"));
  }
  EXPECT_EQ(survivors.ErrorsWith("copse-mpi: MPI_Barrier: copse: ").size(), 3u) << survivors.Text();
  EXPECT_EQ(survivors.ErrorsWith("rank 3 on node n1 lost").size(), 3u) << survivors.Text() << result.Text();
}

TEST_P(ShimTest, ARankThatDiesEndsTheJob) { ExpectNobodyWentOn(RunInTime(JobOf(4, "situations", {"dies_fatally"}))); }

// Its variables of the MPI are copies in the program, unlike those of position-independent code.
TEST_P(ShimTest, WhatTheLibrarysOwnCompilerMakesIsOffloaded) {
  MpiRun run = JobOf(2, "conformance", {});
  run.command = {ProgramOf("conformance_by_mpicc", ".bin"), "quick"};
  const MpiResult result = Run(run);
  ExpectConformance(result);
  EXPECT_GT(ParseStatistics(result)["MPI_Allreduce"].offloaded, 0u) << result.Text();
}

TEST_P(ShimTest, FortranProgramsAreOffloaded) {
  for (const std::string module : {"mpi", "mpi_f08"}) {
    MpiRun run = JobOf(3, "situations", {});
    run.command = {ProgramOf("fortran_" + module, ".bin")};
    const MpiResult result = Run(run);
    EXPECT_EQ(result.code, 0) << result.Text();
    EXPECT_EQ(result.out, Words{"wrong: 0"}) << result.Text();
    auto statistics = ParseStatistics(result);
    EXPECT_EQ(statistics["MPI_Allreduce"].offloaded, 27u) << module << "\n" << result.Text();
    EXPECT_EQ(statistics["MPI_Bcast"].offloaded, 10u) << module << "\n" << result.Text();
  }
}

TEST_P(ShimTest, ThreadsCallOnCommunicatorsOfTheirOwn) {
  const MpiResult result = ExpectDone(RunSituation("threads"));
  EXPECT_GT(ParseStatistics(result)["MPI_Allreduce"].offloaded, 100u) << result.Text();
}

TEST_P(ShimOfOneMpiTest, CallsThatGoOnFindRoomInTheEnd) {
  const MpiResult result = ExpectDone(RunRequests("more_than_fit"));
  EXPECT_EQ(ParseStatistics(result)["MPI_Ibcast"].offloaded, 600u) << result.Text();
}

TEST_P(ShimTest, CallsThatGoOnAndBlockingOnesKeepTheirOrder) { ExpectDone(RunRequests("in_order")); }
TEST_P(ShimTest, ACallThatGoesOnOutlivesWhatItWasMadeOf) { ExpectDone(RunRequests("freed_before")); }
TEST_P(ShimTest, WhatMayNotBeDoneToACallThatGoesOnIsRefused) { ExpectDone(RunRequests("refused")); }
TEST_P(ShimTest, WhoWaitsForOneOfManyGetsTheFirst) { ExpectDone(RunRequests("first_come")); }
TEST_P(ShimTest, ThreadsHaveCallsThatGoOn) { ExpectDone(RunRequests("threads")); }

TEST_P(ShimTest, ErrorsOfCallsThatGoOnComeWhenTheyEnd) {
  const MpiResult result = RunRequests("mismatch");
  ExpectWereTold(result, 4);
  EXPECT_EQ(result.ErrorsWith("copse-mpi: MPI_Iallreduce: copse: ").size(), 4u) << result.Text();
}

TEST_P(ShimTest, ARankThatDiesEndsCallsThatGoOn) { ExpectNobodyWentOn(RunInTime(JobOf(4, "requests", {"dies"}))); }

// As ranks do that a library ends, or a shell in their place.
TEST_P(ShimTest, ARankThatLeavesInMidCallEndsTheJob) {
  for (const std::string way : {"aborts", "exits", "execs"}) {
    SCOPED_TRACE(way);
    ExpectNobodyWentOn(RunInTime(JobOf(4, "situations", {way})));
  }
}

TEST_P(ShimTest, MpiBottomStandsForAddresses) { ExpectDone(RunSituation("bottom")); }
TEST_P(ShimTest, CommunicatorsKeepTheirNamesAndAttributes) { ExpectDone(RunSituation("attributes")); }

TEST_P(ShimTest, PersistentCallsStartInAnyOrder) {
  const MpiResult result = ExpectDone(RunRequests("persistent"));
  if (std::string(GetParam()) == "mpich") {
    EXPECT_EQ(ParseStatistics(result)["MPI_Allreduce_init"].offloaded, 1u) << result.Text();
  }
}

TEST_P(ShimTest, WhatAFileNeedsIsLeftToMpi) {
  const MpiResult result = ExpectDone(RunRequests("file"));
  for (const auto& [collective, counts] : ParseStatistics(result)) {
    const bool own = collective == "MPI_Barrier" || collective == "MPI_Bcast";
    EXPECT_TRUE(own) << collective << "\n" << result.Text();
    EXPECT_LE(counts.offloaded + counts.by_mpi, 9u) << collective << "\n" << result.Text();
  }
}

// As a Python interpreter loads MPI.
TEST_P(ShimTest, AnMpiThatIsLoadedLaterIsFound) {
  MpiRun run = JobOf(2, "situations", {});
  // Not by RunMpi, which preloads for MPICH what looks for UCX among what everybody sees.
  run.preload = false;
  run.command = {"/usr/bin/env", absl::StrCat("LD_PRELOAD=", PathOf("client/mpi/libcopse-mpi.so")),
                 PathOf("integration_tests/mpi/late_host"), ProgramOf("liblate_module", ".so")};
  const MpiResult result = Run(run);
  EXPECT_EQ(result.code, 0) << result.Text();
  EXPECT_EQ(result.out, Words{"sum 2 of 2"}) << result.Text();
  EXPECT_EQ(ParseStatistics(result)["MPI_Allreduce"].offloaded, 16u) << result.Text();
}

// As many calls of MPICH's take minutes where there are more ranks than cores.
using ManyCallsTest = ShimTest;

TEST_P(ManyCallsTest, SumsGoToTheTeamAtTheSameCallInEveryRun) {
  for (const std::string& situation :
       IsCampaign() ? Words{"long_sums", "long_sums_on_dup"} : Words{"long_sums_on_dup"}) {
    const MpiResult result = ExpectDone(RunByDefaults(situation, 3));
    const CollectiveCounts sums = ParseStatistics(result)["MPI_Allreduce"];
    EXPECT_EQ(sums.reasons, (std::map<std::string, uint64_t>{{"first calls", 16384}})) << result.Text();
    EXPECT_EQ(sums.offloaded, 16u) << result.Text();
  }
}

INSTANTIATE_TEST_SUITE_P(Quick, ManyCallsTest, ::testing::Values("openmpi"),
                         [](const auto& info) { return std::string(info.param); });

COPSE_BOTH_MPIS(ShimTest);
COPSE_ONE_MPI(ShimOfOneMpiTest, "openmpi");

}  // namespace
}  // namespace copse::mpi_test
