// SPDX-License-Identifier: Apache-2.0
#include "planner/admin/probe_run.h"

#include <string>
#include <variant>

#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "planner/coordinator/testing/fake_sessions.h"
#include "rpc/authorizer.h"

namespace copse::planner {
namespace {

using testing::FailsWith;

class ProbeRunTest : public coordinator::TwoNodesTest {
 protected:
  ProbeRunTest() { topologies_.Start("", std::nullopt); }

  absl::Status Start(v1::ProbeTopologyReply* reply) {
    v1::ProbeTopologyRequest request;
    request.set_seconds(60);
    request.set_apply(true);
    return probe_.Start(request, reply, CallEnd(&calls_, 1));
  }
  // Answers for the daemons until the probe asks nothing any more.
  void Measure() {
    for (bool answered = true; answered;) {
      answered = false;
      for (const coordinator::SessionId session : {1, 2}) {
        for (const schedule::ToDaemon& message : std::exchange(sink.sent[session], {})) {
          const auto* query = std::get_if<schedule::MeasureQuery>(&message);
          if (query == nullptr || !query->active) continue;
          answered = true;
          schedule::MeasureReply reply{.query = query->query, .pings = query->pings, .round_trip_ns = 10'000};
          reply.round_trip_median_ns = 11'000;
          reply.send_ns = reply.receive_ns = reply.peer_send_ns = reply.peer_receive_ns = 1000;
          if (query->bulk_bytes_max > 0) reply.bulk_bytes = 100'000'000, reply.bulk_ns = 100'000'000;
          reply.bulk_steady = true;
          coordinator->OnMessage(session, reply);
        }
      }
    }
    queue_.RunUntil(absl::InfinitePast());
  }

  const MonotonicClock queue_clock_;
  TaskQueue queue_{&queue_clock_};
  ClusterPlanMaker cluster_plan_maker_{ClusterModel{}};
  TopologyHistory topologies_{&cluster_plan_maker_, coordinator.get(), &queue_};
  const rpc::Authorizer authorizer_;
  ServedCalls calls_{&queue_, &authorizer_, ""};
  ProbeRun probe_{&queue_, coordinator.get(), &cluster_plan_maker_, &topologies_};
};

TEST_F(ProbeRunTest, AProbeRunsUntilItsTopologyIsInForce) {
  v1::ProbeTopologyReply first, second;
  ASSERT_EQ(Start(&first), absl::OkStatus());
  EXPECT_THAT(Start(&second), FailsWith(absl::StatusCode::kFailedPrecondition));
  store.later = true;
  Measure();
  EXPECT_NE(first.topology(), "");
  EXPECT_FALSE(first.applied());
  EXPECT_THAT(Start(&second), FailsWith(absl::StatusCode::kFailedPrecondition))
      << "the first one's caller would end the second one";
  probe_.Cancel();
  store.later = false;
  store.Finish(absl::OkStatus());
  EXPECT_TRUE(first.applied());
  EXPECT_EQ(Start(&second), absl::OkStatus());
  Measure();
  EXPECT_NE(second.topology(), "");
}

TEST_F(ProbeRunTest, AnotherOneMayRunIfTheTopologyCannotBeStored) {
  v1::ProbeTopologyReply first, second;
  ASSERT_EQ(Start(&first), absl::OkStatus());
  store.later = true;
  Measure();
  store.later = false;
  store.Finish(absl::ResourceExhaustedError("the disk is full"));
  EXPECT_FALSE(first.applied());
  EXPECT_EQ(Start(&second), absl::OkStatus());
  Measure();
  EXPECT_TRUE(second.applied());
}

}  // namespace
}  // namespace copse::planner
