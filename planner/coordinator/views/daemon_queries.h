// SPDX-License-Identifier: Apache-2.0
//
// Asks daemons for their status, for their traces, and to measure paths.
#ifndef COPSE_PLANNER_COORDINATOR_VIEWS_DAEMON_QUERIES_H_
#define COPSE_PLANNER_COORDINATOR_VIEWS_DAEMON_QUERIES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/ids.h"
#include "planner/coordinator/state/node_table.h"
#include "planner/coordinator/state/state.h"
#include "planner/coordinator/state/timer_queue.h"
#include "protocol/control.h"

namespace copse::coordinator {

struct StatusAnswer {
  std::vector<schedule::DaemonStatus> nodes;  // by name
  std::vector<std::string> silent;            // nodes that have no stream, or did not reply in time; by name
};
// A TraceAnswer is a chunk of a daemon's trace, with the planner's time of the query and of the reply.
struct TraceAnswer {
  schedule::TraceReply reply;
  absl::Time asked;
  absl::Time heard;
};
// MeasureLimits bounds the cost of measuring one pair of nodes.
struct MeasureLimits {
  uint32_t pings = 100;
  absl::Duration ping_max = absl::Milliseconds(300);
  uint64_t bulk_bytes_max = 32u << 20;  // 0: latency only
  absl::Duration bulk_max = absl::Seconds(1);
  absl::Duration timeout = absl::Seconds(5);  // for the whole measurement
};

class DaemonQueries {
 public:
  explicit DaemonQueries(State* state) : state_(state) {}  // `state` outlives this object

  // Queries `nodes` (empty: all that are connected) for their status, with their latencies if `latencies`, and the
  // calls by each plan of the team `calls_of`. `done` is called once, at the last reply or after `timeout`, maybe
  // before this returns.
  void QueryStatus(const std::vector<std::string>& nodes, absl::Duration timeout,
                   std::function<void(const StatusAnswer&)> done, bool latencies = false, TeamId calls_of = TeamId{0});
  // Does the same, but passes each reply on as it comes, and at the end the nodes that are silent, by name. Daemons are
  // asked by and by.
  void QueryStatusOfEach(const std::vector<std::string>& nodes, absl::Duration timeout,
                         std::function<void(const schedule::DaemonStatus&)> on_status,
                         std::function<void(std::vector<std::string>)> done, bool latencies = false,
                         TeamId calls_of = TeamId{0});
  // Queries a node for a chunk of its trace; query.query is set here. `done` is called once, maybe before this returns:
  // with the chunk, or NOT_FOUND, UNAVAILABLE if the node has no stream or loses it, or DEADLINE_EXCEEDED.
  void QueryTrace(const std::string& node, schedule::TraceQuery query, absl::Duration timeout,
                  std::function<void(const absl::StatusOr<TraceAnswer>&)> done);
  // Makes the daemons of two nodes measure the path between them; `from` sends the bulk data. `done` is called once,
  // maybe before this returns: with the measurement, or INVALID_ARGUMENT if both nodes are one, NOT_FOUND, UNAVAILABLE
  // if a node has no stream or cannot reach the other, or DEADLINE_EXCEEDED.
  void Measure(const std::string& from, const std::string& to, const MeasureLimits& limits,
               std::function<void(const absl::StatusOr<schedule::MeasureReply>&)> done);

  void OnStatusReply(const Node& node, const schedule::StatusReply& message);
  void OnTraceReply(const Node& node, const schedule::TraceReply& message);
  // The node has told its address, unless `why` says that it has none.
  void OnAddress(const Node& node, const schedule::FailureReport& why);
  void OnMeasureReply(const Node& node, const schedule::MeasureReply& message);
  void NodeSilent(const std::string& node);  // ends the queries that wait for a node without stream

 private:
  struct Query {
    std::vector<std::string> unasked;  // nodes, the next one last
    std::set<std::string> waiting;
    std::vector<std::string> silent;
    TimerId timer;
    bool latencies = false;
    TeamId calls_of{0};
    std::function<void(const schedule::DaemonStatus&)> on_status;
    std::function<void(std::vector<std::string>)> done;

    bool is_complete() const { return waiting.empty() && unasked.empty(); }
  };
  struct PendingTrace {
    std::string node;
    absl::Time asked;
    TimerId timer;
    std::function<void(const absl::StatusOr<TraceAnswer>&)> done;
  };
  struct PendingMeasure {
    std::string from, to;
    schedule::MeasureQuery query;
    TimerId timer;
    std::function<void(const absl::StatusOr<schedule::MeasureReply>&)> done;
    bool is_sent = false;  // false: a daemon is asked for its address
  };

  // Returns NOT_FOUND, or UNAVAILABLE if the node has no stream.
  absl::Status CheckConnected(const std::string& node) const;
  void AskNext(uint64_t query);  // asks the next nodes of a query
  void FinishQuery(uint64_t query);
  // Sends the queries of a measurement once both daemons have addresses.
  void SendMeasure(PendingMeasure& measure);
  void FinishTrace(uint64_t query, const absl::StatusOr<TraceAnswer>& answer);
  void FinishMeasure(uint64_t query, const absl::StatusOr<schedule::MeasureReply>& answer);

  State* const state_;
  std::map<uint64_t, Query> queries_;
  std::map<uint64_t, PendingTrace> traces_;
  std::map<uint64_t, PendingMeasure> measures_;
  uint64_t next_query_ = 1;
};

}  // namespace copse::coordinator

#endif  // COPSE_PLANNER_COORDINATOR_VIEWS_DAEMON_QUERIES_H_
