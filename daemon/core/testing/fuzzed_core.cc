// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/testing/fuzzed_core.h"

#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/ids.h"
#include "base/log.h"

namespace copse::daemon {
namespace {

constexpr int kStepsMax = 64;
constexpr int kTurnsMax = 1000;

}  // namespace

std::string EncodeStep(StepHead head, std::string_view body) {
  head.bytes = static_cast<uint16_t>(body.size());
  return std::string(reinterpret_cast<const char*>(&head), sizeof(head)) + std::string(body);
}

FuzzedCore::FuzzedCore()
    : core_(&clock_, &transport_, this, {.node = {.name = "n0", .incarnation = Incarnation(kIncarnation)}}) {
  SetLogLevel(LogLevel::kError);
  Attach();
}

void FuzzedCore::Attach() {
  const auto attached = core_.Attach({.uid = 1, .pid = 1}, this);
  CHECK(attached.ok());
  client_ = *attached;
  unanswered_.clear();
}

void FuzzedCore::Run(std::string_view input) {
  for (int i = 0; i < kStepsMax && input.size() >= sizeof(StepHead); ++i) {
    StepHead head;
    std::memcpy(&head, input.data(), sizeof(head));
    input.remove_prefix(sizeof(head));
    const std::string_view body = input.substr(0, head.bytes);
    input.remove_prefix(body.size());
    Take(head, body);
    Turn();
  }
}

void FuzzedCore::OnEvent(const ClientEvent& event) { CHECK(unanswered_.erase(event.value) == 1); }

void FuzzedCore::Post(CallPost post) {
  post.team = handle_;
  post.send = memory_.emplace_back(post.send_bytes).data();
  post.receive = memory_.emplace_back(post.receive_bytes).data();
  post.value = memory_.size();
  unanswered_.insert(post.value);
  core_.Post(client_, std::move(post));
}

void FuzzedCore::Turn() {
  for (int i = 0; core_.Progress(); ++i) CHECK(i < kTurnsMax);
  core_.CheckInvariants();
  transport_.sent.clear();
}

void FuzzedCore::End() {
  core_.Detach(client_, /*died=*/true, "the end");
  Turn();
}

}  // namespace copse::daemon
