// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/client_table.h"

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace copse::daemon {

const Membership* Client::FindMembership(uint32_t handle) const {
  const auto it = memberships.find(handle);
  return it == memberships.end() ? nullptr : &it->second;
}

absl::Status Client::PostBegins() {
  ++outstanding;
  return account->PostBegins();
}

void Client::Notify(const ClientEvent& event) {
  if (outstanding > 0) {
    --outstanding;
    account->PostsOver(1);
  }
  sink->OnEvent(event);
}

void Client::OnEvent(emu::PortId, uint64_t value, bool) { Notify({.value = value}); }

absl::StatusOr<ClientId> ClientTable::Add(const ClientHello& hello, ClientSink* sink) {
  if (clients_.size() >= clients_max_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("attach: too many clients (clients=", clients_.size() + 1, ", limit=", clients_max_, ")"));
  }
  auto client = std::make_unique<Client>();
  client->id = next_;
  client->hello = hello;
  client->sink = sink;
  client->account = accounts_->Open(hello.uid, hello.account_job, hello.groups);
  emu::PortOptions options;
  options.job = hello.uid;
  options.sequences = hello.dq_entries;
  options.eq_entries = hello.eq_entries;
  options.regions = 0;
  options.counters_per_slot = 1;
  ASSIGN_OR_RETURN(client->port, engine_->OpenPort(options, client.get()));
  engine_->SetWeight(hello.uid, client->account->weight());
  clients_.emplace(next_, std::move(client));
  return next_++;
}

void ClientTable::ApplyWeights() {
  for (const auto& [id, client] : clients_) engine_->SetWeight(client->hello.uid, client->account->weight());
}

void ClientTable::Remove(ClientId id) {
  const auto it = clients_.find(id);
  if (it == clients_.end()) return;
  engine_->ClosePort(it->second->port);
  clients_.erase(it);
}

Client* ClientTable::Find(ClientId id) {
  const auto it = clients_.find(id);
  return it == clients_.end() ? nullptr : it->second.get();
}

const Client* ClientTable::Find(ClientId id) const {
  const auto it = clients_.find(id);
  return it == clients_.end() ? nullptr : it->second.get();
}

void ClientTable::Notify(ClientId id, const ClientEvent& event) {
  if (Client* client = Find(id)) client->Notify(event);
}

void ClientTable::CheckInvariants() const {
  CHECK_LE(clients_.size(), clients_max_);
  for (const auto& [id, client] : clients_) {
    CHECK_EQ(client->id, id);
    CHECK_LT(id, next_);
    CHECK(client->sink != nullptr);
    CHECK_LE(client->outstanding, client->hello.eq_entries);
  }
}

std::vector<Client*> ClientTable::All() {
  std::vector<Client*> all;
  for (const auto& [id, client] : clients_) all.push_back(client.get());
  return all;
}

std::vector<const Client*> ClientTable::All() const {
  std::vector<const Client*> all;
  for (const auto& [id, client] : clients_) all.push_back(client.get());
  return all;
}

}  // namespace copse::daemon
