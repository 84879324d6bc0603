// SPDX-License-Identifier: Apache-2.0
#include "client/run/library_file.h"

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/run/small_library.h"
#include "gtest/gtest.h"

namespace copse::run {
namespace {

constexpr char kCutOff[] = "a shared library that is cut off";
constexpr char kAnother[] = "another library than libcopse-mpi.so";

std::string FaultOf(const std::string& file) { return std::string(FaultOfLibrary(file, OwnHeader(), "wanted")); }

std::string InFile(const std::string& text) {
  const std::string path = testing::TempDir() + "/library";
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  return path;
}

TEST(LibraryFileTest, WhatExportsTheSymbolIsIt) { EXPECT_EQ(FaultOf(SmallLibrary("wanted")), ""); }

TEST(LibraryFileTest, OthersAreNot) {
  for (const std::string symbol : {"want", "wanted_too", "unwanted", ""}) {
    EXPECT_EQ(FaultOf(SmallLibrary(symbol)), kAnother) << symbol;
  }
}

TEST(LibraryFileTest, ASymbolThatIsOnlyWantedIsNotExported) {
  std::string file = SmallLibrary("wanted");
  const size_t symbol = sizeof(ElfW(Ehdr)) + 3 * sizeof(ElfW(Shdr)) + sizeof(ElfW(Sym));
  file[symbol + offsetof(ElfW(Sym), st_shndx)] = SHN_UNDEF;
  EXPECT_EQ(FaultOf(file), kAnother);
}

TEST(LibraryFileTest, FilesThatAreNoLibraries) {
  for (const std::string& file : {std::string(), std::string("#!/bin/sh\n"), std::string(1000, 'x')}) {
    EXPECT_EQ(FaultOf(file), "not a shared library") << file;
  }
  std::string program = SmallLibrary("wanted");
  program[offsetof(ElfW(Ehdr), e_type)] = ET_EXEC;
  EXPECT_EQ(FaultOf(program), "not a shared library");
}

TEST(LibraryFileTest, LibrariesOfOtherMachines) {
  for (const size_t at : {size_t{EI_CLASS}, size_t{EI_DATA}, offsetof(ElfW(Ehdr), e_machine)}) {
    std::string file = SmallLibrary("wanted");
    file[at] = static_cast<char>(file[at] ^ 3);
    EXPECT_EQ(FaultOf(file), "for another kind of machine") << at;
  }
}

// Wherever it ends.
TEST(LibraryFileTest, LibrariesThatAreCutOff) {
  const std::string file = SmallLibrary("wanted");
  const size_t sections = sizeof(ElfW(Ehdr)) + 3 * sizeof(ElfW(Shdr));
  for (size_t bytes = SELFMAG; bytes < file.size(); ++bytes) {
    const std::string fault = FaultOf(file.substr(0, bytes));
    EXPECT_EQ(fault, bytes < sections ? kCutOff : kAnother) << bytes;
  }
}

TEST(LibraryFileTest, WhatIsWrongIsSaidWithTheFilesName) {
  const std::string path = InFile(SmallLibrary("copse_mpi_set_memory_hooks"));
  EXPECT_TRUE(CheckLibrary(path).ok()) << CheckLibrary(path);
  const auto error_of = [](const std::string& file) { return std::string(CheckLibrary(file).message()); };
  const std::string value = absl::StrCat(" (value=", path, ")");
  InFile(SmallLibrary("wanted"));
  EXPECT_EQ(error_of(path), absl::StrCat("library: ", kAnother, value));
  InFile("text\n");
  EXPECT_EQ(error_of(path), absl::StrCat("library: not a shared library", value));
  EXPECT_EQ(error_of("/dev"), "library: a directory (value=/dev)");
  EXPECT_EQ(error_of("/dev/null"), "library: not a file (value=/dev/null)");
  EXPECT_EQ(error_of("/no/such/library"), "library: No such file or directory (value=/no/such/library)");
  EXPECT_EQ(CheckLibrary("/dev").code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace copse::run
