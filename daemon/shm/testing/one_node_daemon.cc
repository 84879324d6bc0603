// SPDX-License-Identifier: Apache-2.0

#include "daemon/shm/testing/one_node_daemon.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/check.h"
#include "daemon/shm/listen_socket.h"
#include "schedule/plan.h"

namespace copse::daemon {
namespace {

// What one node alone does for a collective: its ranks, and nobody else.
std::string EncodedPlan(Collective collective) {
  schedule::Plan plan;
  plan.id = PlanId(1 + static_cast<uint64_t>(collective));
  plan.collective = collective;
  plan.bytes_max = schedule::kMessageBytesMax;
  plan.algorithm = "flat";
  plan.node_count = 1;
  plan.segment_bytes = 4096;
  plan.neighbors = {{}};
  if (collective == Collective::kAlltoall) {
    plan.kind = schedule::PlanKind::kCirculant;
    plan.neighbors = {{0}, {}};
  }
  return schedule::EncodePlan(plan);
}

}  // namespace

void OneNodePlanner::Send(const schedule::FromDaemon& message) {
  std::visit([this](const auto& m) { On(m); }, message);
}

bool OneNodePlanner::Deliver(DaemonCore* core) {
  if (answers_.empty()) return false;
  const std::deque<schedule::ToDaemon> answers = std::exchange(answers_, {});
  for (const schedule::ToDaemon& answer : answers) core->OnPlannerMessage(answer);
  return true;
}

void OneNodePlanner::On(const schedule::Register&) {
  joins_.clear();  // a daemon says all again
  schedule::Registered registered;
  registered.accepted = true;
  registered.features = {schedule::Feature::kDerivedTeams};
  answers_.push_back(registered);
}

void OneNodePlanner::On(const schedule::JoinTeam& join) {
  // A derived team is requested once, for all ranks.
  const bool is_derived = schedule::IsDerivedTeam(join.identity);
  std::vector<schedule::JoinTeam>& joins = joins_[join.identity];
  joins.push_back(join);
  if (!is_derived && joins.size() < join.size) return;
  schedule::Prepare prepare;
  prepare.layout.id = TeamId(next_team_++);
  prepare.layout.identity = join.identity;
  prepare.layout.shape.node_of_rank.resize(join.size, NodeIndex(0));
  prepare.layout.shape.node_count = 1;
  prepare.layout.nodes = {{node_.name, node_.incarnation, node_.worker_address}};
  prepare.epoch = EpochId(1);
  std::string all;
  for (const Collective collective : CollectivesOf(join.identity.family)) {
    prepare.plans.push_back(EncodedPlan(collective));
    all += prepare.plans.back();
  }
  if (is_derived) prepare.layout.parent = join.parent;
  prepare.hash = schedule::PlanHash(all);
  for (const schedule::JoinTeam& each : joins) {
    if (!is_derived) prepare.requests.emplace_back(each.request, each.rank);
  }
  joins_.erase(join.identity);
  answers_.push_back(prepare);
}

void OneNodePlanner::On(const schedule::PrepareReply& reply) {
  CHECK_EQ(reply.why.text, "");
  schedule::Commit commit;
  commit.team = reply.team;
  commit.epoch = reply.epoch;
  answers_.push_back(commit);
}

OneNodeDaemon::OneNodeDaemon(AttachOptions options, CoreOptions core_options) {
  static int number = 0;
  socket_ = absl::StrCat("@copse_test_", getpid(), "_", ++number);
  node_.name = options.node = "n1";
  node_.incarnation = options.incarnation = Incarnation(4711);
  node_.worker_address = network_.LocalAddress();
  planner_ = std::make_unique<OneNodePlanner>(node_);
  core_options.node = node_;
  core_ = std::make_unique<DaemonCore>(&clock_, &network_, planner_.get(), core_options);
  poller_ = *Poller::Create();
  pages_ = std::make_unique<DaemonPages>(node_.incarnation);
  server_ = std::make_unique<AttachServer>(&clock_, poller_.get(), core_.get(), pages_.get(), options);
  absl::StatusOr<UniqueFd> listener = ListenOn(socket_);
  CHECK(listener.ok());
  CHECK(server_->AddListener(*std::move(listener)).ok());
  core_->OnPlannerUp();
  planner_->Deliver(core_.get());
}

OneNodeDaemon::~OneNodeDaemon() = default;

void OneNodeDaemon::Turn() {
  pages_->CountTurn();
  const auto work = [&] {
    const bool read = server_->ReadPosts();
    const bool delivered = planner_->Deliver(core_.get());
    const bool progressed = core_->Progress();
    server_->WakeClients();
    return read || delivered || progressed;
  };
  if (work()) {
    poller_->Wait(absl::ZeroDuration());
    return;
  }
  poller_->Wait(absl::Milliseconds(1));
}

bool OneNodeDaemon::TurnUntil(const std::function<bool()>& done) {
  const absl::Time until = clock_.Now() + absl::Seconds(10);
  while (!done()) {
    if (clock_.Now() > until) return false;
    Turn();
  }
  return true;
}

}  // namespace copse::daemon
