// SPDX-License-Identifier: Apache-2.0
#include "planner/admin/state_saver.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"

namespace copse::planner {
namespace {

absl::StatusOr<SavedFile> Make(StateReader* reader) {
  ASSIGN_OR_RETURN(const StateReading reading, reader->ReadState());
  const coordinator::Snapshot& snapshot = reading.snapshot;
  SavedFile file{.bytes = EncodeState(snapshot, absl::Now()),
                 .cluster = snapshot.cluster,
                 .term = snapshot.term,
                 .teams = snapshot.teams.size()};
  if (file.bytes.size() <= kSavedFileBytesMax) return file;
  return absl::ResourceExhaustedError(
      absl::StrCat("state: too long to be sent (bytes=", file.bytes.size(), ", limit=", kSavedFileBytesMax, ")"));
}

}  // namespace

StateSaver::~StateSaver() {
  if (thread_.joinable()) thread_.join();
}

void StateSaver::Save(Done done) {
  if (reader_ == nullptr) {
    return done(absl::FailedPreconditionError("state: the planner has no store (store=memory)"));
  }
  if (saves_) return done(absl::UnavailableError("state: it is being saved already"));
  if (thread_.joinable()) thread_.join();
  saves_ = true;
  thread_ = std::thread([this, done = std::move(done)] {
    queue_->Post([this, done, file = Make(reader_)] {
      saves_ = false;
      done(file);
    });
  });
}

}  // namespace copse::planner
