// SPDX-License-Identifier: Apache-2.0

#include "client/context/subteam.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>

#include "base/hash.h"
#include "client/context/team.h"
#include "client/port/error.h"
#include "protocol/attach_protocol.h"

namespace copse::client {
namespace {

constexpr uint64_t kWays =
    COPSE_SUBTEAM_PARAM_FIELD_INCLUDED | COPSE_SUBTEAM_PARAM_FIELD_COLOR | COPSE_SUBTEAM_PARAM_FIELD_RANKS;
constexpr uint64_t kSubteamFields = kWays | COPSE_SUBTEAM_PARAM_FIELD_KEY | COPSE_SUBTEAM_PARAM_FIELD_TIMEOUT;

copse_status_t RecordOfList(const uint32_t* ranks, uint32_t count, uint32_t rank, uint32_t size,
                            SubteamRecord* record) {
  if (ranks == nullptr && count > 0) return Fail(COPSE_ERR_INVALID_ARGUMENT, "ranks is NULL (rank_count=%u)", count);
  std::vector<bool> listed(size);
  for (uint32_t i = 0; i < count; ++i) {
    if (ranks[i] >= size) {
      return Fail(COPSE_ERR_INVALID_ARGUMENT, "no such rank in the parent (rank=%u, size=%u)", ranks[i], size);
    }
    if (listed[ranks[i]]) return Fail(COPSE_ERR_INVALID_ARGUMENT, "a rank is listed twice (rank=%u)", ranks[i]);
    listed[ranks[i]] = true;
    if (ranks[i] != rank) continue;
    record->color = ranks[0];
    record->key = i;
  }
  if (count > 0) {
    record->ranks_hash = Fnv1a64({reinterpret_cast<const char*>(ranks), count * sizeof(*ranks)}) | 1;
  }
  return COPSE_OK;
}

// Exchanges all members' records by sums on the parent: each rank contributes its own record and zeros for all others.
// Makes as many calls as the limit of a message's length requires.
copse_status_t Exchange(copse_team_t* parent, const SubteamRecord& mine, std::vector<SubteamRecord>* all) {
  constexpr uint64_t kWords = sizeof(SubteamRecord) / sizeof(uint64_t);
  copse_context_t* context = parent->context;
  all->assign(parent->size, SubteamRecord{0, 0, 0});
  (*all)[parent->rank] = mine;
  auto* words = reinterpret_cast<uint64_t*>(all->data());
  const uint64_t total = parent->size * kWords;
  const uint64_t step = std::max<uint64_t>(1, context->message_bytes_max() / sizeof(uint64_t));
  const Deadline deadline = DeadlineAfter(context->timeout_s());
  for (uint64_t done = 0; done < total; done += step) {
    CallPlan plan;
    plan.collective = COPSE_COLL_ALLREDUCE;
    plan.type = COPSE_DT_UINT64;
    plan.op = COPSE_OP_SUM;
    plan.count = std::min(step, total - done);
    plan.receive.kind = BufferKind::kOne;
    plan.receive.address = reinterpret_cast<uint8_t*>(words + done);
    plan.receive.bytes = plan.receive.span = plan.count * sizeof(uint64_t);
    plan.send = plan.receive;
    plan.nesting = Nesting::kSendInReceive;
    plan.in_place = true;
    if (const auto status = context->completion().Call(parent->member(), parent->name, plan, deadline);
        status != COPSE_OK)
      return status;
  }
  return COPSE_OK;
}

}  // namespace

copse_status_t MakeRecord(const copse_subteam_params_t& params, uint32_t rank, uint32_t size, SubteamRecord* record) {
  if ((params.mask & ~kSubteamFields) != 0) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "unknown fields in copse_subteam_params_t (mask=0x%llx, known=0x%llx)",
                static_cast<unsigned long long>(params.mask), static_cast<unsigned long long>(kSubteamFields));
  }
  const uint64_t way = params.mask & kWays;
  if (way == 0 || (way & (way - 1)) != 0) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "give one of included, color and ranks (mask=0x%llx)",
                static_cast<unsigned long long>(params.mask));
  }
  SubteamRecord result;
  if (way == COPSE_SUBTEAM_PARAM_FIELD_INCLUDED) {
    if (params.included != 0) result.color = 0;
  } else if (way == COPSE_SUBTEAM_PARAM_FIELD_COLOR) {
    result.color = params.color;
  } else {
    const auto status = RecordOfList(params.ranks, params.rank_count, rank, size, &result);
    if (status != COPSE_OK) return status;
  }
  if ((params.mask & COPSE_SUBTEAM_PARAM_FIELD_KEY) != 0) {
    if (way != COPSE_SUBTEAM_PARAM_FIELD_COLOR) {
      return Fail(COPSE_ERR_INVALID_ARGUMENT, "key goes with color only (key=%lld)",
                  static_cast<long long>(params.key));
    }
    result.key = params.key;
  }
  if ((params.mask & COPSE_SUBTEAM_PARAM_FIELD_TIMEOUT) != 0 && std::isnan(params.timeout)) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "the time-out is not a number (timeout=nan)");
  }
  *record = result;
  return COPSE_OK;
}

