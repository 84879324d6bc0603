// SPDX-License-Identifier: Apache-2.0
#include "integration_tests/sim/sim_client.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/hash.h"
#include "collectives/call_check.h"
#include "schedule/plan.h"
#include "schedule/testing/rank_data.h"

namespace copse::scenario {
namespace {

using schedule::Failure;

constexpr size_t kGuardBytes = 16;
constexpr uint8_t kGuard = 0xa5;
constexpr absl::Duration kHop = absl::Microseconds(1);

uint64_t HashOf(const std::vector<uint8_t>& bytes) {
  return Fnv1a64({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

SimClient::SimClient(sim::Simulator* simulator, sim::ActorId actor, ClientHost* host, Script script)
    : simulator_(simulator),
      actor_(actor),
      host_(host),
      script_(std::move(script)),
      alive_(std::make_shared<bool>(true)) {}

SimClient::~SimClient() { *alive_ = false; }

void SimClient::Later(std::function<void()> event) {
  simulator_->Schedule(kHop, actor_, [this, alive = alive_, event = std::move(event)] {
    if (!*alive || ended_) return;
    if (stopped_) {
      held_.push_back(event);
    } else {
      event();
    }
  });
}

void SimClient::Start() {
  Later([this] {
    if (host_->core() == nullptr) return DaemonDied();
    absl::StatusOr<daemon::ClientId> id = host_->core()->Attach({.uid = 1000, .pid = actor_, .job = "sim"}, this);
    CHECK(id.ok());
    id_ = *id;
    Run();
  });
}

void SimClient::Kill() {
  if (ended_) return;
  ended_ = true;
  if (id_ && host_->core() != nullptr) {
    host_->core()->Detach(*id_, /*died=*/true, absl::StrCat("process ", actor_, " was killed"));
    host_->Kick();
  }
}

void SimClient::Continue() {
  stopped_ = false;
  for (auto& event : std::exchange(held_, {})) Later(std::move(event));
}

void SimClient::DaemonDied() {
  id_.reset();
  daemon_dead_ = true;
  Later([this] {
    const Outcome lost = OutcomeOf({Failure::kNoDaemon, "the daemon is gone"});
    for (const auto& [value, request] : std::exchange(requests_, {})) Finish(request.step, lost);
    if (waiting_ && next_ > 0 && !outcomes_.contains(next_ - 1)) Finish(next_ - 1, lost);
    awaited_.reset();
    Resume();
  });
}

void SimClient::Resume() {
  if (!std::exchange(waiting_, false)) return;
  ++wait_number_;
  Run();
}

void SimClient::Run() {
  while (!waiting_ && !ended_) {
    if (next_ == script_.size()) {
      ended_ = true;
      if (id_ && host_->core() != nullptr) {
        const bool clean = requests_.empty() && teams_.empty();
        host_->core()->Detach(*id_, !clean, "process ended");
        host_->Kick();
      }
      return;
    }
    const Step& step = script_[next_++];
    waiting_ = true;
    if (RunStep(step)) waiting_ = false;
    if (!waiting_ || step.timeout == absl::InfiniteDuration()) continue;
    simulator_->Schedule(step.timeout, actor_, [this, alive = alive_, wait = wait_number_, number = next_ - 1] {
      if (!*alive || ended_ || !waiting_ || wait != wait_number_) return;
      const Step& late = script_[number];
      if (late.kind == StepKind::kTeam && id_) {
        host_->core()->CancelCreateTeam(*id_, number, "the client waits no longer");
        host_->Kick();
      }
      // A call goes on after its wait timed out; its event is dropped.
      Finish(number, OutcomeOf({Failure::kTimedOut, "timed out"}));
      awaited_.reset();
      Resume();
    });
  }
}

// Returns true if the step is over at once.
bool SimClient::RunStep(const Step& step) {
  if (daemon_dead_ && step.kind != StepKind::kPause && step.kind != StepKind::kAwait) {
    if (step.kind != StepKind::kDie) Finish(next_ - 1, OutcomeOf({Failure::kNoDaemon, "the daemon is gone"}));
    return true;
  }
  switch (step.kind) {
    case StepKind::kTeam: {
      teams_[step.team] = {.rank = step.rank, .size = step.size, .name = step.name};
      host_->core()->CreateTeam(*id_,
                                {.request = next_ - 1, .name = step.name, .rank = Rank(step.rank), .size = step.size});
      host_->Kick();
      return outcomes_.contains(next_ - 1);
    }
    case StepKind::kSubTeam: {
      const auto it = teams_.find(step.parent);
      if (it == teams_.end()) {
        Finish(next_ - 1, OutcomeOf({Failure::kInvalidArgument, "no such parent"}));
        return true;
      }
      TeamSlot& parent = it->second;
      const std::string name = absl::StrCat(parent.name, "/", parent.children++);
      const auto place = std::find(step.members.begin(), step.members.end(), parent.rank);
      if (place == step.members.end()) {
        Finish(next_ - 1, {});
        return true;
      }
      const auto rank = static_cast<uint32_t>(place - step.members.begin());
      const auto size = static_cast<uint32_t>(step.members.size());
      teams_[step.team] = {.rank = rank, .size = size, .name = name};
      host_->core()->CreateTeam(
          *id_, {.request = next_ - 1, .parent = parent.handle, .name = name, .rank = Rank(rank), .size = size});
      host_->Kick();
      return outcomes_.contains(next_ - 1);
    }
    case StepKind::kCall:
      awaited_ = next_value_;
      PostCall(step);
      return !awaited_;
    case StepKind::kPost:
      PostCall(step);
      return true;
    case StepKind::kAwait:
      return requests_.empty();
    case StepKind::kDestroy: {
      const auto it = teams_.find(step.team);
      host_->core()->DestroyTeam(*id_, next_ - 1, it == teams_.end() ? 0 : it->second.handle);
      host_->Kick();
      return false;
    }
    case StepKind::kPause:
      simulator_->Schedule(step.pause, actor_, [this, alive = alive_] {
        if (*alive && !ended_) Later([this] { Resume(); });
      });
      return false;
    case StepKind::kDie:
      Kill();
      return false;
  }
  return true;
}

void SimClient::PostCall(const Step& step) {
  const auto team = teams_.find(step.team);
  const uint64_t value = next_value_++;
  if (team == teams_.end() || team->second.handle == 0) {
    awaited_.reset();
    return Finish(next_ - 1, OutcomeOf({Failure::kInvalidArgument, "no such team"}));
  }
  // The check is the one that the daemon makes on entries (daemon/shm/call_check.h).
  CallArguments arguments;
  const RawArguments raw{.collective = static_cast<int64_t>(step.arguments.collective),
                         .type = static_cast<int64_t>(step.arguments.type),
                         .op = static_cast<int64_t>(step.arguments.op),
                         .count = step.arguments.count,
                         .root = step.arguments.root};
  if (const CallDefect defect = CheckArguments(raw, team->second.size, schedule::kCallBytesMax, &arguments)) {
    awaited_.reset();
    return Finish(next_ - 1, OutcomeOf({defect.failure, defect.text}));
  }
  Request& request = requests_[value];
  const schedule::WholeCall call = WholeCallOf(step);
  request = {.step = next_ - 1, .data = schedule::MakeRankData(call, team->second.rank, team->second.size)};
  schedule::RankData& data = request.data;
  request.send_hash = HashOf(data.send);
  request.receive.assign(kGuardBytes, kGuard);
  request.receive.insert(request.receive.end(), data.receive.begin(), data.receive.end());
  request.receive.insert(request.receive.end(), kGuardBytes, kGuard);
  data.receive = {};
  daemon::CallPost post{
      .team = team->second.handle, .arguments = ArgumentsOf(call), .under_way_max = step.under_way_max, .value = value};
  post.receive = request.receive.data() + kGuardBytes;
  post.receive_bytes = data.expected.size();
  post.send = data.send.data();
  post.send_bytes = data.send.size();
  if (data.contribution_at) {
    post.send = post.receive + *data.contribution_at;
    post.send_bytes = data.contribution_bytes;
  } else if (data.result_at) {
    post.receive = data.send.data() + *data.result_at;
    post.receive_bytes = data.result_bytes;
  } else if (data.contribution_bytes == post.send_bytes && post.send_bytes <= daemon::kInlineBytesMax &&
             step.seed % 2 == 0 && post.send != nullptr && !IsIrregular(step.arguments.collective)) {
    post.send_is_inline = true;  // covers both ways
    std::copy_n(post.send, post.send_bytes, post.inline_data.begin());
  }
  if (data.send_blocks) post.send_blocks = std::make_shared<BlockList>(*data.send_blocks);
  if (data.receive_blocks) post.receive_blocks = std::make_shared<BlockList>(*data.receive_blocks);
  host_->core()->Post(*id_, std::move(post));
  host_->Kick();
}

bool SimClient::CheckResult(const Request& r) {
  const auto guard_ok = [&](size_t from) {
    return std::all_of(r.receive.begin() + from, r.receive.begin() + from + kGuardBytes,
                       [](uint8_t b) { return b == kGuard; });
  };
  return guard_ok(0) && guard_ok(r.receive.size() - kGuardBytes) && HashOf(r.data.send) == r.send_hash &&
         std::equal(r.data.expected.begin(), r.data.expected.end(), r.receive.begin() + kGuardBytes);
}

void SimClient::Finish(size_t step, Outcome outcome) { outcomes_.emplace(step, std::move(outcome)); }

std::vector<Outcome> SimClient::outcomes() const {
  std::vector<Outcome> in_order;
  for (const auto& [step, outcome] : outcomes_) in_order.push_back(outcome);
  return in_order;
}

void SimClient::OnEvent(const daemon::ClientEvent& event) {
  Later([this, event] {
    const auto it = requests_.find(event.value);
    if (it == requests_.end()) return;
    Outcome outcome = OutcomeOf(event.failure);
    if (event.failure.failure == Failure::kNone) outcome.data_ok = CheckResult(it->second);
    Finish(it->second.step, std::move(outcome));
    requests_.erase(it);
    if (!waiting_ || next_ == 0) return;
    const StepKind kind = script_[next_ - 1].kind;
    if (kind == StepKind::kCall && awaited_ == event.value) {
      awaited_.reset();
      Resume();
    } else if (kind == StepKind::kAwait && requests_.empty()) {
      Resume();
    }
  });
}

void SimClient::OnTeamReady(uint64_t request, uint32_t handle, const schedule::TeamLayout&) {
  Later([this, request, handle] {
    if (outcomes_.contains(request)) return;  // the wait has timed out
    teams_[script_[request].team].handle = handle;
    Finish(request, {});
    Resume();
  });
}

void SimClient::OnTeamFailed(uint64_t request, const schedule::FailureReport& why) {
  Later([this, request, why] {
    teams_.erase(script_[request].team);
    Finish(request, OutcomeOf(why));
    Resume();
  });
}

void SimClient::OnTeamDestroyed(uint64_t request, const schedule::FailureReport& why) {
  Later([this, request, why] {
    if (why.failure == Failure::kNone) teams_.erase(script_[request].team);
    Finish(request, OutcomeOf(why));
    Resume();
  });
}

}  // namespace copse::scenario
