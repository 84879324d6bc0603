// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/trace/record_line.h"

#include <string>
#include <vector>

#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace copse::tnbc {
namespace {

using copse::testing::Names;
using Numbers = std::vector<uint32_t>;

TEST(RecordLineTest, WhatIsWrittenIsRead) {
  const std::string text = std::string("a b%20\n\x7f=");
  std::string line = RecordWriter("call")
                         .Add("number", UINT64_MAX)
                         .AddHex("hash", 0xabc)
                         .Add("text", text)
                         .Add("nothing", "")
                         .Add("order", Numbers{2, 0, 1})
                         .Add("none", Numbers{})
                         .Finish();
  ASSERT_EQ(line.back(), '\n');
  line.pop_back();
  RecordReader reader(line);
  EXPECT_EQ(reader.word(), "call");
  EXPECT_TRUE(reader.Has("number"));
  EXPECT_EQ(reader.Number("number"), UINT64_MAX);
  EXPECT_FALSE(reader.Has("number"));
  EXPECT_EQ(reader.Hex("hash"), 0xabcu);
  EXPECT_EQ(reader.Text("text"), text);
  EXPECT_EQ(reader.Text("nothing"), "");
  EXPECT_EQ(reader.Numbers("order"), (Numbers{2, 0, 1}));
  EXPECT_EQ(reader.Numbers("none"), Numbers{});
  EXPECT_TRUE(reader.Finish()) << reader.error();
}

std::string ErrorOf(const std::string& line, uint64_t limit = UINT64_MAX) {
  RecordReader reader(line);
  reader.Number("n", limit);
  reader.Finish();
  return reader.error();
}

TEST(RecordLineTest, TheFirstErrorNamesKeyAndValue) {
  EXPECT_EQ(ErrorOf("a n=5"), "");
  EXPECT_THAT(ErrorOf("a"), Names("n: "));
  EXPECT_THAT(ErrorOf("a n=x"), Names("n: ", "value=x"));
  EXPECT_THAT(ErrorOf("a n=-1"), Names("n: ", "value=-1"));
  EXPECT_THAT(ErrorOf("a n="), Names("n: ", "value=)"));
  EXPECT_THAT(ErrorOf("a n=18446744073709551616"), Names("n: ", "value=18446744073709551616"));
  EXPECT_THAT(ErrorOf("a n=7", 6), Names("n: ", "value=7", "limit=6"));
  EXPECT_THAT(ErrorOf("a n=5 n=6"), Names("n: ", "value=6"));
  EXPECT_THAT(ErrorOf("a n=5 m=6"), Names("m: ", "value=6"));
  EXPECT_THAT(ErrorOf("a n"), Names("KEY=VALUE", "value=n"));
  RecordReader reader("a order=1,x hash=g");
  reader.Numbers("order");
  EXPECT_THAT(reader.error(), Names("order: ", "value=1,x"));
  RecordReader other("a hash=g");
  other.Hex("hash");
  EXPECT_THAT(other.error(), Names("hash: ", "value=g"));
}

TEST(RecordLineTest, FilesBeginWithWordAndVersion) {
  int lines = 0;
  const auto read = [&lines](RecordReader* record) {
    ++lines;
    record->Number("n");
  };
  EXPECT_EQ(ReadRecords("# what it is\nword 3\n\na n=1\nb n=2\n", "word", 3, read), "");
  EXPECT_EQ(lines, 2);
  EXPECT_THAT(ReadRecords("word 3\na n=1\nb n=z", "word", 3, read), Names("line 3: b: n: ", "value=z"));
  EXPECT_THAT(ReadRecords("word 4\n", "word", 3, read), Names("line 1: ", "value=word%204"));
  EXPECT_THAT(ReadRecords("", "word", 3, read), Names("line 1: ", "value=)"));
}

}  // namespace
}  // namespace copse::tnbc
