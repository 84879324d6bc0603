// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/job_of_cgroup.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/string_view.h"

namespace copse::daemon {
namespace {

using Groups = std::vector<absl::string_view>;  // from the root

bool IsNumber(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return absl::ascii_isdigit(c); });
}

bool IsPodUid(absl::string_view text) {
  return text.size() >= 32 && text.size() <= 36 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return absl::ascii_isxdigit(c) || c == '-'; });
}

// Slurm's groups are /slurm/uid_U/job_N (v1), /system.slice/slurmstepd.scope/job_N or NODE_slurmstepd.scope/job_N (v2).
std::optional<std::string> SlurmJob(const Groups& groups) {
  for (size_t i = 0; i + 1 < groups.size() && i < 2; ++i) {
    const absl::string_view root = groups[i];
    const bool is_v1 = i == 0 && (root == "slurm" || absl::StartsWith(root, "slurm_"));
    const bool is_v2 = i == 1 && groups[0] == "system.slice" && absl::EndsWith(root, "slurmstepd.scope");
    if (!is_v1 && !is_v2) continue;
    const size_t place = is_v1 ? i + 2 : i + 1;
    if (place >= groups.size()) return std::nullopt;
    absl::string_view job = groups[place];
    if (absl::ConsumePrefix(&job, "job_") && IsNumber(job)) return absl::StrCat("slurm-", job);
  }
  return std::nullopt;
}

// A pod's group is podUID (cgroupfs) or kubepods-CLASS-podUID.slice (systemd), below kubepods or kubepods.slice.
std::optional<std::string> Pod(const Groups& groups) {
  if (groups.empty() || (groups[0] != "kubepods" && groups[0] != "kubepods.slice")) return std::nullopt;
  for (size_t i = 1; i < groups.size() && i <= 2; ++i) {
    absl::string_view group = groups[i];
    absl::ConsumeSuffix(&group, ".slice");
    if (absl::ConsumePrefix(&group, "kubepods-")) {
      absl::ConsumePrefix(&group, "burstable-");
      absl::ConsumePrefix(&group, "besteffort-");
    }
    if (!absl::ConsumePrefix(&group, "pod")) continue;
    const std::string uid = absl::StrReplaceAll(group, {{"_", "-"}});
    if (IsPodUid(uid)) return absl::StrCat("pod-", uid);
  }
  return std::nullopt;
}

std::optional<std::string> UserSlice(const Groups& groups) {
  if (groups.size() < 2 || groups[0] != "user.slice") return std::nullopt;
  absl::string_view number = groups[1];
  if (!absl::ConsumePrefix(&number, "user-") || !absl::ConsumeSuffix(&number, ".slice") || !IsNumber(number)) {
    return std::nullopt;
  }
  return std::string(groups[1]);
}

}  // namespace

std::string JobOfCgroup(std::string_view text, uint32_t uid) {
  for (const auto find : {SlurmJob, Pod, UserSlice}) {
    for (const absl::string_view line : absl::StrSplit(AbslView(text), '\n')) {
      // Its fields are the hierarchy's number, its controllers, and the path, which may have colons.
      const std::vector<absl::string_view> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
      if (fields.size() != 3) continue;
      const Groups groups = absl::StrSplit(fields[2], '/', absl::SkipEmpty());
      if (std::optional<std::string> job = find(groups)) return *std::move(job);
    }
  }
  return absl::StrCat("uid-", uid);
}

}  // namespace copse::daemon
