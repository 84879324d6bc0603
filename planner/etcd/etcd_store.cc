// SPDX-License-Identifier: Apache-2.0
#include "planner/etcd/etcd_store.h"

#include <fstream>
#include <utility>
#include <variant>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "planner/etcd/operations.h"
#include "planner/etcd/stored_value.h"
#include "planner/server/team_record_codec.h"
#include "proto/copse/v1/store.pb.h"

namespace copse::planner {
namespace {

using coordinator::DropTeam;
using coordinator::PutAborted;
using coordinator::PutDraining;
using coordinator::PutTeam;
using coordinator::PutTerm;
using coordinator::Snapshot;
using coordinator::StoreChange;
using coordinator::TeamRecord;

constexpr int64_t kPageKeys = 500;
constexpr absl::Duration kPageTimeout = absl::Seconds(30);

// Returns what the change is about; of several changes of one thing in a commit, the last one is made.
std::string ThingOf(const StoreChange& change) {
  if (const auto* put = std::get_if<PutTeam>(&change)) return absl::StrCat("team/", put->record->layout.id.value());
  if (const auto* drop = std::get_if<DropTeam>(&change)) return absl::StrCat("team/", drop->team.value());
  if (const auto* draining = std::get_if<PutDraining>(&change)) return "draining/" + draining->node;
  if (const auto* aborted = std::get_if<PutAborted>(&change)) return absl::StrCat("aborted/", aborted->team.value());
  return "term";
}

std::string NewUuid() {
  std::ifstream file("/proc/sys/kernel/random/uuid");
  std::string uuid;
  std::getline(file, uuid);
  return uuid;
}

}  // namespace

EtcdStore::EtcdStore(EtcdClient* client, const std::string& prefix, int64_t fence,
                     std::function<void(std::function<void()>)> post)
    : client_(client),
      prefix_(prefix + "/"),
      post_(std::move(post)),
      writer_(std::make_shared<FencedWriter>(client, prefix, fence)) {}

std::string EtcdStore::TeamKey(TeamId team) const { return absl::StrCat(prefix_, "team/", Padded(team.value())); }
std::string EtcdStore::TopologyKey(uint64_t version) const {
  return absl::StrCat(prefix_, "topology/", Padded(version));
}
std::string EtcdStore::AbortedKey(TeamId team) const { return absl::StrCat(prefix_, "aborted/", Padded(team.value())); }

// --- Changes ---

void EtcdStore::Commit(std::vector<StoreChange> changes, std::function<void(const absl::Status&)> done) {
  std::map<std::string, size_t> last;
  for (size_t i = 0; i < changes.size(); ++i) last[ThingOf(changes[i])] = i;
  Operations operations;
  for (size_t i = 0; i < changes.size(); ++i) {
    if (last[ThingOf(changes[i])] == i) Append(changes[i], &operations);
  }
  writer_->Write(std::move(operations), [post = post_, done = std::move(done)](const absl::Status& status) {
    post([done, status] { done(status); });
  });
}

void EtcdStore::Append(const StoreChange& change, Operations* operations) {
  if (const auto* put = std::get_if<PutTeam>(&change)) {
    AppendPut(TeamKey(put->record->layout.id), SerializeTeam(*put->record), operations);
  } else if (const auto* drop = std::get_if<DropTeam>(&change)) {
    AppendDrop(TeamKey(drop->team), operations);
  } else if (const auto* draining = std::get_if<PutDraining>(&change)) {
    const std::string key = absl::StrCat(prefix_, "draining/", draining->node);
    operations->push_back(draining->draining ? PutOp(key, "") : DeleteOp(key));
  } else if (const auto* term = std::get_if<PutTerm>(&change)) {
    operations->push_back(PutOp(prefix_ + "term", absl::StrCat(term->term, " ", term->since)));
  } else if (const auto* aborted = std::get_if<PutAborted>(&change)) {
    // More than kAbortedMax are dropped by the next Load.
    operations->push_back(PutOp(AbortedKey(aborted->team), ""));
  }
}

void EtcdStore::AppendPut(const std::string& key, const std::string& bytes, Operations* operations) {
  const std::string version = absl::StrCat(writer_->fence(), "-", versions_++);
  bool has_parts = false;
  for (auto& operation : PutValue(key, bytes, version, in_parts_.contains(key), &has_parts)) {
    operations->push_back(std::move(operation));
  }
  if (has_parts) in_parts_.insert(key);
}

void EtcdStore::AppendDrop(const std::string& key, Operations* operations) {
  for (auto& operation : DeleteValue(key, in_parts_.contains(key))) operations->push_back(std::move(operation));
}

absl::Status EtcdStore::Write(Operations operations) {
  return Await<bool>([&](const auto& done) {
           writer_->Write(std::move(operations), [done](const absl::Status& status) {
             if (status.ok()) return done(true);
             done(status);
           });
         })
      .status();
}

absl::Status EtcdStore::SaveTopology(const TopologyVersion& version) {
  v1::StoredTopology stored;
  stored.set_version(version.version);
  stored.set_applied_ns(absl::ToUnixNanos(version.applied));
  stored.set_source(version.source);
  stored.set_from_file(version.from_file);
  stored.set_text(version.text);
  Operations operations;
  AppendPut(TopologyKey(version.version), stored.SerializeAsString(), &operations);
  return Write(std::move(operations));
}

absl::Status EtcdStore::RemoveTopology(uint64_t version) {
  Operations operations;
  AppendDrop(TopologyKey(version), &operations);
  return Write(std::move(operations));
}

// --- Loading ---

absl::StatusOr<EtcdStore::Keys> EtcdStore::Read(const std::string& key, int64_t* revision) {
  etcdserverpb::RangeRequest request;
  request.set_key(key);
  if (key.back() == '/') request.set_range_end(EndOf(key));
  request.set_limit(kPageKeys);
  Keys keys;
  for (bool more = true; more;) {
    request.set_revision(*revision);
    ASSIGN_OR_RETURN(
        auto page, Await<etcdserverpb::RangeResponse>([&](auto done) { client_->Range(request, kPageTimeout, done); }));
    if (*revision == 0) *revision = page.header().revision();
    for (mvccpb::KeyValue& pair : *page.mutable_kvs()) keys[pair.key()] = std::move(*pair.mutable_value());
    more = page.more() && page.kvs_size() > 0;
    // The least key after the last one of the page.
    if (more) request.set_key(page.kvs(page.kvs_size() - 1).key() + std::string(1, '\0'));
  }
  return keys;
}

absl::Status EtcdStore::Parse(const std::string& folder, const Keys& keys,
                              const std::function<absl::Status(uint64_t, const std::string&)>& parse) {
  StoredValues stored = ReadValues(prefix_ + folder, keys);
  Operations changes;
  for (auto& [name, value] : stored.values) {
    uint64_t number = 0;
    absl::Status status = value.bytes.status();
    if (status.ok() && (!absl::SimpleAtoi(name, &number) || Padded(number) != name)) {
      status = absl::InvalidArgumentError("its key is no number");
    }
    if (status.ok()) status = parse(number, *value.bytes);
    if (value.keys.size() > 1) in_parts_.insert(value.keys[0]);
    if (status.ok()) continue;
    COPSE_LOG(kError, "etcd: a value is damaged, and put aside (key=", value.keys[0], "): ", status.message());
    for (const std::string& key : value.keys) {
      changes.push_back(PutOp(absl::StrCat(prefix_, "damaged/", key.substr(prefix_.size())), keys.at(key)));
      changes.push_back(DeleteOp(key));
    }
  }
  for (const std::string& key : stored.unused) changes.push_back(DeleteOp(key));
  return changes.empty() ? absl::OkStatus() : Write(std::move(changes));
}

absl::StatusOr<Snapshot> EtcdStore::Load() {
  RETURN_IF_ERROR(Write({}));  // ABORTED if another planner leads; else nobody has changed what is read below
  Snapshot snapshot;
  int64_t revision = 0;
  ASSIGN_OR_RETURN(const Keys teams, Read(prefix_ + "team/", &revision));
  RETURN_IF_ERROR(Parse("team/", teams, [&](uint64_t id, const std::string& bytes) -> absl::Status {
    ASSIGN_OR_RETURN(TeamRecord record, DeserializeTeam(bytes));
    if (record.layout.id != TeamId(id)) {
      return absl::InvalidArgumentError(absl::StrCat("it is of team ", record.layout.id.value()));
    }
    snapshot.teams.emplace(record.layout.id, std::move(record));
    return absl::OkStatus();
  }));
  const std::string draining = prefix_ + "draining/";
  ASSIGN_OR_RETURN(const Keys nodes, Read(draining, &revision));
  for (const auto& [key, value] : nodes) snapshot.draining.insert(key.substr(draining.size()));
  ASSIGN_OR_RETURN(const Keys term, Read(prefix_ + "term", &revision));
  for (const auto& [key, value] : term) {
    const std::vector<std::string> numbers = absl::StrSplit(value, ' ');
    if (numbers.size() == 2 && absl::SimpleAtoi(numbers[0], &snapshot.term) &&
        absl::SimpleAtoi(numbers[1], &snapshot.since)) {
      continue;
    }
    // With a lower term daemons would refuse this planner.
    return absl::DataLossError(absl::StrCat("etcd: the terms are not two numbers (key=", key, ", value=", value, ")"));
  }
  RETURN_IF_ERROR(LoadAborted(revision, &snapshot));
  RETURN_IF_ERROR(LoadCluster(revision));
  return snapshot;
}

// Loads the newest kAbortedMax, and drops the others.
absl::Status EtcdStore::LoadAborted(int64_t revision, Snapshot* snapshot) {
  const std::string folder = prefix_ + "aborted/";
  ASSIGN_OR_RETURN(const Keys keys, Read(folder, &revision));
  Operations drops;
  size_t left = keys.size();
  for (const auto& [key, value] : keys) {
    uint64_t team = 0;
    const bool is_number = absl::SimpleAtoi(key.substr(folder.size()), &team);
    if (left-- > coordinator::kAbortedMax || !is_number) {
      drops.push_back(DeleteOp(key));
    } else {
      snapshot->aborted.insert(TeamId(team));
    }
  }
  return drops.empty() ? absl::OkStatus() : Write(std::move(drops));
}

absl::Status EtcdStore::LoadCluster(int64_t revision) {
  ASSIGN_OR_RETURN(const Keys keys, Read(prefix_ + "cluster", &revision));
  cluster_ = keys.empty() ? NewUuid() : keys.begin()->second;
  return keys.empty() ? Write({PutOp(prefix_ + "cluster", cluster_)}) : absl::OkStatus();
}

absl::StatusOr<std::vector<TopologyVersion>> EtcdStore::LoadTopologies() {
  std::vector<TopologyVersion> versions;
  int64_t revision = 0;
  ASSIGN_OR_RETURN(const Keys keys, Read(prefix_ + "topology/", &revision));
  RETURN_IF_ERROR(Parse("topology/", keys, [&](uint64_t number, const std::string& bytes) {
    v1::StoredTopology stored;
    if (!stored.ParseFromString(bytes) || stored.version() != number) {
      return absl::InvalidArgumentError("no topology of this number");
    }
    versions.push_back({.version = stored.version(),
                        .applied = absl::FromUnixNanos(stored.applied_ns()),
                        .source = stored.source(),
                        .from_file = stored.from_file(),
                        .text = stored.text()});
    return absl::OkStatus();
  }));
  return versions;
}

}  // namespace copse::planner
