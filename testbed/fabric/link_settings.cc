// SPDX-License-Identifier: Apache-2.0
#include "testbed/fabric/link_settings.h"

#include <cmath>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "base/units.h"

namespace copse::fabric {
namespace {

template <typename... Parts>
absl::Status Error(std::string_view key, const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(AbslView(key), ": ", parts...));
}

absl::StatusOr<int64_t> ParseTime(std::string_view key, std::string_view value) {
  const absl::StatusOr<absl::Duration> time = ParseDuration(value);
  if (!time.ok()) return Error(key, time.status().message(), " (value=", AbslView(value), ")");
  const int64_t ns = absl::ToInt64Nanoseconds(*time);
  if (ns > kLatencyNsMax) {
    return Error(key, "too long (value=", AbslView(value), ", limit=", kLatencyNsMax / 1'000'000'000, "s)");
  }
  return ns;
}

absl::StatusOr<int64_t> ParseRate(std::string_view key, std::string_view value) {
  const absl::StatusOr<double> rate = ParseBandwidth(value);
  if (!rate.ok()) return Error(key, rate.status().message(), " (value=", AbslView(value), ")");
  if (*rate > static_cast<double>(kBytesPerSecondMax)) {
    return Error(key, "too large (value=", AbslView(value), ", limit=", kBytesPerSecondMax, "B/s)");
  }
  const int64_t rounded = std::llround(*rate);
  if (rounded < 1) return Error(key, "must be at least 1 B/s (value=", AbslView(value), ", least=1B/s)");
  return rounded;
}

absl::StatusOr<double> ParseLoss(std::string_view key, std::string_view value) {
  std::string_view number = value;
  double scale = 1;
  if (number.ends_with('%')) {
    number.remove_suffix(1);
    scale = 100;
  }
  double loss = 0;
  if (!absl::SimpleAtod(AbslView(number), &loss) || !(loss >= 0) || loss > scale) {
    return Error(key, "must be a probability, such as 0.01 or 1% (value=", AbslView(value), ", limit=1)");
  }
  return loss / scale;
}

absl::Status SetQueue(std::string_view key, std::string_view value, LinkSettings* settings) {
  int64_t packets = 0;
  if (value.ends_with('p') && absl::SimpleAtoi(AbslView(value.substr(0, value.size() - 1)), &packets)) {
    if (packets < 1 || packets > kQueuePacketsMax) {
      return Error(key, "must be from 1p (value=", AbslView(value), ", limit=", kQueuePacketsMax, "p)");
    }
    settings->queue_packets = packets;
    return absl::OkStatus();
  }
  const absl::StatusOr<int64_t> bytes = ParseBytes(value);
  if (!bytes.ok()) {
    return Error(key, "must be bytes, such as 256KiB, or packets, such as 100p (value=", AbslView(value), ")");
  }
  if (*bytes < 1 || *bytes > kQueueBytesMax) {
    return Error(key, "must be from 1 byte (value=", AbslView(value), ", limit=", FormatBytes(kQueueBytesMax), ")");
  }
  settings->queue_bytes = *bytes;
  return absl::OkStatus();
}

}  // namespace

absl::Status SetLinkSetting(std::string_view key, std::string_view value, LinkSettings* settings) {
  if (key == "latency") {
    ASSIGN_OR_RETURN(settings->latency_ns, ParseTime(key, value));
  } else if (key == "jitter") {
    ASSIGN_OR_RETURN(settings->jitter_ns, ParseTime(key, value));
  } else if (key == "bandwidth" || key == "rate") {
    ASSIGN_OR_RETURN(settings->bytes_per_s, ParseRate(key, value));
  } else if (key == "loss") {
    ASSIGN_OR_RETURN(settings->loss, ParseLoss(key, value));
  } else if (key == "queue") {
    return SetQueue(key, value, settings);
  } else if (key == "reorder") {
    if (value != "true" && value != "false") {
      return Error(key, "must be true or false (value=", AbslView(value), ")");
    }
    settings->reorder = value == "true";
  } else {
    return Error(key, "unknown setting (known=latency bandwidth rate jitter loss queue reorder)");
  }
  return absl::OkStatus();
}

}  // namespace copse::fabric
