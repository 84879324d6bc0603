// SPDX-License-Identifier: Apache-2.0
//
// How a contest's side starts a program that measures between two processes of its own, such as hop_pair.
#ifndef COPSE_BENCH_PAIR_START_H_
#define COPSE_BENCH_PAIR_START_H_

#include <string>

#include "bench/rank_contender.h"

namespace copse::bench {

// To a RankContender the pair is a single rank. `program` is that of FindProgram; its first argument is the system.
RankContender::Start PairStart(std::string program, std::string system);

}  // namespace copse::bench

#endif  // COPSE_BENCH_PAIR_START_H_
