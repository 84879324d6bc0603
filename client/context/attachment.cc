// SPDX-License-Identifier: Apache-2.0

#include "client/context/attachment.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "client/port/daemon_socket.h"
#include "client/port/environment.h"
#include "client/port/error.h"
#include "client/port/job_daemon.h"
#include "client/port/log.h"
#include "protocol/attach_protocol.h"
#include "protocol/ring_layout.h"

namespace copse::client {
namespace {

constexpr double kAttachSeconds = 10;
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
  // Only the beginning of the reply has the same layout in all versions, so the version is checked first.
  if (!compatible && (reply.status == COPSE_OK || reply.status == COPSE_ERR_VERSION)) {
    return Fail(COPSE_ERR_VERSION, "ring layouts are too far apart (library=%u, daemon=%u, socket=%s)", own,
                reply.ring_version, place.c_str());
  }
  if (reply.status != COPSE_OK) {
    return FailWith(StatusFromWire(reply.status), reply.facts, "the daemon refused: %s (node=%s)",
                    TextOf(reply.text).c_str(), TextOf(reply.node).c_str());
  }
  // An older daemon sends no facts.
  constexpr size_t kLeast = offsetof(attach::AttachReply, facts);
  if (answer.bytes < kLeast) {
    return Fail(COPSE_ERR_INTERNAL, "the daemon's attach reply is too short (bytes=%zu, expected=%zu)", answer.bytes,
                kLeast);
  }
  return COPSE_OK;
}

// Connects to the daemon at *place; where the job brings its own, the first process of a node has it started.
copse_status_t Connect(const Environment& environment, std::string* place, FileDescriptor* socket) {
  const std::string wanted = *place;
  const copse_status_t status = ConnectDaemon(wanted, socket, place);
  if (status != COPSE_ERR_NO_DAEMON || !HasJobDaemon() || wanted != environment.socket) return status;
  if (const auto started = StartJobDaemon(wanted); started != COPSE_OK) return started;
  return ConnectDaemon(wanted, socket, place);
}

}  // namespace

copse_status_t Attachment::Attach(const copse_init_params_t& params, std::unique_ptr<Port>* port) {
  const Environment environment = ReadEnvironment();
  ConfigureLog(environment.log_level, environment.log_file);
  if (!environment.timeout_is_number) {
    return Fail(COPSE_ERR_INVALID_ARGUMENT, "COPSE_TIMEOUT is not a number of seconds (value=%s)",
                getenv("COPSE_TIMEOUT"));
  }
  timeout_s_ = environment.timeout_s;
  copies_bytes_ = environment.copies_bytes;

  attach::AttachRequest request{};
  if (const auto status = FillRequest(params, environment, &request); status != COPSE_OK) return status;
  std::string place = environment.socket;
  if ((params.mask & COPSE_INIT_PARAM_FIELD_SOCKET) != 0) {
    if (params.socket == nullptr || *params.socket == '\0') {
      return Fail(COPSE_ERR_INVALID_ARGUMENT, "socket is NULL or empty");
    }
    place = Expand(params.socket);
  }
  FileDescriptor socket;
  if (const auto status = Connect(environment, &place, &socket); status != COPSE_OK) return status;
  channel_ = std::make_unique<ControlChannel>(std::move(socket));
  channel_->set_node(place);  // until the daemon's name is known

  ControlChannel::Answer answer;
  if (const auto status = channel_->Ask(attach::MessageType::kAttachRequest, request, attach::MessageType::kAttachReply,
                                        DeadlineAfter(kAttachSeconds), &answer);
      status != COPSE_OK) {
    return status;
  }
  auto reply = answer.As<attach::AttachReply>();
  if (const auto status = CheckReply(answer, reply, place); status != COPSE_OK) return status;
  reply.node[sizeof(reply.node) - 1] = '\0';
  if (const auto status = Port::Map(reply, std::move(answer.descriptors[0]), std::move(answer.descriptors[1]),
                                    std::move(answer.descriptors[2]), port);
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
  Log(LogLevel::kInfo, "attached (node=%s, socket=%s, daemon=%s, dq_entries=%u, eq_entries=%u, data_bytes=%llu)",
      attr_.node, place.c_str(), TextOf(reply.package_version).c_str(), attr_.dq_entries, attr_.eq_entries,
      static_cast<unsigned long long>(attr_.data_bytes));
  return COPSE_OK;
}

}  // namespace copse::client
