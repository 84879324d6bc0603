// SPDX-License-Identifier: Apache-2.0
#include "base/process/core_dump.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

namespace copse {
namespace {

// Returns the flags of the mapping that begins at `memory`.
std::string FlagsAt(const void* memory) {
  char begin[32];
  std::snprintf(begin, sizeof(begin), "%" PRIxPTR "-", reinterpret_cast<uintptr_t>(memory));
  std::ifstream smaps("/proc/self/smaps");
  bool is_found = false;
  for (std::string line; std::getline(smaps, line);) {
    is_found = is_found || line.rfind(begin, 0) == 0;
    if (is_found && line.rfind("VmFlags:", 0) == 0) return line + " ";
  }
  return "";
}

TEST(CoreDumpTest, PagesAreKeptOut) {
  const size_t bytes = 2 * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  EXPECT_EQ(FlagsAt(memory).find(" dd "), std::string::npos);
  KeepOutOfCores(memory, bytes);
  EXPECT_NE(FlagsAt(memory).find(" dd "), std::string::npos);
  munmap(memory, bytes);
}

TEST(CoreDumpTest, NoMemoryIsDumped) {
  ASSERT_TRUE(KeepMemoryOutOfCores().ok());
  std::ifstream file("/proc/self/coredump_filter");
  std::string filter;
  file >> filter;
  EXPECT_EQ(std::stoul(filter, nullptr, 16), 0x10u);
}

}  // namespace
}  // namespace copse
