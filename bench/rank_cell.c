/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/rank_cell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kLookedAtAll = 1 << 20, kStride = 61, kHeavyOneIn = 8 };

static int index_of(const char* name, size_t length, const char* const* names, int count) {
  for (int i = 0; i < count; i++) {
    if (strlen(names[i]) == length && strncmp(name, names[i], length) == 0) return i;
  }
  return -1;
}

static const char* const kModeNames[kModes] = {"latency", "together", "stream", "noise",  "compute",
                                               "rooted",  "cold",     "held",   "overlap"};
static const char* const kPatternNames[kPatterns] = {"equal", "heavy", "random", "empty"};
static const char* const kCollectiveNames[kCollectives] = {
    "barrier",        "bcast", "reduce", "allreduce", "gather",   "scatter",    "allgather", "alltoall",
    "reduce_scatter", "scan",  "exscan", "gatherv",   "scatterv", "allgatherv", "alltoallv", "reduce_scatterv"};

static int reduces(rank_collective collective) {
  return collective == kReduce || collective == kAllreduce || collective == kReduceScatter || collective == kScan ||
         collective == kExscan || collective == kReduceScatterv;
}

static int is_irregular(rank_collective collective) { return collective >= kGatherv; }

static size_t element_bytes(rank_collective collective) {
  return reduces(collective) || collective == kBcast ? sizeof(double) : 1;
}

static int parse_word(const char* word, size_t length, rank_cell* cell) {
  const int pattern = index_of(word, length, kPatternNames, kPatterns);
  if (pattern >= 0) {
    cell->pattern = (rank_pattern)pattern;
  } else if (length == 5 && strncmp(word, "known", length) == 0) {
    cell->counts_known = 1;
  } else if (length == 10 && strncmp(word, "registered", length) == 0) {
    cell->registered = 1;
  } else {
    return 0;
  }
  return 1;
}

int rank_parse_cell(const char* text, rank_cell* cell) {
  memset(cell, 0, sizeof(*cell));
  const char* words[8];
  size_t lengths[8];
  int count = 0;
  for (const char* at = text; count < 8; at++) {
    words[count] = at;
    lengths[count] = strcspn(at, ":");
    at += lengths[count++];
    if (*at == '\0') break;
  }
  if (count < 3) return 0;
  const int mode = index_of(words[0], lengths[0], kModeNames, kModes);
  const int collective = index_of(words[1], lengths[1], kCollectiveNames, kCollectives);
  char* end;
  const unsigned long long bytes = strtoull(words[2], &end, 10);
  if (mode < 0 || collective < 0 || lengths[2] == 0 || end != words[2] + lengths[2]) return 0;
  cell->mode = (rank_mode)mode;
  cell->collective = (rank_collective)collective;
  cell->bytes = bytes / element_bytes(cell->collective) * element_bytes(cell->collective);
  for (int i = 3; i < count; i++) {
    if (!parse_word(words[i], lengths[i], cell)) return 0;
  }
  return words[count - 1][lengths[count - 1]] == '\0';
}

/* --- How long blocks are --- */

static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdULL;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}

/* Elements of the block `index` of `size`; their mean is `mean`, but for the odd one. */
static uint64_t block_count(rank_pattern pattern, uint64_t mean, uint32_t index, uint32_t size) {
  switch (pattern) {
    case kHeavy:
      return index + 1 < size ? mean / 2 : mean * size - mean / 2 * (size - 1);
    case kRandom: /* in pairs that have the mean */
      if (index == size - 1 && size % 2 == 1) return mean;
      return index % 2 == 0 ? mix(index) % (2 * mean + 1) : 2 * mean - mix(index - 1) % (2 * mean + 1);
    case kEmpty:
      if (index % kHeavyOneIn != 0) return 0;
      return mean * (size - index < kHeavyOneIn ? size - index : kHeavyOneIn);
    default:
      return mean;
  }
}

static void plan_blocks(rank_data* data, uint64_t mean) {
  const uint32_t shift = data->cell.collective == kAlltoallv ? data->rank : 0;
  data->counts = calloc(data->size, sizeof(uint64_t));
  data->displacements = calloc(data->size, sizeof(uint64_t));
  if (data->counts == NULL || data->displacements == NULL) abort();
  uint64_t end = 0;
  for (uint32_t i = 0; i < data->size; i++) {
    data->counts[i] = block_count(data->cell.pattern, mean, (i + shift) % data->size, data->size);
    data->displacements[i] = end;
    end += data->counts[i];
  }
}

void rank_plan_data(const rank_cell* cell, uint32_t rank, uint32_t size, rank_data* data) {
  memset(data, 0, sizeof(*data));
  data->cell = *cell;
  data->rank = rank;
  data->size = size;
  const size_t element = element_bytes(cell->collective);
  const uint64_t mean = cell->bytes / element;
  uint64_t one = mean, all = mean * size;
  if (is_irregular(cell->collective)) {
    plan_blocks(data, mean);
    one = data->counts[rank];
    all = data->displacements[size - 1] + data->counts[size - 1];
  }
  uint64_t send = 0, receive = 0;
  switch (cell->collective) {
    case kBarrier:
      break;
    case kBcast:
      receive = one;
      break;
    case kReduce:
      send = one;
      receive = rank == 0 ? one : 0;
      break;
    case kGather:
    case kGatherv:
      send = one;
      receive = rank == 0 ? all : 0;
      break;
    case kScatter:
    case kScatterv:
      send = rank == 0 ? all : 0;
      receive = one;
      break;
    case kAllgather:
    case kAllgatherv:
      send = one;
      receive = all;
      break;
    case kAlltoall:
    case kAlltoallv:
      send = receive = all;
      break;
    case kReduceScatter:
    case kReduceScatterv:
      send = all;
      receive = one;
      break;
    default:
      send = receive = one;
      break;
  }
  data->send_bytes = send * element;
  data->receive_bytes = receive * element;
  const rank_call call = {.collective = cell->collective,
                          .op = kSum,
                          .count = one,
                          .counts = data->counts,
                          .displacements = data->displacements,
                          .counts_known = cell->counts_known};
  data->call = call;
}

