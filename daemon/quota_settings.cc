// SPDX-License-Identifier: Apache-2.0
#include "daemon/quota_settings.h"

#include <grp.h>
#include <pwd.h>

#include <array>
#include <cstdint>
#include <map>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "base/units.h"
#include "yaml-cpp/yaml.h"

namespace copse::daemon {
namespace {

constexpr char kKey[] = "quotas";
constexpr char kWeight[] = "weight";
// One record, with the longest names and lists of members that directories have.
constexpr size_t kRecordBytesMax = 1 << 20;

using IdOf = absl::StatusOr<uint32_t> (*)(const std::string& name);

bool IsBytes(Resource resource) {
  return resource == Resource::kMemory || resource == Resource::kClientMemory || resource == Resource::kRegionBytes ||
         resource == Resource::kSparseBytes;
}

absl::Status Error(const std::string& key, std::string_view what, std::string_view things) {
  return absl::InvalidArgumentError(absl::StrCat(key, ": ", AbslView(what), " (", AbslView(things), ")"));
}

absl::StatusOr<uint32_t> UidOf(const std::string& name) {
  std::string buffer(kRecordBytesMax, '\0');
  passwd record{};
  passwd* found = nullptr;
  if (getpwnam_r(name.c_str(), &record, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) {
    return found->pw_uid;
  }
  return absl::NotFoundError(absl::StrCat("no such user on this machine (user=", name, ")"));
}

absl::StatusOr<uint32_t> GidOf(const std::string& name) {
  std::string buffer(kRecordBytesMax, '\0');
  group record{};
  group* found = nullptr;
  if (getgrnam_r(name.c_str(), &record, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) {
    return found->gr_gid;
  }
  return absl::NotFoundError(absl::StrCat("no such group on this machine (group=", name, ")"));
}

absl::StatusOr<QuotaAmount> ReadPercentage(const std::string& key, const std::string& text, Resource resource) {
  if (resource == Resource::kPosts) {
    return Error(key, "a part of what has no limit", absl::StrCat("value=", text, ", wanted=a number"));
  }
  QuotaAmount amount{.is_percent = true};
  if (!absl::SimpleAtoi(absl::StripSuffix(text, "%"), &amount.value)) {
    return Error(key, "not a percentage", absl::StrCat("value=", text));
  }
  if (amount.value <= 100) return amount;
  return Error(key, "more than there is", absl::StrCat("value=", text, ", limit=100%"));
}

absl::StatusOr<QuotaAmount> ReadAmount(const std::string& key, const std::string& text, Resource resource) {
  if (text == "unlimited") return QuotaAmount{};
  if (absl::EndsWith(text, "%")) return ReadPercentage(key, text, resource);
  uint64_t value = 0;
  if (IsBytes(resource)) {
    const absl::StatusOr<int64_t> bytes = ParseBytes(text);
    if (bytes.ok()) return QuotaAmount{static_cast<uint64_t>(*bytes)};
    return Error(key, "not a size such as 64MiB, 25% or unlimited", absl::StrCat("value=", text));
  }
  if (absl::SimpleAtoi(text, &value) && value < kUnlimited) return QuotaAmount{value};
  return Error(key, "not a number, a percentage or unlimited", absl::StrCat("value=", text));
}

absl::Status CheckMapping(const std::string& key, const YAML::Node& node) {
  return node.IsMap() || node.IsNull() ? absl::OkStatus() : Error(key, "not a mapping", absl::StrCat("key=", key));
}

absl::StatusOr<size_t> FindResource(const std::string& key, const std::string& name) {
  std::array<std::string_view, kResourceCount> known;
  for (size_t i = 0; i < kResourceCount; ++i) {
    if (kResourceNames[i].name == name) return i;
    known[i] = kResourceNames[i].name;
  }
  return Error(key, "unknown",
               absl::StrCat("key=", name, ", known=", kWeight, " ",
                            absl::StrJoin(known, " ", [](std::string* out, std::string_view each) {
                              absl::StrAppend(out, AbslView(each));
                            })));
}

absl::StatusOr<uint32_t> ReadWeight(const std::string& key, const YAML::Node& node) {
  uint32_t weight = 0;
  if (node.IsScalar() && absl::SimpleAtoi(node.Scalar(), &weight) && weight >= 1 && weight <= kWeightMax) {
    return weight;
  }
  return Error(key, "not a weight",
               absl::StrCat("value=", node.IsScalar() ? node.Scalar() : "", ", limits=1 to ", kWeightMax));
}

absl::StatusOr<QuotaLimits> ReadLimits(const std::string& key, const YAML::Node& node) {
  RETURN_IF_ERROR(CheckMapping(key, node));
  QuotaLimits limits;
  for (const auto& entry : node) {
    const std::string place = absl::StrCat(key, ".", entry.first.Scalar());
    if (entry.first.Scalar() == kWeight) {
      if (limits.weight) return Error(place, "given twice", absl::StrCat("key=", place));
      ASSIGN_OR_RETURN(limits.weight, ReadWeight(place, entry.second));
      continue;
    }
    ASSIGN_OR_RETURN(const size_t resource, FindResource(key, entry.first.Scalar()));
    if (!entry.second.IsScalar()) return Error(place, "not an amount", absl::StrCat("key=", place));
    if (limits[resource]) return Error(place, "given twice", absl::StrCat("key=", place));
    ASSIGN_OR_RETURN(limits[resource], ReadAmount(place, entry.second.Scalar(), static_cast<Resource>(resource)));
  }
  return limits;
}

// Reads limits by names, or ids, for which `id_of` has the ids.
absl::StatusOr<std::map<uint32_t, QuotaLimits>> ReadByName(const std::string& key, const YAML::Node& node, IdOf id_of) {
  RETURN_IF_ERROR(CheckMapping(key, node));
  std::map<uint32_t, QuotaLimits> all;
  for (const auto& entry : node) {
    const std::string& name = entry.first.Scalar();
    const std::string place = absl::StrCat(key, ".", name);
    ASSIGN_OR_RETURN(const QuotaLimits limits, ReadLimits(place, entry.second));
    uint32_t id = 0;
    if (!absl::SimpleAtoi(name, &id)) {
      const absl::StatusOr<uint32_t> known = id_of(name);
      if (!known.ok()) return absl::NotFoundError(absl::StrCat(key, ": ", known.status().message()));
      id = *known;
    }
    if (!all.emplace(id, limits).second) return Error(place, "given twice", absl::StrCat("id=", id));
  }
  return all;
}

absl::StatusOr<bool> ReadFlag(const std::string& key, const YAML::Node& node) {
  bool value = false;
  if (YAML::convert<bool>::decode(node, value)) return value;
  return Error(key, "neither true nor false", absl::StrCat("value=", node.IsScalar() ? node.Scalar() : ""));
}

absl::StatusOr<QuotaRules> ReadRoot(const YAML::Node& root) {
  RETURN_IF_ERROR(CheckMapping(kKey, root));
  QuotaRules rules;
  for (const auto& entry : root) {
    const std::string& name = entry.first.Scalar();
    const std::string place = absl::StrCat(kKey, ".", name);
    if (name == "exclusive") {
      ASSIGN_OR_RETURN(rules.exclusive, ReadFlag(place, entry.second));
    } else if (name == "default") {
      ASSIGN_OR_RETURN(rules.everybody, ReadLimits(place, entry.second));
    } else if (name == "users") {
      ASSIGN_OR_RETURN(rules.users, ReadByName(place, entry.second, UidOf));
    } else if (name == "groups") {
      ASSIGN_OR_RETURN(rules.groups, ReadByName(place, entry.second, GidOf));
    } else {
      return Error(kKey, "unknown", absl::StrCat("key=", name, ", known=default users groups exclusive"));
    }
  }
  return rules;
}

}  // namespace

absl::StatusOr<QuotaRules> ReadQuotas(const std::string& text) {
  try {
    return ReadRoot(YAML::Load(text));
  } catch (const YAML::Exception& e) {  // also keys that are no words
    return Error(kKey, absl::StrCat("not readable: ", e.msg), absl::StrCat("value=", text));
  }
}

}  // namespace copse::daemon
