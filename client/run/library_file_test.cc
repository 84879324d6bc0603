// SPDX-License-Identifier: Apache-2.0
#include "client/run/library_file.h"

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "base/testing/status_matchers.h"
#include "client/run/small_library.h"
#include "gtest/gtest.h"

namespace copse::run {
namespace {

using copse::testing::FailsWith;

LibraryFault FaultOf(const std::string& file) { return FaultOfLibrary(file, OwnHeader(), "wanted"); }

std::string InFile(const std::string& text) {
  const std::string path = ::testing::TempDir() + "/library";
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  return path;
}

TEST(LibraryFileTest, WhatExportsTheSymbolIsIt) { EXPECT_EQ(FaultOf(SmallLibrary("wanted")), LibraryFault::kNone); }

TEST(LibraryFileTest, OthersAreNot) {
  for (const std::string symbol : {"want", "wanted_too", "unwanted", ""}) {
    EXPECT_EQ(FaultOf(SmallLibrary(symbol)), LibraryFault::kOtherLibrary) << symbol;
  }
}

TEST(LibraryFileTest, ASymbolThatIsOnlyWantedIsNotExported) {
  std::string file = SmallLibrary("wanted");
  const size_t symbol = sizeof(ElfW(Ehdr)) + 3 * sizeof(ElfW(Shdr)) + sizeof(ElfW(Sym));
  file[symbol + offsetof(ElfW(Sym), st_shndx)] = SHN_UNDEF;
  EXPECT_EQ(FaultOf(file), LibraryFault::kOtherLibrary);
}

TEST(LibraryFileTest, FilesThatAreNoLibraries) {
  for (const std::string& file : {std::string(), std::string("#!/bin/sh\n"), std::string(1000, 'x')}) {
    EXPECT_EQ(FaultOf(file), LibraryFault::kNoLibrary) << file;
  }
  std::string program = SmallLibrary("wanted");
  program[offsetof(ElfW(Ehdr), e_type)] = ET_EXEC;
  EXPECT_EQ(FaultOf(program), LibraryFault::kNoLibrary);
}

TEST(LibraryFileTest, LibrariesOfOtherMachines) {
  for (const size_t at : {size_t{EI_CLASS}, size_t{EI_DATA}, offsetof(ElfW(Ehdr), e_machine)}) {
    std::string file = SmallLibrary("wanted");
    file[at] = static_cast<char>(file[at] ^ 3);
    EXPECT_EQ(FaultOf(file), LibraryFault::kOtherMachine) << at;
  }
}

// Wherever it ends.
TEST(LibraryFileTest, LibrariesThatAreCutOff) {
  const std::string file = SmallLibrary("wanted");
  const size_t sections = sizeof(ElfW(Ehdr)) + 3 * sizeof(ElfW(Shdr));
  for (size_t bytes = SELFMAG; bytes < file.size(); ++bytes) {
    const LibraryFault expected = bytes < sections ? LibraryFault::kCutOff : LibraryFault::kOtherLibrary;
    EXPECT_EQ(FaultOf(file.substr(0, bytes)), expected) << bytes;
  }
}

TEST(LibraryFileTest, WhatIsWrongIsSaidWithTheFilesName) {
  const std::string path = InFile(SmallLibrary("copse_preload_set_memory_hooks"));
  EXPECT_TRUE(CheckLibrary(path).ok()) << CheckLibrary(path);
  InFile("text\n");
  for (const std::string& file :
       {path, std::string("/dev"), std::string("/dev/null"), std::string("/no/such/library")}) {
    EXPECT_THAT(CheckLibrary(file), FailsWith(absl::StatusCode::kFailedPrecondition, "library: ", "value=" + file));
  }
}

}  // namespace
}  // namespace copse::run
