// SPDX-License-Identifier: Apache-2.0
//
// Holds the clients of a daemon: attached processes, with their ranks in teams and their ports in the engine.
#ifndef COPSE_DAEMON_CORE_CLIENT_TABLE_H_
#define COPSE_DAEMON_CORE_CLIENT_TABLE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "daemon/accounts/accounts.h"
#include "daemon/core/calls/client_interface.h"
#include "offload_emu/engine.h"

namespace copse::daemon {

// A Membership is what a client's team handle stands for: a team, and the client's rank in it.
struct Membership {
  TeamId team{0};
  Rank rank{0};
};

// A Client is one attached process. Its own port carries only no-ops; calls run on the ports of their teams.
struct Client : public emu::PortSink {
  ClientId id = 0;
  ClientHello hello;
  ClientSink* sink = nullptr;
  emu::PortId port;
  std::map<uint32_t, Membership> memberships;  // by handle
  uint32_t outstanding = 0;                    // number of posts that have no event yet
  std::shared_ptr<Account> account;            // of its user's job; counts the outstanding posts

  ~Client() override { account->PostsOver(outstanding); }
  // Returns null for an unknown handle.
  const Membership* FindMembership(uint32_t handle) const;
  // Counts a post, which must get its event also if it is over the quota, as the error says.
  absl::Status PostBegins();
  // Passes the event of one outstanding post to the sink.
  void Notify(const ClientEvent& event);
  void OnEvent(emu::PortId port, uint64_t value, bool failed) override;
  void OnMismatch(emu::PortId, uint32_t, uint16_t, uint16_t) override {}
  void OnWrongArrival(emu::PortId, uint16_t, const emu::Arrival&, const emu::Arrival*) override {}
};

// A ClientTable owns the clients and their engine ports. Thread-compatible; both pointees must outlive it.
class ClientTable {
 public:
  ClientTable(emu::Engine* engine, Accounts* accounts, uint32_t clients_max)
      : engine_(engine), accounts_(accounts), clients_max_(clients_max) {}

  // Opens the client's port. RESOURCE_EXHAUSTED beyond `clients_max`; other errors are the engine's.
  absl::StatusOr<ClientId> Add(const ClientHello& hello, ClientSink* sink);
  // Closes the client's port; does nothing if the client is gone.
  void Remove(ClientId id);
  // Tells the engine of all users' weights, which have changed.
  void ApplyWeights();
  // Returns null if the client is gone.
  Client* Find(ClientId id);
  const Client* Find(ClientId id) const;
  // Does nothing for a client that is gone.
  void Notify(ClientId id, const ClientEvent& event);
  std::vector<Client*> All();
  std::vector<const Client*> All() const;
  size_t size() const { return clients_.size(); }
  // Dies if an invariant does not hold.
  void CheckInvariants() const;

 private:
  emu::Engine* const engine_;
  Accounts* const accounts_;
  const uint32_t clients_max_;
  ClientId next_ = 1;
  std::map<ClientId, std::unique_ptr<Client>> clients_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_CLIENT_TABLE_H_
