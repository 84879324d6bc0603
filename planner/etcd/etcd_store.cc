// SPDX-License-Identifier: Apache-2.0
#include "planner/etcd/etcd_store.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "planner/etcd/operations.h"
#include "planner/etcd/stored_value.h"
#include "planner/store/team_record_codec.h"
#include "proto/copse/v1/store.pb.h"

namespace copse::planner {
namespace {

using coordinator::DropTeam;
using coordinator::DropTopology;
using coordinator::PutAborted;
using coordinator::PutCluster;
using coordinator::PutDraining;
using coordinator::PutTeam;
using coordinator::PutTerm;
using coordinator::PutTopology;
using coordinator::Snapshot;
using coordinator::StoreChange;
using coordinator::TeamRecord;

constexpr int64_t kPageKeys = 500;
constexpr absl::Duration kPageTimeout = absl::Seconds(30);
// Etcd may compact a revision while its pages are read; reading begins anew this often.
constexpr int kReadings = 3;
constexpr char kQuarantine[] = "quarantine/";
constexpr char kInQuarantine[] = ": in quarantine";

// Returns what the change is about; of several changes of one thing in a commit, the last one is made.
std::string ThingOf(const StoreChange& change) {
  if (const auto* put = std::get_if<PutTeam>(&change)) return absl::StrCat("team/", put->record->layout.id.value());
  if (const auto* drop = std::get_if<DropTeam>(&change)) return absl::StrCat("team/", drop->team.value());
  if (const auto* draining = std::get_if<PutDraining>(&change)) return "draining/" + draining->node;
  if (const auto* aborted = std::get_if<PutAborted>(&change)) return absl::StrCat("aborted/", aborted->team.value());
  if (const auto* put = std::get_if<PutTopology>(&change)) return absl::StrCat("topology/", put->version->version);
  if (const auto* drop = std::get_if<DropTopology>(&change)) return absl::StrCat("topology/", drop->version);
  return std::holds_alternative<PutCluster>(change) ? "cluster" : "term";
}

// Returns the value of a key whose value is text, with its checksum.
std::string Summed(const std::string& name, const std::string& text) {
  return absl::StrCat(text, text.empty() ? "" : " ", absl::Hex(RowSum("etcd", name, text), absl::kZeroPad16));
}

// Returns the text of a key's value. An empty value is an earlier version's.
absl::StatusOr<std::string> UnsummedText(const std::string& name, const std::string& value) {
  const size_t end = value.rfind(' ');
  std::string text = end == std::string::npos ? "" : value.substr(0, end);
  if (value.empty() || Summed(name, text) == value) return text;
  return absl::DataLossError(absl::StrCat("its checksum differs (value=", absl::CEscape(value), ")"));
}

// Returns the words of a key's value. Values of earlier versions have no checksum, and `words` words without it.
absl::StatusOr<std::vector<std::string>> Unsummed(const std::string& name, const std::string& value, size_t words) {
  std::vector<std::string> parts = absl::StrSplit(value, ' ', absl::SkipEmpty());
  if (parts.size() == words) return parts;
  if (parts.size() != words + 1) {
    return absl::DataLossError(absl::StrCat("not ", words, " words (value=", absl::CEscape(value), ")"));
  }
  RETURN_IF_ERROR(UnsummedText(name, value).status());
  parts.pop_back();
  return parts;
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
  encoder_.Post(
      [this, changes = std::move(changes), done = std::move(done)]() mutable { Encode(changes, std::move(done)); });
}

void EtcdStore::Encode(const std::vector<StoreChange>& changes, std::function<void(const absl::Status&)> done) {
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
    const std::string name = absl::StrCat("draining/", draining->node);
    operations->push_back(draining->draining ? PutOp(prefix_ + name, Summed(name, draining->why))
                                             : DeleteOp(prefix_ + name));
  } else if (const auto* term = std::get_if<PutTerm>(&change)) {
    operations->push_back(PutOp(prefix_ + "term", Summed("term", absl::StrCat(term->term, " ", term->since))));
  } else if (const auto* cluster = std::get_if<PutCluster>(&change)) {
    const std::string text = absl::StrCat(cluster->uuid, cluster->is_new ? " new" : " used");
    operations->push_back(PutOp(prefix_ + "cluster", Summed("cluster", text)));
  } else if (const auto* aborted = std::get_if<PutAborted>(&change)) {
    // More than kAbortedMax are dropped by the next Load.
    const std::string key = AbortedKey(aborted->team);
    operations->push_back(PutOp(key, Summed(key.substr(prefix_.size()), "")));
  } else if (const auto* topology = std::get_if<PutTopology>(&change)) {
    const coordinator::TopologyVersion& version = *topology->version;
    v1::StoredTopology stored;
    stored.set_version(version.version);
    stored.set_applied_ns(absl::ToUnixNanos(version.applied));
    stored.set_source(version.source);
    stored.set_from_file(version.from_file);
    stored.set_text(version.text);
    AppendPut(TopologyKey(version.version), stored.SerializeAsString(), operations);
  } else if (const auto* dropped = std::get_if<DropTopology>(&change)) {
    AppendDrop(TopologyKey(dropped->version), operations);
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

// --- Loading ---

absl::StatusOr<EtcdStore::Keys> EtcdStore::Read() const {
  absl::StatusOr<Keys> keys;
  for (int i = 0; i < kReadings; ++i) {
    keys = [&]() -> absl::StatusOr<Keys> {
      etcdserverpb::RangeRequest request;
      request.set_key(prefix_);
      request.set_range_end(EndOf(prefix_));
      request.set_limit(kPageKeys);
      Keys pages;
      for (bool more = true; more;) {
        ASSIGN_OR_RETURN(auto page, Await<etcdserverpb::RangeResponse>(
                                        [&](auto done) { client_->Range(request, kPageTimeout, done); }));
        if (request.revision() == 0) request.set_revision(page.header().revision());
        for (mvccpb::KeyValue& pair : *page.mutable_kvs()) pages[pair.key()] = std::move(*pair.mutable_value());
        more = page.more() && page.kvs_size() > 0;
        // The least key after the last one of the page.
        if (more) request.set_key(page.kvs(page.kvs_size() - 1).key() + std::string(1, '\0'));
      }
      return pages;
    }();
    if (!absl::IsOutOfRange(keys.status())) break;
  }
  return keys;
}

// A Reading has what was decoded of keys, and the operations that make the keys like it.
struct EtcdStore::Reading {
  Snapshot snapshot;
  std::vector<std::string> damaged;  // a line each
  Operations repairs;                // move what is damaged, and delete what is of no use
  std::set<std::string> in_parts;    // keys whose values have parts
};

EtcdStore::Reading EtcdStore::Decode(const Keys& keys) const {
  Reading reading;
  Snapshot& snapshot = reading.snapshot;
  const auto put_aside = [&](const std::vector<std::string>& damaged, const absl::Status& why) {
    const std::string name = damaged[0].substr(prefix_.size());
    reading.damaged.push_back(absl::StrCat(name, ": ", why.message()));
    ++snapshot.quarantined;
    for (const std::string& key : damaged) {
      reading.repairs.push_back(PutOp(absl::StrCat(prefix_, kQuarantine, key.substr(prefix_.size())), keys.at(key)));
      reading.repairs.push_back(DeleteOp(key));
    }
  };
  // Decodes the keys of a folder, which are numbers.
  const auto decode = [&](const std::string& folder, const auto& parse) {
    StoredValues stored = ReadValues(
        prefix_ + folder, Keys(keys.lower_bound(prefix_ + folder), keys.lower_bound(EndOf(prefix_ + folder))));
    for (auto& [name, value] : stored.values) {
      uint64_t number = 0;
      absl::Status status = value.bytes.status();
      if (status.ok() && (!absl::SimpleAtoi(name, &number) || Padded(number) != name)) {
        status = absl::InvalidArgumentError("its key is no number");
      }
      if (status.ok()) status = parse(number, *value.bytes);
      if (value.keys.size() > 1) reading.in_parts.insert(value.keys[0]);
      if (!status.ok()) put_aside(value.keys, status);
    }
    for (const std::string& key : stored.unused) reading.repairs.push_back(DeleteOp(key));
  };
  decode("team/", [&](uint64_t id, const std::string& bytes) -> absl::Status {
    ASSIGN_OR_RETURN(TeamRecord record, DeserializeTeam(bytes));
    if (record.layout.id != TeamId(id)) {
      return absl::InvalidArgumentError(absl::StrCat("it is of team ", record.layout.id.value()));
    }
    snapshot.teams.emplace(record.layout.id, std::move(record));
    return absl::OkStatus();
  });
  decode("topology/", [&](uint64_t number, const std::string& bytes) {
    v1::StoredTopology stored;
    if (!stored.ParseFromString(bytes) || stored.version() != number) {
      return absl::InvalidArgumentError("no topology of this number");
    }
    snapshot.topologies[number] = {.version = number,
                                   .applied = absl::FromUnixNanos(stored.applied_ns()),
                                   .source = stored.source(),
                                   .from_file = stored.from_file(),
                                   .text = stored.text()};
    return absl::OkStatus();
  });
  bool terms_are_damaged = false;
  size_t aborted_left = 0;
  for (const auto& [key, value] : keys) aborted_left += absl::StartsWith(key, prefix_ + "aborted/") ? 1 : 0;
  for (const auto& [key, value] : keys) {
    const std::string name = key.substr(prefix_.size());
    absl::Status status;
    if (absl::StartsWith(name, "draining/")) {
      const auto why = UnsummedText(name, value);
      status = why.status();
      if (status.ok()) snapshot.draining[name.substr(sizeof("draining/") - 1)] = *why;
    } else if (absl::StartsWith(name, "aborted/")) {
      uint64_t team = 0;
      status = Unsummed(name, value, 0).status();
      if (status.ok() && !absl::SimpleAtoi(name.substr(sizeof("aborted/") - 1), &team)) {
        status = absl::InvalidArgumentError("its key is no number");
      }
      // The newest kAbortedMax are kept.
      if (aborted_left-- > coordinator::kAbortedMax) {
        reading.repairs.push_back(DeleteOp(key));
        continue;
      }
      if (status.ok()) snapshot.aborted.insert(TeamId(team));
    } else if (name == "term") {
      const auto numbers = Unsummed(name, value, 2);
      status = numbers.status();
      if (status.ok() &&
          (!absl::SimpleAtoi((*numbers)[0], &snapshot.term) || !absl::SimpleAtoi((*numbers)[1], &snapshot.since))) {
        status = absl::InvalidArgumentError(absl::StrCat("the terms are not two numbers (value=", value, ")"));
      }
      terms_are_damaged = !status.ok();
    } else if (name == "cluster") {
      const bool is_summed = value.find(' ') != std::string::npos;  // else of an earlier version
      const auto words = Unsummed(name, value, is_summed ? 2 : 1);
      status = words.status();
      if (status.ok()) snapshot.cluster = (*words)[0];
      if (status.ok()) snapshot.cluster_is_new = is_summed && (*words)[1] == "new";
    } else if (absl::StartsWith(name, kQuarantine)) {
      reading.damaged.push_back(absl::StrCat(name.substr(sizeof(kQuarantine) - 1), kInQuarantine));
      ++snapshot.quarantined;
    }
    if (!status.ok()) put_aside({key}, status);
  }
  if (terms_are_damaged) {
    snapshot.term = snapshot.since = 0;
    Outdate(snapshot);
  }
  return reading;
}

absl::StatusOr<Snapshot> EtcdStore::Load() {
  RETURN_IF_ERROR(Write({}));  // ABORTED if another planner leads; else nobody has changed what is read below
  ASSIGN_OR_RETURN(const Keys keys, Read());
  Reading reading = Decode(keys);
  for (const std::string& line : reading.damaged) {
    if (absl::EndsWith(line, kInQuarantine)) continue;
    COPSE_LOG(kError, "etcd: a value is damaged, and put aside (prefix=", prefix_, "): ", line);
  }
  in_parts_ = std::move(reading.in_parts);
  if (!reading.repairs.empty()) RETURN_IF_ERROR(Write(std::move(reading.repairs)));
  return std::move(reading.snapshot);
}

absl::StatusOr<StateReading> EtcdStore::ReadState() {
  ASSIGN_OR_RETURN(const Keys keys, Read());
  Reading reading = Decode(keys);
  return StateReading{std::move(reading.snapshot), std::move(reading.damaged)};
}

}  // namespace copse::planner
