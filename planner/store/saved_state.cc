// SPDX-License-Identifier: Apache-2.0
#include "planner/store/saved_state.h"

#include <algorithm>
#include <future>
#include <memory>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/encoding/compression.h"
#include "base/encoding/sha256.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "planner/store/team_record_codec.h"
#include "proto/copse/v1/store.pb.h"
#include "rpc/text.h"

namespace copse::planner {
namespace {

using coordinator::Snapshot;
using coordinator::StoreChange;

constexpr char kMagic[] = "copse-state ";
constexpr size_t kFirstLineMax = 100;
// A damaged length must not take all memory.
constexpr uint64_t kBytesMax = uint64_t{1} << 32;

absl::StatusOr<Snapshot> Take(const v1::SavedState& proto) {
  Snapshot snapshot;
  snapshot.cluster = proto.cluster();
  snapshot.cluster_is_new = proto.cluster_is_new();
  snapshot.term = proto.term();
  snapshot.since = proto.since();
  for (const std::string& node : proto.draining()) {
    const auto why = proto.drain_reasons().find(node);
    snapshot.draining[node] = why == proto.drain_reasons().end() ? "" : why->second;
  }
  for (const uint64_t team : proto.aborted()) snapshot.aborted.insert(TeamId(team));
  for (const v1::StoredTeam& team : proto.team()) {
    ASSIGN_OR_RETURN(coordinator::TeamRecord record, DeserializeTeam(team.SerializeAsString()));
    const TeamId id = record.layout.id;
    snapshot.teams.emplace(id, std::move(record));
  }
  for (const v1::StoredTopology& topology : proto.topology()) {
    snapshot.topologies[topology.version()] = {.version = topology.version(),
                                               .applied = absl::FromUnixNanos(topology.applied_ns()),
                                               .source = topology.source(),
                                               .from_file = topology.from_file(),
                                               .text = topology.text()};
  }
  return snapshot;
}

absl::Status CommitAll(std::vector<StoreChange> changes, coordinator::Store* store) {
  const auto done = std::make_shared<std::promise<absl::Status>>();
  store->Commit(std::move(changes), [done](const absl::Status& status) { done->set_value(status); });
  return done->get_future().get();
}

}  // namespace

uint64_t RowSum(std::string_view table, std::string_view key, std::string_view value) {
  uint64_t sum = kFnv1a64Seed;
  for (const std::string_view part : {table, key, value}) {
    sum = Fnv1a64(part, Fnv1a64(absl::StrCat(part.size(), ":"), sum));
  }
  return sum;
}

std::string EncodeState(const Snapshot& snapshot, absl::Time now) {
  v1::SavedState proto;
  proto.set_cluster(snapshot.cluster);
  proto.set_cluster_is_new(snapshot.cluster_is_new);
  proto.set_term(snapshot.term);
  proto.set_since(snapshot.since);
  for (const auto& [node, why] : snapshot.draining) {
    proto.add_draining(rpc::ToUtf8(node));
    if (!why.empty()) (*proto.mutable_drain_reasons())[rpc::ToUtf8(node)] = rpc::ToUtf8(why);
  }
  for (const TeamId team : snapshot.aborted) proto.add_aborted(team.value());
  for (const auto& [id, record] : snapshot.teams) CHECK(proto.add_team()->ParseFromString(SerializeTeam(record)));
  for (const auto& [number, version] : snapshot.topologies) {
    v1::StoredTopology* const topology = proto.add_topology();
    topology->set_version(version.version);
    topology->set_applied_ns(absl::ToUnixNanos(version.applied));
    topology->set_source(rpc::ToUtf8(version.source));
    topology->set_from_file(version.from_file);
    topology->set_text(version.text);
  }
  proto.set_saved_ns(absl::ToUnixNanos(now));
  proto.set_version(kVersion);
  const std::string zstd = Compressed(proto.SerializeAsString());
  return absl::StrCat(kMagic, kSavedStateFormat, " ", absl::BytesToHexString(Sha256(zstd)), "\n", zstd);
}

absl::StatusOr<Snapshot> DecodeState(const std::string& file) {
  const size_t end = file.substr(0, kFirstLineMax).find('\n');
  if (!absl::StartsWith(file, kMagic) || end == std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat("no saved state of a planner (bytes=", file.size(), ")"));
  }
  const std::string line = file.substr(0, end);
  const std::vector<std::string> words = absl::StrSplit(line, ' ');
  int format = 0;
  if (words.size() < 2 || !absl::SimpleAtoi(words[1], &format)) {
    return absl::InvalidArgumentError(absl::StrCat("no saved state of a planner (line=", absl::CEscape(line), ")"));
  }
  if (format != kSavedStateFormat) {
    return absl::FailedPreconditionError(absl::StrCat("the state was saved in another format (format=", format,
                                                      ", this program's=", kSavedStateFormat, ")"));
  }
  const std::string_view zstd = std::string_view(file).substr(end + 1);
  const std::string sum = absl::BytesToHexString(Sha256(zstd));
  if (words.size() != 3 || words[2] != sum) {
    return absl::DataLossError(absl::StrCat("the saved state is damaged (sha256=", sum,
                                            ", recorded=", absl::CEscape(words.back()), ", bytes=", file.size(), ")"));
  }
  const absl::StatusOr<std::string> bytes = Decompressed(zstd, kBytesMax);
  v1::SavedState proto;
  if (!bytes.ok() || !proto.ParseFromString(*bytes)) {
    return absl::DataLossError(absl::StrCat("the saved state is damaged (bytes=", file.size(), ")"));
  }
  return Take(proto);
}

absl::Status RestoreState(Snapshot next, bool replace, coordinator::Store* store) {
  ASSIGN_OR_RETURN(const Snapshot present, store->Load());
  const bool is_empty = present.teams.empty() && present.draining.empty() && present.aborted.empty() &&
                        (present.cluster.empty() || present.cluster_is_new);
  if (!is_empty && !replace) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the store is not empty, and --replace-state is not given (cluster=", present.cluster, ", term=", present.term,
        ", teams=", present.teams.size(), ", draining=", present.draining.size(), ")"));
  }
  next.term = std::max(next.term, present.term);
  Outdate(next);
  std::vector<StoreChange> changes;
  for (const auto& [id, record] : present.teams) {
    if (next.teams.count(id) == 0) changes.emplace_back(coordinator::DropTeam{id});
  }
  for (const auto& [node, why] : present.draining) {
    if (next.draining.count(node) == 0) changes.emplace_back(coordinator::PutDraining{node, false});
  }
  for (const auto& [number, version] : present.topologies) {
    if (next.topologies.count(number) == 0) changes.emplace_back(coordinator::DropTopology{number});
  }
  for (auto& [number, version] : next.topologies) {
    changes.emplace_back(
        coordinator::PutTopology{std::make_shared<const coordinator::TopologyVersion>(std::move(version))});
  }
  for (auto& [id, record] : next.teams) {
    changes.emplace_back(coordinator::PutTeam{std::make_shared<const coordinator::TeamRecord>(std::move(record))});
  }
  for (const auto& [node, why] : next.draining) changes.emplace_back(coordinator::PutDraining{node, true, why});
  for (const TeamId team : next.aborted) changes.emplace_back(coordinator::PutAborted{team});
  changes.emplace_back(coordinator::PutCluster{next.cluster, next.cluster_is_new});
  changes.emplace_back(coordinator::PutTerm{next.term, next.since});
  return CommitAll(std::move(changes), store);
}

}  // namespace copse::planner
