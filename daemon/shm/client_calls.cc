// SPDX-License-Identifier: Apache-2.0

#include "daemon/shm/client_calls.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/process/lost_memory.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "daemon/shm/call_check.h"

namespace copse::daemon {

ClientCalls::ClientCalls(DaemonCore* core, std::unique_ptr<ClientPort> port, RegionLimits limits,
                         uint64_t list_bytes_max, std::shared_ptr<Account> account, Instruments* instruments)
    : core_(core),
      instruments_(instruments),
      port_(std::move(port)),
      regions_(port_->data(), port_->sizes().data_bytes, limits, std::move(account)),
      calls_(port_->sizes().eq_entries),
      held_(list_bytes_max) {
  free_.reserve(calls_.size());
  for (uint32_t i = static_cast<uint32_t>(calls_.size()); i > 0; --i) free_.push_back(i - 1);
}

absl::Status ClientCalls::LostMemory() const {
  return absl::DataLossError(absl::StrCat("its ", port_->lost() ? "queues" : "registered memory",
                                          " cannot be read any more: a memory error of this node, or a memfd that was "
                                          "damaged (SIGBUS)"));
}

absl::StatusOr<uint32_t> ClientCalls::Read(const MemberOfTeam& teams, uint32_t most) {
  if (HasLostMemory()) return LostMemory();
  ASSIGN_OR_RETURN(const uint32_t posted, port_->Posted());
  if (posted == 0 && !held_.may_go()) return 0u;
  ASSIGN_OR_RETURN(const uint32_t event_room, port_->EventRoom());
  const uint32_t held = held_.count();
  // A head that is too low is also impossible, since there was room for each entry that was taken.
  if (event_room < outstanding_ + held) {
    return absl::InvalidArgumentError(
        absl::StrCat("event queue: impossible head (room=", event_room, ", outstanding=", outstanding_ + held, ")"));
  }
  const uint32_t room = std::min(event_room - outstanding_, core_->PostRoom(client_));
  most = std::min(most, kPostsPerTurn);
  const uint32_t count = std::min({posted, room - std::min(room, held), most});
  const uint32_t let_go = held_.may_go() ? PostHeld(teams, most) : 0;
  for (uint32_t i = 0; i < count; ++i) {
    const ring::DqSlot slot = port_->Take();
    if (HasLostMemory()) return LostMemory();
    if (held_.MustWait(slot.entry)) {
      held_.Hold(taken_, slot);
    } else {
      PostSlot(slot, teams);
    }
    ++taken_;
    CountPosts();
  }
  return count + let_go;
}

uint32_t ClientCalls::PostHeld(const MemberOfTeam& teams, uint32_t most) {
  const uint32_t posted = held_.Release(most, [&](const ring::DqSlot& slot) { PostSlot(slot, teams); });
  CountPosts();
  return posted;
}

void ClientCalls::CountPosts() { regions_.CountPosts(held_.FirstNumber(taken_)); }

absl::Status ClientCalls::Deregister(uint32_t region) {
  ASSIGN_OR_RETURN(const uint32_t waiting, port_->Posted());
  return regions_.Deregister(region, taken_ + waiting);
}

void ClientCalls::PostSlot(const ring::DqSlot& slot, const MemberOfTeam& teams) {
  const ring::DqEntry& entry = slot.entry;
  if (entry.command == static_cast<uint8_t>(ring::Command::kNop)) {
    core_->PostNop(client_, NewCall(entry, {}));
    return;
  }
  if (entry.command != static_cast<uint8_t>(ring::Command::kCollective)) {
    return Refuse(entry.value, absl::StrCat("call: unknown command (command=", entry.command, ", limit=1)"));
  }
  const auto member = teams.find(entry.team);
  if (member == teams.end()) return Refuse(entry.value, absl::StrCat("call: no such team (handle=", entry.team, ")"));
  absl::StatusOr<CheckedCall> call = CheckCall(slot, member->second, regions_);
  if (!call.ok()) {
    const bool is_unsupported = absl::IsUnimplemented(call.status());
    return Refuse(entry.value, StdView(call.status().message()),
                  is_unsupported ? schedule::Failure::kNotSupported : schedule::Failure::kInvalidArgument);
  }
  if (HasLostMemory()) return;  // the lists may be zeros in place of the lost page; the next Read fails
  call->post.value = NewCall(entry, *call);
  core_->Post(client_, std::move(call->post));
}

uint64_t ClientCalls::NewCall(const ring::DqEntry& entry, const CheckedCall& checked) {
  // There are as many calls_ as the completion queue has entries, and Read takes no more posts than that has room for.
  CHECK(!free_.empty());
  const uint32_t index = free_.back();
  free_.pop_back();
  ++outstanding_;
  regions_.Use(checked.send_region);
  regions_.Use(checked.receive_region);
  held_.OnCall(entry.team, checked.list_bytes);
  calls_[index] = {entry.value,        checked.send_region, checked.receive_region,
                   checked.list_bytes, entry.team,          /*used=*/true};
  return index;
}

void ClientCalls::Refuse(uint64_t value, std::string_view text, schedule::Failure failure) {
  if (instruments_ != nullptr) instruments_->PostRefused();
  port_->PutEvent(value, 0, {failure, std::string(text)});
}

void ClientCalls::OnEvent(const ClientEvent& event) {
  CHECK_LT(event.value, calls_.size());
  Call& call = calls_[event.value];
  CHECK(call.used);
  port_->PutEvent(call.value, event.sequence.value(), event.failure);
  regions_.Unuse(call.send_region);
  regions_.Unuse(call.receive_region);
  held_.OnCallOver(call.team, call.list_bytes);
  call.used = false;
  free_.push_back(static_cast<uint32_t>(event.value));
  --outstanding_;
}

}  // namespace copse::daemon
