// SPDX-License-Identifier: Apache-2.0
#include "planner/sessions/content_questions.h"

namespace copse::planner {

using coordinator::SessionId;

void ContentQuestions::Add(const std::string& content, SessionId session) {
  Question& question = questions_[content];
  question.waiting.insert(session);
  question.unasked.insert(session);
  if (question.is_overdue) AskNext(content, &question);
}

void ContentQuestions::Remove(const std::string& content, SessionId session) {
  const auto question = questions_.find(content);
  if (question == questions_.end()) return;
  question->second.waiting.erase(session);
  question->second.unasked.erase(session);
  if (question->second.waiting.empty()) {
    questions_.erase(question);
  } else if (question->second.asked == session) {
    AskNext(content, &question->second);
  }
}

bool ContentQuestions::WasAsked(const std::string& content, SessionId session) const {
  const auto question = questions_.find(content);
  return question != questions_.end() && question->second.waiting.contains(session) &&
         !question->second.unasked.contains(session);
}

std::set<SessionId> ContentQuestions::End(const std::string& content) {
  const auto question = questions_.extract(content);
  return question.empty() ? std::set<SessionId>() : std::move(question.mapped().waiting);
}

void ContentQuestions::Tick(absl::Time now) {
  while (NextDeadline() <= now) {
    const Due due = std::move(due_.front());
    due_.pop_front();
    const auto question = questions_.find(due.content);
    if (question != questions_.end() && question->second.asked == due.asked) AskNext(due.content, &question->second);
  }
  for (Due& due : std::exchange(asked_, {})) {
    due.time = now + kPatience;
    due_.push_back(std::move(due));
  }
}

void ContentQuestions::AskNext(const std::string& content, Question* question) {
  question->is_overdue = question->unasked.empty();
  if (question->is_overdue) return;
  question->asked = question->unasked.extract(question->unasked.begin()).value();
  asked_.push_back({{}, content, question->asked});
  ask_(question->asked, content);
}

}  // namespace copse::planner
