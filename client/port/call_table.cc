// SPDX-License-Identifier: Apache-2.0

#include "client/port/call_table.h"

namespace copse::client {

void Round::End(copse_status_t how, std::string_view why, const FailureFacts& what) {
  state = State::kComplete;
  status = how;
  if (how != COPSE_OK) {
    text = why;
    facts = what;
  }
  if (running != nullptr) --*running;
  running = nullptr;
}

CallTable::CallTable(uint32_t entries) : calls_(entries) {
  free_.reserve(entries);
  for (uint32_t i = entries; i > 0; --i) free_.push_back(i - 1);
}

CallInFlight* CallTable::Take(uint64_t* value) {
  if (free_.empty()) return nullptr;
  const uint32_t index = free_.back();
  free_.pop_back();
  CallInFlight& call = calls_[index];
  const uint32_t generation = call.generation + 1;
  call = CallInFlight{};
  call.generation = generation;
  call.in_use = true;
  *value = uint64_t{generation} << 32 | index;
  return &call;
}

CallInFlight* CallTable::Find(uint64_t value) {
  const uint64_t index = value & 0xffffffff;
  if (index >= calls_.size()) return nullptr;
  CallInFlight& call = calls_[index];
  return call.in_use && call.generation == value >> 32 ? &call : nullptr;
}

void CallTable::Release(CallInFlight* call) {
  call->in_use = false;
  call->copy_blocks.reset();
  free_.push_back(static_cast<uint32_t>(call - calls_.data()));
}

}  // namespace copse::client
