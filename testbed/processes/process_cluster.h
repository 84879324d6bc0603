// SPDX-License-Identifier: Apache-2.0
//
// A cluster of real processes on this machine: one copse-planner, a copsed for each node, and their applications.
#ifndef COPSE_TESTBED_PROCESSES_PROCESS_CLUSTER_H_
#define COPSE_TESTBED_PROCESSES_PROCESS_CLUSTER_H_

#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "collectives/call_arguments.h"
#include "testbed/netns/test_network.h"
#include "testbed/processes/child_process.h"
#include "testbed/script/cluster.h"

// What many include, and few use.
namespace copse::fabric {
class FabricControl;
}  // namespace copse::fabric
namespace copse::v1 {
class NodeRow;
}  // namespace copse::v1

namespace copse::procs {

class AdminClient;

struct ProcessClusterOptions {
  std::string parent;                                  // parent of the cluster's folder; empty: TMPDIR, else /tmp
  std::map<std::string, std::string> copsed_settings;  // keys of its configuration
  std::map<std::string, std::string> planner_settings;
  std::vector<std::string> names;  // of nodes on loopback; empty: n0, n1, ...
  // Replaces loopback by a network namespace per node, which needs root; `nodes` and `folder` are filled in. The
  // planner is in the switch, each daemon in its node with the default socket of clients, so that these need no
  // COPSE_SOCKET. Nodes have the network's host names: scenarios expect n0, n1, ....
  std::optional<netns::NetworkOptions> network;
  // Such a network with nodes n0, n1, ... on a fabric of one switch, which needs TUN too; `network` is not used.
  bool one_switch_fabric = false;
  // `tcp`: daemons have certificates and use the sealed wire; empty: as the environment's TESTBED_TRANSPORT says.
  std::string transport;
};

// A ProcessCluster owns its processes: its destructor kills them, and so does the kernel if the thread that called
// Start ends. All files are in one folder, and ports are chosen by the system on loopback or are in network
// namespaces, so clusters do not collide. An unexpected end of a daemon or of the planner fails every wait at once.
// Thread-compatible.
class ProcessCluster : public scenario::Cluster {
 public:
  explicit ProcessCluster(ProcessClusterOptions options = {});
  ~ProcessCluster() override;

  absl::Status Start(const scenario::ClusterOptions& options) override;
  uint32_t Launch(const std::vector<scenario::Program>& programs) override;
  absl::Status AwaitOutcomes(uint32_t process, size_t count, absl::Duration timeout) override;
  absl::Status AwaitEnd(uint32_t process, absl::Duration timeout) override;
  std::vector<scenario::Outcome> Outcomes(uint32_t process) const override;

  void KillProcess(uint32_t process) override;
  void StopProcess(uint32_t process) override;
  void ContinueProcess(uint32_t process) override;
  void KillDaemon(uint32_t node) override;
  absl::Status RestartDaemon(uint32_t node) override;
  void StopDaemon(uint32_t node) override;
  void ContinueDaemon(uint32_t node) override;
  void KillPlanner() override;
  absl::Status RestartPlanner() override;
  absl::Status KillPlannerAtNextDecision() override;
  void StopPlanner() override;
  void ContinuePlanner() override;
  absl::Status ReplacePlanner() override;
  // These calls need a network with a fabric.
  absl::Status SetDataLink(uint32_t node, bool up) override;
  absl::Status SetManagementLink(uint32_t node, bool up) override;
  absl::Status DisturbData(bool on) override;

  absl::Status ReplanCollective(const std::string& team_name, std::optional<Collective> collective,
                                const std::string& algorithm) override;
  absl::StatusOr<std::vector<scenario::ListedCall>> ListCalls(const std::string& team_name) override;
  absl::Status DrainNode(uint32_t node, bool on) override;
  absl::StatusOr<std::map<std::string, uint64_t>> Gauges(uint32_t node) override;
  absl::Status AwaitNodeState(uint32_t node, const std::string& state, absl::Duration timeout) override;
  void Pass(absl::Duration duration) override;
  absl::Time Now() const override;

  // --- Functions of real processes only ---

