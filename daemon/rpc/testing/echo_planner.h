// SPDX-License-Identifier: Apache-2.0
//
// A planner for tests of the stream: accepts every Register, and answers EpochQuery with EndTeam of the same team.
#ifndef COPSE_DAEMON_RPC_TESTING_ECHO_PLANNER_H_
#define COPSE_DAEMON_RPC_TESTING_ECHO_PLANNER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "protocol/control.h"

namespace copse::daemon {

// A question for this team's epoch is answered with a content that is damaged.
inline constexpr uint64_t kDamagedContentTeam = 666;
// A question for this team's epoch is answered with AnswerWith's messages.
inline constexpr uint64_t kScriptTeam = 667;

// Serves on gRPC's threads from Start to Stop.
class EchoPlanner {
 public:
  EchoPlanner();
  ~EchoPlanner();

  // Listens on 127.0.0.1; port 0: any. Returns false if it cannot listen.
  bool Start(int port);
  int port() const;

  // Ends streams with FAILED_PRECONDITION and this text from now on; empty: accepts them.
  void Refuse(const std::string& why);
  // Stands by from now on, and names the leader: refuses streams that begin, and tells those who watch.
  void StandBy(const std::string& leader, uint64_t number);
  // Leads from now on, in this term.
  void Lead(uint64_t term);
  // Is a planner of 0.2.0 from now on, without AttachBriefly.
  void BeEarlier();
  // Answers an EpochQuery for team kScriptTeam with these messages. Each Prepare names its content, which is sent
  // before.
  void AnswerWith(std::vector<schedule::ToDaemon> script);
  // The answers to questions for the contents that Register named: "content " for each that is right.
  std::string contents() const;
  // The latest Register's token, node name, and addresses of the admin service and for data.
  std::string token() const;
  std::string node() const;
  std::string admin_address() const;
  std::string worker_address() const;
  // The daemons' Stopping messages so far: "drains " and "ends ", concatenated.
  std::string stops() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_RPC_TESTING_ECHO_PLANNER_H_
