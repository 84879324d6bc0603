// SPDX-License-Identifier: Apache-2.0

#include "client/context.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "client/daemon_socket.h"
#include "client/environment.h"
#include "client/error.h"
#include "client/log.h"
#include "client/user_op.h"

namespace {

using copse::client::CallPlan;
using copse::client::CallQueue;
using copse::client::Clock;
using copse::client::ControlChannel;
using copse::client::Deadline;
using copse::client::Environment;
using copse::client::Fail;
using copse::client::FailWith;
using copse::client::FileDescriptor;
using copse::client::Handle;
using copse::client::Log;
using copse::client::LogLevel;
using copse::client::Port;
using copse::client::Round;
namespace attach = copse::attach;
namespace ring = copse::ring;

constexpr double kAttachSeconds = 10;
constexpr double kLeaveSeconds = 10;
constexpr std::chrono::milliseconds kCheckInterval{50};  // how late a dead daemon may be noticed
constexpr std::chrono::milliseconds kRetryInterval{1};   // of a post that found a full queue
constexpr uint64_t kInitFields = COPSE_INIT_PARAM_FIELD_SOCKET | COPSE_INIT_PARAM_FIELD_JOB |
                                 COPSE_INIT_PARAM_FIELD_DQ_ENTRIES | COPSE_INIT_PARAM_FIELD_EQ_ENTRIES |
                                 COPSE_INIT_PARAM_FIELD_DATA_BYTES;

template <size_t N>
std::string TextOf(const char (&text)[N]) {
  return std::string(text, strnlen(text, N));
}

template <size_t N>
void Copy(const std::string& from, char (&to)[N]) {
  memcpy(to, from.data(), std::min(from.size(), N - 1));
}

copse_status_t CheckEntries(const char* what, uint32_t entries) {
  if (entries != 0 && (entries & (entries - 1)) == 0) return COPSE_OK;
  return Fail(COPSE_ERR_INVALID_ARGUMENT, "%s is not a power of two (%s=%u)", what, what, entries);
}

copse_status_t FillRequest(const copse_init_params_t& params, const Environment& environment,
                           attach::AttachRequest* request) {
  if ((params.mask & ~kInitFields) != 0) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "unknown fields in copse_init_params_t (mask=0x%llx, known=0x%llx)",
                static_cast<unsigned long long>(params.mask), static_cast<unsigned long long>(kInitFields));
  }
  std::string job = environment.job;
  if ((params.mask & COPSE_INIT_PARAM_FIELD_JOB) != 0) {
    if (params.job == nullptr) return Fail(COPSE_ERR_INVALID_ARGUMENT, "job is NULL");
    job = params.job;
  }
  if (job.size() >= attach::kJobBytes) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "the job's name is too long (bytes=%zu, limit=%u)", job.size(),
                attach::kJobBytes - 1);
  }
  request->ring_version = ring::kLayoutVersion;
  if ((params.mask & COPSE_INIT_PARAM_FIELD_DQ_ENTRIES) != 0) {
    if (const auto status = CheckEntries("dq_entries", params.dq_entries); status != COPSE_OK) return status;
    request->dq_entries = params.dq_entries;
  }
  if ((params.mask & COPSE_INIT_PARAM_FIELD_EQ_ENTRIES) != 0) {
    if (const auto status = CheckEntries("eq_entries", params.eq_entries); status != COPSE_OK) return status;
    request->eq_entries = params.eq_entries;
  }
  if ((params.mask & COPSE_INIT_PARAM_FIELD_DATA_BYTES) != 0) request->data_bytes = params.data_bytes;
  Copy(COPSE_VERSION_STRING, request->package_version);
  Copy(job, request->job);
  return COPSE_OK;
}

