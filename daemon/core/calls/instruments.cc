// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/calls/instruments.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/string_view.h"

namespace copse::daemon {
namespace {

using emu::TraceKind;

uint32_t Low32(uint64_t value) { return static_cast<uint32_t>(value); }

uint32_t BytesOf(const CallArguments& arguments) {
  return arguments.collective == Collective::kBarrier ? 0 : Low32(arguments.bytes());
}

}  // namespace

// --- CallLatencies ---

uint32_t CallLatencies::ClassOf(uint64_t bytes) {
  return std::min<uint32_t>(static_cast<uint32_t>(std::bit_width(bytes)), kSizeClasses - 1);
}

void CallLatencies::Record(Collective collective, uint64_t bytes, schedule::CallPart part, absl::Duration took) {
  if (collective == Collective::kBarrier) bytes = 0;
  std::unique_ptr<Parts>& parts = classes_[static_cast<size_t>(collective)][ClassOf(bytes)];
  if (parts == nullptr) parts = std::make_unique<Parts>();
  (*parts)[static_cast<size_t>(part)].Record(
      static_cast<uint64_t>(std::max<int64_t>(0, absl::ToInt64Nanoseconds(took))));
}

std::vector<schedule::LatencyStatus> CallLatencies::Rows() const {
  std::vector<schedule::LatencyStatus> rows;
  for (size_t collective = 0; collective < classes_.size(); ++collective) {
    for (uint32_t size = 0; size < kSizeClasses; ++size) {
      const std::unique_ptr<Parts>& parts = classes_[collective][size];
      if (parts == nullptr) continue;
      for (size_t part = 0; part < parts->size(); ++part) {
        const Histogram& histogram = (*parts)[part];
        if (histogram.count() == 0) continue;
        schedule::LatencyStatus row{.collective = static_cast<Collective>(collective),
                                    .bytes_min = size == 0 ? 0 : uint64_t{1} << (size - 1),
                                    .bytes_max = (uint64_t{1} << size) - 1,
                                    .part = static_cast<schedule::CallPart>(part),
                                    .sum_ns = histogram.sum(),
                                    .min_ns = histogram.min(),
                                    .max_ns = histogram.max(),
                                    .buckets = {}};
        for (uint32_t i = 0; i < Histogram::kBucketCount; ++i) {
          if (histogram.bucket(i) != 0) row.buckets.emplace_back(i, histogram.bucket(i));
        }
        rows.push_back(std::move(row));
      }
    }
  }
  return rows;
}

// --- Instruments ---

Instruments::Instruments(const Clock* clock, uint32_t trace_records)
    : trace_(trace_records == 0 ? nullptr : std::make_unique<emu::TraceRing>(clock, trace_records)) {}

void Instruments::CallPosted(TeamId team, CallSeq sequence, Rank rank, ClientId client, const CallArguments& arguments,
                             absl::Time now) {
  if (trace_ == nullptr) return;
  trace_->Stamp(now);
  trace_->Record({.kind = TraceKind::kCallPosted,
                  .phase = static_cast<uint16_t>(arguments.collective),
                  .team = Low32(team.value()),
                  .call = Low32(sequence.value()),
                  .subject = Low32(client),
                  .peer = rank.value(),
                  .bytes = BytesOf(arguments)});
}

void Instruments::CallJoined(TeamId team, CallSeq sequence, bool first, bool last, const CallArguments& arguments) {
  if (trace_ == nullptr) return;
  for (const auto& [is, kind] : {std::pair(first, TraceKind::kCallArmed), std::pair(last, TraceKind::kRanksArrived)}) {
    if (!is) continue;
    trace_->Record({.kind = kind,
                    .phase = static_cast<uint16_t>(arguments.collective),
                    .team = Low32(team.value()),
                    .call = Low32(sequence.value()),
                    .bytes = BytesOf(arguments)});
  }
}

void Instruments::CallEnded(TeamId team, CallSeq sequence, Rank rank, ClientId client, const CallArguments& arguments,
                            schedule::Failure failure) {
  ++ended_[static_cast<size_t>(arguments.collective)][static_cast<size_t>(failure)];
  if (trace_ == nullptr) return;
  trace_->Record({.kind = TraceKind::kCallCompleted,
                  .flags = static_cast<uint8_t>(failure == schedule::Failure::kNone ? 0 : emu::kTraceFailed),
                  .phase = static_cast<uint16_t>(arguments.collective),
                  .team = Low32(team.value()),
                  .call = Low32(sequence.value()),
                  .subject = Low32(client),
                  .peer = rank.value(),
                  .bytes = BytesOf(arguments)});
}

void Instruments::CallOver(TeamId team, CallSeq sequence) {
  if (trace_ == nullptr) return;
  trace_->Record({.kind = TraceKind::kCallOver, .team = Low32(team.value()), .call = Low32(sequence.value())});
}

void Instruments::EpochSwitched(TeamId team, EpochId epoch, CallSeq first_call) {
  if (trace_ == nullptr) return;
  trace_->Stamp();
  trace_->Record({.kind = TraceKind::kEpochSwitch,
                  .team = Low32(team.value()),
                  .call = Low32(first_call.value()),
                  .subject = epoch.value()});
}

void Instruments::TeamBroken(TeamId team, schedule::Failure failure) {
  if (trace_ == nullptr) return;
  trace_->Stamp();
  trace_->Record({.kind = TraceKind::kTeamBroken,
                  .flags = emu::kTraceFailed,
                  .team = Low32(team.value()),
                  .subject = static_cast<uint32_t>(failure)});
}

void Instruments::ClientWoken(ClientId client) {
  ++clients_woken_;
  if (trace_ == nullptr) return;
  trace_->Stamp();
  trace_->Record({.kind = TraceKind::kClientWoken, .subject = Low32(client)});
}

void Instruments::AppendCounters(std::map<std::string, uint64_t>* counters) const {
  for (size_t collective = 0; collective < ended_.size(); ++collective) {
    const std::string prefix =
        absl::StrCat("calls.", AbslView(CollectiveName(static_cast<Collective>(collective))), ".");
    // The common collectives, which most programs use, have a counter even if it is 0.
    if (collective < kCommonCollectiveCount || ended_[collective][0] > 0) {
      (*counters)[prefix + "ok"] = ended_[collective][0];
    }
    for (size_t failure = 1; failure < ended_[collective].size(); ++failure) {
      if (ended_[collective][failure] == 0) continue;
      (*counters)[prefix + std::string(FailureName(static_cast<schedule::Failure>(failure)))] =
          ended_[collective][failure];
    }
  }
  (*counters)["calls.refused"] = posts_refused_;
  (*counters)["clients.woken"] = clients_woken_;
}

bool OwnRecords::Has(uint64_t number, const emu::TraceRecord& record) const {
  if (record.kind == TraceKind::kClientWoken) return clients.contains(record.subject);
  const auto team = teams.find(record.team);
  return team != teams.end() && number >= team->second;
}

schedule::TraceReply AnswerTrace(const schedule::TraceQuery& query, const OwnRecords* own,
                                 const Instruments* instruments, absl::Time now) {
  schedule::TraceReply reply{.query = query.query};
  reply.now_ns = absl::ToUnixNanos(now);
  const emu::TraceRing* const trace = instruments == nullptr ? nullptr : instruments->trace();
  reply.off = trace == nullptr;
  if (reply.off) return reply;
  const uint64_t since = query.last_ns < 0 ? 0 : trace->FirstSince(reply.now_ns - query.last_ns);
  std::vector<emu::TraceRecord> records;
  reply.first =
      trace->Read(std::max(query.from, since), std::min(query.records, schedule::kTracePieceRecordsMax), &records);
  reply.next = trace->next();
  reply.end = reply.first + records.size();
  if (own != nullptr) {
    uint64_t number = reply.first;
    std::erase_if(records, [&](const emu::TraceRecord& record) { return !own->Has(number++, record); });
  }
  static_assert(sizeof(emu::TraceRecord) == schedule::kTraceRecordBytes);
  reply.records.assign(reinterpret_cast<const char*>(records.data()), records.size() * sizeof(emu::TraceRecord));
  return reply;
}

std::string_view FailureName(schedule::Failure failure) {
  static constexpr std::string_view kNames[] = {
      "ok",       "invalid_argument", "no_daemon",     "version",   "no_resource", "timed_out", "member_lost",
      "mismatch", "canceled",         "not_supported", "no_memory", "permission",  "internal"};
  const auto index = static_cast<size_t>(failure);
  return index < std::size(kNames) ? kNames[index] : "unknown";
}

}  // namespace copse::daemon
