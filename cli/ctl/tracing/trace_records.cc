// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/tracing/trace_records.h"

#include "absl/strings/str_cat.h"
#include "base/bytes.h"

namespace copse::ctl {

absl::Status NodeTrace::Append(std::string_view bytes) {
  if (bytes.size() % kTraceRecordBytes != 0) {
    return absl::InvalidArgumentError(absl::StrCat("trace of ", name, ": no whole records (bytes=", bytes.size(), ")"));
  }
  ByteReader reader(bytes);
  records.reserve(records.size() + bytes.size() / kTraceRecordBytes);
  while (reader.left() > 0) {
    TraceRecord r;
    r.time_ns = static_cast<int64_t>(reader.Get<uint64_t>());
    r.kind = reader.Get<uint8_t>();
    r.flags = reader.Get<uint8_t>();
    r.phase = reader.Get<uint16_t>();
    r.team = reader.Get<uint32_t>();
    r.call = reader.Get<uint32_t>();
    r.subject = reader.Get<uint32_t>();
    r.peer = reader.Get<uint32_t>();
    r.bytes = reader.Get<uint32_t>();
    records.push_back(r);
  }
  return absl::OkStatus();
}

}  // namespace copse::ctl
