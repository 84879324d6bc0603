// SPDX-License-Identifier: Apache-2.0
#include "bench/tnbc_cost.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "bench/collectives.h"
#include "bench/entrants.h"
#include "bench/rank_contest.h"
#include "bench/row.h"
#include "bench/scenario_rounds.h"
#include "bench/site.h"
#include "bench/tnbc_systems.h"
#include "client/tnbc/fragmentation.h"
#include "client/tnbc/pages/page_guard.h"
#include "client/tnbc/send_snapshot.h"

namespace copse::bench {
namespace {

using Reporter = std::function<void(const Row&)>;

constexpr uint64_t kKiB = 1024, kMiB = 1024 * kKiB;
// Of what is brought by one call: what opens together.
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
  Row row;
  row.bench = "tnbc-cost";
  row.what = absl::StrCat(step, " ", SizeName(bytes));
  row.system = "copse";
  row.nodes = row.ppn = 1;
  row.bytes = bytes;
  row.metric = "time";
  row.unit = "us";
  return row;
}

absl::Status RunSteps(const Options& options, const Reporter& report) {
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
      Row row = RowOf(step, bytes);
      if (!Wanted(options, row)) continue;
      row.note = Notes().at(step);
      Summarize(values, &row);
      report(row);
    }
  }
  return absl::OkStatus();
}

// --- In the call ---

constexpr uint32_t kNodes = 2;

std::vector<Payload> Payloads(bool quick) {
  if (quick) return {{"alltoall", 256 * kKiB}};
  std::vector<Payload> payloads;
  for (const std::string memory : {"malloc", "mpi"}) {
    for (const std::string collective : {"alltoall", "bcast"}) {
      for (const uint64_t bytes : {256 * kKiB, kMiB}) payloads.push_back({collective, bytes, memory});
    }
  }
  return payloads;
}

std::string NameOf(const Payload& payload) {
  return absl::StrCat(payload.collective, " ", SizeName(payload.bytes),
                      payload.memory == "mpi" ? ", memory of MPI_Alloc_mem" : "", ", shaped ", kFastLink.name);
}

// The programs sleep behind the call until all is there.
RankContest ContestOf(const Options& options, const std::vector<double>& calls) {
  RankContest contest;
  contest.bench = "tnbc-cost";
  contest.metric = "time";
  contest.unit = "ms";
  for (const std::string library : kTnbcLibraries) {
    contest.systems.push_back(library + kTnbc);
    contest.systems.push_back(library + kBlocking);
    contest.pairs.emplace_back(library + kTnbc, library + kBlocking);
  }
  const std::vector<Payload> payloads = Payloads(options.quick);
  for (size_t i = 0; i < payloads.size(); ++i) {
    const double call = calls.empty() ? 0 : calls[i];
    contest.cases.push_back({NameOf(payloads[i]), CellOf(payloads[i], {.unrelated = 2 * call, .related = call})});
  }
  contest.note = "call, and sleep three times as long";
  contest.runs = options.quick ? 1 : 5;
  contest.budget = absl::Milliseconds(options.quick ? 300 : 2000);
  contest.calls_max = 50;
  contest.peer_time_max = absl::InfiniteDuration();
  return contest;
}

absl::Status RunCalls(const Options& options, const Reporter& report) {
  if (!AnyWanted(options, ContestOf(options, {}), kNodes)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto site,
                   Site::Open({.nodes = kNodes, .parent = options.folder, .rate_bits_per_s = kFastLink.bits_per_s}));
  ASSIGN_OR_RETURN(const std::vector<double> calls, TimeCalls(options, Payloads(options.quick), 1, site.get()));
  RankContest contest = ContestOf(options, calls);
  contest.start = [&](const std::string& system, const std::vector<std::string>& arguments) {
    return StartTnbc(system, {.program = kScenarioProgram, .ppn = 1, .arguments = arguments}, site.get());
  };
  std::map<std::pair<std::string, size_t>, std::vector<Rounds>> said;
  contest.take = [&](const std::string& system, size_t index,
                     const std::vector<double>& samples) -> absl::StatusOr<std::vector<double>> {
    ASSIGN_OR_RETURN(const Rounds rounds, ParseRounds(samples));
    said[{system, index}].push_back(rounds);
    return rounds.totals;
  };
  return RunRankContest(options, contest, site.get(), [&](const Row& row) {
    report(row);
    if (!row.peer.empty() || row.metric == "unfinished" || !absl::EndsWith(row.system, kTnbc)) return;
    size_t index = 0;
    while (contest.cases[index].what != row.what) ++index;
    const std::vector<Rounds>& early = said[{row.system, index}];
    const std::vector<Rounds>& blocking = said[{LibraryOf(row.system) + kBlocking, index}];
    std::vector<double> in_call;
    for (size_t i = 0; i < std::min(early.size(), blocking.size()); ++i) {
      in_call.push_back(100 * early[i].in_call / blocking[i].call);
    }
    if (in_call.empty()) return;
    Row share = row;
    share.note = "of the blocking call";
    report(Figure(share, "in call", "%", in_call));
  });
}

}  // namespace

absl::Status RunTnbcCost(const Options& options, const Reporter& report) {
  RETURN_IF_ERROR(RunSteps(options, report));
  return RunCalls(WithTimeForTnbc(options), report);
}

}  // namespace copse::bench
