// SPDX-License-Identifier: Apache-2.0

#include "client/port/call_queue.h"

#include <cstring>
#include <utility>

#include "client/port/error.h"
#include "client/port/log.h"
#include "client/port/placement.h"

namespace copse::client {
namespace {

uint8_t FlagsOf(const CallPlan& plan) {
  uint8_t flags = 0;
  if ((plan.flags & COPSE_COLL_FLAG_COUNTS_KNOWN) != 0) flags |= ring::kCountsKnown;
  if ((plan.flags & COPSE_COLL_FLAG_REPRODUCIBLE) != 0) flags |= ring::kReproducible;
  if (plan.pairs_bounded) flags |= ring::kPairsBounded;
  return flags;
}

}  // namespace

CallQueue::CallQueue(std::unique_ptr<Port> port)
    : port_(std::move(port)), staging_(port_->data(), port_->data_bytes()), calls_(port_->eq_entries()) {}

CallQueue::PostResult CallQueue::Post(const CallPlan& plan, uint32_t team, Round* round, uint32_t* running) {
  uint64_t value = 0;
  CallInFlight* call = calls_.Take(&value);
  if (call == nullptr) return PostResult::kEventsFull;
  ring::DqSlot slot{};
  slot.entry.command = static_cast<uint8_t>(ring::Command::kCollective);
  slot.entry.collective = static_cast<uint8_t>(plan.collective);
  slot.entry.type = static_cast<uint8_t>(plan.type);
  slot.entry.op = static_cast<uint8_t>(plan.op);
  slot.entry.team = team;
  slot.entry.root = plan.root;
  slot.entry.count = plan.count;
  slot.entry.value = value;
  slot.entry.flags = FlagsOf(plan);
  slot.entry.under_way_max = plan.under_way_max;
  const Placement placement(plan, &user_memory_);
  Staging::Allocation block;
  if (placement.staging_bytes() > 0) {
    const auto room = staging_.Allocate(placement.staging_bytes());
    if (!room.has_value()) {
      Release(call);
      staging_wanted_ = placement.staging_bytes();
      return staging_.NeedsBounce(staging_wanted_) ? PostResult::kBounceFull : PostResult::kDataFull;
    }
    block = *room;
  }
  placement.Fill(block, &slot, call);
  if (!port_->Push(slot)) {
    Release(call);
    return PostResult::kQueueFull;
  }
  call->round = round;
  call->team = team;
  round->state = Round::State::kInProgress;
  round->value = value;
  round->running = running;
  round->fold = plan.fold;
  ++*running;
  return PostResult::kPosted;
}

CallQueue::PostResult CallQueue::PostNop(Round* round) {
  uint64_t value = 0;
  CallInFlight* call = calls_.Take(&value);
  if (call == nullptr) return PostResult::kEventsFull;
  ring::DqSlot slot{};
  slot.entry.command = static_cast<uint8_t>(ring::Command::kNop);
  slot.entry.value = value;
  if (!port_->Push(slot)) {
    Release(call);
    return PostResult::kQueueFull;
  }
  call->round = round;
  round->state = Round::State::kInProgress;
  round->value = value;
  return PostResult::kPosted;
}

uint32_t CallQueue::Drain() {
  static constexpr FailureFacts kNoFacts{};
  uint32_t count = 0;
  ring::EqEntry event;
  while (!broken_) {
    const Port::Next next = port_->Pop(&event);
    if (next == Port::Next::kNone) break;
    if (next == Port::Next::kBroken) {
      broken_ = true;
      break;
    }
    ++count;
    CallInFlight* call = calls_.Find(event.value);
    if (call == nullptr) {
      Log(LogLevel::kWarning, "an event of no call was ignored (value=0x%llx)",
          static_cast<unsigned long long>(event.value));
      continue;
    }
    if (event.status == 0) {
      Finish(call, COPSE_OK, {}, kNoFacts);
    } else {
      Finish(call, StatusFromWire(event.status), port_->Text(event.text), port_->Facts(event));
    }
  }
  return count;
}

void CallQueue::Finish(CallInFlight* call, copse_status_t status, std::string_view text, const FailureFacts& facts) {
  if (call->round != nullptr) {
    if (status == COPSE_OK && call->copy_to != nullptr) {
      if (call->copy_blocks != nullptr) {
        call->copy_blocks->Unpack(call->copy_from, call->copy_to);
      } else {
        memcpy(call->copy_to, call->copy_from, call->copy_bytes);
      }
    }
    call->round->End(status, text, facts);
  }
  Release(call);
}

void CallQueue::Release(CallInFlight* call) {
  if (const uint32_t region = staging_.Free(call->staging); region != 0) dropped_regions_.push_back(region);
  for (UserMemory::UserRange* range : {call->send_range, call->receive_range}) {
    if (range == nullptr) continue;
    if (--range->calls == 0 && range->freed) DropRange(range);
  }
  calls_.Release(call);
}

void CallQueue::DropRange(UserMemory::UserRange* range) {
  if (range->kind == UserMemory::Kind::kDataArea) staging_.data_area().Free(range->block);
  if (range->kind == UserMemory::Kind::kRegion) dropped_regions_.push_back(range->region);
  user_memory_.Drop(range);
}

void CallQueue::DropIdleBounces() {
  const std::vector<uint32_t> regions = staging_.DropIdle();
  dropped_regions_.insert(dropped_regions_.end(), regions.begin(), regions.end());
}

std::vector<uint32_t> CallQueue::TakeDroppedRegions() { return std::exchange(dropped_regions_, {}); }

void CallQueue::Detach(Round* round) {
  if (CallInFlight* call = calls_.Find(round->value)) call->round = nullptr;
  round->End(COPSE_ERR_CANCELED, "", UsualFacts(COPSE_ERR_CANCELED));
}

bool CallQueue::InFlight(uint32_t team) const {
  for (const CallInFlight& call : calls_.calls()) {
    if (call.in_use && call.team == team) return true;
  }
  return false;
}

void CallQueue::EndAll(copse_status_t status, const std::string& text, const FailureFacts& facts) {
  for (CallInFlight& call : calls_.calls()) {
    if (call.in_use) Finish(&call, status, text, facts);
  }
}

}  // namespace copse::client