copse_status_t CheckReply(const ControlChannel::Answer& answer, const attach::AttachReply& reply,
                          const std::string& place) {
  const uint32_t own = ring::kLayoutVersion;
  const bool compatible = reply.ring_version <= own + 1 && own <= reply.ring_version + 1;
  // Only the beginning of the reply is sure to be the same in all versions.
  if (!compatible && (reply.status == COPSE_OK || reply.status == COPSE_ERR_VERSION)) {
    return Fail(COPSE_ERR_VERSION, "ring layouts are too far apart (library=%u, daemon=%u, socket=%s)", own,
                reply.ring_version, place.c_str());
  }
  if (reply.status != COPSE_OK) {
    return FailWith(copse::client::StatusFromWire(reply.status), reply.facts, "the daemon refused: %s (node=%s)",
                    TextOf(reply.text).c_str(), TextOf(reply.node).c_str());
  }
  // An older daemon has no facts.
  constexpr size_t kLeast = offsetof(attach::AttachReply, facts);
  if (answer.bytes < kLeast) {
    return Fail(COPSE_ERR_INTERNAL, "the daemon's attach reply is too short (bytes=%zu, expected=%zu)", answer.bytes,
                kLeast);
  }
  return COPSE_OK;
}

}  // namespace

copse_status_t copse_context::Attach(const copse_init_params_t& params) {
  const Environment environment = copse::client::ReadEnvironment();
  copse::client::ConfigureLog(environment.log_level, environment.log_file);
  if (!environment.timeout_is_number) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "COPSE_TIMEOUT is not a number of seconds (value=%s)",
                getenv("COPSE_TIMEOUT"));
  }
  timeout_s_ = environment.timeout_s;

  attach::AttachRequest request{};
  if (const auto status = FillRequest(params, environment, &request); status != COPSE_OK) return status;
  std::string place = environment.socket;
  if ((params.mask & COPSE_INIT_PARAM_FIELD_SOCKET) != 0) {
    if (params.socket == nullptr || *params.socket == '\0') {
      return Fail(COPSE_ERR_INVALID_ARGUMENT, "socket is NULL or empty");
    }
    place = copse::client::Expand(params.socket);
  }
  FileDescriptor socket;
  if (const auto status = copse::client::ConnectDaemon(place, &socket, &place); status != COPSE_OK) return status;
  channel_ = std::make_unique<ControlChannel>(std::move(socket));
  channel_->set_node(place);  // until the daemon says its name

  ControlChannel::Answer answer;
  if (const auto status = channel_->Ask(attach::MessageType::kAttachRequest, request, attach::MessageType::kAttachReply,
                                        copse::client::DeadlineAfter(kAttachSeconds), &answer);
      status != COPSE_OK) {
    return status;
  }
  auto reply = answer.As<attach::AttachReply>();
  if (const auto status = CheckReply(answer, reply, place); status != COPSE_OK) return status;
  reply.node[sizeof(reply.node) - 1] = '\0';
  std::unique_ptr<Port> port;
  if (const auto status = Port::Map(reply, std::move(answer.descriptors[0]), std::move(answer.descriptors[1]),
                                    std::move(answer.descriptors[2]), &port);
      status != COPSE_OK) {
    return status;
  }
  static_assert(sizeof(attr_.node) == sizeof(reply.node));
  memcpy(attr_.node, reply.node, sizeof(attr_.node));
  attr_.incarnation = reply.incarnation;
  attr_.message_bytes_max = reply.message_bytes_max;
  attr_.dq_entries = reply.dq_entries;
  attr_.eq_entries = reply.eq_entries;
  attr_.data_bytes = reply.data_bytes;
  channel_->set_node(attr_.node);
  queue_ = std::make_unique<CallQueue>(std::move(port));
  if (environment.copies_bytes > 0) queue_->staging().set_bounce_bytes_max(environment.copies_bytes);
  next_check_ = Clock::now() + kCheckInterval;
  Log(LogLevel::kInfo, "attached (node=%s, socket=%s, daemon=%s, dq_entries=%u, eq_entries=%u, data_bytes=%llu)",
      attr_.node, place.c_str(), TextOf(reply.package_version).c_str(), attr_.dq_entries, attr_.eq_entries,
      static_cast<unsigned long long>(attr_.data_bytes));
  return COPSE_OK;
}

