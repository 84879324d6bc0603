// SPDX-License-Identifier: Apache-2.0
//
// Defines the storage for the topologies that were put into force.
#ifndef COPSE_PLANNER_STORE_TOPOLOGY_STORE_H_
#define COPSE_PLANNER_STORE_TOPOLOGY_STORE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace copse::planner {

struct TopologyVersion {
  uint64_t version = 0;  // from 1
  absl::Time applied;
  std::string source;      // origin: "file /etc/copse/topology.yaml", "import slurm topology.conf"
  bool from_file = false;  // true: from the file that the configuration names
  std::string text;        // content of a topology file; empty: no topology, all nodes on one switch
};

// A TopologyStore keeps TopologyVersions by number. When a call returns OK, its change survives a crash of planner and
// machine; when the call fails, nothing has changed. Only the planner's thread calls it.
class TopologyStore {
 public:
  virtual ~TopologyStore() = default;
  virtual absl::StatusOr<std::vector<TopologyVersion>> LoadTopologies() = 0;  // in ascending order
  virtual absl::Status SaveTopology(const TopologyVersion& version) = 0;
  virtual absl::Status RemoveTopology(uint64_t version) = 0;
};

// A MemoryTopologyStore survives a reload, not the process. It serves a planner without `state`, and tests.
class MemoryTopologyStore : public TopologyStore {
 public:
  absl::StatusOr<std::vector<TopologyVersion>> LoadTopologies() override {
    std::vector<TopologyVersion> all;
    for (const auto& [number, version] : versions_) all.push_back(version);
    return all;
  }
  absl::Status SaveTopology(const TopologyVersion& version) override {
    versions_[version.version] = version;
    return absl::OkStatus();
  }
  absl::Status RemoveTopology(uint64_t version) override {
    versions_.erase(version);
    return absl::OkStatus();
  }

 private:
  std::map<uint64_t, TopologyVersion> versions_;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_STORE_TOPOLOGY_STORE_H_
