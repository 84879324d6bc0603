// SPDX-License-Identifier: Apache-2.0
//
// Stores the planner's state in an SQLite file.
#ifndef COPSE_PLANNER_SERVER_SQLITE_STORE_H_
#define COPSE_PLANNER_SERVER_SQLITE_STORE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planner/coordinator/store.h"
#include "planner/server/topology_store.h"

namespace copse::planner {

// A SqliteStore holds an exclusive lock on its file until it is destroyed, so a second planner on the same file is
// refused. Every save is on the disk when the call returns (journal in WAL mode, synchronous FULL). A team's record
// that cannot be read does not prevent the others from being loaded: it is moved to another table and logged.
// Thread-compatible: only the planner's thread calls it.
class SqliteStore : public coordinator::Store, public TopologyStore {
 public:
  // Opens the file, or creates it. Errors: FAILED_PRECONDITION if it is not a state file, damaged, of another schema,
  // or in use; UNAVAILABLE if it cannot be opened or written.
  static absl::StatusOr<std::unique_ptr<SqliteStore>> Open(const std::string& path);
  ~SqliteStore() override;

  absl::StatusOr<coordinator::Snapshot> Load() override;
  absl::Status SaveTeam(const coordinator::TeamRecord& record) override;
  absl::Status RemoveTeam(TeamId team) override;
  absl::Status SaveDraining(const std::string& node, bool draining) override;
  absl::Status SaveTerm(uint64_t term) override;
  absl::Status SaveAborted(TeamId team) override;

  absl::StatusOr<std::vector<TopologyVersion>> LoadTopologies() override;
  absl::Status SaveTopology(const TopologyVersion& version) override;
  absl::Status RemoveTopology(uint64_t version) override;

 private:
  class Database;
  explicit SqliteStore(std::unique_ptr<Database> database);

  std::unique_ptr<Database> database_;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_SERVER_SQLITE_STORE_H_
