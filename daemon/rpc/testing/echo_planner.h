// SPDX-License-Identifier: Apache-2.0
//
// A planner for tests of the stream to it: accepts every Register, and answers EpochQuery with EndTeam of the same
// team.
#ifndef COPSE_DAEMON_RPC_TESTING_ECHO_PLANNER_H_
#define COPSE_DAEMON_RPC_TESTING_ECHO_PLANNER_H_

#include <memory>
#include <string>

namespace copse::daemon {

// Serves on gRPC's threads from Start to Stop.
class EchoPlanner {
 public:
  EchoPlanner();
  ~EchoPlanner();

  // On 127.0.0.1; port 0: any. False if it cannot listen.
  bool Start(int port);
  int port() const;

  // From now on streams end with FAILED_PRECONDITION and this text; empty: they are accepted.
  void Refuse(const std::string& why);
  // The latest Register: its token, its node's name, and the address of its admin service.
  std::string token() const;
  std::string node() const;
  std::string admin_address() const;
  // What daemons have said of their ends: "drains " and "ends ", one after the other.
  std::string stops() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_RPC_TESTING_ECHO_PLANNER_H_
