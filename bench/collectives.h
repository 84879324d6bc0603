// SPDX-License-Identifier: Apache-2.0
//
// Every collective at sizes from a word to long messages, of Copse and of MPI libraries.
#ifndef COPSE_BENCH_COLLECTIVES_H_
#define COPSE_BENCH_COLLECTIVES_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "bench/bench.h"

namespace copse::bench {

absl::Status RunCollectives(const Options& options, const std::function<void(const Row&)>& report);

// "8 B", "64 KiB", "1 MiB"
std::string SizeName(uint64_t bytes);

// Whether the call is one that benchmarks make: of one rank's two buffers together, its own block counted once, at most
// 64 MiB.
bool FitsRank(const std::string& collective, uint64_t bytes, uint32_t ranks);

}  // namespace copse::bench

#endif  // COPSE_BENCH_COLLECTIVES_H_
