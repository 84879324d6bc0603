// SPDX-License-Identifier: Apache-2.0
#include "rpc/status_report.h"

#include <utility>

#include "proto/copse/v1/admin.pb.h"
#include "rpc/latency_row.h"
#include "rpc/text.h"

namespace copse::rpc {
namespace {

std::string Encoded(const v1::NodeStats& rows) {
  std::string bytes = rows.SerializeAsString();
  if (bytes.size() > kReportRowsBytesMax) bytes.clear();
  return bytes;
}

}  // namespace

schedule::StatusReport ReportOf(schedule::DaemonStatus status) {
  schedule::StatusReport report{.progress = std::move(status.progress)};
  v1::NodeStats counters, latencies, accounts;
  for (const auto& [name, value] : status.counters) (*counters.mutable_counters())[ToUtf8(name)] = value;
  for (const schedule::LatencyStatus& latency : status.latencies) FillLatency(latency, latencies.add_latencies());
  for (const schedule::AccountStatus& account : status.accounts) FillAccount(account, accounts.add_accounts());
  report.counters = Encoded(counters);
  report.latencies = Encoded(latencies);
  report.accounts = Encoded(accounts);
  std::erase_if(status.calls, [](const schedule::CallStatus& call) { return !schedule::IsLong(call); });
  report.calls = std::move(status.calls);
  return report;
}

bool AreRows(const std::string& rows) { return v1::NodeStats().ParseFromString(rows); }

void FillAccount(const schedule::AccountStatus& account, v1::AccountRow* row) {
  row->set_uid(account.uid);
  row->set_weight(account.weight);
  for (const schedule::AccountStatus::Holding& holding : account.holdings) {
    v1::HoldingRow* const held = row->add_holdings();
    held->set_resource(ToUtf8(holding.resource));
    held->set_used(holding.used);
    held->set_limit(holding.limit);
  }
  row->set_job(ToUtf8(account.job));
  for (const std::string& claimed : account.claimed) row->add_claimed(ToUtf8(claimed));
}

}  // namespace copse::rpc
