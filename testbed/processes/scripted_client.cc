// SPDX-License-Identifier: Apache-2.0
//
// An application process that runs a script with libcopse: steps come in on standard input, one per line; outcomes go
// out on standard output, each as soon as it is known. Results are checked against the reference, with guard bytes
// around them.
//
// A script that leaves teams or calls behind ends like a crash, without copse_fini, which is what the simulated
// client does too. Exit code: 0, or 2 for a line that is no step.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "client/copse.h"
#include "collectives/call_arguments.h"
#include "offload_emu/alu/alu.h"
#include "schedule/testing/rank_data.h"
#include "testbed/script/script.h"

namespace copse::scenario {
namespace {

using schedule::Failure;

constexpr size_t kGuardBytes = 64;
constexpr uint8_t kGuard = 0xa5;

// Returns this thread's latest failure as an outcome.
Outcome Failed(copse_status_t status) {
  copse_failure_t failure = {};
  failure.mask = COPSE_FAILURE_FIELD_CAUSE | COPSE_FAILURE_FIELD_NODE;
  copse_last_failure(&failure);
  return {static_cast<Failure>(-status), copse_last_error(), true, static_cast<schedule::FailureCause>(failure.cause),
          failure.node};
}
Outcome Done(copse_status_t status) { return status == COPSE_OK ? Outcome() : Failed(status); }

double Seconds(absl::Duration timeout) {
  return timeout == absl::InfiniteDuration() ? -1 : absl::ToDoubleSeconds(timeout);
}

// Bytes with guards on both sides, on the heap or in memory that the daemon reads and writes itself.
class GuardedBuffer {
 public:
  GuardedBuffer(copse_context_t* context, size_t bytes, bool shared) : context_(context), bytes_(bytes) {
    const size_t whole = bytes + 2 * kGuardBytes;
    void* memory = nullptr;
    if (shared && copse_alloc(context, whole, &memory) == COPSE_OK) {
      shared_ = static_cast<uint8_t*>(memory);
    } else {
      heap_.resize(whole);
    }
    std::memset(data() - kGuardBytes, kGuard, whole);
  }
  ~GuardedBuffer() {
    if (shared_ != nullptr) copse_free(context_, shared_);
  }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  uint8_t* data() { return (shared_ != nullptr ? shared_ : heap_.data()) + kGuardBytes; }
  void Fill(const std::vector<uint8_t>& bytes) { std::copy(bytes.begin(), bytes.end(), data()); }
  bool Holds(const std::vector<uint8_t>& bytes) { return std::equal(bytes.begin(), bytes.end(), data()); }
  bool GuardsAreWhole() {
    const auto whole = [](const uint8_t* from) {
      return std::all_of(from, from + kGuardBytes, [](uint8_t byte) { return byte == kGuard; });
    };
    return whole(data() - kGuardBytes) && whole(data() + bytes_);
  }

