// SPDX-License-Identifier: Apache-2.0

#include "base/units.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "base/string_view.h"

namespace copse {
namespace {

// 64-bit integers are exact in a long double wherever it has a 64-bit significand, as on x86-64 and
// AArch64.
struct Unit {
  const char* name;
  long double factor;
};

// The factors are nanoseconds.
constexpr Unit kDurationUnits[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};

// The factors are bytes per second.
constexpr Unit kBandwidthUnits[] = {
    {"bit", 1e0L / 8}, {"kbit", 1e3L / 8}, {"Mbit", 1e6L / 8}, {"Gbit", 1e9L / 8}, {"Tbit", 1e12L / 8},
    {"B", 1e0L},       {"kB", 1e3L},       {"MB", 1e6L},       {"GB", 1e9L},       {"TB", 1e12L},
};

constexpr long double kKi = 1024;
constexpr Unit kByteUnits[] = {
    {"", 1},
    {"B", 1},
    {"kB", 1e3L},
    {"MB", 1e6L},
    {"GB", 1e9L},
    {"TB", 1e12L},
    {"K", kKi},
    {"M", kKi* kKi},
    {"G", kKi* kKi* kKi},
    {"T", kKi* kKi* kKi* kKi},
    {"KiB", kKi},
    {"MiB", kKi* kKi},
    {"GiB", kKi* kKi* kKi},
    {"TiB", kKi* kKi* kKi* kKi},
};

constexpr long double kTwoTo63 = 0x1p63L;

// Limits a number's digits: they suffice for 2^63 in any of the units, without rounding of the integer part.
constexpr size_t kDigitsMax = 19;

absl::Status Error(const char* what, std::string_view text, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat(what, " '", AbslView(text), "': ", why));
}

template <size_t n>
std::string NamesOf(const Unit (&units)[n]) {
  std::string names;
  for (const Unit& unit : units) {
    if (*unit.name != '\0') absl::StrAppend(&names, names.empty() ? "" : ", ", unit.name);
  }
  return names;
}

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }

// Splits `text` into number and unit, and returns their product. `optional_suffix` may follow the unit. `what` names
// the amount in errors.
template <size_t n>
absl::StatusOr<long double> ParseAmount(const char* what, std::string_view text, const Unit (&units)[n],
                                        std::string_view optional_suffix = "") {
  const std::string_view body = StdView(absl::StripAsciiWhitespace(AbslView(text)));
  size_t i = 0;
  size_t digits = 0;
  bool seen_point = false;
  long double value = 0;
  long double scale = 1;
  for (; i < body.size() && (IsDigit(body[i]) || (body[i] == '.' && !seen_point)); ++i) {
    if (body[i] == '.') {
      seen_point = true;
      continue;
    }
    value = value * 10 + (body[i] - '0');
    if (seen_point) scale *= 10;
    ++digits;
  }
  if (digits == 0 || body[i - 1] == '.') return Error(what, text, "does not start with a decimal number");
  if (digits > kDigitsMax) return Error(what, text, absl::StrCat("too many digits (limit ", kDigitsMax, ")"));

  std::string_view name = StdView(absl::StripLeadingAsciiWhitespace(AbslView(body.substr(i))));
  if (!optional_suffix.empty() && name.size() > optional_suffix.size() && name.ends_with(optional_suffix)) {
    name.remove_suffix(optional_suffix.size());
  }
  for (const Unit& unit : units) {
    if (name == unit.name) return value * unit.factor / scale;
  }
  return Error(what, text, absl::StrCat(name.empty() ? "no unit" : "unknown unit", " (one of ", NamesOf(units), ")"));
}

}  // namespace

absl::StatusOr<absl::Duration> ParseDuration(std::string_view text) {
  ASSIGN_OR_RETURN(const long double ns, ParseAmount("duration", text, kDurationUnits));
  if (ns >= kTwoTo63) return Error("duration", text, "too long (limit 292 years)");
  const long double whole_ns = std::floor(ns);
  return absl::Nanoseconds(static_cast<int64_t>(whole_ns)) + absl::Nanoseconds(static_cast<double>(ns - whole_ns));
}

absl::StatusOr<double> ParseBandwidth(std::string_view text) {
  ASSIGN_OR_RETURN(const long double bytes_per_second, ParseAmount("bandwidth", text, kBandwidthUnits, "/s"));
  return static_cast<double>(bytes_per_second);
}

absl::StatusOr<int64_t> ParseBytes(std::string_view text) {
  ASSIGN_OR_RETURN(const long double bytes, ParseAmount("size", text, kByteUnits));
  if (bytes >= kTwoTo63) return Error("size", text, "too large (limit 2^63 - 1 bytes)");
  if (bytes != std::floor(bytes)) return Error("size", text, "not a whole number of bytes");
  return static_cast<int64_t>(bytes);
}

std::string FormatBytes(int64_t bytes) {
  static constexpr const char* kNames[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  // 1023.95 would round to 1024 with four digits.
  while (std::fabs(value) >= 1023.95 && unit + 1 < std::size(kNames)) {
    value /= 1024;
    ++unit;
  }
  return absl::StrFormat("%.4g%s", value, kNames[unit]);
}

std::string FormatShortDuration(absl::Duration duration) {
  if (duration == absl::InfiniteDuration()) return "inf";
  if (duration == -absl::InfiniteDuration()) return "-inf";
  const absl::Duration size = absl::AbsDuration(duration);
  if (size == absl::ZeroDuration()) return "0s";
  if (size >= absl::Seconds(1)) return absl::StrFormat("%.10gs", absl::ToDoubleSeconds(duration));
  if (size >= absl::Milliseconds(1)) return absl::StrFormat("%.4gms", absl::ToDoubleMilliseconds(duration));
  if (size >= absl::Microseconds(1)) return absl::StrFormat("%.4gus", absl::ToDoubleMicroseconds(duration));
  return absl::StrFormat("%.4gns", absl::ToDoubleNanoseconds(duration));
}

}  // namespace copse
