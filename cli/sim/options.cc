// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/options.h"

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/files.h"
#include "base/status_macros.h"
#include "base/units.h"

namespace copse::simcli {
namespace {

constexpr uint64_t kBytesMax = uint64_t{1} << 33;

absl::StatusOr<uint64_t> ParseNumber(const std::string& name, absl::string_view text, uint64_t least, uint64_t limit) {
  uint64_t value = 0;
  if (!absl::SimpleAtoi(text, &value)) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": not a number (value=", text, ")"));
  }
  if (value < least || value > limit) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": out of range (value=", value, ", least=", least, ", limit=", limit, ")"));
  }
  return value;
}

absl::StatusOr<uint64_t> ParseByteCount(const std::string& name, const std::string& text) {
  const absl::StatusOr<int64_t> bytes = ParseBytes(text);
  if (!bytes.ok()) return absl::InvalidArgumentError(absl::StrCat(name, ": ", bytes.status().message()));
  if (static_cast<uint64_t>(*bytes) > kBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": too many (bytes=", *bytes, ", limit=", kBytesMax, ")"));
  }
  return static_cast<uint64_t>(*bytes);
}

}  // namespace

absl::StatusOr<uint64_t> NumberOption(const Arguments& arguments, const std::string& name, uint64_t fallback,
                                      uint64_t least, uint64_t limit) {
  if (!arguments.Has(name)) return fallback;
  return ParseNumber(name, arguments.Text(name), least, limit);
}

absl::StatusOr<uint64_t> BytesOption(const Arguments& arguments, const std::string& name, uint64_t fallback) {
  if (!arguments.Has(name)) return fallback;
  return ParseByteCount(name, arguments.Text(name));
}

absl::StatusOr<std::vector<uint64_t>> BytesListOption(const Arguments& arguments, const std::string& name,
                                                      const std::string& fallback) {
  std::vector<uint64_t> list;
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(arguments.Text(name, fallback), ','))) {
    ASSIGN_OR_RETURN(list.emplace_back(), ParseByteCount(name, part));
  }
  return list;
}

absl::StatusOr<std::vector<uint64_t>> NumberListOption(const Arguments& arguments, const std::string& name,
                                                       const std::string& fallback, uint64_t least, uint64_t limit) {
  const std::string text = arguments.Text(name, fallback);
  std::vector<uint64_t> list;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::pair<absl::string_view, absl::string_view> ends = absl::StrSplit(part, absl::MaxSplits('-', 1));
    ASSIGN_OR_RETURN(const uint64_t first, ParseNumber(name, ends.first, least, limit));
    uint64_t last = first;
    if (part.find('-') != absl::string_view::npos) {
      ASSIGN_OR_RETURN(last, ParseNumber(name, ends.second, least, limit));
    }
    if (last < first || last - first >= kListMax || list.size() + (last - first) >= kListMax) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ": a list that runs backwards or is too long (value=", text, ", limit=", kListMax, ")"));
    }
    for (uint64_t i = 0; i <= last - first; ++i) list.push_back(first + i);
  }
  return list;
}

absl::StatusOr<int64_t> DurationOption(const Arguments& arguments, const std::string& name, int64_t fallback_ns) {
  if (!arguments.Has(name)) return fallback_ns;
  const absl::StatusOr<absl::Duration> duration = ParseDuration(arguments.Text(name));
  if (!duration.ok()) return absl::InvalidArgumentError(absl::StrCat(name, ": ", duration.status().message()));
  return absl::ToInt64Nanoseconds(*duration);
}

absl::StatusOr<Collective> CollectiveOption(const Arguments& arguments, const std::string& fallback,
                                            const std::string& others) {
  const std::string name = arguments.Text("collective", fallback);
  const std::optional<Collective> collective = CollectiveFromName(name);
  if (!collective.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("collective: unknown (name=", name, ", known=barrier bcast reduce allreduce", others, ")"));
  }
  return *collective;
}

bool WantsJson(const Arguments& arguments) { return arguments.Text(kFormat) == "json"; }

absl::StatusOr<std::string> ReadTextFile(const std::string& path, size_t bytes_max) {
  std::optional<std::string> text = ReadFile(path, bytes_max);
  if (!text.has_value()) return absl::InvalidArgumentError(absl::StrCat("cannot be read (file=", path, ")"));
  if (text->size() <= bytes_max) return *std::move(text);
  return absl::InvalidArgumentError(absl::StrCat("too long (file=", path, ", limit=", bytes_max, ")"));
}

absl::Status WriteTextFile(const std::string& path, const std::string& text) {
  if (WriteFile(path, text)) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("cannot be written: ", std::strerror(errno), " (file=", path, ")"));
}

}  // namespace copse::simcli
