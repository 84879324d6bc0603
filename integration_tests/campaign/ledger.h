// SPDX-License-Identifier: Apache-2.0
//
// A campaign's progress as lines of a file, by which long runs are distinguished, summed up and continued.
#ifndef COPSE_INTEGRATION_TESTS_CAMPAIGN_LEDGER_H_
#define COPSE_INTEGRATION_TESTS_CAMPAIGN_LEDGER_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace copse::campaign {

// One range of seeds. Text fields have no blanks.
struct LedgerRow {
  std::string commit;
  std::string cluster;  // "simulated", "real"
  std::string shard;    // "1/4"
  uint64_t first_seed = 0;
  uint64_t last_seed = 0;
  uint64_t cases = 0;
  uint64_t failed = 0;
  uint64_t programs = 0;
  uint64_t ended_well = 0;
  uint64_t calls = 0;
  double seconds = 0;
};

std::string FormatRow(const LedgerRow& row);
// Errors: INVALID_ARGUMENT names the line.
absl::StatusOr<LedgerRow> ParseRow(std::string_view line);

// A Ledger appends to its file, a row at a time, so that written rows survive any end of the campaign.
class Ledger {
 public:
  // The file need not exist. Empty: nothing is written.
  explicit Ledger(std::string file) : file_(std::move(file)) {}

  // Returns the seed after the last one that this commit, cluster and shard have run; `otherwise` if there is none.
  absl::StatusOr<uint64_t> NextSeed(const LedgerRow& like, uint64_t otherwise) const;
  absl::Status Append(const LedgerRow& row) const;

 private:
  const std::string file_;
};

}  // namespace copse::campaign

#endif  // COPSE_INTEGRATION_TESTS_CAMPAIGN_LEDGER_H_
