// SPDX-License-Identifier: Apache-2.0
//
// Decides which daemon is asked for the content of a team that several of them name.
#ifndef COPSE_PLANNER_SESSIONS_CONTENT_QUESTIONS_H_
#define COPSE_PLANNER_SESSIONS_CONTENT_QUESTIONS_H_

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "planner/coordinator/coordinator.h"

namespace copse::planner {

// ContentQuestions holds the contents that sessions lack, by name. It asks one of the sessions that name a content, and
// another one after kPatience without an answer; the others wait. Each is asked once for a content. Thread-compatible;
// it calls `ask` from Add, Remove and Tick.
class ContentQuestions {
 public:
  static constexpr absl::Duration kPatience = absl::Milliseconds(500);
  using Ask = std::function<void(coordinator::SessionId session, const std::string& content)>;

  explicit ContentQuestions(Ask ask) : ask_(std::move(ask)) {}

  // The session names the content, and waits for it.
  void Add(const std::string& content, coordinator::SessionId session);
  // The session waits no more: another one is asked if it was this one's turn.
  void Remove(const std::string& content, coordinator::SessionId session);
  // Returns whether the session was asked for the content, for which somebody still waits.
  bool WasAsked(const std::string& content, coordinator::SessionId session) const;
  // Ends the question for the content, which is here. Returns the sessions that wait for it.
  std::set<coordinator::SessionId> End(const std::string& content);

  // Asks others where there is no answer. Sessions have kPatience from the first Tick after they were asked.
  void Tick(absl::Time now);
  absl::Time NextDeadline() const { return due_.empty() ? absl::InfiniteFuture() : due_.front().time; }

 private:
  struct Question {
    coordinator::SessionId asked = 0;          // the last one that was asked
    bool is_overdue = true;                    // the next session that names the content is asked
    std::set<coordinator::SessionId> waiting;  // with those that were asked
    std::set<coordinator::SessionId> unasked;  // of `waiting`
  };
  struct Due {
    absl::Time time;
    std::string content;
    coordinator::SessionId asked = 0;
  };

  void AskNext(const std::string& content, Question* question);

  const Ask ask_;
  std::map<std::string, Question> questions_;  // by content
  std::vector<Due> asked_;                     // since the last Tick, without a time
  std::deque<Due> due_;                        // by time; of questions that may have been answered
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_SESSIONS_CONTENT_QUESTIONS_H_