std::vector<uint32_t> MembersOf(const std::vector<SubteamRecord>& records, uint32_t rank) {
  std::vector<uint32_t> members;
  const int64_t color = records[rank].color;
  if (color == COPSE_UNDEFINED) return members;
  for (uint32_t i = 0; i < records.size(); ++i) {
    if (records[i].color == color) members.push_back(i);
  }
  std::stable_sort(members.begin(), members.end(),
                   [&](uint32_t a, uint32_t b) { return records[a].key < records[b].key; });
  return members;
}

copse_status_t CheckSameList(const std::vector<SubteamRecord>& records, const std::vector<uint32_t>& members) {
  for (const uint32_t member : members) {
    if (records[member].ranks_hash != records[members[0]].ranks_hash) {
      return Fail(COPSE_ERR_MISMATCH, "members gave different lists of ranks (rank=%u, other=%u)", member, members[0]);
    }
  }
  return COPSE_OK;
}

copse_status_t CheckAllListed(const copse_subteam_params_t& params, const std::vector<uint32_t>& members) {
  if ((params.mask & COPSE_SUBTEAM_PARAM_FIELD_RANKS) == 0) return COPSE_OK;
  // CheckSameList has passed, and MembersOf orders members by their places in the list.
  for (uint32_t i = 0; i < params.rank_count; ++i) {
    if (i < members.size() && members[i] == params.ranks[i]) continue;
    return Fail(COPSE_ERR_MISMATCH, "members gave different lists of ranks (rank=%u, members=%zu, rank_count=%u)",
                params.ranks[i], members.size(), params.rank_count);
  }
  return COPSE_OK;
}

std::string SubteamName(const std::string& parent, uint64_t number) {
  const std::string suffix = "/" + std::to_string(number);
  if (parent.size() + suffix.size() < attach::kNameBytes) return parent + suffix;
  char hash[20];
  snprintf(hash, sizeof(hash), "~%016" PRIx64, Fnv1a64(parent));
  return parent.substr(0, attach::kNameBytes / 2) + hash + suffix;
}

copse_status_t CreateSubteam(copse_team_t* parent, const copse_subteam_params_t& params, copse_team_t** team) {
  SubteamRecord mine;
  if (const auto status = MakeRecord(params, parent->rank, parent->size, &mine); status != COPSE_OK) return status;
  copse_context_t* context = parent->context;
  uint64_t number = 0;
  {
    const copse_context::Lock lock(&context->completion());
    number = ++parent->subteams;
  }
  std::vector<SubteamRecord> records;
  if (const auto status = Exchange(parent, mine, &records); status != COPSE_OK) return status;
  const std::vector<uint32_t> members = MembersOf(records, parent->rank);
  if (members.empty()) return COPSE_OK;
  if (const auto status = CheckSameList(records, members); status != COPSE_OK) return status;
  if (const auto status = CheckAllListed(params, members); status != COPSE_OK) return status;
  TeamSpec spec;
  spec.name = SubteamName(parent->name, number);
  spec.rank = static_cast<uint32_t>(std::find(members.begin(), members.end(), parent->rank) - members.begin());
  spec.size = static_cast<uint32_t>(members.size());
  // Sub-teams of one creation differ in their first member, and a cluster never uses a team's id twice.
  spec.nonce = Mix64(Mix64(parent->id) ^ Mix64(number << 32 | members[0])) | 1;
  spec.parent = parent->handle;
  spec.timeout_s = (params.mask & COPSE_SUBTEAM_PARAM_FIELD_TIMEOUT) != 0 ? params.timeout : context->timeout_s();
  return FormTeam(context, spec, team);
}

}  // namespace copse::client
