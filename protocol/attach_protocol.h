// SPDX-License-Identifier: Apache-2.0
//
// Defines the messages between client and daemon on the attach socket: a Unix socket of type SOCK_SEQPACKET, one
// message per packet, each a fixed struct that starts with a MessageHead. They are for rare operations; calls go
// through the rings (ring_layout.h). The socket stays open for the client's life. This file uses no library but the
// language's.
//
// The client first sends AttachRequest -> AttachReply (on success with three descriptors: port memfd, daemon page
// memfd, doorbell eventfd, in this order). Any number of TeamCreate -> TeamReady, TeamDestroy -> Done, RegisterMemory
// (with one memfd) -> MemoryRegistered, and DeregisterMemory -> Done may follow; answers carry the request's number and
// may come in any order. A failed answer has a text for people, and facts for programs. A request with the number
// kNoAnswer gets no Done, for clients that would not read it. A daemon that has no room for another client sends a
// failed AttachReply without a request and closes the socket. The daemon sends Closing without a request before it
// closes the port.
#ifndef COPSE_PROTOCOL_ATTACH_PROTOCOL_H_
#define COPSE_PROTOCOL_ATTACH_PROTOCOL_H_

#include <cstdint>

#include "base/failure.h"

namespace copse::attach {

inline constexpr uint32_t kMagic = 0x41535043;  // "CPSA"
inline constexpr uint32_t kNameBytes = 128;     // strings are NUL-terminated within their arrays
inline constexpr uint32_t kJobBytes = 64;
inline constexpr uint32_t kTextBytes = 256;
inline constexpr uint32_t kMessageBytesMax = 1024;
inline constexpr uint64_t kNoAnswer = 0;  // as the number of a request: it gets no Done

enum class MessageType : uint32_t {
  kAttachRequest = 1,
  kAttachReply,
  kTeamCreate,
  kTeamReady,
  kTeamDestroy,
  kRegisterMemory,
  kMemoryRegistered,
  kDeregisterMemory,
  kDone,
  kClosing,
};

struct MessageHead {
  uint32_t magic;
  uint32_t type;     // MessageType
  uint64_t request;  // the client's number of the request, repeated in the answer; 0 in a message without a request
};

struct AttachRequest {
  MessageHead head;
  uint32_t ring_version;
  uint32_t dq_entries;   // power of two; 0: the daemon's default
  uint32_t eq_entries;   // power of two; 0: the daemon's default
  uint32_t mpq_entries;  // must be 0
  uint64_t data_bytes;   // length of the port's data area; 0: the daemon's default
  char package_version[32];
  char job[kJobBytes];  // copse_init's `job`, else COPSE_JOB, else the launcher's job id, else empty
};

struct AttachReply {
  MessageHead head;
  int32_t status;         // 0 or a negative copse_status_t
  uint32_t ring_version;  // the daemon's version
  uint64_t incarnation;
  uint32_t dq_entries, eq_entries;  // granted
  uint64_t data_bytes;
  uint64_t message_bytes_max;  // limit of one call's message
  char node[kNameBytes];
  char package_version[32];
  char text[kTextBytes];
  FailureFacts facts;
};

struct TeamCreate {
  MessageHead head;
  uint32_t parent;  // handle of the parent team; 0: none
  uint32_t rank;
  uint32_t size;
  uint32_t reserved;
  uint64_t nonce;
  double timeout_s;  // limit of the wait for TeamReady; 0: the daemon's default. The planner has its own limit
  char name[kNameBytes];
};

struct TeamReady {
  MessageHead head;
  int32_t status;
  uint32_t handle;  // names the team in entries of the submission queue; never 0
  uint64_t team;    // TeamId, cluster-wide
  uint32_t window;  // number of the team's calls that may be in flight on an edge
  uint32_t node_count;
  char text[kTextBytes];
  FailureFacts facts;
};

struct TeamDestroy {
  MessageHead head;
  uint32_t handle;
  uint32_t reserved;
};

// Comes with one memfd of at least `bytes` bytes: open for reading and writing (O_RDWR), sealed against shrinking
// (F_SEAL_SHRINK) but not against writing, and without huge pages.
struct RegisterMemory {
  MessageHead head;
  uint64_t bytes;
};
struct MemoryRegistered {
  MessageHead head;
  int32_t status;
  uint32_t region;
  char text[kTextBytes];
  FailureFacts facts;
};
struct DeregisterMemory {
  MessageHead head;
  uint32_t region;
  uint32_t reserved;
};

struct Done {
  MessageHead head;
  int32_t status;
  uint32_t reserved;
  char text[kTextBytes];
  FailureFacts facts;
};

struct Closing {
  MessageHead head;
  char text[kTextBytes];
};

}  // namespace copse::attach

#endif  // COPSE_PROTOCOL_ATTACH_PROTOCOL_H_
