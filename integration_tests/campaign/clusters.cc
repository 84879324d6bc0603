// SPDX-License-Identifier: Apache-2.0
#include "integration_tests/campaign/clusters.h"

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "integration_tests/sim/sim_cluster.h"
#include "testbed/netns/test_network.h"
#include "testbed/processes/process_cluster.h"

namespace copse::campaign {
namespace {

// A cluster whose network is described by a file that is deleted with it.
class NetworkCluster : public procs::ProcessCluster {
 public:
  NetworkCluster(procs::ProcessClusterOptions options, std::string file)
      : ProcessCluster(std::move(options)), file_(std::move(file)) {}
  ~NetworkCluster() override {
    std::error_code error;
    std::filesystem::remove(file_, error);
  }

 private:
  const std::string file_;
};

}  // namespace

std::unique_ptr<scenario::Cluster> MakeSimulatedCluster(const Case& c) {
  // Some links are so slow, and take so few frames, that queues fill up.
  sim::LinkProperties link;
  if (c.seed % 3 == 1) link.bytes_per_second = 1e8;
  return scenario::MakeSimCluster(link);
}

std::unique_ptr<scenario::Cluster> MakeRealCluster(const Case& c) {
  if (!netns::CheckNamespaces(true).ok()) return std::make_unique<procs::ProcessCluster>();
  const char* folder = getenv("TMPDIR");
  std::string file = absl::StrCat(folder != nullptr ? folder : "/tmp", "/copse-campaign-", getpid(), ".yaml");
  std::ofstream(file) << "version: 1\nswitches: [{name: core}]\nnodes: [{name: 'n[0-" << c.options.nodes - 1
                      << "]', switch: core}]\n";
  procs::ProcessClusterOptions options{.network = netns::NetworkOptions{.fabric = file}};
  return std::make_unique<NetworkCluster>(std::move(options), std::move(file));
}

}  // namespace copse::campaign