 private:
  copse_context_t* const context_;
  const size_t bytes_;
  std::vector<uint8_t> heap_;
  uint8_t* shared_ = nullptr;
};

struct Team {
  copse_team_t* handle = nullptr;  // null: this process is not a member
  uint32_t rank = 0;
  uint32_t size = 0;
};

// One call: its arguments and buffers, until its end has been reported.
class Call {
 public:
  Call(copse_context_t* context, const Team& team, const Step& step)
      : team_(team),
        data_(schedule::MakeRankData(WholeCallOf(step), team.rank, team.size)),
        send_(context, data_.send.size(), (step.seed + team.rank) % 4 == 1),
        receive_(context, data_.receive.size(), (step.seed + team.rank) % 4 >= 2) {
    const CallArguments& a = step.arguments;
    const uint64_t unit = ElementBytes(a.type);
    send_.Fill(data_.send);
    receive_.Fill(data_.receive);
    arguments_.collective = static_cast<copse_collective_t>(a.collective);
    arguments_.type = static_cast<copse_datatype_t>(a.type);
    arguments_.op = static_cast<copse_op_t>(a.op);
    arguments_.root = a.root;
    arguments_.count = a.count;
    if (IsIrregular(a.collective)) {
      arguments_.count = (data_.contribution_bytes + data_.result_bytes) / unit;  // one of the two is zero
    }
    arguments_.send = data_.contribution_at ? COPSE_IN_PLACE : send_.data();
    arguments_.recv = data_.result_at ? COPSE_IN_PLACE : receive_.data();
    const bool bcast = a.collective == Collective::kBcast;
    if (bcast && team.rank == a.root) arguments_.recv = send_.data();
    if (bcast || a.collective == Collective::kBarrier) arguments_.send = nullptr;
    if (a.collective == Collective::kBarrier) arguments_.recv = nullptr;
    if (a.options != 0) arguments_.mask |= COPSE_COLL_ARGS_FIELD_FLAGS;
    if ((a.options & kCountsKnown) != 0) arguments_.flags |= COPSE_COLL_FLAG_COUNTS_KNOWN;
    if ((a.options & kReproducible) != 0) arguments_.flags |= COPSE_COLL_FLAG_REPRODUCIBLE;
    // reduce_scatter's blocks are given by result, and lie back to back.
    const bool slices = a.collective == Collective::kReduceScatterv;
    if (data_.send_blocks && !slices) {
      send_lists_ = ListsOf(*data_.send_blocks, unit);
      arguments_.mask |= COPSE_COLL_ARGS_FIELD_SEND_COUNTS | COPSE_COLL_ARGS_FIELD_SEND_DISPLACEMENTS;
      arguments_.send_counts = send_lists_.counts.data();
      arguments_.send_displacements = send_lists_.displacements.data();
    }
    if (const auto& blocks = slices ? data_.send_blocks : data_.receive_blocks) {
      receive_lists_ = ListsOf(*blocks, unit);
      arguments_.mask |= COPSE_COLL_ARGS_FIELD_RECV_COUNTS;
      arguments_.recv_counts = receive_lists_.counts.data();
      if (!slices) arguments_.mask |= COPSE_COLL_ARGS_FIELD_RECV_DISPLACEMENTS;
      arguments_.recv_displacements = receive_lists_.displacements.data();
    }
  }
  ~Call() {
    if (request_ != nullptr) {
      copse_cancel(request_);
      copse_finalize(request_);
    }
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  copse_status_t Init() { return copse_collective_init(team_.handle, &arguments_, &request_); }
  copse_status_t Post() { return copse_post(request_); }
  copse_status_t Test() { return copse_test(request_); }
  copse_status_t Wait(double seconds) { return copse_wait(request_, seconds); }
  // Runs the whole call, by the blocking interface where the collective is a common one.
  copse_status_t Run() {
    const copse_coll_args_t& a = arguments_;
    switch (a.collective) {
      case COPSE_COLL_BARRIER:
        return copse_barrier(team_.handle);
      case COPSE_COLL_BCAST:
        return copse_bcast(team_.handle, a.recv, a.count, a.type, a.root);
      case COPSE_COLL_REDUCE:
        return copse_reduce(team_.handle, a.send, a.recv, a.count, a.type, a.op, a.root);
      case COPSE_COLL_ALLREDUCE:
        return copse_allreduce(team_.handle, a.send, a.recv, a.count, a.type, a.op);
      default:
        break;
    }
    copse_status_t status = Init();
    if (status == COPSE_OK) status = Post();
    return status == COPSE_OK ? Wait(-1) : status;
  }

  // Returns the outcome after the call's end with `status`.
  Outcome Result(copse_status_t status) {
    Outcome outcome = Done(status);
    outcome.data_ok = send_.GuardsAreWhole() && receive_.GuardsAreWhole();
    if (status != COPSE_OK) return outcome;
    outcome.data_ok = outcome.data_ok && send_.Holds(data_.send) && receive_.Holds(data_.expected);
    return outcome;
  }

 private:
  // Counts and displacements, in elements, by rank.
  struct Lists {
    std::vector<uint64_t> counts;
    std::vector<uint64_t> displacements;
  };
  static Lists ListsOf(const BlockList& blocks, uint64_t unit) {
    Lists lists;
    for (const Block& block : blocks) {
      lists.counts.push_back(block.bytes / unit);
      lists.displacements.push_back(block.offset / unit);
    }
    return lists;
  }

  const Team team_;
  const schedule::RankData data_;
  GuardedBuffer send_;
  GuardedBuffer receive_;
  Lists send_lists_, receive_lists_;
  copse_coll_args_t arguments_ = {};
  copse_request_t* request_ = nullptr;
};

class Client {
 public:
  void Run(const Script& script) {
    attached_ = copse_init(nullptr, &context_);
    if (attached_ != COPSE_OK) attach_error_ = Failed(attached_);
    for (number_ = 0; number_ < script.size(); ++number_) {
      RunStep(script[number_]);
      TestPosted();
    }
    if (attached_ != COPSE_OK) return;
    const bool clean = posted_.empty() && std::all_of(teams_.begin(), teams_.end(),
                                                      [](const auto& team) { return team.second.handle == nullptr; });
    if (!clean) _exit(0);
    copse_fini(context_);
  }

 private:
  void Report(size_t step, const Outcome& outcome) {
    const std::string line = FormatOutcome(step, outcome) + "\n";
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fflush(stdout);
  }

  void RunStep(const Step& step) {
    switch (step.kind) {
      case StepKind::kAwait:
        return Await(step);
      case StepKind::kPause:
        return Pause(step.pause);
      case StepKind::kDie:
        raise(SIGKILL);
        return;
      default:
        break;
    }
    if (attached_ != COPSE_OK) return Report(number_, attach_error_);
    switch (step.kind) {
      case StepKind::kTeam:
        return Report(number_, FormTeam(step));
      case StepKind::kSubTeam:
        return Report(number_, FormSubTeam(step));
      case StepKind::kDestroy:
        return Report(number_, Destroy(step));
      default:
        return MakeCall(step);
    }
  }

