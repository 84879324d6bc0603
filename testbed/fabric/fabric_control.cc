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

using Json = nlohmann::json;

// Returns INVALID_ARGUMENT if the answer is an error.
absl::StatusOr<Json> Accepted(const std::string& answer) {
  Json json = Json::parse(answer, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return absl::UnavailableError("control: an answer that is not JSON");
  const auto error = json.find("error");
  if (error == json.end()) return json;
  return absl::InvalidArgumentError(error->is_string() ? error->get<std::string>() : error->dump());
}

}  // namespace

absl::StatusOr<sockaddr_un> ControlAddress(const std::string& path) {
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat("control: path empty or too long (length=", path.size(),
                                                   ", limit=", sizeof(address.sun_path) - 1, ")"));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

absl::StatusOr<FabricControl> FabricControl::Connect(const std::string& path, absl::Duration timeout) {
  ASSIGN_OR_RETURN(const sockaddr_un address, ControlAddress(path));
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

absl::Status FabricControl::StatusOf(const std::string& answer) { return Accepted(answer).status(); }

absl::Status FabricControl::Do(std::string_view request) {
  ASSIGN_OR_RETURN(const std::string answer, Ask(request));
  return StatusOf(answer);
}

absl::Status FabricControl::Set(std::string_view links, std::string_view settings) {
  return Do(absl::StrCat("set ", AbslView(links), " ", AbslView(settings)));
}
absl::Status FabricControl::Cut(std::string_view links) { return Do(absl::StrCat("cut ", AbslView(links))); }
absl::Status FabricControl::Heal(std::string_view links) { return Do(absl::StrCat("heal ", AbslView(links))); }
absl::Status FabricControl::Clear() { return Do("clear"); }
absl::Status FabricControl::Quit() { return Do("quit"); }

absl::StatusOr<Json> FabricControl::Stats() {
  ASSIGN_OR_RETURN(const std::string answer, Ask("stats"));
  ASSIGN_OR_RETURN(Json stats, Accepted(answer));
  Json links = Json::object();
  for (const Json& link : stats["links"]) links[link.value("name", "")] = link;
  stats["links"] = std::move(links);
  return stats;
}

}  // namespace copse::fabric