void copse_context::Detach() {
  std::map<Handle*, std::unique_ptr<Handle>> owned;
  std::vector<uint32_t> teams;
  {
    Lock lock(mutex_);
    owned.swap(owned_);
    for (auto& [handle, owner] : owned) {
      if (handle->Is(Kind::kTeam)) teams.push_back(static_cast<copse_team*>(handle)->handle);
    }
    teams.insert(teams.end(), leaving_.begin(), leaving_.end());
    queue_->EndAll(COPSE_ERR_CANCELED, "", copse::client::UsualFacts(COPSE_ERR_CANCELED));
  }
  // The daemon must have left the teams before it sees the socket close, else it takes this for a death.
  const Deadline deadline = copse::client::DeadlineAfter(kLeaveSeconds);
  for (const uint32_t team : teams) {
    ControlChannel::Answer answer;
    const auto left = channel_->Ask(attach::MessageType::kTeamDestroy, attach::TeamDestroy{{}, team, 0},
                                    attach::MessageType::kDone, deadline, &answer);
    if (left == COPSE_OK) continue;
    Log(LogLevel::kWarning, "leaving without the daemon's answer (node=%s)", attr_.node);
    break;
  }
  for (auto& [handle, owner] : owned) Retire(std::move(owner));
  queue_.reset();
  channel_.reset();
}

void copse_context::LeaveAllTeams() {
  std::vector<std::unique_ptr<Handle>> gone;
  {
    Lock lock(mutex_);
    Progress(lock);
    for (auto it = owned_.begin(); it != owned_.end();) {
      auto* const team = it->first->Is(Kind::kTeam) ? static_cast<copse_team*>(it->first) : nullptr;
      if (team == nullptr || team->running > 0) {
        ++it;
        continue;
      }
      ForgetTeam(team);
      if (!LeaveLater(team->handle)) {
        channel_->Tell(attach::MessageType::kTeamDestroy, attach::TeamDestroy{{}, team->handle, 0});
      }
      gone.push_back(std::move(it->second));
      it = owned_.erase(it);
    }
  }
  for (std::unique_ptr<Handle>& team : gone) Retire(std::move(team));
}

void copse_context::DropInChild() {
  channel_->CloseInChild();
  queue_.reset();
}

// --- Waiting ---

// The one thread that watches the event queue; gives the role back however the wait ends.
class copse_context::Poller {
 public:
  Poller(copse_context* context, Lock* lock) : context_(context), lock_(lock) {
    context_->polling_ = true;
    lock_->unlock();
  }
  ~Poller() {
    lock_->lock();
    context_->polling_ = false;
    context_->news_.notify_all();
  }

 private:
  copse_context* const context_;
  Lock* const lock_;
};

void copse_context::AwaitNews(Lock& lock, Deadline until) {
  const Deadline slice = copse::client::Slice(until, kCheckInterval);
  if (polling_) {
    news_.wait_until(lock, slice);
    return;
  }
  Port& port = queue_->port();
  const uint64_t seen = port.events_seen();
  Poller role(this, &lock);
  port.Wait(seen, slice);
}

void copse_context::Progress(Lock& lock) {
  if (queue_->Drain() > 0) {
    ends_.fetch_add(1, std::memory_order_release);
    news_.notify_all();
    DeregisterDropped();
    LeaveTeams();
  }
  if (death_ != COPSE_OK) return;
  if (queue_->broken()) {
    Die(COPSE_ERR_INTERNAL, "the event queue's indices make no sense");
  } else if (queue_->port().closed() || Clock::now() >= next_check_) {
    CheckDaemon();
  }
  static_cast<void>(lock);
}

void copse_context::CheckDaemon() {
  next_check_ = Clock::now() + kCheckInterval;
  if (channel_->Poll() && !queue_->port().closed()) return;
  queue_->Drain();  // what it completed before
  const std::string why = channel_->closing_text();
  Die(COPSE_ERR_NO_DAEMON, why.empty() ? "the daemon went away" : "the daemon closed: " + why);
}

void copse_context::Die(copse_status_t status, const std::string& why) {
  death_ = status;
  death_text_ = why + " (node=" + attr_.node + ", calls_in_flight=" + std::to_string(queue_->in_flight()) + ")";
  Log(LogLevel::kError, "%s", death_text_.c_str());
  death_facts_ = copse::client::FactsOfNode(copse::UsualCause(static_cast<copse::Failure>(-status)), attr_.node);
  queue_->EndAll(status, death_text_, death_facts_);
  ends_.fetch_add(1, std::memory_order_release);
  news_.notify_all();
}

