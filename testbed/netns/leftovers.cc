// SPDX-License-Identifier: Apache-2.0
#include "testbed/netns/leftovers.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "testbed/processes/programs.h"

namespace copse::netns {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(1);

// Returns the network namespaces of all processes.
std::set<std::string> Namespaces() {
  std::set<std::string> result;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string target = std::filesystem::read_symlink(entry.path() / "ns/net", error).string();
    if (!error) result.insert(target);
  }
  return result;
}

// Returns the network devices of the machine's own namespace.
std::set<std::string> Devices() {
  std::set<std::string> result;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/class/net")) {
    result.insert(entry.path().filename().string());
  }
  return result;
}

}  // namespace

Leftovers::Leftovers() : devices_(Devices()) {}

void Leftovers::ExpectNone() const {
  const absl::Time deadline = absl::Now() + kPatience;
  std::vector<std::string> left;
  do {
    const std::set<std::string> now = Namespaces();
    left.clear();
    std::set_intersection(now.begin(), now.end(), namespaces_.begin(), namespaces_.end(), std::back_inserter(left));
  } while (!left.empty() && absl::Now() < deadline);
  EXPECT_EQ(left, std::vector<std::string>());
  EXPECT_EQ(Devices(), devices_);
}

std::vector<std::string> ProcessesWith(const std::string& text) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    pid_t pid;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &pid) || pid == getpid()) continue;
    const std::string line = procs::ContentOf(entry.path() / "cmdline");
    if (absl::StrContains(line, text) || absl::StrContains(procs::ContentOf(entry.path() / "environ"), text)) {
      found.push_back(line);
    }
  }
  return found;
}

}  // namespace copse::netns
