// SPDX-License-Identifier: Apache-2.0

#include "client/context/context.h"

#include <utility>
#include <vector>

#include "client/port/control_channel.h"
#include "client/port/deadline.h"
#include "client/port/error.h"
#include "client/port/log.h"
#include "protocol/attach_protocol.h"

namespace attach = copse::attach;
using copse::client::ControlChannel;
using copse::client::Deadline;
using copse::client::DeadlineAfter;
using copse::client::Handle;
using copse::client::Log;
using copse::client::LogLevel;

namespace {

constexpr double kLeaveSeconds = 10;

}  // namespace

copse_status_t copse_context::Attach(const copse_init_params_t& params) {
  std::unique_ptr<copse::client::Port> port;
  if (const auto status = attachment_.Attach(params, &port); status != COPSE_OK) return status;
  completion_.Start(std::move(port));
  return COPSE_OK;
}

void copse_context::Detach() {
  Handles owned;
  std::vector<uint32_t> teams;
  {
    const Lock lock(&completion_);
    owned.swap(handles_);
  }
  for (const auto& [handle, owner] : owned) {
    if (handle->Is(Kind::kTeam)) teams.push_back(static_cast<copse_team*>(handle)->handle);
  }
  const std::vector<uint32_t> leaving = completion_.EndAll();
  teams.insert(teams.end(), leaving.begin(), leaving.end());
  // The daemon must have left the teams before the socket is closed; otherwise it treats that as the process's death.
  const Deadline deadline = DeadlineAfter(kLeaveSeconds);
  for (const uint32_t team : teams) {
    ControlChannel::Answer answer;
    const auto left = attachment_.channel().Ask(attach::MessageType::kTeamDestroy, attach::TeamDestroy{{}, team, 0},
                                                attach::MessageType::kDone, deadline, &answer);
    if (left == COPSE_OK) continue;
    Log(LogLevel::kWarning, "leaving without the daemon's answer (node=%s)", attachment_.node());
    break;
  }
  for (auto& [handle, owner] : owned) Retire(std::move(owner));
  completion_.Stop();
  attachment_.Close();
}

void copse_context::LeaveAllTeams() {
  std::vector<std::unique_ptr<Handle>> gone;
  {
    const Lock lock(&completion_);
    std::vector<copse_team*> teams;
    for (const auto& [handle, owner] : handles_) {
      if (handle->Is(Kind::kTeam)) teams.push_back(static_cast<copse_team*>(handle));
    }
    for (copse_team* team : teams) {
      if (team->running > 0) continue;
      bool left_later = false;
      gone.push_back(TakeTeam(lock, team, &left_later));
      if (left_later) continue;
      attachment_.channel().Tell(attach::MessageType::kTeamDestroy, attach::TeamDestroy{{}, team->handle, 0});
    }
  }
  for (std::unique_ptr<Handle>& team : gone) Retire(std::move(team));
}

std::unique_ptr<Handle> copse_context::TakeTeam(const Lock& lock, copse_team* team, bool* left_later) {
  std::unique_ptr<Handle> owner = Take(lock, team);
  if (owner == nullptr) return nullptr;
  for (const auto& [handle, other] : handles_) {
    if (!handle->Is(Kind::kRequest)) continue;
    auto* const request = static_cast<copse_request*>(handle);
    if (request->team == team) request->team = nullptr;
  }
  *left_later = completion_.LeaveLater(lock, team->handle);
  return owner;
}

void copse_context::DropInChild() {
  attachment_.channel().CloseInChild();
  completion_.Stop();
}

namespace copse::client {

copse_status_t Check(const copse_context_t* context) {
  if (context == nullptr) return Fail(COPSE_ERR_INVALID_ARGUMENT, "the context is NULL");
  if (!context->Is(Handle::Kind::kContext)) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "invalid context handle: not a context, or finalized already (context=%p)",
                static_cast<const void*>(context));
  }
  if (context->forked()) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT,
                "the context belongs to the parent of this forked process; call copse_init");
  }
  return COPSE_OK;
}

copse_status_t Check(const copse_team_t* team) {
  if (team == nullptr) return Fail(COPSE_ERR_INVALID_ARGUMENT, "the team is NULL");
  if (!team->Is(Handle::Kind::kTeam)) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "invalid team handle: not a team, or destroyed already (team=%p)",
                static_cast<const void*>(team));
  }
  return Check(team->context);
}

copse_status_t Check(const copse_request_t* request) {
  if (request == nullptr) return Fail(COPSE_ERR_INVALID_ARGUMENT, "the request is NULL");
  if (!request->Is(Handle::Kind::kRequest)) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "the request was finalised, or this is none (request=%p)",
                static_cast<const void*>(request));
  }
  return Check(request->context);
}

}  // namespace copse::client
