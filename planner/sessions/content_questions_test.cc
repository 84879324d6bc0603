// SPDX-License-Identifier: Apache-2.0
#include "planner/sessions/content_questions.h"

#include "gtest/gtest.h"

namespace copse::planner {
namespace {

using coordinator::SessionId;
using Asked = std::vector<std::pair<SessionId, std::string>>;

constexpr absl::Duration kPatience = ContentQuestions::kPatience;

class ContentQuestionsTest : public ::testing::Test {
 protected:
  const absl::Time start_ = absl::UnixEpoch();
  Asked asked_;
  ContentQuestions questions_{
      [this](SessionId session, const std::string& content) { asked_.emplace_back(session, content); }};
};

TEST_F(ContentQuestionsTest, EachContentIsAskedForOnce) {
  for (const SessionId session : {1, 2}) {
    for (const char* content : {"a", "b"}) questions_.Add(content, session);
  }
  EXPECT_EQ(asked_, (Asked{{1, "a"}, {1, "b"}}));
  EXPECT_TRUE(questions_.WasAsked("a", 1));
  EXPECT_FALSE(questions_.WasAsked("a", 2));
  EXPECT_FALSE(questions_.WasAsked("c", 1));
}

TEST_F(ContentQuestionsTest, AnotherIsAskedOncePatienceIsOver) {
  for (const SessionId session : {1, 2}) questions_.Add("a", session);
  EXPECT_EQ(questions_.NextDeadline(), absl::InfiniteFuture()) << "time begins with a Tick";
  questions_.Tick(start_);
  EXPECT_EQ(questions_.NextDeadline(), start_ + kPatience);
  questions_.Tick(start_ + kPatience - absl::Nanoseconds(1));
  EXPECT_EQ(asked_.size(), 1u);
  questions_.Tick(start_ + kPatience);
  EXPECT_EQ(asked_, (Asked{{1, "a"}, {2, "a"}}));
  // Both may still answer; once all were asked, the next one is asked at once.
  EXPECT_TRUE(questions_.WasAsked("a", 1));
  questions_.Tick(start_ + 2 * kPatience);
  questions_.Add("a", 3);
  EXPECT_EQ(asked_.back(), (Asked::value_type{3, "a"}));
}

TEST_F(ContentQuestionsTest, AnEndedQuestionIsNotAskedAgain) {
  for (const SessionId session : {1, 2}) questions_.Add("a", session);
  questions_.Tick(start_);
  EXPECT_EQ(questions_.End("a"), (std::set<SessionId>{1, 2}));
  EXPECT_TRUE(questions_.End("a").empty());
  EXPECT_FALSE(questions_.WasAsked("a", 1));
  questions_.Tick(start_ + kPatience);
  EXPECT_EQ(asked_.size(), 1u);
  EXPECT_EQ(questions_.NextDeadline(), absl::InfiniteFuture());
}

TEST_F(ContentQuestionsTest, AnotherIsAskedForASessionThatIsGone) {
  for (const SessionId session : {1, 2, 3}) questions_.Add("a", session);
  questions_.Remove("a", 2);
  EXPECT_EQ(asked_.size(), 1u);
  questions_.Remove("a", 1);
  EXPECT_EQ(asked_, (Asked{{1, "a"}, {3, "a"}}));
  questions_.Remove("a", 3);
  questions_.Remove("b", 3);
  EXPECT_TRUE(questions_.End("a").empty());
}

}  // namespace
}  // namespace copse::planner
