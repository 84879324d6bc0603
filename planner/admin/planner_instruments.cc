// SPDX-License-Identifier: Apache-2.0
#include "planner/admin/planner_instruments.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/cpu_time.h"
#include "planner/store/store_address.h"
#include "rpc/identity.h"

namespace copse::planner {
namespace {

uint64_t Microseconds(absl::Duration duration) { return static_cast<uint64_t>(absl::ToInt64Microseconds(duration)); }

// Returns the resident memory of this process, or 0 if /proc has none.
uint64_t ResidentBytes() {
  uint64_t pages = 0, resident_pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident_pages;
  return resident_pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// Returns the room on the file system of the store's file, or nothing if the store is no file.
std::optional<uint64_t> FreeBytes(const std::string& store) {
  const absl::StatusOr<StoreAddress> address = ParseStoreAddress(store);
  struct statvfs room = {};
  if (!address.ok() || statvfs(address->file.c_str(), &room) != 0) return std::nullopt;
  return room.f_bavail * room.f_frsize;
}

}  // namespace

absl::Duration PlannerInstruments::OldestTask() const {
  const absl::Time oldest = parts_.queue->Oldest();
  if (oldest == absl::InfiniteFuture()) return absl::ZeroDuration();
  return std::max(parts_.clock->Now() - oldest, absl::ZeroDuration());
}

uint64_t PlannerInstruments::CertificatesThatEndSoon() const {
  const std::vector<std::string> nodes = parts_.streams->CertificatesThatEndBefore(absl::Now() + rpc::kEndsSoon);
  return static_cast<uint64_t>(std::count_if(nodes.begin(), nodes.end(), [this](const std::string& node) {
    return parts_.coordinator->view().FindNode(node).ok();
  }));
}

PlannerState PlannerInstruments::State() const {
  return {.address = address_,
          .store = store_,
          .term = parts_.coordinator->term(),
          .cluster = parts_.coordinator->cluster().uuid(),
          .quarantined = parts_.coordinator->quarantined(),
          .foreign = parts_.coordinator->cluster().foreign(),
          .since = parts_.clock->Now() - started_,
          .sessions = parts_.streams->Counts().sessions,
          .oldest_task = OldestTask(),
          .longest_turn = absl::Nanoseconds(turns().max()),
          .longest_turn_at = parts_.turns->longest_at()};
}

std::map<std::string, uint64_t> PlannerInstruments::Counters() const {
  std::map<std::string, uint64_t> counters;
  counters["process.cpu_us"] = Microseconds(ProcessCpuTime());
  counters["process.memory_bytes"] = ResidentBytes();
  counters["process.uptime_s"] = static_cast<uint64_t>(absl::ToInt64Seconds(parts_.clock->Now() - started_));

  if (parts_.identity != nullptr) parts_.identity->AppendCounters(&counters);

  counters["loop.turns"] = turns().count();
  counters["loop.cpu_us"] = turns().sum() / 1000;
  counters["loop.turn_p99_us"] = turns().Percentile(0.99) / 1000;
  counters["loop.turn_max_us"] = turns().max() / 1000;
  const absl::Time longest_at = parts_.turns->longest_at();
  counters["loop.turn_max_at_s"] =
      longest_at == absl::InfinitePast() ? 0 : static_cast<uint64_t>(absl::ToUnixSeconds(longest_at));

  counters["queue.tasks"] = parts_.queue->size();
  counters["queue.oldest_us"] = Microseconds(OldestTask());
  counters["queue.oldest_max_us"] = Microseconds(parts_.queue->longest_wait());

  const StreamCounts streams = parts_.streams->Counts();
  counters["sessions"] = streams.sessions;
  counters["sessions.queued_bytes"] = streams.queued_bytes;
  counters["sessions.queued_bytes_most"] = streams.queued_bytes_most;
  counters["messages.received"] = streams.received;
  counters["messages.received_bytes"] = streams.received_bytes;
  counters["messages.sent"] = streams.sent;
  counters["messages.sent_bytes"] = streams.sent_bytes;

  for (const auto& [state, count] : parts_.coordinator->view().NodesByState())
    counters[absl::StrCat("nodes.", state)] = count;
  counters["certificates.end_soon"] = CertificatesThatEndSoon();
  for (const auto& [state, count] : parts_.coordinator->view().TeamsByState())
    counters[absl::StrCat("teams.", state)] = count;
  const coordinator::FormationCounts& ends = parts_.coordinator->formations();
  counters["formations.formed"] = ends.formed();
  counters["formations.failed"] = ends.failed();
  counters["formations.canceled"] = ends.canceled();
  counters["formations.time_p50_us"] = formations().Percentile(0.5) / 1000;
  counters["formations.time_p99_us"] = formations().Percentile(0.99) / 1000;
  counters["formations.time_max_us"] = formations().max() / 1000;

  const coordinator::Outbox& outbox = parts_.coordinator->outbox();
  const coordinator::CommitOutcomes& commits = outbox.commits().outcomes();
  counters["store.commits"] = commits.times_ns().count();
  counters["store.commits_failed"] = commits.failures();
  counters["store.time_p50_us"] = commits.times_ns().Percentile(0.5) / 1000;
  counters["store.time_p99_us"] = commits.times_ns().Percentile(0.99) / 1000;
  counters["store.time_max_us"] = commits.times_ns().max() / 1000;
  counters["store.quarantined"] = parts_.coordinator->quarantined();
  if (const std::optional<uint64_t> bytes = FreeBytes(store_)) counters["store.free_bytes"] = *bytes;
  counters["store.waiting_changes"] = outbox.commits().waiting_changes();
  counters["store.waiting_messages"] = outbox.waiting_messages();
  counters["store.failing_ms"] = static_cast<uint64_t>(absl::ToInt64Milliseconds(outbox.commits().failing_for()));

  const PlanCounts& plans = parts_.plan_maker->counts();
  counters["plans.sets_made"] = plans.sets_made;
  counters["plans.sets_reused"] = plans.sets_reused;
  counters["plans.sets_quick"] = plans.sets_quick;
  counters["plans.cpu_us"] = Microseconds(plans.cpu);
  counters["plans.waiting"] = parts_.plan_workers->waiting();
  return counters;
}

}  // namespace copse::planner
