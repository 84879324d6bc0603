// SPDX-License-Identifier: Apache-2.0
#include "integration_tests/campaign/ledger.h"

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "base/string_view.h"

namespace copse::campaign {
namespace {

constexpr size_t kFields = 11;

}  // namespace

std::string FormatRow(const LedgerRow& row) {
  return absl::StrCat(row.commit, " ", row.cluster, " ", row.shard, " ", row.first_seed, " ", row.last_seed, " ",
                      row.cases, " ", row.failed, " ", row.programs, " ", row.ended_well, " ", row.calls, " ",
                      row.seconds);
}

absl::StatusOr<LedgerRow> ParseRow(std::string_view line) {
  const std::vector<std::string> f = absl::StrSplit(AbslView(line), ' ');
  LedgerRow row;
  const bool ok = f.size() == kFields && absl::SimpleAtoi(f[3], &row.first_seed) &&
                  absl::SimpleAtoi(f[4], &row.last_seed) && absl::SimpleAtoi(f[5], &row.cases) &&
                  absl::SimpleAtoi(f[6], &row.failed) && absl::SimpleAtoi(f[7], &row.programs) &&
                  absl::SimpleAtoi(f[8], &row.ended_well) && absl::SimpleAtoi(f[9], &row.calls) &&
                  absl::SimpleAtod(f[10], &row.seconds);
  if (!ok) return absl::InvalidArgumentError(absl::StrCat("ledger: not a row (line=", AbslView(line), ")"));
  row.commit = f[0];
  row.cluster = f[1];
  row.shard = f[2];
  return row;
}

absl::StatusOr<uint64_t> Ledger::NextSeed(const LedgerRow& like, uint64_t otherwise) const {
  std::ifstream file(file_);
  uint64_t next = otherwise;
  for (std::string line; std::getline(file, line);) {
    ASSIGN_OR_RETURN(const LedgerRow row, ParseRow(line));
    const bool ours = row.commit == like.commit && row.cluster == like.cluster && row.shard == like.shard;
    if (ours) next = std::max(next, row.last_seed + 1);
  }
  return next;
}

absl::Status Ledger::Append(const LedgerRow& row) const {
  if (file_.empty()) return absl::OkStatus();
  std::ofstream file(file_, std::ios::app);
  file << FormatRow(row) << "\n";
  file.close();
  return file ? absl::OkStatus() : absl::ErrnoToStatus(errno, absl::StrCat("ledger: ", file_));
}

}  // namespace copse::campaign
