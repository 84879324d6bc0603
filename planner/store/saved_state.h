// SPDX-License-Identifier: Apache-2.0
//
// Saves what a planner's store has in a file that any kind of store can be restored from.
#ifndef COPSE_PLANNER_STORE_SAVED_STATE_H_
#define COPSE_PLANNER_STORE_SAVED_STATE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "planner/coordinator/interfaces/store.h"

namespace copse::planner {

// A StateReading is what a store has at one moment, and a line for each thing that cannot be read, or was put aside.
struct StateReading {
  coordinator::Snapshot snapshot;
  std::vector<std::string> damaged;
};

// A StateReader reads a store. Thread-safe.
class StateReader {
 public:
  virtual ~StateReader() = default;
  // Blocks, and changes nothing.
  virtual absl::StatusOr<StateReading> ReadState() = 0;
};

// The file's first line is "copse-state 1 SHA256", of the rest, which is a v1::SavedState, compressed by zstd.
inline constexpr int kSavedStateFormat = 1;

std::string EncodeState(const coordinator::Snapshot& snapshot, absl::Time now);
// Errors: INVALID_ARGUMENT: the file is no saved state; FAILED_PRECONDITION: a later version has saved it; DATA_LOSS:
// it is damaged.
absl::StatusOr<coordinator::Snapshot> DecodeState(const std::string& file);

// Replaces what the store has by `next`, with terms above those of both: daemons may know more than the saved state
// has. The store must be of a planner that has not begun, or leads and does nothing else. Errors: FAILED_PRECONDITION
// if the store is not empty, unless `replace`; those of the store.
absl::Status RestoreState(coordinator::Snapshot next, bool replace, coordinator::Store* store);

// Returns the checksum of a row of a store: of its table, its key and its value. A changed byte changes it.
uint64_t RowSum(std::string_view table, std::string_view key, std::string_view value);

}  // namespace copse::planner

#endif  // COPSE_PLANNER_STORE_SAVED_STATE_H_
