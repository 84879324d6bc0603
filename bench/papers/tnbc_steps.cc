// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/check.h"
#include "bench/benchmarks.h"
#include "client/tnbc/fragmentation.h"
#include "client/tnbc/pages/page_guard.h"
#include "client/tnbc/send_snapshot.h"

namespace copse::bench {
namespace {

constexpr uint64_t kKiB = 1024, kMiB = 1024 * kKiB;
// What one call brings opens together in parts of this size.
constexpr uint64_t kGranuleBytes = 256 * kKiB;

uint64_t PageBytes() { return static_cast<uint64_t>(sysconf(_SC_PAGESIZE)); }

// Pages, all of which have been touched.
class Memory {
 public:
  explicit Memory(uint64_t bytes) : bytes_(bytes) {
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    data_ = static_cast<uint8_t*>(memory);
    memset(data_, 1, bytes);
  }
  ~Memory() { munmap(data_, bytes_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  uint8_t* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }

  std::vector<tnbc::Range> Granules() const {
    std::vector<tnbc::Range> granules;
    const auto begin = reinterpret_cast<uintptr_t>(data_);
    for (uint64_t at = 0; at < bytes_; at += kGranuleBytes) {
      granules.push_back({begin + at, begin + std::min(at + kGranuleBytes, bytes_)});
    }
    return granules;
  }

 private:
  const uint64_t bytes_;
  uint8_t* data_;
};

// Microseconds, by step.
using Times = std::map<std::string, std::vector<double>>;

template <typename Step>
double TimeOf(const Step& step) {
  const int64_t start = absl::GetCurrentTimeNanos();
  step();
  return static_cast<double>(absl::GetCurrentTimeNanos() - start) / 1e3;
}

// As a broadcast's root sends it by one call.
tnbc::Fragmentation WholeOf(uint64_t bytes) {
  tnbc::Fragmentation fragmentation;
  fragmentation.is_source = true;
  fragmentation.receive_bytes = bytes;
  tnbc::SubCall call;
  call.args.type = COPSE_DT_UINT8;
  call.args.count = bytes;
  fragmentation.calls.push_back(call);
  return fragmentation;
}

void TimeOnce(tnbc::PageGuard* guard, const Memory& received, const Memory& sent, const Memory& copy, Times* times) {
  const std::vector<tnbc::Range> granules = received.Granules();
  (*times)["protect"].push_back(TimeOf([&] { CHECK(guard->Protect(granules)); }));
  (*times)["unprotect"].push_back(TimeOf([&] {
    for (const tnbc::Range& granule : granules) guard->Release(granule);
  }));
  const tnbc::Fragmentation fragmentation = WholeOf(sent.bytes());
  (*times)["copy"].push_back(TimeOf([&] {
    tnbc::SendSnapshot(guard).Start(fragmentation, sent.data(), copy.data(), tnbc::SendSnapshot::Way::kAtOnce,
                                    PageBytes());
  }));
  tnbc::SendSnapshot snapshot(guard);
  (*times)["snapshot"].push_back(TimeOf([&] {
    snapshot.Start(fragmentation, sent.data(), copy.data(), tnbc::SendSnapshot::Way::kInPieces, PageBytes());
    CHECK(snapshot.Protect());
  }));
  const uint64_t copies = guard->counters().copies;
  const double writing = TimeOf([&] {
    for (uint64_t at = 0; at < sent.bytes(); at += PageBytes()) static_cast<volatile uint8_t*>(sent.data())[at] = 2;
  });
  const uint64_t faults = guard->counters().copies - copies;
  if (faults > 0) (*times)["fault"].push_back(writing / static_cast<double>(faults));
  while (snapshot.CopyNext()) {
  }
}

const std::map<std::string, const char*>& Notes() {
  static const auto* const notes = new std::map<std::string, const char*>{
      {"protect", "what is to be received, in granules of 256 KiB"},
      {"unprotect", "these, one after the other"},
      {"copy", "of what is sent, at once"},
      {"snapshot", "what is sent made read-only instead; shorter than 32 KiB is copied"},
      {"fault", "a write to it: a piece of up to 256 KiB is copied and opened"}};
  return *notes;
}

Row RowOf(const std::string& step, uint64_t bytes) {
  const std::string size = bytes < kMiB ? absl::StrCat(bytes / kKiB, " KiB") : absl::StrCat(bytes / kMiB, " MiB");
  return {.bench = "tnbc-cost",
          .what = absl::StrCat(step, " ", size),
          .system = "copse",
          .nodes = 1,
          .ppn = 1,
          .bytes = bytes,
          .note = Notes().at(step)};
}

}  // namespace

absl::Status RunTnbcSteps(const Options& options, const Contest&, const Reporter& report) {
  const char* why = "";
  tnbc::PageGuard* const guard = tnbc::PageGuard::Start({[](uintptr_t) { _exit(1); }, [] {}}, &why);
  if (guard == nullptr) return absl::UnimplementedError(why);
  for (uint64_t bytes = 4 * kKiB; bytes <= (options.quick ? kMiB : 64 * kMiB); bytes *= 4) {
    const auto is_wanted = [&](const auto& note) { return Wanted(options, RowOf(note.first, bytes)); };
    if (std::none_of(Notes().begin(), Notes().end(), is_wanted)) continue;
    const Memory received(bytes), sent(bytes), copy(bytes);
    Times times;
    TimeOnce(guard, received, sent, copy, &times);
    times.clear();
    const uint32_t samples = options.quick ? 5 : 51;
    for (uint32_t i = 0; i < samples; ++i) TimeOnce(guard, received, sent, copy, &times);
    for (const auto& [step, values] : times) {
      const Row row = RowOf(step, bytes);
      if (!Wanted(options, row)) continue;
      report(Figure(row, "time", "us", values));
    }
  }
  return absl::OkStatus();
}

}  // namespace copse::bench
