// SPDX-License-Identifier: Apache-2.0
//
// Saves the state of a planner that runs, on a thread of its own.
#ifndef COPSE_PLANNER_ADMIN_STATE_SAVER_H_
#define COPSE_PLANNER_ADMIN_STATE_SAVER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "planner/store/saved_state.h"
#include "planner/threads/task_queue.h"

namespace copse::planner {

// A SavedFile is a file of a saved state, and what it has.
struct SavedFile {
  std::string bytes;
  std::string cluster;
  uint64_t term = 0;
  size_t teams = 0;
};

// A longer file is not sent to an administrator.
inline constexpr size_t kSavedFileBytesMax = 60 << 20;

// A StateSaver makes one file at a time. Only the planner's thread calls it.
class StateSaver {
 public:
  using Done = std::function<void(absl::StatusOr<SavedFile>)>;

  // `*queue` runs the ends on the planner's thread. `reader` is null if the planner has no store. Both must outlive the
  // saver.
  StateSaver(TaskQueue* queue, StateReader* reader) : queue_(queue), reader_(reader) {}
  // Waits for the file that is being made, whose end may still be posted.
  ~StateSaver();

  // `done` is called once, maybe before this returns. Errors: FAILED_PRECONDITION without a store; UNAVAILABLE while
  // another file is made; RESOURCE_EXHAUSTED beyond kSavedFileBytesMax; those of StateReader.
  void Save(Done done);

 private:
  TaskQueue* const queue_;
  StateReader* const reader_;
  bool saves_ = false;
  std::thread thread_;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ADMIN_STATE_SAVER_H_
