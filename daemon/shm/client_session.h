// SPDX-License-Identifier: Apache-2.0
//
// Serves one client process from its connection to its end: its socket, teams and queues.
#ifndef COPSE_DAEMON_SHM_CLIENT_SESSION_H_
#define COPSE_DAEMON_SHM_CLIENT_SESSION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/log_budget.h"
#include "base/unique_fd.h"
#include "daemon/accounts/accounts.h"
#include "daemon/core/calls/client_interface.h"
#include "daemon/core/calls/instruments.h"
#include "daemon/core/daemon_core.h"
#include "daemon/loop/poller.h"
#include "daemon/shm/client_calls.h"
#include "daemon/shm/client_teams.h"
#include "daemon/shm/daemon_pages.h"
#include "daemon/shm/early_totals.h"
#include "daemon/shm/packet_socket.h"
#include "daemon/shm/process_watch.h"
#include "daemon/shm/region_table.h"
#include "daemon/shm/user_pace.h"
#include "protocol/attach_protocol.h"

namespace copse::daemon {

struct AttachOptions {
  std::string node;
  Incarnation incarnation{0};
  uint32_t clients_max = 1024;  // connections, attached or not
  uint32_t mute_max = 128;      // connections of one user that are not attached yet
  uint32_t dq_entries = 256, dq_entries_max = 4096;
  uint32_t eq_entries = 256, eq_entries_max = 4096;
  uint64_t data_bytes = 1u << 20, data_bytes_max = 64u << 20;
  // Limits all clients' queues and data areas together. 0: clients_max times the default size.
  uint64_t ports_bytes_max = 0;
  uint32_t requests_max = 64;  // unanswered requests of one client
  RegionLimits regions;
  uint64_t list_bytes_max = kListBytesMax;
  absl::Duration greeting_timeout = absl::Seconds(10);
  // A team that is not formed in this time fails here even if the planner is silent, whose own limit is shorter.
  absl::Duration formation_timeout = absl::Seconds(35);
  // A dying process closes its socket a moment before its pidfd is ready. The session waits for the pidfd this long,
  // since it gives a better reason.
  absl::Duration hang_up_grace = absl::Milliseconds(5);
  Instruments* instruments = nullptr;  // may be null
};

class ClientSession;

// SessionContext holds the state that sessions share.
struct SessionContext {
  SessionContext(const AttachOptions* options, const Clock* clock, Poller* poller, DaemonCore* core,
                 DaemonPages* pages);

  // Logs what a process has caused, unless its user has caused too many lines.
  void Log(LogLevel level, const PeerProcess& process, const std::string& line);

  const AttachOptions* options;
  const Clock* clock;
  Poller* poller;
  DaemonCore* core;
  DaemonPages* pages;
  uint64_t doorbells = 0;  // how often clients have rung their doorbells
  EarlyTotals early;       // sums over clients that are gone
  UserPace pace;
  LogBudget lines;
  // No session's deadline is before it.
  absl::Time deadline = absl::InfiniteFuture();
  bool any_doomed = false;
  std::vector<ClientSession*> with_events;  // have got events that they have not been woken for
};

// A ClientSession serves one client, on the loop's thread. Order of calls: Start; then callbacks of poller and core,
// Read and Tick in any order; End once doomed(). No callback ends a session: it is marked as doomed, and AttachServer
// ends it in its next ReadPosts. Invariant: the core has the client from a granted AttachRequest until End.
class ClientSession final : public ClientSink {
 public:
  // `*context` must outlive the session, for which `held` is a client of its account.
  ClientSession(SessionContext* context, UniqueFd socket, PeerProcess process, Account::Holding held);
  ~ClientSession() override;

  // Watches the socket and the process, and starts the time-out for the AttachRequest, which is read at once if it is
  // there. Errors: the poller's.
  absl::Status Start();

