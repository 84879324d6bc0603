// SPDX-License-Identifier: Apache-2.0
//
// The MGO paper's table and claims, computed again, by the accountings that it may have had in mind.
#ifndef COPSE_BENCH_PAPERS_MGO_TABLE_H_
#define COPSE_BENCH_PAPERS_MGO_TABLE_H_

#include <cstdint>
#include <optional>
#include <string>

namespace copse::bench {

// Table 1 of the paper: a broadcast of 1 kB, mean completion in ms. Nothing if it has no such column or line.
std::optional<double> PublishedMs(const std::string& algorithm, uint32_t nodes);

// By how many percent MGO is faster than `algorithm` there, over all numbers of nodes, as its text says. Of FCEF and LA
// the text has 2, a misprint of the 20 that its table gives; this is the table's.
struct PublishedRange {
  double least = 0, most = 0;
};
std::optional<PublishedRange> PublishedImprovement(const std::string& algorithm);

}  // namespace copse::bench

#endif  // COPSE_BENCH_PAPERS_MGO_TABLE_H_
