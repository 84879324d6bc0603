// SPDX-License-Identifier: Apache-2.0
#include "bench/ranks/rank_cell.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string_view>

#include "collectives/collective.h"

namespace {

using copse::BufferKind;
using copse::Collective;
using copse::Operands;

constexpr uint64_t kLookedAtAll = 1 << 20, kStride = 61;
constexpr uint32_t kHeavyOneIn = 8;

constexpr std::string_view kModeNames[kModes] = {"latency", "together", "stream", "noise", "cold", "overlap"};
constexpr std::string_view kPatternNames[kPatterns] = {"equal", "heavy", "random", "empty"};

Collective CollectiveOf(const rank_cell& cell) { return static_cast<Collective>(cell.collective); }
const copse::CollectiveTraits& TraitsOf(const rank_data* data) { return copse::TraitsOf(CollectiveOf(data->cell)); }

// Bcasts are of doubles like reductions.
bool IsOfDoubles(Collective c) { return copse::Reduces(c) || c == Collective::kBcast; }
size_t ElementBytes(const rank_cell& cell) { return IsOfDoubles(CollectiveOf(cell)) ? sizeof(double) : 1; }

template <size_t count>
bool Find(std::string_view name, const std::string_view (&names)[count], size_t* index) {
  *index = static_cast<size_t>(std::find(names, names + count, name) - names);
  return *index < count;
}

bool ParseWord(std::string_view word, rank_cell* cell) {
  size_t pattern = 0;
  if (Find(word, kPatternNames, &pattern)) {
    cell->pattern = static_cast<rank_pattern>(pattern);
  } else if (word == "known") {
    cell->counts_known = 1;
  } else if (word == "registered") {
    cell->registered = 1;
  } else {
    return false;
  }
  return true;
}

// Cuts what is before the first colon off `*text`, which is null if there is none.
std::string_view NextWord(std::string_view* text) {
  const size_t colon = text->find(':');
  const std::string_view word = text->substr(0, colon);
  *text = colon == std::string_view::npos ? std::string_view() : text->substr(colon + 1);
  return word;
}

uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdULL;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}

// Elements of the block `index` of `size`; their mean is `mean`, but for the odd one.
uint64_t BlockCount(rank_pattern pattern, uint64_t mean, uint32_t index, uint32_t size) {
  switch (pattern) {
    case kHeavy:
      return index + 1 < size ? mean / 2 : mean * size - mean / 2 * (size - 1);
    case kRandom:  // in pairs that have the mean
      if (index == size - 1 && size % 2 == 1) return mean;
      return index % 2 == 0 ? Mix(index) % (2 * mean + 1) : 2 * mean - Mix(index - 1) % (2 * mean + 1);
    case kEmpty:
      return index % kHeavyOneIn != 0 ? 0 : mean * std::min(size - index, kHeavyOneIn);
    default:
      return mean;
  }
}

void PlanBlocks(rank_data* data, uint64_t mean) {
  const uint32_t shift = copse::HasPairSizes(CollectiveOf(data->cell)) ? data->rank : 0;
  data->counts = static_cast<uint64_t*>(calloc(data->size, sizeof(uint64_t)));
  data->displacements = static_cast<uint64_t*>(calloc(data->size, sizeof(uint64_t)));
  if (data->counts == nullptr || data->displacements == nullptr) abort();
  uint64_t end = 0;
  for (uint32_t i = 0; i < data->size; i++) {
    data->counts[i] = BlockCount(data->cell.pattern, mean, (i + shift) % data->size, data->size);
    data->displacements[i] = end;
    end += data->counts[i];
  }
}

// Byte `index` of what one rank sends to another, where receivers get different things.
char ByteOf(uint32_t from, uint32_t to, uint64_t index) {
  return static_cast<char>(from * 37 + to * 101 + index * 7 + (index >> 8));
}

// Element `index` of rank r's contribution is (r + 1) times this: sums are exact.
double WeightOf(uint64_t index) { return static_cast<double>(index % 5 + 1); }

struct Block {
  uint64_t begin, count;  // elements
};

Block BlockOf(const rank_data* data, uint32_t index) {
  if (data->counts != nullptr) return {data->displacements[index], data->counts[index]};
  const uint64_t mean = data->cell.bytes / ElementBytes(data->cell);
  return {index * mean, mean};
}

// The factor by which the weights stand in this rank's result.
double WantedFactor(const rank_data* data) {
  const double rank = data->rank, size = data->size;
  switch (TraitsOf(data).operands) {
    case Operands::kUpToOwn:
      return (rank + 1) * (rank + 2) / 2;
    case Operands::kBeforeOwn:
      return rank * (rank + 1) / 2;
    case Operands::kAll:
      return size * (size + 1) / 2;
    default:
      return 1;
  }
}

// Not every element of results beyond 1 MiB is looked at, but the last one is.
uint64_t StrideOf(const rank_data* data) { return data->receive_bytes > kLookedAtAll ? kStride : 1; }

