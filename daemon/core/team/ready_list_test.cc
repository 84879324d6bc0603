// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/team/ready_list.h"

#include <deque>
#include <memory>
#include <vector>

#include "gtest/gtest.h"

namespace copse::daemon {
namespace {

struct Item {
  int handled = 0;
};
using List = ReadyList<Item>;

constexpr auto kHandle = [](Item* item) { ++item->handled; };

TEST(ReadyListTest, ItemsThatAreNotMarkedAreNotTouched) {
  List list;
  std::vector<Item> items(1000);
  std::deque<List::Entry> entries;
  for (Item& item : items) entries.emplace_back(&list, &item);
  EXPECT_FALSE(list.HandleAll(kHandle));
  entries[500].Mark();
  int touched = 0;
  EXPECT_TRUE(list.HandleAll([&](Item* item) {
    ++touched;
    kHandle(item);
  }));
  EXPECT_EQ(touched, 1);
  EXPECT_EQ(items[500].handled, 1);
  EXPECT_FALSE(list.HandleAll(kHandle));
}

TEST(ReadyListTest, AnItemIsHandledOnceHoweverOftenItWasMarked) {
  List list;
  Item a, b;
  List::Entry at(&list, &a), bt(&list, &b);
  bt.Mark();
  at.Mark();
  bt.Mark();
  std::vector<Item*> order;
  EXPECT_TRUE(list.HandleAll([&](Item* item) {
    order.push_back(item);
    if (item == &b) bt.Mark();  // it is being handled: it sees to that itself
  }));
  EXPECT_EQ(order, (std::vector<Item*>{&b, &a}));
  EXPECT_FALSE(list.HandleAll(kHandle));
}

TEST(ReadyListTest, ItemsThatAreMarkedMeanwhileAreHandledToo) {
  List list;
  Item a, b;
  List::Entry at(&list, &a), bt(&list, &b);
  at.Mark();
  bt.Mark();
  EXPECT_TRUE(list.HandleAll([&](Item* item) {
    if (item == &b && ++b.handled == 1) at.Mark();  // was handled before: once more
    if (item == &a) ++a.handled;
  }));
  EXPECT_EQ(a.handled, 2);
  EXPECT_EQ(b.handled, 1);
}

TEST(ReadyListTest, AnEntryMayEndAtAnyTime) {
  List list;
  Item a, b;
  auto at = std::make_unique<List::Entry>(&list, &a), bt = std::make_unique<List::Entry>(&list, &b);
  at->Mark();
  at.reset();
  EXPECT_TRUE(list.HandleAll(kHandle));
  EXPECT_EQ(a.handled, 0);
  at = std::make_unique<List::Entry>(&list, &a);
  at->Mark();
  bt->Mark();
  EXPECT_TRUE(list.HandleAll([&](Item* item) {
    kHandle(item);
    at.reset();
    bt.reset();
  }));
  EXPECT_EQ(a.handled, 1);
  EXPECT_EQ(b.handled, 0);
  EXPECT_FALSE(list.HandleAll(kHandle));
}

}  // namespace
}  // namespace copse::daemon
