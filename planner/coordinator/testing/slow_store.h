// SPDX-License-Identifier: Apache-2.0
//
// A store whose commits end when a test says so.
#ifndef COPSE_PLANNER_COORDINATOR_TESTING_SLOW_STORE_H_
#define COPSE_PLANNER_COORDINATOR_TESTING_SLOW_STORE_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "gtest/gtest.h"
#include "planner/coordinator/interfaces/store.h"

namespace copse::coordinator {

// Returns the change that records a team of this id.
inline PutTeam RecordOf(TeamId team) {
  TeamRecord record;
  record.layout.id = team;
  return {std::make_shared<const TeamRecord>(std::move(record))};
}

// A SlowStore ends a commit when the test says so.
class SlowStore : public Store {
 public:
  absl::StatusOr<Snapshot> Load() override { return Snapshot(); }
  void Commit(std::vector<StoreChange> changes, std::function<void(const absl::Status&)> done) override {
    EXPECT_EQ(done_, nullptr) << "two commits in flight";
    sizes.push_back(changes.size());
    done_ = std::move(done);
  }
  void End(const absl::Status& status) { std::exchange(done_, nullptr)(status); }
  bool is_busy() const { return done_ != nullptr; }

  std::vector<size_t> sizes;  // changes of each commit

 private:
  std::function<void(const absl::Status&)> done_;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_TESTING_SLOW_STORE_H_
