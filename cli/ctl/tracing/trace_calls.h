// SPDX-License-Identifier: Apache-2.0
//
// Finds the calls that a node's trace has.
#ifndef COPSE_CLI_CTL_TRACING_TRACE_CALLS_H_
#define COPSE_CLI_CTL_TRACING_TRACE_CALLS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/ctl/tracing/trace_records.h"

namespace copse::ctl {

// NodeCalls are the calls of a node's clients, with `team` those of this team alone.
struct NodeCalls {
  struct Call {
    uint32_t client = 0;
    uint32_t rank = 0;
    uint32_t team = 0;
    uint32_t call = 0;
    uint32_t bytes = 0;
    uint16_t collective = 0;
    int64_t begin = 0;
    int64_t end = -1;  // -1: not seen
    bool failed = false;
  };

  NodeCalls(const NodeTrace& node, std::optional<uint64_t> team);

  // Returns "rank 3 of team 1, client 7" for the usual client, which has one rank, and "client 7, 2 ranks" for others.
  std::string NameOf(uint32_t client) const;

  std::vector<Call> calls;                                              // in order of their posts
  std::map<uint32_t, std::set<std::pair<uint32_t, uint32_t>>> clients;  // by client: its (team, rank) pairs
  std::map<std::pair<uint32_t, uint32_t>, int64_t> arrived_ns;          // by (team, call): its ranks are all here
};

}  // namespace copse::ctl

#endif  // COPSE_CLI_CTL_TRACING_TRACE_CALLS_H_
