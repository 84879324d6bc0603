// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the handshake of the data port, at both of its ends, between two nodes that believe each other. An input is a
// list of changes to what they say: which message, what is done to it, where, and with which byte.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/check.h"
#include "offload_emu/tcp/testing/test_authority.h"
#include "offload_emu/tcp/tls_handshake.h"
#include "offload_emu/tcp/tls_identity.h"
#include "tools/fuzzing/target.h"

namespace copse::fuzzing {
namespace {

using Identity = std::shared_ptr<const emu::TlsIdentity>;

constexpr size_t kChangesMax = 16;
// The client's hello, the server's answer, the client's certificate, and what either says to a refusal.
constexpr uint8_t kMessages = 5;

enum What : uint8_t { kFlip, kSet, kCut, kInsert, kRepeat, kWhats };

struct Change {
  uint8_t message, what, high, low, byte;  // `high` and `low`: where
};

struct Nodes {
  Nodes() : n1(Of("n1")), n2(Of("n2")) {}
  Identity Of(const std::string& name) const {
    const emu::TestCertificate issued = authority.IssueNode(name);
    return *emu::TlsIdentity::FromCertificates(issued.certificate, issued.key, authority.certificate());
  }
  const emu::TestAuthority authority;
  const Identity n1, n2;
};

std::vector<Change> ChangesIn(std::string_view bytes) {
  std::vector<Change> changes;
  for (; bytes.size() >= sizeof(Change) && changes.size() < kChangesMax; bytes.remove_prefix(sizeof(Change))) {
    const auto at = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
    changes.push_back({at(0), at(1), at(2), at(3), at(4)});
  }
  return changes;
}

void Apply(const Change& change, std::string* message) {
  if (message->empty()) return;
  const size_t where = (size_t{change.high} * 256 + change.low) % message->size();
  const char byte = static_cast<char>(change.byte);
  switch (static_cast<What>(change.what % kWhats)) {
    case kFlip:
      (*message)[where] ^= byte;
      return;
    case kSet:
      (*message)[where] = byte;
      return;
    case kCut:
      message->erase(where, change.byte);
      return;
    case kInsert:
      message->insert(where, change.byte, byte);
      return;
    case kRepeat:
      *message += message->substr(where);
      return;
    case kWhats:
      return;
  }
}

// Passes on what `from` says, as changed. Returns false once there is nothing more to pass.
bool Pass(emu::TlsHandshake* from, const std::vector<Change>& changes, uint8_t message, emu::TlsHandshake* to,
          std::string* unread, bool* goes_on) {
  std::string said = from->TakeOutput();
  if (said.empty()) return false;
  for (const Change& change : changes) {
    if (change.message % kMessages == message) Apply(change, &said);
  }
  *unread += said;
  if (!*goes_on) return true;
  const absl::Span<const uint8_t> input(reinterpret_cast<const uint8_t*>(unread->data()), unread->size());
  if (to->done()) {
    (void)to->RefusalIn(input);
    return true;
  }
  const absl::StatusOr<size_t> taken = to->Take(input);
  *goes_on = taken.ok();
  if (taken.ok()) unread->erase(0, *taken);
  return true;
}

std::string BytesOf(const Change& change) {
  return {static_cast<char>(change.message), static_cast<char>(change.what), static_cast<char>(change.high),
          static_cast<char>(change.low), static_cast<char>(change.byte)};
}

}  // namespace

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds = {""};
  for (uint8_t message = 0; message < kMessages; ++message) {
    for (uint8_t what = 0; what < kWhats; ++what) {
      seeds.push_back(BytesOf({message, what, 0, 3, 255}) + BytesOf({message, what, 0, 200, 1}));
    }
  }
  return seeds;
}

void OneInput(std::string_view bytes) {
  static const auto& nodes = *new Nodes;
  const std::vector<Change> changes = ChangesIn(bytes);
  emu::TlsHandshake client(nodes.n1, false), server(nodes.n2, true);
  std::string at_client, at_server;
  bool client_goes_on = true, server_goes_on = true;
  for (uint8_t message = 0; message < kMessages; ++message) {
    const bool passed = message % 2 == 0 ? Pass(&client, changes, message, &server, &at_server, &server_goes_on)
                                         : Pass(&server, changes, message, &client, &at_client, &client_goes_on);
    if (!passed) break;
  }
  // Whatever was changed, nobody takes the other for somebody else, and both have the same keys or one has none.
  if (client.done()) CHECK(client.peer() == "n2");
  if (server.done()) CHECK(server.peer() == "n1");
  if (client.done() && server.done()) CHECK(client.SendKey().key == server.ReceiveKey().key);
  if (changes.empty()) CHECK(client.done() && server.done());
}

}  // namespace copse::fuzzing
