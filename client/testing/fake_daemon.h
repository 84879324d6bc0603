// SPDX-License-Identifier: Apache-2.0
//
// A stand-in for copsed in unit tests of the client: the attach socket and the rings, with teams among the clients of
// this one object, and ways to misbehave. It knows nothing of plans, engines or networks.
#ifndef COPSE_CLIENT_TESTING_FAKE_DAEMON_H_
#define COPSE_CLIENT_TESTING_FAKE_DAEMON_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "client/port/file_descriptor.h"
#include "protocol/attach_protocol.h"
#include "protocol/ring_layout.h"

namespace copse::client {

// Listens at an abstract socket, "@name". `flags`: as SOCK_NONBLOCK.
FileDescriptor ListenAt(const std::string& name, int flags);

// Runs a thread of its own from construction to destruction. Thread-safe.
class FakeDaemon {
 public:
  struct Options {
    uint32_t dq_entries = 16;
    uint32_t eq_entries = 32;
    uint64_t data_bytes = 1 << 20;
    uint64_t message_bytes_max = 64 << 10;
    bool registers_memory = true;
    int descriptors = 3;  // that come with an attach reply
    // Last changes to what a client gets; the port's header is null if there are no descriptors.
    std::function<void(attach::AttachReply*, ring::PortHeader*)> tamper;
  };

  FakeDaemon() : FakeDaemon(Options()) {}
  explicit FakeDaemon(Options options);
  ~FakeDaemon();

  // For COPSE_SOCKET: an abstract name that is this object's own.
  const std::string& socket() const { return socket_; }

  // --- Misbehavior ---
  // Takes no queue entries while on.
  void HoldQueues(bool on);
  // Takes entries and reads contributions, but completes no call while on.
  void HoldCalls(bool on);
  // The next collective call to complete ends so on all ranks.
  void FailNextCall(int32_t status, const std::string& text);
  // As if the process of that rank had died.
  void KillClientOf(const std::string& team, uint32_t rank);
  // Dies: every socket closes, nothing completes any more.
  void Kill();
  // Says so first, closes the ports, then dies.
  void Close(const std::string& text);
  // To the first client: an event out of the blue; a wrong index.
  void PostEvent(const ring::EqEntry& event);
  void SetEventTail(uint64_t tail);
  // To the first client: bytes that are no message.
  void SendGarbage();

  // --- What happened ---
  uint64_t doorbells() const { return doorbells_; }
  uint64_t calls_completed() const { return calls_completed_; }
  uint64_t inline_contributions() const { return inline_contributions_; }
  uint64_t regions() const { return regions_; }  // registered and not deregistered
  // Returns the number of memberships created and not destroyed. It reads what clients have sent first, since they
  // destroy a team without awaiting an answer.
  uint64_t teams();
  std::string last_job() const;

 private:
  struct Client;
  struct Team;
  struct Member {
    Client* client = nullptr;  // null once it left
    uint64_t next_sequence = 1;
    uint32_t handle = 0;
    uint64_t request = 0;
  };
  struct Entry;

  void Run();
  void Turn();
  bool QueuesEmpty();
  void Accept();
  void ReadMessages(Client* client);
  void Attach(Client* client, const attach::AttachRequest& request);
  void CreateTeam(Client* client, const attach::TeamCreate& request);
  void DestroyTeam(Client* client, const attach::TeamDestroy& request);
  void RegisterMemory(Client* client, const attach::RegisterMemory& request, FileDescriptor memory);
  void Deregister(Client* client, const attach::DeregisterMemory& request);
  void ExpireFormations();
  void TakeEntries(Client* client);
  void Join(Client* client, const ring::DqSlot& slot);
  void ReadContribution(Client* client, uint32_t rank, uint32_t size, Entry* entry);
  void CompleteCalls();
  void Complete(Team* team, uint64_t sequence);
  bool Deliver(Client* client, const std::vector<Entry>& ranks, uint32_t rank);
  void Break(Team* team, const std::string& text);
  void Disconnect(Client* client);
  void Emit(Client* client, uint64_t value, uint64_t sequence, int32_t status, const std::string& text);
  void Append(Client* client, const ring::EqEntry& event);
  uint8_t* At(Client* client, const ring::Place& place, uint64_t bytes);

  using TeamKey = std::tuple<std::string, std::string, uint64_t, uint32_t>;  // job, name, nonce, size

  const Options options_;
  std::string socket_;
  FileDescriptor listener_;
  FileDescriptor doorbell_;
  FileDescriptor page_file_;
  Mapping page_;
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> doorbells_{0}, calls_completed_{0}, inline_contributions_{0}, regions_{0};

  mutable std::mutex mutex_;  // guards what follows
  bool hold_queues_ = false;
  bool hold_calls_ = false;
  int32_t fail_status_ = 0;
  std::string fail_text_;
  std::string last_job_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::map<TeamKey, std::unique_ptr<Team>> forming_;
  std::vector<std::unique_ptr<Team>> teams_;
  uint64_t teams_now_ = 0;
  uint32_t next_handle_ = 7;
  uint64_t next_team_ = 1001;

  std::thread thread_;
};

}  // namespace copse::client

#endif  // COPSE_CLIENT_TESTING_FAKE_DAEMON_H_