  // Starts `arguments` (the program's path first) as an application of `node`. Its standard input and output are
  // pipes, its standard error goes to a log. The caller may destroy it before this object.
  absl::StatusOr<std::unique_ptr<ChildProcess>> StartApplication(uint32_t node, std::vector<std::string> arguments,
                                                                 std::map<std::string, std::string> environment = {});
  // Sends SIGTERM, daemons first; a process that has not ended with exit code 0 after `timeout` is an error.
  absl::Status Stop(absl::Duration timeout);
  // Returns an error if a daemon or the planner has ended unexpectedly.
  absl::Status CheckAlive() const;
  // Prints the ends of all logs, for a failed test; whole ones go to TEST_UNDECLARED_OUTPUTS_DIR if Bazel has one.
  void DumpLogs(std::FILE* out) const;

  const std::string& folder() const { return folder_; }
  // Returns null on loopback, and before Start.
  netns::TestNetwork* network() const { return network_.get(); }
  const std::string& NodeName(uint32_t node) const { return daemons_[node].name; }
  // Returns the daemon's process id. Precondition: the daemon runs.
  pid_t DaemonPid(uint32_t node) const { return daemons_[node].child->pid(); }
  // Returns the socket of the node's daemon: a path, or "@copse" inside the node.
  std::string SocketOf(uint32_t node) const;
  // The planner's address as its daemons see it; from here it can be reached only on loopback.
  pid_t PlannerPid() const { return planner_.child->pid(); }
  const std::string& planner_address() const { return planner_address_; }
  const AdminClient& admin() const { return *admin_; }
  // Returns copse-ca's folder of a cluster with certificates.
  std::string CertificatesFolder() const { return folder_ + "/ca"; }

 private:
  // A daemon, or the planner.
  struct Server {
    std::string name;
    std::unique_ptr<ChildProcess> child;  // null: not started, or killed by the test
    bool may_end = false;
    bool stopped = false;
    bool is_cut_off = false;        // cut off from the planner
    uint64_t incarnation = 0;       // of the daemon, once it was ready
    uint64_t dead_incarnation = 0;  // incarnation of the killed one
  };
  // An application process that runs a script.
  struct Client {
    std::unique_ptr<ChildProcess> child;
    absl::Status start;
    std::string unread;  // the beginning of a line
    std::map<size_t, scenario::Outcome> outcomes;
    bool output_ended = false;
  };

  absl::Status MakeFolder();
  // Returns the command of the planner or of a daemon; `changed` replaces settings of the same key.
  absl::StatusOr<std::vector<std::string>> ServerCommand(const char* label, std::map<std::string, std::string> settings,
                                                         const std::map<std::string, std::string>& changed) const;
  absl::Status StartPlanner(const std::map<std::string, std::string>& environment);
  absl::Status IssueCertificates();
  absl::Status StartDaemon(uint32_t node);
  // Returns the command wrapped so that it runs on `node`, and the environment of clients there.
  std::vector<std::string> OnNode(uint32_t node, std::vector<std::string> command) const;
  void AddClientEnvironment(uint32_t node, std::map<std::string, std::string>* environment) const;
  std::string LogOf(const std::string& name) const;
  absl::StatusOr<fabric::FabricControl> Fabric() const;
  absl::StatusOr<uint64_t> FindTeam(const std::string& name) const;
  absl::Status AwaitAllConnected(absl::Duration timeout);
  // Returns the row of a node, if the planner has one in `state` that is not of an earlier incarnation.
  absl::StatusOr<v1::NodeRow> NodeIn(uint32_t node, const std::string& state) const;
  // Waits until `done`, which is called after every event here, and at least every kAskAgain.
  absl::Status Await(const std::function<bool()>& done, absl::Duration timeout, const std::string& what);
  // Waits for output or the end of a process, but not longer than `timeout`.
  void AwaitSomething(absl::Duration timeout);
  void ReadOutput(Client* client) const;
  absl::Status CheckClient(uint32_t process) const;

  const ProcessClusterOptions options_;
  const MonotonicClock clock_;
  scenario::ClusterOptions cluster_;
  std::string folder_;
  std::unique_ptr<netns::TestNetwork> network_;
  std::string topology_;           // file of the fabric
  bool has_certificates_ = false;  // the daemons have, and data goes over TCP
  std::string planner_address_;
  std::unique_ptr<AdminClient> admin_;
  Server planner_;
  std::vector<Server> daemons_;
  std::vector<std::unique_ptr<Client>> clients_;
  uint32_t applications_ = 0;
};

}  // namespace copse::procs

#endif  // COPSE_TESTBED_PROCESSES_PROCESS_CLUSTER_H_
