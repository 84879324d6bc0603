// SPDX-License-Identifier: Apache-2.0
//
// The machine that figures come from, in a few words.
#ifndef COPSE_BENCH_MACHINE_H_
#define COPSE_BENCH_MACHINE_H_

#include <string>

namespace copse::bench {

// "2 cores, 0 others running": processes and threads, at this moment. Ask before starting what is measured.
std::string DescribeMachine();

}  // namespace copse::bench

#endif  // COPSE_BENCH_MACHINE_H_
