// SPDX-License-Identifier: Apache-2.0
//
// What the instruments that are always on cost: a trace record, a latency, a look at the clock. For valgrind too:
//   valgrind --tool=callgrind --toggle-collect='BM_TraceRecord*' bazel-bin/bench/pairs/instruments
//       --benchmark_filter=TraceRecord --benchmark_min_time=0.001
#include <cstdint>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/histogram.h"
#include "benchmark/benchmark.h"
#include "daemon/core/calls/instruments.h"
#include "offload_emu/trace_ring.h"

namespace copse {
namespace {

void BM_Clock(benchmark::State& state) {
  const MonotonicClock clock;
  for (auto _ : state) benchmark::DoNotOptimize(clock.Now());
}
BENCHMARK(BM_Clock);

// A turn of the loop with so many records, and one look at the clock.
void BM_TraceRecord(benchmark::State& state) {
  const MonotonicClock clock;
  emu::TraceRing ring(&clock, 65536);
  const auto records = static_cast<uint32_t>(state.range(0));
  for (auto _ : state) {
    ring.NewTurn();
    for (uint32_t i = 0; i < records; ++i) {
      ring.Record({.kind = emu::TraceKind::kTriggerFired, .team = 1, .call = i, .subject = 2, .peer = 3, .bytes = 48});
    }
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * records);
}
BENCHMARK(BM_TraceRecord)->Arg(1)->Arg(4)->Arg(16);

void BM_Histogram(benchmark::State& state) {
  Histogram histogram;
  uint64_t value = 1;
  for (auto _ : state) {
    histogram.Record(value & 0xfffff);
    value = value * 6364136223846793005 + 1;
  }
  benchmark::DoNotOptimize(histogram.max());
}
BENCHMARK(BM_Histogram);

void BM_CallLatency(benchmark::State& state) {
  daemon::CallLatencies latencies;
  absl::Duration took = absl::Nanoseconds(100);
  for (auto _ : state) {
    latencies.Record(Collective::kAllreduce, 48, schedule::CallPart::kCall, took);
    took += absl::Nanoseconds(7);
  }
}
BENCHMARK(BM_CallLatency);

}  // namespace
}  // namespace copse

BENCHMARK_MAIN();
