// SPDX-License-Identifier: Apache-2.0
//
// A place on a test network where a user without privileges launches programs.
#ifndef COPSE_TESTBED_NETNS_USER_PLACE_H_
#define COPSE_TESTBED_NETNS_USER_PLACE_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "testbed/netns/mpi_launch.h"
#include "testbed/netns/test_network.h"

namespace copse::netns {

// A UserPlace owns a folder of the user `nobody` with copies of programs, as the user cannot read a checkout of root's,
// and removes it. What it starts has no privileges. One copy of copse-enter, in that folder, which only this user and
// root can read, enters nodes, as a machine's sshd would. Needs root. Thread-compatible.
class UserPlace {
 public:
  // Programs by Bazel's name, and the folder below that each is copied to ("bin"). `network` must outlive the place.
  // Errors: NOT_FOUND names a program; those of the system.
  static absl::StatusOr<std::unique_ptr<UserPlace>> Create(const TestNetwork& network,
                                                           const std::map<std::string, std::string>& programs);
  ~UserPlace();
  UserPlace(const UserPlace&) = delete;
  UserPlace& operator=(const UserPlace&) = delete;

  const std::string& folder() const { return folder_; }
  static constexpr unsigned uid() { return 65534; }
  // Launchers start in the network's switch, in folder(), which is their HOME and TMPDIR, too.
  MpiPlace place() const;
  // Makes a folder below that the user can write to. Returns its path.
  absl::StatusOr<std::string> MakeFolder(const std::string& name) const;

 private:
  UserPlace(const TestNetwork& network, std::string folder) : network_(network), folder_(std::move(folder)) {}

  absl::Status Copy(const std::string& program, const std::string& into, unsigned mode) const;

  const TestNetwork& network_;
  const std::string folder_;
};

}  // namespace copse::netns

#endif  // COPSE_TESTBED_NETNS_USER_PLACE_H_
