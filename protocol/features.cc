// SPDX-License-Identifier: Apache-2.0
#include "protocol/features.h"

namespace copse::schedule {
namespace {

size_t NumberOf(Feature feature) { return static_cast<size_t>(feature); }

}  // namespace

Features::Features(std::initializer_list<Feature> features) {
  for (const Feature feature : features) insert(feature);
}

void Features::insert(Feature feature) {
  const size_t number = NumberOf(feature);
  if (number < kCountMax) bits_[number / kWordBits] |= uint64_t{1} << number % kWordBits;
}

bool Features::contains(Feature feature) const {
  const size_t number = NumberOf(feature);
  return number < kCountMax && (bits_[number / kWordBits] >> number % kWordBits & 1) != 0;
}

std::vector<Feature> Features::All() const {
  std::vector<Feature> all;
  for (size_t number = 0; number < kCountMax; ++number) {
    if (contains(static_cast<Feature>(number))) all.push_back(static_cast<Feature>(number));
  }
  return all;
}

}  // namespace copse::schedule
