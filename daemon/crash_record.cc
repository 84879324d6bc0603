// SPDX-License-Identifier: Apache-2.0
#include "daemon/crash_record.h"

#include "absl/strings/str_cat.h"
#include "base/version.h"

namespace copse::daemon {

CrashRecord::CrashRecord(const std::string& node, Incarnation incarnation)
    : head_(absl::StrCat("copse-crash 1\nnode ", node, "\nincarnation ", incarnation.value(), "\nversion ", kVersion,
                         "\n")) {}

CrashRecord* CrashRecord::Install(const std::string& path, const std::string& node, Incarnation incarnation) {
  auto* const record = new CrashRecord(node, incarnation);
  if (!path.empty()) WriteFileOnCrash(path, Write, record);
  return record;
}

void CrashRecord::SetCounters(const std::map<std::string, uint64_t>& counters) {
  const std::string* const shown = shown_.load(std::memory_order_relaxed);
  std::string& text = counters_[shown == &counters_[0] ? 1 : 0];
  text.clear();
  for (const auto& [name, value] : counters) absl::StrAppend(&text, "counter ", name, " ", value, "\n");
  // A crash on another thread meanwhile sees one of both texts whole: release pairs with Write's acquire.
  shown_.store(&text, std::memory_order_release);
}

void CrashRecord::Write(CrashWriter& writer, int signal, const void* context) {
  const auto& record = *static_cast<const CrashRecord*>(context);
  writer.Text(record.head_.c_str());
  writer.Text("signal ");
  writer.Number(static_cast<uint64_t>(signal));
  writer.Text("\n");
  // Pairs with the release store in SetCounters.
  writer.Text(record.shown_.load(std::memory_order_acquire)->c_str());
  const emu::TraceRing* const trace = record.trace_.load(std::memory_order_relaxed);
  writer.Text("records ");
  writer.Number(trace == nullptr ? 0 : trace->next() - trace->oldest());
  writer.Text("\n");
  if (trace == nullptr) return;
  trace->ForEachPart([&writer](absl::Span<const emu::TraceRecord> part) {
    writer.Bytes(part.data(), part.size() * sizeof(emu::TraceRecord));
  });
}

}  // namespace copse::daemon
