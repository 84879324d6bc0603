// SPDX-License-Identifier: Apache-2.0
//
// What the emulated network carries on this machine, and how punctually: what its other users' figures rest on.
#ifndef COPSE_BENCH_FABRIC_H_
#define COPSE_BENCH_FABRIC_H_

#include <functional>

#include "absl/status/status.h"
#include "bench/bench.h"

namespace copse::bench {

// Two nodes of two racks, 10 Gbit/s everywhere, 500 us one way. PERMISSION_DENIED without root, UNAVAILABLE without
// TUN.
absl::Status RunFabric(const Options& options, const std::function<void(const Row&)>& report);

}  // namespace copse::bench

#endif  // COPSE_BENCH_FABRIC_H_
