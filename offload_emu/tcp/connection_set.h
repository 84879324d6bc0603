// SPDX-License-Identifier: Apache-2.0
//
// The TCP connections of one daemon, made by it or by others.
#ifndef COPSE_OFFLOAD_EMU_TCP_CONNECTION_SET_H_
#define COPSE_OFFLOAD_EMU_TCP_CONNECTION_SET_H_

#include <sys/epoll.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/clock.h"
#include "base/unique_fd.h"
#include "offload_emu/tcp/flight_limit.h"
#include "offload_emu/tcp/sealed_stream.h"
#include "offload_emu/tcp/stranger_budget.h"
#include "offload_emu/tcp/tls_identity.h"
#include "offload_emu/tcp/wire_format.h"

namespace copse::emu {

struct TcpPeer;  // the transport's

enum class ConnectionStage : uint8_t {
  kAccepted,  // the peer's hello is awaited
  kParked,    // the hello is from a daemon that this one has not connected to
  kDialing,   // this side says hello first
  kAttached,  // frames go over it
};

struct TcpConnection {
  uint64_t id = 0;
  std::unique_ptr<SealedStream> stream;
  ConnectionStage stage = ConnectionStage::kAccepted;
  LaneKind lane = LaneKind::kShort;
  TcpPeer* peer = nullptr;                          // kDialing, kAttached
  std::optional<FlightLimit> limit = std::nullopt;  // kAttached, of long frames
  WireHello hello{};                                // kParked
  uint64_t received = 0;                            // kParked: as in the hello's header
  std::string source;                               // SourceOf, of a connection that was accepted
  absl::Time begun;
  absl::Time until;  // it is late then, unless it is attached
  bool is_watched = false;
  uint32_t events = 0;  // that epoll watches for

  bool is_stranger() const { return stage == ConnectionStage::kAccepted || stage == ConnectionStage::kParked; }
};

struct ConnectionSetOptions {
  absl::Duration hello_timeout;  // from a connection to its hello
  uint32_t strangers_max = 0;    // connections that are not a known peer's; a new one beyond replaces the oldest
};

// A ConnectionSet owns connections, the listener at which others connect, and the epoll descriptor that watches them.
// Single-threaded.
class ConnectionSet {
 public:
  ConnectionSet(const Clock* clock, const ConnectionSetOptions& options, UniqueFd listener, UniqueFd epoll);

  // From the first call on others can connect.
  absl::Status Listen();

  TcpConnection* Add(std::unique_ptr<SealedStream> stream, ConnectionStage stage);
  // Returns nullptr if it is gone.
  TcpConnection* Find(uint64_t id) const;
  // Sets what is awaited: room for what is to be written, and input if `reads`.
  void Watch(TcpConnection* connection, bool reads);
  void SetAttached(TcpConnection* connection);
  void Erase(TcpConnection* connection);

  // Accepts all who wait, and returns how many strangers had to go: those in whose places others are now, and those
  // beyond StrangerBudget.
  uint32_t Accept(const std::shared_ptr<const TlsIdentity>& identity);

  // Fills in what has happened; the time is not waited for. `data.u64` is a connection's id, or kListenerId.
  static constexpr uint64_t kListenerId = 0;
  absl::Span<const epoll_event> Poll(absl::Span<epoll_event> events);
  // The thread goes to sleep until there is an event.
  void OnSleep() { may_guess_ = true; }
  // Returns, once after a sleep, a connection whose input is worth a try before Poll, or nullptr: the one of short
  // frames that alone had events in the last two polls. Most often a daemon awaits one peer, and one system call brings
  // its frame, not two.
  TcpConnection* Guess();

  // Returns a time at which TakeLate may have something to do, or one before.
  absl::Time due() const { return due_; }
  // Accepts again after a pause, and returns the connections that are late.
  std::vector<TcpConnection*> TakeLate();

  // By id, so the oldest first.
  const std::map<uint64_t, std::unique_ptr<TcpConnection>>& all() const { return connections_; }
  int listener() const { return listener_.get(); }
  int epoll() const { return epoll_.get(); }

 private:
  void WatchListener(uint32_t events) const;
  void PauseAccepting(int error);
  void EraseOldestStranger();

  const Clock* const clock_;
  const ConnectionSetOptions options_;
  const UniqueFd listener_;
  const UniqueFd epoll_;
  bool listens_ = false;
  bool is_accepting_paused_ = false;               // the last attempt failed
  absl::Time accept_at_ = absl::InfiniteFuture();  // then the listener is watched again
  absl::Time due_ = absl::InfiniteFuture();
  std::map<uint64_t, std::unique_ptr<TcpConnection>> connections_;
  uint64_t next_id_ = kListenerId + 1;
  uint32_t strangers_ = 0;
  StrangerBudget budget_;
  uint64_t last_ = kListenerId;    // the connection that alone had events in the last poll that brought any
  uint64_t likely_ = kListenerId;  // and in the one before, too
  bool may_guess_ = false;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_TCP_CONNECTION_SET_H_