  Outcome FormTeam(const Step& step) {
    copse_team_params_t params = {};
    params.mask = COPSE_TEAM_PARAM_FIELD_NAME | COPSE_TEAM_PARAM_FIELD_RANK | COPSE_TEAM_PARAM_FIELD_SIZE;
    params.name = step.name.c_str();
    params.rank = step.rank;
    params.size = step.size;
    if (step.timeout != absl::InfiniteDuration()) {
      params.mask |= COPSE_TEAM_PARAM_FIELD_TIMEOUT;
      params.timeout = Seconds(step.timeout);
    }
    Team& team = teams_[step.team];
    team = {.rank = step.rank, .size = step.size};
    return Done(copse_team_create(context_, &params, &team.handle));
  }

  Outcome FormSubTeam(const Step& step) {
    const copse_subteam_params_t params{.mask = COPSE_SUBTEAM_PARAM_FIELD_RANKS,
                                        .ranks = step.members.data(),
                                        .rank_count = static_cast<uint32_t>(step.members.size())};
    copse_team_t* handle = nullptr;
    const copse_status_t status = copse_team_create_from_parent(teams_[step.parent].handle, &params, &handle);
    Team& team = teams_[step.team];
    team = {.handle = handle};
    if (status != COPSE_OK || handle == nullptr) return Done(status);
    const copse_status_t rank_status = copse_team_rank(handle, &team.rank);
    return Done(rank_status != COPSE_OK ? rank_status : copse_team_size(handle, &team.size));
  }

  Outcome Destroy(const Step& step) {
    Team& team = teams_[step.team];
    const copse_status_t status = copse_team_destroy(team.handle);
    if (status == COPSE_OK) team.handle = nullptr;
    return Done(status);
  }

  void MakeCall(const Step& step) {
    const Team& team = teams_[step.team];
    if (team.handle == nullptr) return Report(number_, OutcomeOf({Failure::kInvalidArgument, "no such team"}));
    auto call = std::make_unique<Call>(context_, team, step);
    const bool blocking = step.kind == StepKind::kCall;
    if (blocking && step.timeout == absl::InfiniteDuration() && step.seed % 2 == 0) {
      return Report(number_, call->Result(call->Run()));
    }
    copse_status_t status = call->Init();
    if (status == COPSE_OK) status = Post(call.get());
    if (status == COPSE_OK && blocking) status = call->Wait(Seconds(step.timeout));
    if (status != COPSE_OK || blocking) return Report(number_, call->Result(status));
    posted_.emplace(number_, std::move(call));
  }

  // Posts a call, after making room if there is none.
  copse_status_t Post(Call* call) {
    copse_status_t status;
    while ((status = call->Post()) == COPSE_ERR_NO_RESOURCE && !posted_.empty()) {
      const auto oldest = posted_.begin();
      const copse_status_t ended = oldest->second->Wait(-1);
      Report(oldest->first, oldest->second->Result(ended));
      posted_.erase(oldest);
    }
    return status;
  }

  void TestPosted() {
    for (auto it = posted_.begin(); it != posted_.end();) {
      const copse_status_t status = it->second->Test();
      if (status == COPSE_INPROGRESS) {
        ++it;
        continue;
      }
      Report(it->first, it->second->Result(status));
      it = posted_.erase(it);
    }
  }

  void Await(const Step& step) {
    const absl::Time deadline = absl::Now() + step.timeout;
    while (!posted_.empty()) {
      const auto oldest = posted_.begin();
      const bool forever = step.timeout == absl::InfiniteDuration();
      const absl::Duration left = forever ? step.timeout : std::max(deadline - absl::Now(), absl::ZeroDuration());
      const copse_status_t status = oldest->second->Wait(Seconds(left));
      const bool ended = status != COPSE_INPROGRESS && (forever || status != COPSE_ERR_TIMED_OUT);
      if (!ended) return Report(number_, {Failure::kTimedOut, "timed out"});
      Report(oldest->first, oldest->second->Result(status));
      posted_.erase(oldest);
      TestPosted();
    }
  }

  // Calls that end during the pause are reported afterwards: the process computes.
  void Pause(absl::Duration pause) {
    const absl::Time end = absl::Now() + pause;
    for (absl::Duration left; (left = end - absl::Now()) > absl::ZeroDuration();) {
      const timespec time = absl::ToTimespec(left);
      ppoll(nullptr, 0, &time, nullptr);
    }
  }

  copse_context_t* context_ = nullptr;
  copse_status_t attached_ = COPSE_ERR_NO_DAEMON;
  Outcome attach_error_;
  size_t number_ = 0;
  std::map<uint32_t, Team> teams_;
  std::map<size_t, std::unique_ptr<Call>> posted_;  // by step
};

int Main() {
  Script script;
  for (std::string line; std::getline(std::cin, line);) {
    const absl::StatusOr<Step> step = ParseStep(line);
    if (!step.ok()) {
      std::fprintf(stderr, "scripted_client: %s\n", std::string(step.status().message()).c_str());
      return 2;
    }
    script.push_back(*step);
  }
  Client().Run(script);
  return 0;
}

}  // namespace
}  // namespace copse::scenario

int main() { return copse::scenario::Main(); }
