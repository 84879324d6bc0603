// SPDX-License-Identifier: Apache-2.0
//
// Starts MPI programs across the nodes of a test cluster.
//
// Inside a node both libraries use shared memory, between nodes TCP on eth0; their launchers use ctl0. Open MPI
// yields when idle, without which many ranks on few cores would be a straw man; ranks are not bound to cores.
#ifndef COPSE_TESTBED_NETNS_MPI_LAUNCH_H_
#define COPSE_TESTBED_NETNS_MPI_LAUNCH_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "testbed/netns/test_network.h"

namespace copse::netns {

enum class MpiLibrary { kMpich, kOpenMpi };

// Parses "mpich", "openmpi". Errors: INVALID_ARGUMENT.
absl::StatusOr<MpiLibrary> ParseMpiLibrary(std::string_view name);

// The places where ranks can run: nodes with namespaces, or, without `remote_shell`, processes of this host that are
// dealt to nodes.
struct MpiPlace {
  std::vector<std::string> hosts;
  std::vector<std::string> enter;    // prefix of a command that runs where launchers do: in the switch
  std::string remote_shell;          // replaces ssh
  std::string folder;                // for the launcher's own files, which are removed with it
  std::string mpich_finalize;        // libmpich_finalize.so; empty: that which was built
  std::vector<std::string> sockets;  // of each node's daemon, where clients do not find it by default
};
MpiPlace PlaceOn(const TestNetwork& network, const std::string& folder);

struct MpiJob {
  MpiLibrary library = MpiLibrary::kOpenMpi;
  uint32_t ranks = 0;
  uint32_t ppn = 0;                                // ranks on a node; 0: spread over all nodes
  bool in_turn = false;                            // nodes with namespaces get one rank after the other
  bool copse = false;                              // with the environment by which clients find their node's daemon
  std::map<std::string, std::string> environment;  // of the ranks
  std::vector<std::string> command;
};

struct MpiCommand {
  std::vector<std::string> arguments;              // the program's path first
  std::map<std::string, std::string> environment;  // of the launcher
};

// Ranks fill the nodes one after the other, `ppn` each, unless `in_turn`. Errors: INVALID_ARGUMENT (no command, no
// ranks, more than hosts x ppn); NOT_FOUND if the library's launcher is not installed.
absl::StatusOr<MpiCommand> MakeMpiCommand(const MpiPlace& place, const MpiJob& job);

}  // namespace copse::netns

#endif  // COPSE_TESTBED_NETNS_MPI_LAUNCH_H_