copse_status_t copse_context::CheckAlive() const {
  if (death_ == COPSE_OK) return COPSE_OK;
  return FailWith(death_, death_facts_, "%s", death_text_.c_str());
}

// --- Calls ---

copse_status_t copse_context::Post(Lock& lock, copse_team* team, const CallPlan& plan, Round* round,
                                   Deadline patience) {
  bool has_waited = false;
  while (true) {
    Progress(lock);
    if (const auto status = CheckAlive(); status != COPSE_OK) return status;
    const auto result =
        team == nullptr ? queue_->PostNop(round) : queue_->Post(plan, team->handle, round, &team->running);
    if (result == CallQueue::PostResult::kPosted) return COPSE_OK;
    if (result == CallQueue::PostResult::kBounceFull) {
      bool added = false;
      if (const auto status = AddBounce(lock, queue_->staging_wanted(), &added); status != COPSE_OK) return status;
      if (added) continue;
    }
    // Calls that have the data area may wait for other ranks, and these for this call, of another team. Without a
    // region there is nothing but to wait.
    if (result == CallQueue::PostResult::kDataFull && has_waited) {
      bool added = false;
      if (AddBounce(lock, queue_->staging_wanted(), &added) == COPSE_OK && added) continue;
    }
    const bool hopeless = result == CallQueue::PostResult::kDataFull && queue_->in_flight() == 0;
    if (hopeless || Clock::now() >= patience) {
      switch (result) {
        case CallQueue::PostResult::kQueueFull:
          return Fail(COPSE_ERR_NO_RESOURCE, "the descriptor queue stays full (calls_in_flight=%u, dq_entries=%u)",
                      queue_->in_flight(), attr_.dq_entries);
        case CallQueue::PostResult::kEventsFull:
          return Fail(COPSE_ERR_NO_RESOURCE, "too many calls in flight (calls_in_flight=%u, eq_entries=%u)",
                      queue_->in_flight(), attr_.eq_entries);
        case CallQueue::PostResult::kBounceFull:
          return Fail(COPSE_ERR_NO_RESOURCE, "the memory for copies stays full (bytes=%llu, used=%llu, limit=%llu)",
                      static_cast<unsigned long long>(queue_->staging_wanted()),
                      static_cast<unsigned long long>(queue_->staging().bounce_bytes()),
                      static_cast<unsigned long long>(queue_->staging().bounce_bytes_max()));
        default:
          return Fail(COPSE_ERR_NO_RESOURCE, "the data area has no room (bytes=%llu, free=%llu, data_bytes=%llu)",
                      static_cast<unsigned long long>(queue_->staging_wanted()),
                      static_cast<unsigned long long>(queue_->staging().data_area().bytes_free()),
                      static_cast<unsigned long long>(attr_.data_bytes));
      }
    }
    queue_->port().Ring();
    AwaitNews(lock, copse::client::Slice(patience, kRetryInterval));
    has_waited = true;
  }
}

void copse_context::AwaitEnd(uint64_t seen, Deadline deadline) {
  Lock lock(mutex_);
  while (true) {
    Progress(lock);
    if (ends() != seen || death_ != COPSE_OK || Clock::now() >= deadline) return;
    AwaitNews(lock, deadline);
  }
}

void copse_context::InterruptAwaitEnd() {
  const Lock lock(mutex_);
  ends_.fetch_add(1, std::memory_order_release);
  news_.notify_all();
  queue_->port().Interrupt();
}

copse_status_t copse_context::Wait(Lock& lock, const char* what, const std::string& team, Round* round,
                                   Deadline deadline) {
  while (true) {
    Progress(lock);
    if (round->state != Round::State::kInProgress) return Result(what, team, round);
    if (Clock::now() >= deadline) {
      return Fail(COPSE_ERR_TIMED_OUT, "%s on team %s is not complete in time (calls_in_flight=%u)", what, team.c_str(),
                  queue_->in_flight());
    }
    AwaitNews(lock, deadline);
  }
}

