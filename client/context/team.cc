// SPDX-License-Identifier: Apache-2.0

#include "client/context/team.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "client/port/error.h"
#include "client/port/log.h"
#include "client/port/nonce.h"

namespace copse::client {
namespace {

constexpr double kAnswerSeconds = 5;  // longest wait for the daemon's answer after a formation's time-out
constexpr uint64_t kTeamFields = COPSE_TEAM_PARAM_FIELD_NAME | COPSE_TEAM_PARAM_FIELD_RANK |
                                 COPSE_TEAM_PARAM_FIELD_SIZE | COPSE_TEAM_PARAM_FIELD_OOB |
                                 COPSE_TEAM_PARAM_FIELD_NONCE | COPSE_TEAM_PARAM_FIELD_TIMEOUT |
                                 COPSE_TEAM_PARAM_FIELD_PARENT;

copse_status_t CheckName(const std::string& name) {
  if (name.empty() || name.size() >= attach::kNameBytes) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "the team's name is empty or too long (bytes=%zu, limit=%u)", name.size(),
                attach::kNameBytes - 1);
  }
  for (const char c : name) {
    if (c < ' ' || c == 127) {
      return Fail(COPSE_ERR_INVALID_ARGUMENT, "the team's name has a character that is not printable ASCII (code=%d)",
                  static_cast<unsigned char>(c));
    }
  }
  return COPSE_OK;
}

copse_status_t Allgather(const copse_oob_coll_t& oob, void* mine, void* all, size_t bytes) {
  void* request = nullptr;
  copse_status_t status = oob.allgather(mine, all, bytes, oob.coll_info, &request);
  if (status < 0) {
    return Fail(StatusFromWire(status), "the out-of-band allgather failed to start (status=%d)",
                static_cast<int>(status));
  }
  while ((status = oob.req_test(request)) == COPSE_INPROGRESS) sched_yield();
  oob.req_free(request);
  if (status == COPSE_OK) return COPSE_OK;
  // A callback may return any number; one that is no status, or COPSE_INPROGRESS, must not look like success.
  return Fail(StatusFromWire(status), "the out-of-band allgather failed (status=%d)", static_cast<int>(status));
}

// An OobRecord is one member's contribution to the out-of-band allgather. Each member checks that all records have its
// own team's name and size, and the rank of their place.
struct OobRecord {
  uint64_t nonce;  // the one of rank 0 is used
  uint64_t name_hash;
  uint32_t rank;
  uint32_t size;
};

copse_status_t AgreeOutOfBand(const copse_oob_coll_t& oob, TeamSpec* spec) {
  OobRecord mine{spec->nonce != 0 ? spec->nonce : RandomNonce(), Fnv1a64(spec->name), spec->rank, spec->size};
  std::vector<OobRecord> all(spec->size);
  if (const auto status = Allgather(oob, &mine, all.data(), sizeof(mine)); status != COPSE_OK) return status;
  for (uint32_t rank = 0; rank < spec->size; ++rank) {
    if (all[rank].rank != rank || all[rank].size != spec->size || all[rank].name_hash != mine.name_hash) {
      return Fail(COPSE_ERR_MISMATCH,
                  "members disagree on the team's name, size or ranks (rank=%u, its_rank=%u, its_size=%u, size=%u)",
                  rank, all[rank].rank, all[rank].size, spec->size);
    }
  }
  spec->nonce = all[0].nonce;
  return COPSE_OK;
}

}  // namespace

