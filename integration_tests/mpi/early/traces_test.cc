// SPDX-License-Identifier: Apache-2.0
//
// Traces of programs whose calls return early, what copse-trace makes of them, and programs that have its profile.
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/tnbc/trace/trace_file.h"
#include "gtest/gtest.h"
#include "integration_tests/mpi/mpi_fixture.h"
#include "integration_tests/mpi/mpi_job.h"
#include "testbed/processes/child_process.h"
#include "testbed/processes/programs.h"

namespace copse::mpi_test {
namespace {

using Order = std::vector<uint32_t>;

constexpr uint32_t kRanks = 4;
constexpr uint64_t kCallsOfAKind = 4;  // of traces.c

class TracesTest : public ShimTest {
 protected:
  // `name`: a case of traces.c.
  MpiRun JobWith(std::map<std::string, std::string> environment, const std::string& name = "reverse") {
    MpiRun run = EarlyJobOf(kRanks, "on", {"traces/" + name});
    run.environment.merge(environment);
    return run;
  }

  // Runs the program into a folder of traces, one a rank.
  std::vector<tnbc::TraceFile> Trace(const std::string& folder, std::map<std::string, std::string> environment,
                                     const std::string& name = "reverse") {
    environment["COPSE_TNBC_TRACE"] = folder;
    const MpiResult result = ExpectDone(Run(JobWith(std::move(environment), name)));
    EXPECT_TRUE(result.ErrorsWith("COPSE_TNBC").empty()) << result.Text();
    std::vector<tnbc::TraceFile> traces(kRanks);
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      const std::string path = absl::StrCat(folder, "/", rank, tnbc::kTraceSuffix);
      EXPECT_EQ(tnbc::ParseTrace(procs::ContentOf(path), &traces[rank]), "") << path;
      EXPECT_EQ(traces[rank].rank, rank);
    }
    return traces;
  }

  // Runs copse-trace; returns its exit code.
  int CopseTrace(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), PathOf("cli/trace/copse-trace"));
    const auto child = procs::ChildProcess::Start({.arguments = arguments, .log_file = FilePath("copse-trace.log")});
    if (!child.ok() || !(*child)->AwaitEnd(kDeathPatience).ok()) return -1;
    return (*child)->exit_code();
  }
};

// In which the parts of each call were brought.
std::vector<Order> OrdersOf(const tnbc::TraceFile& trace, const std::string& collective) {
  std::vector<Order> orders;
  for (const tnbc::TraceCall& call : trace.calls) {
    if (trace.kinds[call.kind].collective == collective) orders.push_back(call.order);
  }
  return orders;
}

Order Ascending(uint32_t parts) {
  Order order;
  for (uint32_t part = 0; part < parts; ++part) order.push_back(part);
  return order;
}
Order Descending(uint32_t parts) {
  const Order order = Ascending(parts);
  return {order.rbegin(), order.rend()};
}

// Parts touch each other by a page, which is of both.
void ExpectTouchedFromTheEnd(const tnbc::TraceCall& call) {
  EXPECT_TRUE(call.early);
  EXPECT_FALSE(call.pieces.empty());
  for (size_t i = 0; i < call.pieces.size(); ++i) {
    const tnbc::TracePiece& piece = call.pieces[i];
    ASSERT_TRUE(piece.there.has_value() && piece.touch.has_value()) << i;
    EXPECT_FALSE(piece.by_call) << i;
    EXPECT_TRUE(i == 0 || *piece.touch < *call.pieces[i - 1].touch) << i;
  }
}

