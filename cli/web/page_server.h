// SPDX-License-Identifier: Apache-2.0
//
// Serves the page and its data to those who have its token.
#ifndef COPSE_CLI_WEB_PAGE_SERVER_H_
#define COPSE_CLI_WEB_PAGE_SERVER_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "cli/exporter/http_server.h"
#include "cli/web/page_guard.h"
#include "cli/web/planner_view.h"
#include "httplib.h"

namespace copse::web {

// Returns a new token, 32 random hexadecimal digits.
std::string NewToken();

// Writes the page's address, SCHEME://HOST:PORT, with its token into `file`, which only its owner reads. Errors:
// UNAVAILABLE.
absl::Status WritePageFile(const std::string& file, const std::string& address, const std::string& token);

// A PageServer answers /, the page's files and /api/{cluster,team,history}. The first request has the token in its
// address, and receives a cookie for the next ones. Its errors are 403 without the token or from foreign pages, 503
// with Retry-After beyond the limit of viewers. The server's thread calls it.
class PageServer {
 public:
  // `*view` must outlive this object.
  PageServer(PlannerView* view, std::string token, PageSite site, size_t viewers_max)
      : view_(view), token_(std::move(token)), site_(std::move(site)), viewers_(viewers_max) {}

  void AddRoutes(exporter::Routes* routes);

 private:
  using Answer = void (PageServer::*)(const httplib::Request& request, httplib::Response* response);

  void Add(const std::string& path, Answer answer, exporter::Routes* routes);
  void AddFile(const std::string& path, const std::string& text, exporter::Routes* routes);
  bool Passes(const httplib::Request& request, httplib::Response* response) const;
  bool IsViewer(const httplib::Request& request, httplib::Response* response);

  void AnswerPage(const httplib::Request& request, httplib::Response* response);
  void AnswerCluster(const httplib::Request& request, httplib::Response* response);
  void AnswerTeam(const httplib::Request& request, httplib::Response* response);
  void AnswerHistory(const httplib::Request& request, httplib::Response* response);

  PlannerView* const view_;
  const std::string token_;
  const PageSite site_;
  ViewerTable viewers_;
};

}  // namespace copse::web

#endif  // COPSE_CLI_WEB_PAGE_SERVER_H_