void rank_free_plan(rank_data* data) {
  free(data->counts);
  free(data->displacements);
}

/* --- What is in them --- */

/* Byte `index` of what one rank sends to another, where receivers get different things. */
static char byte_of(uint32_t from, uint32_t to, uint64_t index) {
  return (char)(from * 37 + to * 101 + index * 7 + (index >> 8));
}

/* Element `index` of rank r's contribution is (r + 1) times this: sums are exact. */
static double weight_of(uint64_t index) { return (double)(index % 5 + 1); }

typedef struct {
  uint64_t begin, count; /* elements */
} block;

static block block_of(const rank_data* data, uint32_t index) {
  const uint64_t mean = data->cell.bytes / element_bytes(data->cell.collective);
  const block regular = {index * mean, mean};
  if (data->counts == NULL) return regular;
  const block irregular = {data->displacements[index], data->counts[index]};
  return irregular;
}

void rank_fill(rank_data* data) {
  const rank_collective collective = data->cell.collective;
  if (data->receive_bytes > 0) memset(data->receive, 0xa5, data->receive_bytes);
  if (reduces(collective)) {
    double* send = (double*)data->send;
    for (uint64_t i = 0; i < data->send_bytes / sizeof(double); i++) send[i] = (data->rank + 1) * weight_of(i);
  } else if (collective == kBcast) {
    double* buffer = (double*)data->receive;
    for (uint64_t i = 0; data->rank == 0 && i < data->call.count; i++) buffer[i] = weight_of(i);
  } else if (collective == kGather || collective == kGatherv || collective == kAllgather || collective == kAllgatherv) {
    for (uint64_t i = 0; i < data->send_bytes; i++) data->send[i] = byte_of(data->rank, 0, i);
  } else if (data->send_bytes > 0) {
    for (uint32_t to = 0; to < data->size; to++) {
      const block part = block_of(data, to);
      for (uint64_t i = 0; i < part.count; i++) data->send[part.begin + i] = byte_of(data->rank, to, i);
    }
  }
}

static uint64_t stride_of(const rank_data* data) { return data->receive_bytes > kLookedAtAll ? kStride : 1; }

/* The factor by which `weight_of` stands in this rank's result. */
static double wanted_factor(const rank_data* data) {
  const double rank = data->rank, size = data->size;
  switch (data->cell.collective) {
    case kBcast:
      return 1;
    case kScan:
      return (rank + 1) * (rank + 2) / 2;
    case kExscan:
      return rank * (rank + 1) / 2;
    default:
      return size * (size + 1) / 2;
  }
}

static size_t find_wrong_number(const rank_data* data) {
  const double* result = (const double*)data->receive;
  const double factor = wanted_factor(data);
  const int is_scattered = data->cell.collective == kReduceScatter || data->cell.collective == kReduceScatterv;
  const uint64_t first = is_scattered ? block_of(data, data->rank).begin : 0;
  const uint64_t count = data->receive_bytes / sizeof(double), stride = stride_of(data);
  if (data->cell.collective == kExscan && data->rank == 0) return SIZE_MAX; /* undefined there */
  for (uint64_t i = 0; i < count; i += stride) {
    if (i + stride >= count) i = count - 1;
    if (result[i] != factor * weight_of(first + i)) return i * sizeof(double);
  }
  return SIZE_MAX;
}

static size_t find_wrong_byte(const rank_data* data, const block* part, uint32_t from, uint32_t to) {
  const uint64_t stride = stride_of(data);
  for (uint64_t i = 0; i < part->count; i += stride) {
    if (i + stride >= part->count) i = part->count - 1;
    if (data->receive[part->begin + i] != byte_of(from, to, i)) return part->begin + i;
  }
  return SIZE_MAX;
}

size_t rank_find_wrong(const rank_data* data) {
  const rank_collective collective = data->cell.collective;
  if (data->receive_bytes == 0) return SIZE_MAX;
  if (reduces(collective) || collective == kBcast) return find_wrong_number(data);
  if (collective == kScatter || collective == kScatterv) {
    const block own = {0, data->receive_bytes};
    return find_wrong_byte(data, &own, 0, data->rank);
  }
  const int is_for_us = collective == kAlltoall || collective == kAlltoallv;
  for (uint32_t from = 0; from < data->size; from++) {
    const block part = block_of(data, from);
    const size_t wrong = find_wrong_byte(data, &part, from, is_for_us ? data->rank : 0);
    if (wrong != SIZE_MAX) return wrong;
  }
  return SIZE_MAX;
}
