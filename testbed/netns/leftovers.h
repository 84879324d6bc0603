// SPDX-License-Identifier: Apache-2.0
//
// What a test of networks must not leave on the machine.
#ifndef COPSE_TESTBED_NETNS_LEFTOVERS_H_
#define COPSE_TESTBED_NETNS_LEFTOVERS_H_

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace copse::netns {

// A Leftovers knows the machine's network devices of its construction, and the network namespaces that a test has
// made. Reports through gtest.
class Leftovers {
 public:
  Leftovers();

  // Notes a namespace, such as "net:[4026532008]", as readlink(1) has it of /proc/PID/ns/net.
  void Note(const std::string& network_namespace) { namespaces_.insert(network_namespace); }
  size_t noted() const { return namespaces_.size(); }

  // Expects that the devices are as they were and that the noted namespaces go within a minute: the kernel soon reuses
  // their numbers, for example for Bazel's sandboxes, which end, too.
  void ExpectNone() const;

 private:
  std::set<std::string> devices_, namespaces_;
};

// Returns the command lines of other processes that have `text` in them or in their environment.
std::vector<std::string> ProcessesWith(const std::string& text);

}  // namespace copse::netns

#endif  // COPSE_TESTBED_NETNS_LEFTOVERS_H_
