// SPDX-License-Identifier: Apache-2.0
//
// The clients of a daemon: their processes, their ranks in teams, and their ports in the engine.
#ifndef COPSE_DAEMON_CORE_CLIENT_TABLE_H_
#define COPSE_DAEMON_CORE_CLIENT_TABLE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "daemon/core/calls/client_interface.h"
#include "offload_emu/engine.h"

namespace copse::daemon {

// The team and rank behind a client's team handle.
struct Membership {
  TeamId team{0};
  Rank rank{0};
};

// One attached process. Its port carries its no-ops; its calls run on the ports of their teams.
struct Client : public emu::PortSink {
  ClientId id = 0;
  ClientHello hello;
  ClientSink* sink = nullptr;
  emu::PortId port;
  std::map<uint32_t, Membership> memberships;  // by handle
  uint32_t outstanding = 0;                    // posts without their event

  const Membership* FindMembership(uint32_t handle) const;
  void Notify(const ClientEvent& event);
  void OnEvent(emu::PortId port, uint64_t value, bool failed) override;
  void OnMismatch(emu::PortId, uint32_t, uint16_t, uint16_t) override {}
};

// Owns the clients and their engine ports. `*engine` outlives it.
class ClientTable {
 public:
  ClientTable(emu::Engine* engine, uint32_t clients_max) : engine_(engine), clients_max_(clients_max) {}

  // RESOURCE_EXHAUSTED beyond `clients_max`; other errors are the engine's.
  absl::StatusOr<ClientId> Add(const ClientHello& hello, ClientSink* sink);
  void Remove(ClientId id);
  Client* Find(ClientId id);
  const Client* Find(ClientId id) const;
  // Does nothing for a client that is gone.
  void Notify(ClientId id, const ClientEvent& event);
  std::vector<Client*> All();
  size_t size() const { return clients_.size(); }
  // Dies if an invariant does not hold.
  void CheckInvariants() const;

 private:
  emu::Engine* const engine_;
  const uint32_t clients_max_;
  ClientId next_ = 1;
  std::map<ClientId, std::unique_ptr<Client>> clients_;
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_CLIENT_TABLE_H_
