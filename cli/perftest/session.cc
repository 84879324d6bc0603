// SPDX-License-Identifier: Apache-2.0
#include "cli/perftest/session.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "base/string_view.h"

namespace copse::perftest {
namespace {

// Hashes the options that must be equal on all ranks, since they determine which calls are made. The seed is excluded:
// tests pass different ones to see the data check fail.
uint64_t Fingerprint(const Options& options) {
  std::string text;
  for (const Collective collective : options.collectives) {
    absl::StrAppend(&text, AbslView(CollectiveName(collective)), ",");
  }
  for (const uint64_t count : options.counts) absl::StrAppend(&text, count, ",");
  absl::StrAppend(&text, AbslView(TypeName(options.type)), ",", AbslView(ElementOpName(options.operation)), ",",
                  options.roots.first, ",", options.roots.shift, ",", static_cast<int>(options.mode), ",",
                  options.back_to_back, ",", options.check);
  absl::StrAppend(&text, ",", options.repetitions.small.iterations, ",", options.repetitions.large.iterations, ",",
                  options.repetitions.small.warmup, ",", options.repetitions.large.warmup, ",",
                  options.repetitions.large_bytes, ",", static_cast<int>(options.counts_kind), ",",
                  options.counts_known, ",", options.reproducible);
  return Fnv1a64(text);
}

absl::Status AllReduce(copse_team_t* team, uint64_t* values, uint64_t count, copse_op_t op) {
  return ToStatus(copse_allreduce(team, COPSE_IN_PLACE, values, count, COPSE_DT_UINT64, op));
}

}  // namespace

absl::Status ToStatus(copse_status_t status) {
  if (status >= COPSE_OK) return absl::OkStatus();
  std::string_view why = copse_last_error();
  constexpr std::string_view kPrefix = "copse: ";
  if (why.substr(0, kPrefix.size()) == kPrefix) why.remove_prefix(kPrefix.size());
  const std::string text(why);
  switch (status) {
    case COPSE_ERR_NO_DAEMON:
      return absl::UnavailableError(text);
    case COPSE_ERR_TIMED_OUT:
      return absl::DeadlineExceededError(text);
    case COPSE_ERR_NOT_SUPPORTED:
      return absl::UnimplementedError(text);
    default:
      return absl::AbortedError(text);
  }
}

absl::StatusOr<std::unique_ptr<Session>> Session::Join(const Options& options) {
  std::unique_ptr<Session> session(new Session);
  session->rank_ = options.member.rank;
  session->ranks_ = options.member.ranks;
  // Only the environment can set the time-out of blocking calls.
  if (options.member.timeout_s.has_value()) setenv("COPSE_TIMEOUT", absl::StrCat(*options.member.timeout_s).c_str(), 1);
  RETURN_IF_ERROR(ToStatus(copse_init(nullptr, &session->context_)));
  copse_context_attr_t attr{};
  attr.mask = COPSE_CONTEXT_ATTR_FIELD_NODE | COPSE_CONTEXT_ATTR_FIELD_MESSAGE_BYTES_MAX;
  RETURN_IF_ERROR(ToStatus(copse_context_get_attr(session->context_, &attr)));
  session->message_bytes_max_ = attr.message_bytes_max;

  copse_team_params_t params{};
  params.mask = COPSE_TEAM_PARAM_FIELD_NAME | COPSE_TEAM_PARAM_FIELD_RANK | COPSE_TEAM_PARAM_FIELD_SIZE;
  params.name = options.member.team.c_str();
  params.rank = options.member.rank;
  params.size = options.member.ranks;
  RETURN_IF_ERROR(ToStatus(copse_team_create(session->context_, &params, &session->team_)));
  RETURN_IF_ERROR(session->Agree(options));
  RETURN_IF_ERROR(session->CountNodes(attr.node));
  return session;
}

Session::~Session() {
  // Errors are ignored: there is nothing to do about them at the end.
  if (team_ != nullptr) copse_team_destroy(team_);
  if (context_ != nullptr) copse_fini(context_);
}

absl::Status Session::Agree(const Options& options) {
  const uint64_t mine = Fingerprint(options);
  uint64_t values[] = {mine, ~mine, message_bytes_max_};
  RETURN_IF_ERROR(AllReduce(team_, values, 3, COPSE_OP_MIN));
  if (values[0] != mine || ~values[1] != mine) {
    return absl::FailedPreconditionError(absl::StrCat("the ranks' options differ (rank=", rank_, ")"));
  }
  message_bytes_max_ = values[2];
  return absl::OkStatus();
}

absl::Status Session::CountNodes(const std::string& node) {
  const uint64_t chunk = message_bytes_max_ / sizeof(uint64_t);
  std::map<uint64_t, uint32_t> ranks_of_node;
  for (uint64_t first = 0; first < ranks_; first += chunk) {
    std::vector<uint64_t> names(std::min<uint64_t>(chunk, ranks_ - first));
    if (first <= rank_ && rank_ < first + names.size()) names[rank_ - first] = Fnv1a64(node);
    RETURN_IF_ERROR(AllReduce(team_, names.data(), names.size(), COPSE_OP_BOR));
    for (const uint64_t name : names) ++ranks_of_node[name];
  }
  nodes_ = static_cast<uint32_t>(ranks_of_node.size());
  for (const auto& [name, ranks] : ranks_of_node) ranks_per_node_ = std::max(ranks_per_node_, ranks);
  return absl::OkStatus();
}

absl::Status Session::Combine(copse_op_t op, std::vector<double>* values) {
  const uint64_t chunk = message_bytes_max_ / sizeof(double);
  for (uint64_t first = 0; first < values->size(); first += chunk) {
    const uint64_t count = std::min<uint64_t>(chunk, values->size() - first);
    RETURN_IF_ERROR(
        ToStatus(copse_allreduce(team_, COPSE_IN_PLACE, values->data() + first, count, COPSE_DT_DOUBLE, op)));
  }
  return absl::OkStatus();
}

}  // namespace copse::perftest
