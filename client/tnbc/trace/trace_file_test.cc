// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/trace/trace_file.h"

#include <string>

#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace copse::tnbc {
namespace {

using copse::testing::Names;

constexpr char kHead[] = "copse-trace 1\nprocess rank=1 ranks=2 host=n1 pid=5 launch=77 left_out=0\n";
constexpr char kBefore[] =
    "site object=a offset=10 function=-\nkind communicator=ff size=2 rank=0 collective=bcast length=4\n";

TraceFile Example() {
  TraceFile trace;
  trace.rank = 3;
  trace.ranks = 4;
  trace.host = "node 1";
  trace.pid = 12;
  trace.launch = 1'700'000'000'000'000'000;
  trace.left_out = 2;
  trace.sites = {{"app", 0x1189, "main"}, {"lib with blanks.so", 5, ""}};
  trace.kinds = {{0xfedcba9876543210, 4, 3, "alltoall", 4}};
  TraceCall early;
  early.site = 1;
  early.number = 1;
  early.early = true;
  early.returned = 123456789;
  early.inside = 2000;
  early.parts = 2;
  early.order = {1, 0};
  early.pieces = {{.offset = 4096, .bytes = 8192, .parts = {0, 1}, .there = 10, .touch = 3, .waited = 7},
                  {.offset = 16384, .bytes = 4096, .parts = {1}, .there = 0, .touch = 9, .by_call = true},
                  {.offset = 20480, .bytes = 4096, .parts = {0}}};
  TraceCall late;
  late.number = 2;
  late.inside = 500;
  late.parts = 2;
  trace.calls = {early, late};
  return trace;
}

TEST(TraceFileTest, WhatIsWrittenIsRead) {
  const TraceFile trace = Example();
  TraceFile read;
  EXPECT_EQ(ParseTrace(FormatTrace(trace), &read), "");
  EXPECT_EQ(read, trace);
  EXPECT_EQ(FormatTrace(read), FormatTrace(trace));
}

std::string ErrorOf(const std::string& text) {
  TraceFile trace;
  return ParseTrace(text, &trace);
}

TEST(TraceFileTest, WhatIsWrongIsSaidWithItsLine) {
  const std::string head = kHead, before = head + kBefore;
  const std::string call = "call kind=0 site=0 number=1 early=1 returned=1 inside=1 parts=2 order=0,1\n";
  EXPECT_EQ(ErrorOf(before + call + "piece offset=0 bytes=1 parts=0,1 there=4 touch=5 by=call\n"), "");
  EXPECT_EQ(ErrorOf("copse-trace 1\n"), "no process");
  EXPECT_THAT(ErrorOf("copse-trace 1\nsite object=a offset=1 function=-\n"), Names("line 2: site: "));
  EXPECT_THAT(ErrorOf(head + head), Names("line 3: copse-trace: ", "KEY=VALUE", "value=1"));
  EXPECT_THAT(ErrorOf(head + "process rank=1 ranks=2\n"), Names("line 3: process: "));
  EXPECT_THAT(ErrorOf("copse-trace 1\nprocess rank=2 ranks=2 host=n1 pid=5 launch=77 left_out=0\n"),
              Names("line 2: process: rank: ", "value=2", "limit=1"));
  EXPECT_THAT(ErrorOf(head + call), Names("line 3: call: kind: ", "value=0"));
  EXPECT_THAT(ErrorOf(before + "piece offset=0 bytes=1 parts=0\n"), Names("line 5: piece: "));
  EXPECT_THAT(ErrorOf(before + call + "piece offset=0 bytes=1 parts=2\n"), Names("line 6: piece: parts: ", "value=2"));
  EXPECT_THAT(ErrorOf(before + call + "piece offset=0 bytes=1 parts=1 touch=5 by=me\n"),
              Names("line 6: piece: by: ", "value=me"));
  EXPECT_THAT(ErrorOf(before + call + "piece offset=0 bytes=1 parts=1 touch=5\n"), Names("line 6: piece: by: "));
  EXPECT_THAT(ErrorOf(before + "peace\n"), Names("line 5: peace: "));
}

// Whatever a file has, reading it ends with a trace or an error.
TEST(TraceFileTest, CutFilesAreRead) {
  const std::string text = FormatTrace(Example());
  for (size_t bytes = 0; bytes < text.size(); ++bytes) {
    TraceFile trace;
    const std::string error = ParseTrace(text.substr(0, bytes), &trace);
    EXPECT_TRUE(!error.empty() || trace.ranks == 4u) << bytes;
  }
}

}  // namespace
}  // namespace copse::tnbc
