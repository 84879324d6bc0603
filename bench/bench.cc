// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"

#include "absl/strings/str_cat.h"

namespace copse::bench {

std::string LabelOf(const Row& row) { return absl::StrCat(row.bench, " ", row.nodes, "x", row.ppn, " ", row.what); }

bool Wanted(const Options& options, const Row& row) { return LabelOf(row).find(options.only) != std::string::npos; }

}  // namespace copse::bench
