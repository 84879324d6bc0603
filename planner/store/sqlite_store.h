// SPDX-License-Identifier: Apache-2.0
//
// Stores the planner's state in an SQLite file.
#ifndef COPSE_PLANNER_STORE_SQLITE_STORE_H_
#define COPSE_PLANNER_STORE_SQLITE_STORE_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "planner/coordinator/interfaces/store.h"
#include "planner/store/saved_state.h"

namespace copse::planner {

// A SqliteStore holds an exclusive lock on its file until it is destroyed, so a second planner on the same file is
// refused. Commits, each a transaction, are made on a thread of its own; what was committed is on the disk
// (journal in WAL mode, synchronous FULL). Each row has a checksum (RowSum) in its column `sum`, or NULL if an earlier
// version has written it. A row that cannot be read, or does not match its checksum, does not prevent the others from
// being loaded: Load moves it to the table `quarantine`, and logs it. Only the planner's thread calls it, but for
// ReadState.
class SqliteStore : public coordinator::Store, public StateReader {
 public:
  // Runs a task on the planner's thread, later.
  using Post = std::function<void(std::function<void()>)>;

  // Opens the file, or creates it. `post` takes the ends of commits. Errors: INVALID_ARGUMENT if it is of another
  // schema; FAILED_PRECONDITION if it is not a state file, damaged, or in use; UNAVAILABLE if it cannot be opened or
  // written.
  static absl::StatusOr<std::unique_ptr<SqliteStore>> Open(const std::string& path, Post post);
  // Waits for the commit that is in flight; its end is still posted.
  ~SqliteStore() override;

  absl::StatusOr<coordinator::Snapshot> Load() override;
  void Commit(std::vector<coordinator::StoreChange> changes, std::function<void(const absl::Status&)> done) override;

  // Commits wait meanwhile.
  absl::StatusOr<StateReading> ReadState() override;

 private:
  class Database;
  class Reader;
  struct Job {
    std::vector<coordinator::StoreChange> changes;
    std::function<void(const absl::Status&)> done;
  };
  SqliteStore(std::unique_ptr<Database> database, Post post);
  void Work();

  const Post post_;
  Mutex database_mutex_;  // held during a transaction
  const std::unique_ptr<Database> database_ ABSL_PT_GUARDED_BY(database_mutex_);
  Mutex mutex_;
  CondVar changed_;
  std::optional<Job> job_ ABSL_GUARDED_BY(mutex_);
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_STORE_SQLITE_STORE_H_