copse_status_t copse_context::Result(const char* what, const std::string& team, Round* round) const {
  const std::shared_ptr<copse::client::Fold> fold = std::move(round->fold);
  if (round->status == COPSE_OK) {
    if (fold != nullptr) fold->Run();
    return COPSE_OK;
  }
  const std::string text = round->text.empty() ? copse::client::StatusString(round->status) : round->text;
  return FailWith(round->status, round->facts, "%s on team %s: %s", what, team.c_str(), text.c_str());
}

namespace {

// Whatever ends a blocking call early, its round on the stack must not be found by an event.
class DetachOnExit {
 public:
  DetachOnExit(copse_context* context, Round* round) : context_(context), round_(round) {}
  ~DetachOnExit() {
    if (round_->state == Round::State::kInProgress) context_->Cancel(round_);
  }

 private:
  copse_context* const context_;
  Round* const round_;
};

}  // namespace

copse_status_t copse_context::Call(copse_team* team, const CallPlan& plan, Deadline deadline) {
  Lock lock(mutex_);
  Round round;
  DetachOnExit guard(this, &round);
  if (const auto status = Post(lock, team, plan, &round, deadline); status != COPSE_OK) return status;
  return Wait(lock, copse::client::NameOf(plan), team->name, &round, deadline);
}

copse_status_t copse_context::Ping(Deadline deadline) {
  Lock lock(mutex_);
  Round round;
  DetachOnExit guard(this, &round);
  if (const auto status = Post(lock, nullptr, CallPlan{}, &round, deadline); status != COPSE_OK) return status;
  return Wait(lock, "ping", "-", &round, deadline);
}

void copse_context::LeaveTeams() {
  for (auto team = leaving_.begin(); team != leaving_.end();) {
    if (queue_->InFlight(*team)) {
      ++team;
      continue;
    }
    channel_->Tell(attach::MessageType::kTeamDestroy, attach::TeamDestroy{{}, *team, 0});
    team = leaving_.erase(team);
  }
}

bool copse_context::LeaveLater(uint32_t team) {
  if (!queue_->InFlight(team)) return false;
  leaving_.push_back(team);
  return true;
}

// --- Handles ---

void copse_context::Own(std::unique_ptr<Handle> handle) {
  Lock lock(mutex_);
  Handle* key = handle.get();
  owned_[key] = std::move(handle);
}

std::unique_ptr<Handle> copse_context::Disown(Handle* handle) {
  const auto found = owned_.find(handle);
  if (found == owned_.end()) return nullptr;
  std::unique_ptr<Handle> result = std::move(found->second);
  owned_.erase(found);
  return result;
}

void copse_context::ForgetTeam(const copse_team* team) {
  for (auto& [handle, owner] : owned_) {
    if (!handle->Is(Kind::kRequest)) continue;
    auto* request = static_cast<copse_request*>(handle);
    if (request->team == team) request->team = nullptr;
  }
}

namespace copse::client {

copse_status_t Check(const copse_context_t* context) {
  if (context == nullptr) return Fail(COPSE_ERR_INVALID_ARGUMENT, "the context is NULL");
  if (!context->Is(Handle::Kind::kContext)) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "the context was finalised, or this is none (context=%p)",
                static_cast<const void*>(context));
  }
  if (context->forked()) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT,
                "the context belongs to the parent of this forked process; call copse_init");
  }
  return COPSE_OK;
}

copse_status_t Check(const copse_team_t* team) {
  if (team == nullptr) return Fail(COPSE_ERR_INVALID_ARGUMENT, "the team is NULL");
  if (!team->Is(Handle::Kind::kTeam)) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "the team was destroyed, or this is none (team=%p)",
                static_cast<const void*>(team));
  }
  return Check(team->context);
}

copse_status_t Check(const copse_request_t* request) {
  if (request == nullptr) return Fail(COPSE_ERR_INVALID_ARGUMENT, "the request is NULL");
  if (!request->Is(Handle::Kind::kRequest)) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "the request was finalised, or this is none (request=%p)",
                static_cast<const void*>(request));
  }
  return Check(request->context);
}

}  // namespace copse::client