copse_status_t CreateTeam(copse_context_t* context, const copse_team_params_t& params, copse_team_t** team) {
  const auto has = [&](uint64_t field) { return (params.mask & field) != 0; };
  if ((params.mask & ~kTeamFields) != 0) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "unknown fields in copse_team_params_t (mask=0x%llx, known=0x%llx)",
                static_cast<unsigned long long>(params.mask), static_cast<unsigned long long>(kTeamFields));
  }
  const bool oob = has(COPSE_TEAM_PARAM_FIELD_OOB);
  if (oob == (has(COPSE_TEAM_PARAM_FIELD_RANK) || has(COPSE_TEAM_PARAM_FIELD_SIZE)) ||
      has(COPSE_TEAM_PARAM_FIELD_RANK) != has(COPSE_TEAM_PARAM_FIELD_SIZE)) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "give either rank and size, or oob (mask=0x%llx)",
                static_cast<unsigned long long>(params.mask));
  }
  TeamSpec spec;
  spec.rank = oob ? params.oob.oob_ep : params.rank;
  spec.size = oob ? params.oob.n_oob_eps : params.size;
  if (spec.rank >= spec.size) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "no such rank (rank=%u, size=%u)", spec.rank, spec.size);
  }
  if (oob && (params.oob.allgather == nullptr || params.oob.req_test == nullptr || params.oob.req_free == nullptr)) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "an out-of-band callback is missing (callback=NULL)");
  }
  if (has(COPSE_TEAM_PARAM_FIELD_NAME)) {
    if (params.name == nullptr) return Fail(COPSE_ERR_INVALID_ARGUMENT, "the team has no name (name=NULL)");
    spec.name = params.name;
  } else if (oob) {
    spec.name = "oob";  // the nonce distinguishes such teams
  }
  if (const auto status = CheckName(spec.name); status != COPSE_OK) return status;
  if (has(COPSE_TEAM_PARAM_FIELD_NONCE)) spec.nonce = params.nonce;
  spec.timeout_s = has(COPSE_TEAM_PARAM_FIELD_TIMEOUT) ? params.timeout : context->timeout_s();
  if (std::isnan(spec.timeout_s)) return Fail(COPSE_ERR_INVALID_ARGUMENT, "the time-out is not a number (timeout=nan)");
  if (has(COPSE_TEAM_PARAM_FIELD_PARENT)) {
    if (params.parent == nullptr) return Fail(COPSE_ERR_INVALID_ARGUMENT, "there is no parent (parent=NULL)");
    if (!params.parent->Is(Handle::Kind::kTeam) || params.parent->context != context) {
      return Fail(COPSE_ERR_INVALID_ARGUMENT, "the parent is no team of this context");
    }
    if (spec.size > params.parent->size) {
      return Fail(COPSE_ERR_INVALID_ARGUMENT, "a sub-team is larger than its parent (size=%u, limit=%u)", spec.size,
                  params.parent->size);
    }
    spec.parent = params.parent->handle;
  }
  if (oob) {
    if (const auto status = AgreeOutOfBand(params.oob, &spec); status != COPSE_OK) return status;
  }
  return FormTeam(context, spec, team);
}

copse_status_t FormTeam(copse_context_t* context, const TeamSpec& spec, copse_team_t** team) {
  attach::TeamCreate request{};
  request.parent = spec.parent;
  request.rank = spec.rank;
  request.size = spec.size;
  request.nonce = spec.nonce;
  request.timeout_s = std::max(spec.timeout_s, 0.0);
  memcpy(request.name, spec.name.data(), std::min(spec.name.size(), sizeof(request.name) - 1));
  // The daemon ends a formation at its time-out and reports which ranks are missing. The deadline here is later, and
  // passes only if the daemon is stuck.
  const Deadline deadline = spec.timeout_s > 0 ? DeadlineAfter(spec.timeout_s + kAnswerSeconds) : kNever;
  ControlChannel::Answer answer;
  if (const auto status = context->attachment().channel().Ask(attach::MessageType::kTeamCreate, request,
                                                              attach::MessageType::kTeamReady, deadline, &answer);
      status != COPSE_OK) {
    return status;
  }
  auto ready = answer.As<attach::TeamReady>();
  ready.text[sizeof(ready.text) - 1] = '\0';
  if (ready.status != COPSE_OK) {
    const auto status = StatusFromWire(ready.status);
    return FailWith(status, ready.facts, "team %s: %s", spec.name.c_str(),
                    ready.text[0] != '\0' ? ready.text : StatusString(status));
  }
  auto result = std::make_unique<copse_team>(context);
  result->name = spec.name;
  result->rank = spec.rank;
  result->size = spec.size;
  result->handle = ready.handle;
  result->id = ready.team;
  Log(LogLevel::kInfo, "team %s is ready (rank=%u, size=%u, id=%llu, nodes=%u)", spec.name.c_str(), spec.rank,
      spec.size, static_cast<unsigned long long>(ready.team), ready.node_count);
  *team = result.get();
  const copse_context::Lock lock(&context->completion());
  context->Add(lock, std::move(result));
  return COPSE_OK;
}

copse_status_t DestroyTeam(copse_team_t* team) {
  copse_context_t* context = team->context;
  std::unique_ptr<Handle> owner;
  {
    const copse_context::Lock lock(&context->completion());
    if (team->running > 0) {
      return Fail(COPSE_ERR_INVALID_ARGUMENT, "calls of team %s are in progress (calls=%u)", team->name.c_str(),
                  team->running);
    }
    bool left_later = false;
    owner = context->TakeTeam(lock, team, &left_later);
    if (owner == nullptr) return Fail(COPSE_ERR_INVALID_ARGUMENT, "the team was destroyed");
    if (left_later) {
      Handle::Retire(std::move(owner));
      return COPSE_OK;
    }
  }
  // No answer is awaited: no call is in flight, and the daemon reads what this process sends later after this.
  context->attachment().channel().Tell(attach::MessageType::kTeamDestroy, attach::TeamDestroy{{}, team->handle, 0});
  Handle::Retire(std::move(owner));
  return COPSE_OK;
}

}  // namespace copse::client