  bool attached() const { return calls_ != nullptr; }
  bool doomed() const { return doomed_; }
  uint32_t uid() const { return process_.uid; }
  const std::string& job() const { return process_.job; }
  ClientId client() const { return client_; }
  bool HasPosts() const { return calls_->HasPosts(); }
  // Reads some posts, at most `*posts_left`, from which they are subtracted; answers deregistrations that waited for
  // calls, and destroys teams that were formed too late. Returns true if it did anything, or left posts for want of
  // `*posts_left`. Requires attached().
  bool Read(uint32_t* posts_left);
  // Marks the session as one to be ended, for this reason.
  void Doom(std::string why);
  // Dooms the session if its process has died, in case that the poller has missed it.
  void CheckProcess();
  // Runs timers that are due. NextDeadline returns the time of the next one.
  void Tick(absl::Time now);
  absl::Time NextDeadline() const { return next_deadline_; }
  // Returns true if the client slept, and had events; the page's GroupWake may have to wake it. Requires attached().
  bool WakeForEvents() {
    has_events_ = false;
    return calls_->port().TakeEventsPut() && calls_->port().WakeIfWaiting();
  }

  // Adds the client's counters to `*totals`, if it is attached.
  void AddEarly(EarlyTotals* totals) const {
    if (attached()) totals->Add(calls_->port());
  }

  // Sends the reason to the client, and detaches it from the core. `why`, if not empty, replaces the reason of a doomed
  // session.
  void End(const std::string& why);

  // These implement ClientSink.
  void OnEvent(const ClientEvent& event) override;
  void OnTeamReady(uint64_t request, uint32_t handle, const schedule::TeamLayout& layout) override;
  void OnTeamFailed(uint64_t request, const schedule::FailureReport& why) override;
  void OnTeamDestroyed(uint64_t request, const schedule::FailureReport& why) override;
  void OnClosing(const std::string& why) override;

 private:
  absl::Status WatchSocket();
  void OnSocket();
  // Reads one message. Returns whether there may be more.
  bool ReadMessage();
  void OnProcess();
  void OnDeath();
  void OnHangUp();
  absl::Status WatchDoorbell();
  void OnDoorbell();

  void OnPacket(const Packet& packet);
  void OnAttachRequest(const Packet& packet);
  absl::Status Attach(const attach::AttachRequest& message);
  void OnTeamCreate(const attach::TeamCreate& message);
  void OnTeamDestroy(const attach::TeamDestroy& message);
  void OnRegisterMemory(const attach::RegisterMemory& message, const UniqueFd& memory);
  void OnDeregisterMemory(const attach::DeregisterMemory& message);

  template <typename T>
  void Answer(const T& message, absl::Span<const int> descriptors = {});
  void AnswerTeamFailed(uint64_t client_request, const schedule::FailureReport& why);
  void AnswerDone(uint64_t client_request, const schedule::FailureReport& why);
  void UpdateDeadline();
  // Has AttachServer wake the client for events that were put.
  void NoteEvents();

  SessionContext* const context_;
  const UniqueFd socket_;
  const PeerProcess process_;
  UniqueFd doorbell_;
  const Account::Holding held_;
  Account::Holding port_bytes_;
  DaemonPage* page_ = nullptr;          // the user's; null until it is entered
  std::unique_ptr<ClientCalls> calls_;  // null until attached
  ClientId client_ = 0;

  ClientTeams teams_;
  absl::flat_hash_map<uint32_t, uint64_t> deregistrations_;  // the client's request number, by region

  absl::Time greeting_deadline_ = absl::InfiniteFuture();
  absl::Time hang_up_deadline_ = absl::InfiniteFuture();
  absl::Time deaf_until_ = absl::InfiniteFuture();  // end of the time in which the doorbell is ignored
  uint32_t vain_rings_ = 0;                         // rings since the last post
  absl::Time next_deadline_ = absl::InfiniteFuture();
  bool has_events_ = false;  // is in SessionContext::with_events
  bool doomed_ = false;
  std::string why_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_SHM_CLIENT_SESSION_H_
