// SPDX-License-Identifier: Apache-2.0
#include "client/tnbc/call_state.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <vector>

#include "gtest/gtest.h"

namespace copse::tnbc {
namespace {

std::vector<CallState> AllStates() {
  std::vector<CallState> states;
  for (int i = 0; i < kCallStates; ++i) states.push_back(static_cast<CallState>(i));
  return states;
}

// The shortest way from kNew to each state.
std::map<CallState, std::vector<CallEvent>> WaysToStates() {
  std::map<CallState, std::vector<CallEvent>> ways = {{CallState::kNew, {}}};
  std::deque<CallState> open = {CallState::kNew};
  while (!open.empty()) {
    const CallState from = open.front();
    open.pop_front();
    for (const CallTransition& transition : kCallTransitions) {
      if (transition.from != from || ways.contains(transition.to)) continue;
      ways[transition.to] = ways[from];
      ways[transition.to].push_back(transition.event);
      open.push_back(transition.to);
    }
  }
  return ways;
}

TEST(CallStateTest, EachStateIsReached) { EXPECT_EQ(WaysToStates().size(), static_cast<size_t>(kCallStates)); }

TEST(CallStateTest, EachTransitionOfTheTableIsTakenAndAnyOtherRefused) {
  size_t taken = 0;
  for (const auto& [state, way] : WaysToStates()) {
    for (int i = 0; i < kCallEvents; ++i) {
      const auto event = static_cast<CallEvent>(i);
      CallProgress progress;
      for (const CallEvent before : way) ASSERT_TRUE(progress.Take(before));
      ASSERT_EQ(progress.state(), state);
      const auto found =
          std::find_if(std::begin(kCallTransitions), std::end(kCallTransitions),
                       [&, from = state](const CallTransition& t) { return t.from == from && t.event == event; });
      const bool is_legal = found != std::end(kCallTransitions);
      EXPECT_EQ(progress.Take(event), is_legal) << static_cast<int>(state) << " " << i;
      EXPECT_EQ(progress.state(), is_legal ? found->to : state) << static_cast<int>(state) << " " << i;
      taken += is_legal ? 1 : 0;
    }
  }
  EXPECT_EQ(taken, std::size(kCallTransitions));  // none twice
}

TEST(CallStateTest, ACallThatIsOverStaysOver) {
  for (const CallTransition& transition : kCallTransitions) {
    EXPECT_TRUE(IsUnderWay(transition.from) || !IsUnderWay(transition.to));
  }
}

TEST(CallStateTest, AnyCallCanBeAbandoned) {
  for (const CallState state : AllStates()) EXPECT_EQ(NextState(state, CallEvent::kAbandon), CallState::kAbandoned);
}

TEST(CallStateTest, NoFragmentIsPostedBeforeTheEdgesAreThere) {
  for (const CallTransition& transition : kCallTransitions) {
    const bool had_edges = MayPostFragments(transition.from), has_edges = MayPostFragments(transition.to);
    EXPECT_TRUE(!has_edges || had_edges || transition.event == CallEvent::kReceiveEdges);
  }
}

}  // namespace
}  // namespace copse::tnbc
