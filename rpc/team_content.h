// SPDX-License-Identifier: Apache-2.0
//
// A team's content: what a Prepare says to all members alike, which is nearly all of it. It is encoded once, named by
// its SHA-256, and sent on a stream only if the daemon does not have it, so that teams of the same nodes and plans need
// only its name. It has neither the ids of the team and its plans nor, unless nearly all nodes are neighbors, worker
// addresses: each member gets those of its neighbors.
#ifndef COPSE_RPC_TEAM_CONTENT_H_
#define COPSE_RPC_TEAM_CONTENT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "proto/copse/v1/control.pb.h"
#include "protocol/control.h"

namespace copse::rpc {

inline constexpr size_t kContentsMax = 16;
inline constexpr size_t kContentBytesMax = 8 << 20;

// A ContentWindow holds the contents that a stream's receiver keeps: the last kContentsMax that were sent or named, but
// none beyond kContentBytesMax of compressed bytes in sum; the newest always stays. Both ends of a stream have one and
// tell it the same, so the sender knows what the receiver has.
class ContentWindow {
 public:
  // Returns the content's bytes, which is the newest now, or null if it is not here.
  const std::string* Use(const std::string& sha256);
  // Adds a content. The sender's window keeps `size` without the bytes. Requires that it is not here.
  void Add(const std::string& sha256, std::string zstd, size_t size);

 private:
  struct Content {
    std::string sha256;
    std::string zstd;
    size_t size = 0;
  };
  std::vector<Content> contents_;  // the newest is last
};

// A SplitPrepare is a Prepare in two parts.
struct SplitPrepare {
  v1::Prepare head;  // without requests and contacts
  v1::TeamContent content;
  std::vector<std::string> addresses;  // by node index; empty: they are in the content
};
// Splits the message. `contacts` is the number of addresses that all members together need.
SplitPrepare Split(v1::Prepare prepare, uint64_t contacts);

// Replaces nodes, ranks and plans of a team that is reported by the name of their content, and returns that.
v1::TeamContent TakeContent(v1::RunningTeam* running);
// The opposite. INVALID_ARGUMENT: the content is damaged, or does not fit the rest.
absl::Status PutContent(const v1::TeamContent& content, v1::RunningTeam* running);

// Returns the name of the content of a team with these nodes, ranks and encoded plans, as TakeContent gives it.
std::string ContentName(const schedule::TeamLayout& layout, const std::vector<std::string>& plans);

// Checks that the content is what its name says. INVALID_ARGUMENT.
absl::Status CheckContent(const v1::TeamContent& content);
// Replaces the name of the content in `prepare` by the content itself. INVALID_ARGUMENT: the content is not in the
// window, or does not fit the rest.
absl::Status Join(ContentWindow* window, v1::Prepare* prepare);

}  // namespace copse::rpc

#endif  // COPSE_RPC_TEAM_CONTENT_H_
