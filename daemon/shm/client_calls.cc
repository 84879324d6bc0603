// SPDX-License-Identifier: Apache-2.0

#include "daemon/shm/client_calls.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "daemon/shm/call_check.h"

namespace copse::daemon {

ClientCalls::ClientCalls(DaemonCore* core, std::unique_ptr<ClientPort> port, RegionLimits limits)
    : core_(core),
      port_(std::move(port)),
      regions_(port_->data(), port_->sizes().data_bytes, limits),
      calls_(port_->sizes().eq_entries) {
  free_.reserve(calls_.size());
  for (uint32_t i = static_cast<uint32_t>(calls_.size()); i > 0; --i) free_.push_back(i - 1);
}

absl::StatusOr<uint32_t> ClientCalls::Read(const RankOfTeam& ranks) {
  ASSIGN_OR_RETURN(const uint32_t posted, port_->Posted());
  if (posted == 0) return 0u;
  ASSIGN_OR_RETURN(const uint32_t event_room, port_->EventRoom());
  // An impossible head can also look like too much room taken; outstanding calls always have
  // theirs.
  if (event_room < outstanding_) {
    return absl::InvalidArgumentError(
        absl::StrCat("event queue: impossible head (room=", event_room, ", outstanding=", outstanding_, ")"));
  }
  const uint32_t room = std::min(event_room - outstanding_, core_->PostRoom(client_));
  const uint32_t count = std::min({posted, room, kPostsPerTurn});
  for (uint32_t i = 0; i < count; ++i) PostSlot(port_->Take(), ranks);
  return count;
}

void ClientCalls::PostSlot(const ring::DqSlot& slot, const RankOfTeam& ranks) {
  const ring::DqEntry& entry = slot.entry;
  if (entry.command == static_cast<uint8_t>(ring::Command::kNop)) {
    core_->PostNop(client_, NewCall(entry.value, 0, 0));
    return;
  }
  if (entry.command != static_cast<uint8_t>(ring::Command::kCollective)) {
    return Refuse(entry.value, absl::StrCat("call: unknown command (command=", entry.command, ", limit=1)"));
  }
  const auto rank = ranks.find(entry.team);
  if (rank == ranks.end()) return Refuse(entry.value, absl::StrCat("call: no such team (handle=", entry.team, ")"));
  absl::StatusOr<CheckedCall> call = CheckCall(slot, rank->second, regions_);
  if (!call.ok()) return Refuse(entry.value, StdView(call.status().message()));
  call->post.value = NewCall(entry.value, call->send_region, call->receive_region);
  core_->Post(client_, call->post);
}

uint64_t ClientCalls::NewCall(uint64_t value, uint32_t send_region, uint32_t receive_region) {
  CHECK(!free_.empty());  // Read took no more entries than there is room
  const uint32_t index = free_.back();
  free_.pop_back();
  ++outstanding_;
  regions_.Use(send_region);
  regions_.Use(receive_region);
  calls_[index] = {value, send_region, receive_region, /*used=*/true};
  return index;
}

void ClientCalls::Refuse(uint64_t value, std::string_view text) {
  port_->PutEvent(value, 0, -static_cast<int32_t>(schedule::Failure::kInvalidArgument), text);
}

void ClientCalls::OnEvent(const ClientEvent& event) {
  CHECK_LT(event.value, calls_.size());
  Call& call = calls_[event.value];
  CHECK(call.used);
  port_->PutEvent(call.value, event.sequence.value(), -static_cast<int32_t>(event.failure.failure), event.failure.text);
  regions_.Unuse(call.send_region);
  regions_.Unuse(call.receive_region);
  call.used = false;
  free_.push_back(static_cast<uint32_t>(event.value));
  --outstanding_;
}

}  // namespace copse::daemon
