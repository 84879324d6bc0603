// SPDX-License-Identifier: Apache-2.0
#include "client/mpi/session/async_settings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "client/mpi/api/output_line.h"

namespace copse::mpi {
namespace {

// Limits a profile, which has a few lines for each kind of call; a longer file is not a profile.
constexpr size_t kProfileBytesMax = 16 << 20;
// A rank without a profile gives this value in place of the profile's hash.
constexpr long long kNoProfile = 0;

// Appends the file to `*text`. Returns an error, or an empty string.
std::string ReadFile(const std::string& path, std::string* text) {
  FILE* const file = fopen(path.c_str(), "re");
  if (file == nullptr) return strerror(errno);
  char buffer[65536];
  size_t bytes = 0;
  while (text->size() <= kProfileBytesMax && (bytes = fread(buffer, 1, sizeof(buffer), file)) > 0) {
    text->append(buffer, bytes);
  }
  const bool failed = ferror(file) != 0;
  const int error = errno;
  fclose(file);
  if (failed) return strerror(error);
  return text->size() > kProfileBytesMax ? "too long for a profile" : "";
}

std::string ReadProfile(const std::string& path, std::optional<tnbc::OrderProfile>* profile) {
  std::string text;
  std::string error = ReadFile(path, &text);
  if (error.empty()) error = tnbc::ParseProfile(text, &profile->emplace());
  if (error.empty()) return "";
  profile->reset();
  return "COPSE_TNBC_PROFILE: " + path + ": " + error;
}

std::string MakeFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) {
    return "COPSE_TNBC_TRACE: cannot make the folder: " + std::string(strerror(errno)) + " (value=" + path + ")";
  }
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    return "COPSE_TNBC_TRACE: not a folder (value=" + path + ")";
  }
  if (access(path.c_str(), W_OK | X_OK) != 0) {
    return "COPSE_TNBC_TRACE: nothing can be written there: " + std::string(strerror(errno)) + " (value=" + path + ")";
  }
  return "";
}

FragmentOrder WantedOrder(bool has_profile, bool may_print) {
  const FragmentOrder usual = has_profile ? FragmentOrder::kProfile : FragmentOrder::kLearned;
  const char* text = Variable("COPSE_TNBC_ORDER");
  if (*text == '\0') return usual;
  if (strcmp(text, "off") == 0) return FragmentOrder::kOff;
  if (strcmp(text, "learned") == 0) return FragmentOrder::kLearned;
  if (strcmp(text, "profile") == 0 && has_profile) return FragmentOrder::kProfile;
  if (may_print && strcmp(text, "profile") == 0) {
    PrintLine("COPSE_TNBC_ORDER: there is no COPSE_TNBC_PROFILE, so orders are learned (value=profile)");
  } else if (may_print) {
    PrintLine("COPSE_TNBC_ORDER: none of off, learned and profile, so it is ignored (value=%s)", text);
  }
  return usual;
}

}  // namespace

AsyncMode AsyncModeFromEnvironment(Complaints* complaints) {
  const char* text = Variable("COPSE_TNBC");
  if (*text == '\0' || strcmp(text, "off") == 0) return AsyncMode::kOff;
  if (strcmp(text, "auto") == 0) return AsyncMode::kAuto;
  if (strcmp(text, "on") == 0) return AsyncMode::kOn;
  Complain("COPSE_TNBC", "none of off, auto and on", text, complaints);
  return AsyncMode::kOff;
}

AsyncMeans AsyncMeans::FromEnvironment(Complaints* complaints) {
  AsyncMeans means;
  means.stops_system_calls = IsOther("COPSE_TNBC_SYSCALLS", "libc", "strict", complaints);
  means.snapshots_at_once = IsOther("COPSE_TNBC_SNAPSHOT", "write", "copy", complaints);
  means.remaps = !IsOther("COPSE_TNBC_ADOPT", "on", "off", complaints);
  return means;
}

AsyncSettings AsyncSettings::FromEnvironment(bool may_print) {
  AsyncSettings settings;
  settings.profile_file = Variable("COPSE_TNBC_PROFILE");
  settings.order = WantedOrder(!settings.profile_file.empty(), may_print);
  if (settings.order == FragmentOrder::kProfile) {
    settings.profile_error = ReadProfile(settings.profile_file, &settings.profile);
  }
  settings.trace_folder = Variable("COPSE_TNBC_TRACE");
  if (!settings.trace_folder.empty()) settings.trace_error = MakeFolder(settings.trace_folder);
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  settings.launch = static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
  return settings;
}

void AsyncSettings::AddTo(Agreement* agreement) const {
  agreement->AddLeast(static_cast<long long>(order));
  agreement->AddCommon(profile.has_value() ? static_cast<long long>(profile->Hash()) : kNoProfile);
  agreement->AddFirstRank(!profile_error.empty());
  agreement->AddFirstRank(!trace_error.empty());
  agreement->AddLeast(static_cast<long long>(launch));
}

void AsyncSettings::Apply(int rank, int size, Agreement* agreement) {
  order = static_cast<FragmentOrder>(agreement->TakeLeast());
  const bool have_one_profile = agreement->TakeCommon().value_or(kNoProfile) != kNoProfile;
  const int first_without_profile = agreement->TakeFirstRank();
  const int first_without_trace = agreement->TakeFirstRank();
  launch = static_cast<uint64_t>(agreement->TakeLeast());
  if (order == FragmentOrder::kProfile && !have_one_profile) {
    order = FragmentOrder::kLearned;
    if (first_without_profile == rank) {
      PrintLine("%s; no rank has an order from a profile", profile_error.c_str());
    } else if (first_without_profile == size && rank == 0) {
      PrintLine("COPSE_TNBC_PROFILE: ranks have read different profiles, so they are ignored (value=%s)",
                profile_file.c_str());
    }
  }
  if (order != FragmentOrder::kProfile) profile.reset();
  if (first_without_trace == rank) PrintLine("%s; rank %d leaves no trace", trace_error.c_str(), rank);
  if (!trace_error.empty()) trace_folder.clear();
}

void WriteTrace(const std::string& folder, const tnbc::TraceFile& trace) {
  const std::string path = folder + "/" + std::to_string(trace.rank) + tnbc::kTraceSuffix;
  const std::string text = tnbc::FormatTrace(trace);
  FILE* const file = fopen(path.c_str(), "we");
  bool written = file != nullptr && fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file != nullptr && fclose(file) != 0) written = false;
  if (!written) PrintLine("COPSE_TNBC_TRACE: cannot write %s: %s", path.c_str(), strerror(errno));
  if (trace.left_out > 0) {
    PrintLine("COPSE_TNBC_TRACE: there is no room for all calls (rank=%d, left_out=%" PRIu64 ")",
              static_cast<int>(trace.rank), trace.left_out);
  }
}

}  // namespace copse::mpi
