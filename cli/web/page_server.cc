// SPDX-License-Identifier: Apache-2.0
#include "cli/web/page_server.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/files.h"
#include "cli/web/page_files.h"

namespace copse::web {
namespace {

constexpr char kTokenName[] = "token";
constexpr char kCookie[] = "copse_web";
// With the charset httplib does not know that it may compress it: brotli takes seconds for 10,000 nodes, and most
// viewers are on this machine or behind a tunnel.
constexpr char kJson[] = "application/json; charset=utf-8";
constexpr char kText[] = "text/plain; charset=utf-8";
constexpr char kContentPolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'";
constexpr int kSeeOther = 303;
constexpr int kBadRequest = 400;
constexpr int kForbidden = 403;
constexpr int kBusy = 503;

void Refuse(int code, const absl::Status& status, httplib::Response* response) {
  response->status = code;
  if (code == kBusy) {
    response->set_header("Retry-After", std::to_string(absl::ToInt64Seconds(ViewerTable::kPatience)));
  }
  response->set_content(absl::StrCat(status.message(), "\n"), kText);
}

void SetHeaders(httplib::Response* response) {
  response->set_header("Content-Security-Policy", kContentPolicy);
  response->set_header("X-Content-Type-Options", "nosniff");
  response->set_header("Referrer-Policy", "no-referrer");
  response->set_header("Cache-Control", "no-store");
}

const char* ContentType(const std::string& path) {
  if (path.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (path.ends_with(".css")) return "text/css; charset=utf-8";
  return "text/html; charset=utf-8";
}

}  // namespace

std::string NewToken() {
  std::array<char, 16> bytes;
  CHECK(getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  return absl::BytesToHexString(absl::string_view(bytes.data(), bytes.size()));
}

absl::Status WritePageFile(const std::string& file, const std::string& address, const std::string& token) {
  const std::string text = absl::StrCat(address, "/?", kTokenName, "=", token, "\n");
  if (ReplaceFile(file, text, 0600)) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("page_file: cannot be written: ", strerror(errno), " (page_file=", file, ")"));
}

void PageServer::AddRoutes(exporter::Routes* routes) {
  Add("/", &PageServer::AnswerPage, routes);
  Add("/api/cluster", &PageServer::AnswerCluster, routes);
  Add("/api/team", &PageServer::AnswerTeam, routes);
  Add("/api/history", &PageServer::AnswerHistory, routes);
  for (const PageFile& file : kPageFiles) AddFile(file.path, file.text, routes);
}

void PageServer::Add(const std::string& path, Answer answer, exporter::Routes* routes) {
  routes->AddOpen(path, [this, answer](const httplib::Request& request, httplib::Response& response) {
    SetHeaders(&response);
    if (Passes(request, &response)) (this->*answer)(request, &response);
  });
}

void PageServer::AddFile(const std::string& path, const std::string& text, exporter::Routes* routes) {
  routes->AddOpen(path, [this, path, text](const httplib::Request& request, httplib::Response& response) {
    SetHeaders(&response);
    if (Passes(request, &response)) response.set_content(text, ContentType(path));
  });
}

bool PageServer::Passes(const httplib::Request& request, httplib::Response* response) const {
  std::string token = CookieValue(request.get_header_value("Cookie"), kCookie);
  if (request.has_param(kTokenName)) token = request.get_param_value(kTokenName);
  const absl::Status status = CheckPageRequest({.host = request.get_header_value("Host"),
                                                .origin = request.get_header_value("Origin"),
                                                .token = std::move(token)},
                                               token_, site_);
  if (!status.ok()) Refuse(kForbidden, status, response);
  return status.ok();
}

bool PageServer::IsViewer(const httplib::Request& request, httplib::Response* response) {
  const absl::Status status = viewers_.Note(request.get_header_value("X-Copse-Viewer"), absl::Now());
  if (!status.ok()) Refuse(absl::IsInvalidArgument(status) ? kBadRequest : kBusy, status, response);
  return status.ok();
}

void PageServer::AnswerPage(const httplib::Request& request, httplib::Response* response) {
  if (!request.has_param(kTokenName)) {
    response->set_content(kIndexHtml, ContentType("/"));
    return;
  }
  // The token leaves the address, so that it gets into no history and no picture of the screen.
  response->set_header("Set-Cookie", absl::StrCat(kCookie, "=", token_, "; HttpOnly; SameSite=Strict; Path=/",
                                                  site_.is_https ? "; Secure" : ""));
  response->set_redirect("/", kSeeOther);
}

void PageServer::AnswerCluster(const httplib::Request& request, httplib::Response* response) {
  if (!IsViewer(request, response)) return;
  uint64_t after = 0;
  const std::string text = request.get_param_value("after");
  if (request.has_param("after") && !absl::SimpleAtoi(text, &after)) {
    return Refuse(kBadRequest, absl::InvalidArgumentError(absl::StrCat("no version (after=", text, ")")), response);
  }
  response->set_content(view_->Cluster(after), kJson);
}

void PageServer::AnswerTeam(const httplib::Request& request, httplib::Response* response) {
  if (!IsViewer(request, response)) return;
  uint64_t id = 0;
  const std::string text = request.get_param_value("id");
  if (!absl::SimpleAtoi(text, &id)) {
    return Refuse(kBadRequest, absl::InvalidArgumentError(absl::StrCat("no number of a team (id=", text, ")")),
                  response);
  }
  const absl::StatusOr<std::string> team = view_->Team(id);
  if (!team.ok()) return Refuse(kBusy, team.status(), response);
  response->set_content(*team, kJson);
}

void PageServer::AnswerHistory(const httplib::Request& request, httplib::Response* response) {
  if (IsViewer(request, response)) response->set_content(view_->LastHour(), kJson);
}

}  // namespace copse::web