TEST_P(TracesTest, TheOrderOfATraceIsTheNextLaunchsFromTheFirstCallOn) {
  const std::vector<tnbc::TraceFile> traces = Trace(FilePath("first"), {{"COPSE_TNBC_ORDER", "off"}});
  for (const tnbc::TraceFile& trace : traces) {
    EXPECT_EQ(trace.ranks, kRanks);
    EXPECT_EQ(trace.left_out, 0u);
    EXPECT_EQ(OrdersOf(trace, "bcast"), std::vector<Order>(kCallsOfAKind, Ascending(8)));
    EXPECT_EQ(OrdersOf(trace, "alltoall"), std::vector<Order>(kCallsOfAKind, Ascending(2)));
    for (const tnbc::TraceCall& call : trace.calls) {
      if (trace.kinds[call.kind].collective == "bcast" && trace.rank == 0) continue;  // it has the data
      ExpectTouchedFromTheEnd(call);
    }
    // Both collectives are called from one place each, in the program itself.
    ASSERT_EQ(trace.sites.size(), 2u);
    for (const tnbc::TraceSite& site : trace.sites) EXPECT_TRUE(absl::StartsWith(site.object, "early_"));
  }
  const std::string profile = FilePath("profile");
  EXPECT_EQ(CopseTrace({FilePath("first")}), 0);
  EXPECT_EQ(CopseTrace({FilePath("first"), "--check", "--profile", profile, "--plot", FilePath("plot.svg")}), 0)
      << procs::ContentOf(FilePath("copse-trace.log"));
  EXPECT_TRUE(absl::StartsWith(procs::ContentOf(FilePath("plot.svg")), "<svg"));
  for (const tnbc::TraceFile& trace : Trace(FilePath("second"), {{"COPSE_TNBC_PROFILE", profile}})) {
    EXPECT_EQ(OrdersOf(trace, "bcast"), std::vector<Order>(kCallsOfAKind, Descending(8)));
    EXPECT_EQ(OrdersOf(trace, "alltoall"), std::vector<Order>(kCallsOfAKind, Descending(2)));
  }
  EXPECT_EQ(CopseTrace({FilePath("second"), "--check"}), 0);
  std::filesystem::remove(FilePath(absl::StrCat("second/3", tnbc::kTraceSuffix)));
  EXPECT_EQ(CopseTrace({FilePath("second"), "--check"}), 1);
}

// A call that is read forwards, then two places of which the first one reads backwards.
std::vector<Order> OrdersInTurn(uint32_t parts) {
  std::vector<Order> orders = {Ascending(parts)};
  for (uint64_t i = 0; i < kCallsOfAKind; ++i) orders.insert(orders.end(), {Descending(parts), Ascending(parts)});
  return orders;
}

TEST_P(TracesTest, PlacesThatTakeTurnsHaveTheirOwnOrdersFromAProfile) {
  for (const tnbc::TraceFile& trace : Trace(FilePath("first"), {{"COPSE_TNBC_ORDER", "off"}}, "turns")) {
    EXPECT_EQ(trace.sites.size(), 6u);
    EXPECT_EQ(OrdersOf(trace, "bcast"), std::vector<Order>(1 + 2 * kCallsOfAKind, Ascending(8)));
    EXPECT_EQ(OrdersOf(trace, "alltoall"), std::vector<Order>(1 + 2 * kCallsOfAKind, Ascending(2)));
  }
  const std::string profile = FilePath("profile");
  EXPECT_EQ(CopseTrace({FilePath("first"), "--check", "--profile", profile}), 0)
      << procs::ContentOf(FilePath("copse-trace.log"));
  for (const tnbc::TraceFile& trace : Trace(FilePath("second"), {{"COPSE_TNBC_PROFILE", profile}}, "turns")) {
    EXPECT_EQ(OrdersOf(trace, "bcast"), OrdersInTurn(8)) << procs::ContentOf(profile);
    EXPECT_EQ(OrdersOf(trace, "alltoall"), OrdersInTurn(2)) << procs::ContentOf(profile);
  }
  EXPECT_EQ(CopseTrace({FilePath("second"), "--check"}), 0);
}

TEST_P(TracesTest, WhatCannotBeReadOrWrittenIsSaidOnceAndIgnored) {
  const std::string bad = FilePath("bad");
  std::ofstream(bad) << "copse-profile 1\norder communicator=1 collective=bcast length=4 parts=2 order=1,1\n";
  const MpiResult result = ExpectDone(Run(JobWith({{"COPSE_TNBC_PROFILE", bad}, {"COPSE_TNBC_TRACE", bad}})));
  EXPECT_EQ(result.ErrorsWith("COPSE_TNBC").size(), 2u) << result.Text();
  ExpectSaidOnce(result, absl::StrCat(bad, ": line 2: order: order: not each part once (value=1,1, parts=2)"));
  ExpectSaidOnce(result, absl::StrCat("COPSE_TNBC_TRACE: not a folder (value=", bad, ")"));
}

COPSE_BOTH_MPIS(TracesTest);

}  // namespace
}  // namespace copse::mpi_test
