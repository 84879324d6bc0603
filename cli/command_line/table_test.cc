// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line/table.h"

#include "gtest/gtest.h"

namespace copse::cli {
namespace {

TEST(RenderTableTest, ColumnsAlignAndLinesHaveNoTail) {
  EXPECT_EQ(RenderTable({{"NAME", "RANKS>", "STATE"}, {"n1", "4", "ready"}, {"login-17", "128", "lost"}}),
            "NAME      RANKS  STATE\n"
            "n1            4  ready\n"
            "login-17    128  lost\n");
}

TEST(RenderTableTest, NoRowsAreATitleLine) { EXPECT_EQ(RenderTable({{"A", "B"}}), "A  B\n"); }

TEST(RenderTableTest, LinesAreCutToTheWidth) {
  EXPECT_EQ(RenderTable({{"NAME", "WHY"}, {"world", "node n3 is lost"}}, 12),
            "NAME   WHY\n"
            "world  node…\n");
}

TEST(RenderTableTest, CharactersCountNotBytes) {
  EXPECT_EQ(RenderTable({{"NAME", "X"}, {"äöü", "1"}, {"abcd", "2"}}),
            "NAME  X\n"
            "äöü   1\n"
            "abcd  2\n");
}

TEST(RenderTableTest, TerminalControlIsReplaced) {
  EXPECT_EQ(RenderTable({{"NAME"}, {"a\x1b[2Jb\nc"}}), "NAME\na?[2Jb?c\n");
}

TEST(RenderDetailsTest, ValuesAlignAndEmptyOnesAreADash) {
  EXPECT_EQ(RenderDetails({{"name", "n1"}, {"last seen", ""}}, 0),
            "name:       n1\n"
            "last seen:  -\n");
}

TEST(PrintableTest, KeepsLinesOnlyIfAsked) {
  EXPECT_EQ(Printable("a\nb\tc", true), "a\nb?c");
  EXPECT_EQ(Printable("a\nb"), "a?b");
  EXPECT_EQ(Printable("├─ n1"), "├─ n1");
  EXPECT_EQ(Printable("a\xc2\x9b"
                      "31mb"),
            "a?31mb");
  EXPECT_EQ(Printable("\x7f"), "?");
}

TEST(CutLinesTest, CutsEachLine) {
  EXPECT_EQ(CutLines("├─ n1\nab\n", 4), "├─ …\nab\n");
  EXPECT_EQ(CutLines("abcdef", 0), "abcdef");
}

TEST(FormatRangesTest, NeighborsShareARange) {
  EXPECT_EQ(FormatRanges({}), "-");
  EXPECT_EQ(FormatRanges({5}), "5");
  EXPECT_EQ(FormatRanges({0, 1, 2, 3, 7, 9, 10}), "0-3,7,9-10");
}

TEST(FormatSecondsTest, TwoUnitsAtMost) {
  EXPECT_EQ(FormatSeconds(0), "0 s");
  EXPECT_EQ(FormatSeconds(-1), "0 s");
  EXPECT_EQ(FormatSeconds(0.00042), "0.42 ms");
  EXPECT_EQ(FormatSeconds(12.53), "12.5 s");
  EXPECT_EQ(FormatSeconds(200), "3 min 20 s");
  EXPECT_EQ(FormatSeconds(18130), "5 h 2 min");
  EXPECT_EQ(FormatSeconds(2 * 86400 + 3 * 3600), "2 d 3 h");
  EXPECT_EQ(FormatSeconds(1e300), "347222222 d 5 h");
}

TEST(FormatAmountsTest, LargestUnitThatGivesAtLeastOne) {
  EXPECT_EQ(FormatNanoseconds(0), "0 ns");
  EXPECT_EQ(FormatNanoseconds(20000), "20 us");
  EXPECT_EQ(FormatNanoseconds(1.5e6), "1.5 ms");
  EXPECT_EQ(FormatNanoseconds(5e12), "5000 s");
  EXPECT_EQ(FormatBitsPerSecond(1e10), "10 Gbit/s");
  EXPECT_EQ(FormatBitsPerSecond(2e8), "200 Mbit/s");
  EXPECT_EQ(FormatBitsPerSecond(100), "0.1 kbit/s");
}

}  // namespace
}  // namespace copse::cli
