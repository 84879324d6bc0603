// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/session/settings.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/process/time_slice.h"
#include "client/copse.h"
#include "client/mpi/api/wait_time.h"

namespace copse::mpi {
namespace {

// Forming a team takes a few milliseconds, as long as about 60 calls by MPI. Programs with many communicators make few
// calls on most of them, so these get a team later than MPI_COMM_WORLD.
constexpr uint64_t kCallsBefore = 64;
constexpr uint64_t kCallsBeforeOfWorld = 4;
// Buffers are copied through staging memory, of which a process has 1 GiB (Staging::kBounceBytesMax).
constexpr uint64_t kMessageBytesMax = uint64_t{256} << 20;
// The kernel limits a time slice to this range.
constexpr uint64_t kTimeSliceMinUs = 100;
constexpr uint64_t kTimeSliceMaxUs = 100'000;

std::optional<uint64_t> Number(const char* text) {
  char* end = nullptr;
  const unsigned long long value = strtoull(text, &end, 10);
  if (*end != '\0' || text[0] == '-') return std::nullopt;
  return value;
}

// Reads COPSE_MPI_CALLS_BEFORE, which holds for all communicators and turns weighing off.
void ReadCallsBefore(Settings* settings, Complaints* complaints) {
  const char* text = Variable("COPSE_MPI_CALLS_BEFORE");
  if (*text == '\0') return;
  const std::optional<uint64_t> calls = Number(text);
  if (!calls.has_value()) return Complain("COPSE_MPI_CALLS_BEFORE", "not a number of calls", text, complaints);
  settings->calls_before = settings->calls_before_of_world = std::min<uint64_t>(*calls, INT64_MAX);
  settings->weighs_teams = false;
}

void ReadTimeSlice(Settings* settings, Complaints* complaints) {
  const char* text = Variable("COPSE_MPI_TIME_SLICE");
  if (*text == '\0') return;
  const std::optional<uint64_t> us = Number(text);
  if (us.has_value() && (*us == 0 || (*us >= kTimeSliceMinUs && *us <= kTimeSliceMaxUs))) {
    settings->time_slice_ns = *us * 1000;
    return;
  }
  Complain("COPSE_MPI_TIME_SLICE", "neither 0 nor microseconds from 100 to 100000", text, complaints);
}

// Any value but 0 and json has been text since there were statistics.
Settings::StatsForm StatsFormFromEnvironment() {
  const char* const text = Variable("COPSE_MPI_STATS");
  if (*text == '\0' || strcmp(text, "0") == 0) return Settings::StatsForm::kNone;
  return strcmp(text, "json") == 0 ? Settings::StatsForm::kJson : Settings::StatsForm::kText;
}

}  // namespace

Settings Settings::FromEnvironment(Complaints* complaints) {
  Settings settings{.calls_before = kCallsBefore,
                    .calls_before_of_world = kCallsBeforeOfWorld,
                    .message_bytes_max = kMessageBytesMax,
                    .time_slice_ns = kShortSliceNs};
  ReadCallsBefore(&settings, complaints);
  if (IsOther("COPSE_MPI_OFFLOAD", "faster", "all", complaints)) settings.chooses_path = settings.weighs_teams = false;
  ReadTimeSlice(&settings, complaints);
  settings.stats = StatsFormFromEnvironment();
  settings.stats_file = Variable("COPSE_MPI_STATS_FILE");
  // copse_init also reads COPSE_TIMEOUT, and fails if it is not a number.
  const double seconds = strtod(Variable("COPSE_TIMEOUT"), nullptr);
  settings.timeout_s = seconds > 0 ? seconds : -1;
  return settings;
}

void Settings::AddTo(Agreement* agreement) const {
  agreement->AddLeast(static_cast<long long>(calls_before));
  agreement->AddLeast(static_cast<long long>(calls_before_of_world));
  agreement->AddLeast(static_cast<long long>(message_bytes_max));
  agreement->AddLeast(weighs_teams ? 1 : 0);
  agreement->AddLeast(chooses_path ? 1 : 0);
}

void Settings::Apply(Agreement* agreement) {
  calls_before = static_cast<uint64_t>(agreement->TakeLeast());
  calls_before_of_world = static_cast<uint64_t>(agreement->TakeLeast());
  message_bytes_max = static_cast<uint64_t>(agreement->TakeLeast());
  weighs_teams = agreement->TakeLeast() != 0;
  chooses_path = agreement->TakeLeast() != 0;
}

bool Settings::IsOver(double since) const { return timeout_s >= 0 && NowSeconds() - since > timeout_s; }

std::string Settings::TimeIsOverText() const {
  return std::string(kTimeIsOver) + " (cause=" + copse_cause_string(COPSE_CAUSE_CALLER_TIME_OUT) +
         ", limit=" + std::to_string(std::llround(timeout_s * 1000)) +
         "); `copsectl coll list` tells which ranks are missing";
}

}  // namespace copse::mpi