size_t FindWrongNumber(const rank_data* data) {
  const auto* result = reinterpret_cast<const double*>(data->receive);
  const double factor = WantedFactor(data);
  // A scattered result begins where this rank's block does.
  const uint64_t first = TraitsOf(data).send == BufferKind::kBlocks ? BlockOf(data, data->rank).begin : 0;
  const uint64_t count = data->receive_bytes / sizeof(double), stride = StrideOf(data);
  if (TraitsOf(data).operands == Operands::kBeforeOwn && data->rank == 0) return SIZE_MAX;  // undefined there
  for (uint64_t i = 0; i < count; i += stride) {
    if (i + stride >= count) i = count - 1;
    if (result[i] != factor * WeightOf(first + i)) return i * sizeof(double);
  }
  return SIZE_MAX;
}

size_t FindWrongByte(const rank_data* data, const Block& part, uint32_t from, uint32_t to) {
  const uint64_t stride = StrideOf(data);
  for (uint64_t i = 0; i < part.count; i += stride) {
    if (i + stride >= part.count) i = part.count - 1;
    if (data->receive[part.begin + i] != ByteOf(from, to, i)) return part.begin + i;
  }
  return SIZE_MAX;
}

}  // namespace

int rank_parse_cell(const char* text, rank_cell* cell) {
  *cell = {};
  std::string_view rest = text;
  size_t mode = 0;
  const bool is_mode = Find(NextWord(&rest), kModeNames, &mode);
  const auto collective = copse::CollectiveFromName(NextWord(&rest));
  const std::string_view bytes = NextWord(&rest);
  const auto [end, error] = std::from_chars(bytes.data(), bytes.data() + bytes.size(), cell->bytes);
  if (!is_mode || !collective || error != std::errc() || end != bytes.data() + bytes.size()) return 0;
  cell->mode = static_cast<rank_mode>(mode);
  cell->collective = static_cast<copse_collective_t>(*collective);
  cell->bytes -= cell->bytes % ElementBytes(*cell);
  while (rest.data() != nullptr) {
    if (!ParseWord(NextWord(&rest), cell)) return 0;
  }
  return 1;
}

void rank_plan_data(const rank_cell* cell, uint32_t rank, uint32_t size, rank_data* data) {
  *data = {};
  data->cell = *cell;
  data->rank = rank;
  data->size = size;
  const Collective collective = CollectiveOf(*cell);
  const size_t element = ElementBytes(*cell);
  uint64_t one = cell->bytes / element, all = one * size;
  if (copse::IsIrregular(collective)) {
    PlanBlocks(data, one);
    one = data->counts[rank];
    all = data->displacements[size - 1] + data->counts[size - 1];
  }
  const auto bytes_of = [&](BufferKind kind) {
    return element * (kind == BufferKind::kNone ? 0 : kind == BufferKind::kOne ? one : all);
  };
  data->send_bytes = bytes_of(copse::SendBuffer(collective, rank, 0));
  data->receive_bytes = bytes_of(copse::ReceiveBuffer(collective, rank, 0));
  // One buffer on all ranks; and all have one for the result, though the first one's is undefined.
  if (collective == Collective::kBcast) data->send_bytes = 0;
  if (collective == Collective::kBcast || copse::IsScan(collective)) data->receive_bytes = bytes_of(BufferKind::kOne);
  data->call.collective = cell->collective;
  data->call.of_bytes = !IsOfDoubles(collective);
  data->call.count = one;
  data->call.counts = data->counts;
  data->call.displacements = data->displacements;
  data->call.counts_known = cell->counts_known;
}

void rank_free_plan(rank_data* data) {
  free(data->counts);
  free(data->displacements);
}

void rank_fill(rank_data* data) {
  const Collective collective = CollectiveOf(data->cell);
  if (data->receive_bytes > 0) memset(data->receive, 0xa5, data->receive_bytes);
  if (copse::Reduces(collective)) {
    auto* send = reinterpret_cast<double*>(data->send);
    for (uint64_t i = 0; i < data->send_bytes / sizeof(double); i++) send[i] = (data->rank + 1) * WeightOf(i);
  } else if (collective == Collective::kBcast) {
    auto* buffer = reinterpret_cast<double*>(data->receive);
    for (uint64_t i = 0; data->rank == 0 && i < data->call.count; i++) buffer[i] = WeightOf(i);
  } else if (TraitsOf(data).send == BufferKind::kOne) {
    for (uint64_t i = 0; i < data->send_bytes; i++) data->send[i] = ByteOf(data->rank, 0, i);
  } else if (data->send_bytes > 0) {
    for (uint32_t to = 0; to < data->size; to++) {
      const Block part = BlockOf(data, to);
      for (uint64_t i = 0; i < part.count; i++) data->send[part.begin + i] = ByteOf(data->rank, to, i);
    }
  }
}

size_t rank_find_wrong(const rank_data* data) {
  if (data->receive_bytes == 0) return SIZE_MAX;
  if (IsOfDoubles(CollectiveOf(data->cell))) return FindWrongNumber(data);
  const copse::CollectiveTraits& traits = TraitsOf(data);
  if (traits.receive == BufferKind::kOne) return FindWrongByte(data, {0, data->receive_bytes}, 0, data->rank);
  const uint32_t to = traits.send == BufferKind::kBlocks ? data->rank : 0;
  for (uint32_t from = 0; from < data->size; from++) {
    const size_t wrong = FindWrongByte(data, BlockOf(data, from), from, to);
    if (wrong != SIZE_MAX) return wrong;
  }
  return SIZE_MAX;
}
