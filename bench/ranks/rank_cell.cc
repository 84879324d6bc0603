// SPDX-License-Identifier: Apache-2.0
#include "bench/ranks/rank_cell.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/element_types.h"
#include "cli/perftest/block_counts.h"
#include "cli/perftest/pattern.h"
#include "collectives/collective.h"

namespace {

using copse::BufferKind;
using copse::Collective;
using copse::Operands;
using copse::perftest::Pattern;

constexpr uint64_t kSeed = 1;

constexpr std::string_view kModeNames[kModes] = {"latency", "together", "stream", "noise", "cold", "overlap"};

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
  if (Find(word, copse::perftest::kCountsKindNames, &pattern)) {
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

void PlanBlocks(rank_data* data, uint64_t mean) {
  const uint32_t shift = copse::HasPairSizes(CollectiveOf(data->cell)) ? data->rank : 0;
  data->counts = static_cast<uint64_t*>(calloc(data->size, sizeof(uint64_t)));
  data->displacements = static_cast<uint64_t*>(calloc(data->size, sizeof(uint64_t)));
  if (data->counts == nullptr || data->displacements == nullptr) abort();
  const auto kind = static_cast<copse::perftest::CountsKind>(data->cell.pattern);
  const std::vector<uint64_t> lengths = copse::perftest::BlockCounts(kind, mean, data->size);
  uint64_t end = 0;
  for (uint32_t i = 0; i < data->size; i++) {
    data->counts[i] = lengths[(i + shift) % data->size];
    data->displacements[i] = end;
    end += data->counts[i];
  }
}

Pattern PatternOf(const rank_data* data) {
  const bool of_doubles = IsOfDoubles(CollectiveOf(data->cell));
  return {of_doubles ? copse::ElementType::kDouble : copse::ElementType::kByte, copse::ElementOp::kSum, data->size,
          kSeed};
}

struct Block {
  uint64_t begin, count;  // elements
};

Block BlockOf(const rank_data* data, uint32_t index) {
  if (data->counts != nullptr) return {data->displacements[index], data->counts[index]};
  const uint64_t mean = data->cell.bytes / ElementBytes(data->cell);
  return {index * mean, mean};
}

// How many ranks' contributions are in this rank's result.
uint32_t OperandsOf(const rank_data* data) {
  switch (TraitsOf(data).operands) {
    case Operands::kUpToOwn:
      return data->rank + 1;
    case Operands::kBeforeOwn:
      return data->rank;
    default:
      return data->size;
  }
}

// Finds the first wrong byte of a part of the result. write(COUNT, OUT) makes the first elements of what it is to be,
// which repeat.
template <typename Write>
size_t FindWrong(const rank_data* data, const Block& part, const Write& write) {
  const size_t element = ElementBytes(data->cell), bytes = part.count * element;
  std::vector<char> period(std::min<uint64_t>(part.count, Pattern::kPeriod) * element);
  write(period.size() / element, period.data());
  const char* const received = data->receive + part.begin * element;
  for (size_t at = 0; at < bytes; at += period.size()) {
    const size_t length = std::min(period.size(), bytes - at);
    if (memcmp(received + at, period.data(), length) == 0) continue;
    const auto wrong = std::mismatch(period.begin(), period.end(), received + at).first;
    return part.begin * element + at + static_cast<size_t>(wrong - period.begin());
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
  const Pattern pattern = PatternOf(data);
  const uint32_t rank = data->rank;
  if (data->receive_bytes > 0) memset(data->receive, 0xa5, data->receive_bytes);
  if (copse::Reduces(collective)) {
    pattern.Contribution(0, rank, data->send_bytes / sizeof(double), data->send);
  } else if (collective == Collective::kBcast) {
    if (rank == 0) pattern.Moved(0, 0, 0, data->call.count, data->receive);
  } else if (TraitsOf(data).send == BufferKind::kOne) {
    pattern.Moved(0, rank, rank, data->send_bytes, data->send);
  } else if (data->send_bytes > 0) {
    for (uint32_t to = 0; to < data->size; to++) {
      const Block part = BlockOf(data, to);
      pattern.Moved(0, rank, to, part.count, data->send + part.begin);
    }
  }
}

size_t rank_find_wrong(const rank_data* data) {
  const copse::CollectiveTraits& traits = TraitsOf(data);
  const uint32_t operands = OperandsOf(data);
  if (data->receive_bytes == 0 || operands == 0) return SIZE_MAX;  // undefined without operands
  const Pattern pattern = PatternOf(data);
  const Block all = {0, data->receive_bytes / ElementBytes(data->cell)};
  if (traits.operands != Operands::kNone) {
    // A scattered result begins where this rank's block does.
    const uint64_t first = traits.send == BufferKind::kBlocks ? BlockOf(data, data->rank).begin : 0;
    return FindWrong(data, all, [&](uint64_t count, char* out) { pattern.Reduction(0, operands, first, count, out); });
  }
  const bool for_each = traits.send == BufferKind::kBlocks;  // receivers get different things
  if (traits.receive == BufferKind::kOne) {
    return FindWrong(data, all,
                     [&](uint64_t count, char* out) { pattern.Moved(0, 0, for_each ? data->rank : 0, count, out); });
  }
  for (uint32_t from = 0; from < data->size; from++) {
    const size_t wrong = FindWrong(data, BlockOf(data, from), [&](uint64_t count, char* out) {
      pattern.Moved(0, from, for_each ? data->rank : from, count, out);
    });
    if (wrong != SIZE_MAX) return wrong;
  }
  return SIZE_MAX;
}
