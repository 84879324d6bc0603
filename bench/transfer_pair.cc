// SPDX-License-Identifier: Apache-2.0
//
// Two processes, the first of which sends pieces of memory to the other, over TCP on loopback.
//
//     transfer_pair SYSTEM BUDGET_MS PIECES_MAX METRIC:piece:BYTES...
//
// SYSTEM: ucx-eager-copied, ucx-eager, ucx-rendezvous, ucx-put. METRIC: throughput (MB/s), processor (microseconds of
// both processes for each MiB). Speaks as rank_main.c does: `ready`, then for each cell a line with its number and a
// value for each stream of pieces.
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "bench/pair_end.h"
#include "bench/transfer_side.h"

namespace copse::bench {
namespace {

constexpr uint32_t kStreamsPerCell = 8;
constexpr uint32_t kPiecesChecked = 4 * kPiecesUnderWay;

// The same in both processes.
struct Cell {
  bool processor = false;
  uint32_t bytes = 0;
};

// What the receiver says after a stream.
struct Received {
  int64_t processor_ns = 0;
  bool ok = false;
};

int64_t ProcessorNs() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// A stream of no pieces ends it.
absl::Status RunReceiver(const PairEnd& pair, TransferSide* side) {
  for (;;) {
    TransferStream stream;
    RETURN_IF_ERROR(pair.Hear(&stream));
    if (stream.pieces == 0) return absl::OkStatus();
    RETURN_IF_ERROR(pair.Tell(true));
    const int64_t start = ProcessorNs();
    absl::Status status = side->Receive(stream);
    const int64_t took = ProcessorNs() - start;
    if (status.ok()) status = side->Verify(stream);
    RETURN_IF_ERROR(pair.Tell(Received{.processor_ns = took, .ok = status.ok()}));
    RETURN_IF_ERROR(status);
  }
}

struct Took {
  int64_t ns = 0;
  int64_t processor_ns = 0;
};

absl::StatusOr<Took> RunStream(const PairEnd& pair, TransferSide* side, const TransferStream& stream) {
  if (stream.checks_each == 0) side->Fill(stream);
  RETURN_IF_ERROR(pair.Tell(stream));
  bool ready = false;
  RETURN_IF_ERROR(pair.Hear(&ready));
  const int64_t start = absl::GetCurrentTimeNanos();
  const int64_t processor_start = ProcessorNs();
  RETURN_IF_ERROR(side->Send(stream));
  Took took = {.ns = absl::GetCurrentTimeNanos() - start, .processor_ns = ProcessorNs() - processor_start};
  Received received;
  RETURN_IF_ERROR(pair.Hear(&received));
  if (!received.ok) return absl::DataLossError("the receiver has got something else than was sent");
  took.processor_ns += received.processor_ns;
  return took;
}

absl::Status RunSender(const PairEnd& pair, TransferSide* side, const std::vector<Cell>& cells, double budget_ns,
                       uint32_t pieces_max) {
  TransferStream stream;
  for (size_t i = 0; i < cells.size(); ++i) {
    stream = {.number = stream.number + 1, .pieces = kPiecesChecked, .bytes = cells[i].bytes, .checks_each = 1};
    RETURN_IF_ERROR(RunStream(pair, side, stream).status());
    stream.checks_each = 0;
    ++stream.number;
    ASSIGN_OR_RETURN(const Took trial, RunStream(pair, side, stream));
    const double fit = budget_ns / kStreamsPerCell / static_cast<double>(trial.ns) * kPiecesChecked;
    stream.pieces = static_cast<uint32_t>(std::clamp<double>(fit, kPiecesUnderWay, pieces_max));
    stream.pieces -= stream.pieces % kPiecesUnderWay;
    std::printf("%zu", i);
    for (uint32_t run = 0; run < kStreamsPerCell; ++run) {
      ++stream.number;
      ASSIGN_OR_RETURN(const Took took, RunStream(pair, side, stream));
      const double bytes = static_cast<double>(stream.pieces) * stream.bytes;
      std::printf(" %.3f", cells[i].processor ? static_cast<double>(took.processor_ns) / 1000 / (bytes / (1 << 20))
                                              : bytes * 1000 / static_cast<double>(took.ns));
    }
    std::printf("\n");
    std::fflush(stdout);
  }
  return pair.Tell(TransferStream());
}

absl::Status Main(TransferWay way, double budget_ns, uint32_t pieces_max, const std::vector<Cell>& cells) {
  ASSIGN_OR_RETURN(const PairEnd pair, PairEnd::Fork());
  ASSIGN_OR_RETURN(const std::unique_ptr<TransferSide> side, NewTransferSide(way));
  ASSIGN_OR_RETURN(const std::string peer, pair.Exchange(side->Address()));
  RETURN_IF_ERROR(side->Connect(peer));
  if (!pair.is_first()) return RunReceiver(pair, side.get());
  pair.AwaitStart();
  return RunSender(pair, side.get(), cells, budget_ns, pieces_max);
}

int Usage() {
  std::fprintf(stderr,
               "usage: transfer_pair ucx-eager-copied|ucx-eager|ucx-rendezvous|ucx-put BUDGET_MS PIECES_MAX "
               "{throughput|processor}:piece:BYTES...\n");
  return 2;
}

bool WayOf(const std::string& system, TransferWay* way) {
  for (const auto& [name, value] :
       {std::pair{"ucx-eager-copied", TransferWay::kEagerCopied}, std::pair{"ucx-eager", TransferWay::kEager},
        std::pair{"ucx-rendezvous", TransferWay::kRendezvous}, std::pair{"ucx-put", TransferWay::kPut}}) {
    if (system != name) continue;
    *way = value;
    return true;
  }
  return false;
}

bool ParseCell(const char* text, Cell* cell) {
  const std::vector<std::string> words = absl::StrSplit(text, ':');
  if (words.size() != 3 || (words[0] != "throughput" && words[0] != "processor")) return false;
  cell->processor = words[0] == "processor";
  return absl::SimpleAtoi(words[2], &cell->bytes) && cell->bytes > 0 && cell->bytes <= kPieceBytesMax &&
         cell->bytes % sizeof(uint64_t) == 0;
}

}  // namespace
}  // namespace copse::bench

int main(int argc, char** argv) {
  using namespace copse::bench;
  TransferWay way = TransferWay::kEager;
  double budget_ms = 0;
  uint32_t pieces_max = 0;
  if (argc < 5 || !WayOf(argv[1], &way) || !absl::SimpleAtod(argv[2], &budget_ms) ||
      !absl::SimpleAtoi(argv[3], &pieces_max) || pieces_max < kPiecesUnderWay) {
    return Usage();
  }
  std::vector<Cell> cells(static_cast<size_t>(argc) - 4);
  for (int i = 4; i < argc; ++i) {
    if (!ParseCell(argv[i], &cells[static_cast<size_t>(i) - 4])) return Usage();
  }
  const absl::Status status = Main(way, budget_ms * 1e6, pieces_max, cells);
  if (status.ok()) return 0;
  std::fprintf(stderr, "transfer_pair: %s: %s\n", argv[1], std::string(status.message()).c_str());
  return 1;
}
