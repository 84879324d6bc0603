// SPDX-License-Identifier: Apache-2.0
#include "testbed/fabric/fabric_control.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "nlohmann/json.hpp"

namespace copse::fabric {
namespace {

using daemon::UniqueFd;
using Json = nlohmann::json;

LaneStats ReadLane(const Json& json) {
  const Json& drops = json.at("drops");
  return {.packets = json.at("packets").get<uint64_t>(),
          .bytes = json.at("bytes").get<uint64_t>(),
          .drops_queue = drops.at("queue").get<uint64_t>(),
          .drops_loss = drops.at("loss").get<uint64_t>(),
          .drops_cut = drops.at("cut").get<uint64_t>(),
          .drops_no_route = drops.at("no_route").get<uint64_t>(),
          .queue_bytes_high = json.at("queue_bytes_high").get<int64_t>(),
          .queue_packets_high = json.at("queue_packets_high").get<int64_t>()};
}

FabricStats ReadStats(const Json& json) {
  FabricStats stats;
  stats.scheduling = json.at("scheduling").get<std::string>();
  stats.spin_share = json.at("spin_share").get<double>();
  const Json& totals = json.at("totals");
  stats.frames_in = totals.at("frames_in").get<uint64_t>();
  stats.frames_out = totals.at("frames_out").get<uint64_t>();
  stats.bytes_out = totals.at("bytes_out").get<uint64_t>();
  stats.arp_answers = totals.at("arp_answers").get<uint64_t>();
  stats.devices_lost = totals.at("devices_lost").get<uint64_t>();
  stats.drops_memory = totals.at("drops").at("memory").get<uint64_t>();
  stats.drops_write = totals.at("drops").at("write").get<uint64_t>();
  const Json& lateness = json.at("lateness_us");
  const auto time = [&](const char* key) { return absl::Microseconds(lateness.at(key).get<double>()); };
  stats.lateness_count = lateness.at("count").get<uint64_t>();
  stats.lateness_p50 = time("p50");
  stats.lateness_p90 = time("p90");
  stats.lateness_p99 = time("p99");
  stats.lateness_max = time("max");
  for (const Json& link : json.at("links")) {
    stats.links[link.at("name").get<std::string>()] = {.latency_ns = link.at("latency_ns").get<int64_t>(),
                                                       .bandwidth_bps = link.at("bandwidth_bps").get<int64_t>(),
                                                       .cut = link.at("cut").get<bool>(),
                                                       .up = ReadLane(link.at("up")),
                                                       .down = ReadLane(link.at("down"))};
  }
  return stats;
}

}  // namespace

absl::StatusOr<FabricControl> FabricControl::Connect(const std::string& path, absl::Duration timeout) {
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat("control: path empty or too long (length=", path.size(),
                                                   ", limit=", sizeof(address.sun_path) - 1, ")"));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return absl::UnavailableError(absl::StrCat("control: ", std::strerror(errno), " (socket=", path, ")"));
  }
  return FabricControl(std::move(fd), timeout);
}

absl::StatusOr<std::string> FabricControl::Ask(std::string_view request) {
  const std::string line = absl::StrCat(AbslView(request), "\n");
  if (send(fd_.get(), line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size())) {
    return absl::UnavailableError("control: the fabric is gone");
  }
  const absl::Time deadline = absl::Now() + timeout_;
  for (;;) {
    const size_t end = unread_.find('\n');
    if (end != std::string::npos) {
      std::string answer = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return answer;
    }
    const absl::Duration left = deadline - absl::Now();
    pollfd event = {.fd = fd_.get(), .events = POLLIN, .revents = 0};
    if (left <= absl::ZeroDuration() || poll(&event, 1, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1) == 0) {
      fd_.reset();  // a late answer would be taken for the next request's
      return absl::DeadlineExceededError(
          absl::StrCat("control: no answer (timeout=", absl::FormatDuration(timeout_), ")"));
    }
    char buffer[65536];
    const ssize_t got = read(fd_.get(), buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return absl::UnavailableError("control: the fabric is gone");
    unread_.append(buffer, static_cast<size_t>(got));
  }
}

namespace {

// Returns INVALID_ARGUMENT if the answer is an error.
absl::StatusOr<Json> Accepted(const std::string& answer) {
  Json json = Json::parse(answer, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return absl::UnavailableError("control: an answer that is not JSON");
  const auto error = json.find("error");
  if (error == json.end()) return json;
  return absl::InvalidArgumentError(error->is_string() ? error->get<std::string>() : error->dump());
}

}  // namespace

absl::Status FabricControl::StatusOf(const std::string& answer) { return Accepted(answer).status(); }

absl::Status FabricControl::Set(std::string_view links, std::string_view settings) {
  ASSIGN_OR_RETURN(const std::string answer, Ask(absl::StrCat("set ", AbslView(links), " ", AbslView(settings))));
  return Accepted(answer).status();
}

absl::Status FabricControl::Cut(std::string_view links) {
  ASSIGN_OR_RETURN(const std::string answer, Ask(absl::StrCat("cut ", AbslView(links))));
  return Accepted(answer).status();
}

absl::Status FabricControl::Heal(std::string_view links) {
  ASSIGN_OR_RETURN(const std::string answer, Ask(absl::StrCat("heal ", AbslView(links))));
  return Accepted(answer).status();
}

absl::StatusOr<FabricStats> FabricControl::Stats() {
  ASSIGN_OR_RETURN(std::string answer, Ask("stats"));
  ASSIGN_OR_RETURN(const Json json, Accepted(answer));
  try {
    FabricStats stats = ReadStats(json);
    stats.json = std::move(answer);
    return stats;
  } catch (const Json::exception& e) {
    return absl::UnavailableError(absl::StrCat("control: statistics of another shape: ", e.what()));
  }
}

absl::Status FabricControl::Clear() {
  ASSIGN_OR_RETURN(const std::string answer, Ask("clear"));
  return Accepted(answer).status();
}

absl::Status FabricControl::Quit() {
  ASSIGN_OR_RETURN(const std::string answer, Ask("quit"));
  return Accepted(answer).status();
}

}  // namespace copse::fabric
