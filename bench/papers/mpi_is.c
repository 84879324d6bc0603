/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The communication of NPB's IS, with a kernel of our own: integer keys are put into buckets, buckets are dealt to
 * ranks so that all have about as many keys, keys travel, and each rank counts what it has received, block by block in
 * order of ranks; a key's place among all follows from the counts.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/papers/mpi_kernel.h"
#include "bench/ranks/mpi_program.h"

const char program_name[] = "mpi_is";

enum { kBuckets = 1024, kBucketBits = 10 };

typedef struct {
  const char* name;
  int keys_bits, key_bits; /* logarithms of how many keys there are, and of how many values they have */
} problem;

static const problem kClasses[] = {{"S", 16, 11}, {"W", 20, 16}, {"A", 23, 19}, {"B", 25, 21}};

static problem all;
static int rank, size;
static int own_keys;
static int *keys, *outgoing, *incoming;
static int incoming_max;
static int* counts; /* by key, of those that this rank has in the end */
static int *send_counts, *send_starts, *receive_counts, *receive_starts;
static int bucket_sizes[kBuckets], all_bucket_sizes[kBuckets], bucket_owners[kBuckets];
static int first_key, end_key, received; /* of the last iteration */
static uint64_t hash;
static uint64_t sent_hash, received_hash; /* sums over keys: what was sent has been received */
static int has_failed;

static int bucket_of(int key) { return key >> (all.key_bits - kBucketBits); }

/* A key is the mean of four random numbers: there are many in the middle. */
static int key_of(uint64_t index) {
  const uint64_t random = random_of(index);
  const uint64_t sum = (random & 0xffff) + (random >> 16 & 0xffff) + (random >> 32 & 0xffff) + (random >> 48);
  return (int)(sum << all.key_bits >> 18);
}

int kernel_make(const char* class_name, int own_rank, int rank_count) {
  rank = own_rank;
  size = rank_count;
  memset(&all, 0, sizeof(all));
  for (size_t i = 0; i < sizeof(kClasses) / sizeof(kClasses[0]); i++) {
    if (strcmp(kClasses[i].name, class_name) == 0) all = kClasses[i];
  }
  if (all.name == NULL || (1 << all.keys_bits) % size != 0) return 0;
  own_keys = (1 << all.keys_bits) / size;
  /* Buckets are dealt whole; the fullest has a quarter of a percent of all keys. */
  incoming_max = 2 * own_keys;
  keys = kernel_memory((size_t)own_keys * sizeof(int));
  outgoing = kernel_memory((size_t)own_keys * sizeof(int));
  incoming = kernel_memory((size_t)incoming_max * sizeof(int));
  counts = kernel_memory(sizeof(int) << all.key_bits);
  int** lists[] = {&send_counts, &send_starts, &receive_counts, &receive_starts};
  for (int i = 0; i < 4; i++) *lists[i] = kernel_memory((size_t)size * sizeof(int));
  for (int i = 0; i < own_keys; i++) keys[i] = key_of((uint64_t)rank * (uint64_t)own_keys + (uint64_t)i);
  hash = sent_hash = received_hash = 0;
  has_failed = 0;
  return 1;
}

void kernel_free(void) {
  int* memory[] = {keys, outgoing, incoming, counts, send_counts, send_starts, receive_counts, receive_starts};
  for (size_t i = 0; i < sizeof(memory) / sizeof(memory[0]); i++) free(memory[i]);
}

/* --- An iteration --- */

static void count_buckets(void) {
  memset(bucket_sizes, 0, sizeof(bucket_sizes));
  for (int i = 0; i < own_keys; i++) bucket_sizes[bucket_of(keys[i])]++;
  profile_enter();
  MPI_Allreduce(bucket_sizes, all_bucket_sizes, kBuckets, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  profile_leave();
}

/* Whole buckets in order, to the next rank when one has its share. */
static void deal_buckets(void) {
  int64_t dealt = 0;
  first_key = end_key = 0;
  memset(send_counts, 0, (size_t)size * sizeof(int));
  for (int bucket = 0, owner = 0; bucket < kBuckets; bucket++) {
    if (dealt >= (int64_t)own_keys * (owner + 1) && owner + 1 < size) owner++;
    dealt += all_bucket_sizes[bucket];
    bucket_owners[bucket] = owner;
    send_counts[owner] += bucket_sizes[bucket];
    const int end = (bucket + 1) << (all.key_bits - kBucketBits);
    if (owner < rank) first_key = end_key = end;
    if (owner == rank) end_key = end;
  }
}

static void sort_into_buckets(void) {
  int next[kBuckets];
  for (int bucket = 0, start = 0; bucket < kBuckets; start += bucket_sizes[bucket++]) next[bucket] = start;
  for (int i = 0; i < own_keys; i++) outgoing[next[bucket_of(keys[i])]++] = keys[i];
}

static int sum_into_starts(const int* each, int* starts) {
  int sum = 0;
  for (int i = 0; i < size; sum += each[i++]) starts[i] = sum;
  return sum;
}

static void exchange_keys(void) {
  profile_enter();
  MPI_Alltoall(send_counts, 1, MPI_INT, receive_counts, 1, MPI_INT, MPI_COMM_WORLD);
  profile_leave();
  sum_into_starts(send_counts, send_starts);
  received = sum_into_starts(receive_counts, receive_starts);
  if (received > incoming_max) MPI_Abort(MPI_COMM_WORLD, 1);
  profile_enter();
  MPI_Alltoallv(outgoing, send_counts, send_starts, MPI_INT, incoming, receive_counts, receive_starts, MPI_INT,
                MPI_COMM_WORLD);
  profile_leave();
}

/* A key that is not this rank's is a failure, and counted nowhere. */
static void count_block(const int* block, int length) {
  for (int i = 0; i < length; i++) {
    if (block[i] < first_key || block[i] >= end_key) {
      has_failed = 1;
      continue;
    }
    counts[block[i] - first_key]++;
    received_hash += mixed((uint64_t)block[i]);
  }
}

static void rank_keys(void) {
  memset(counts, 0, (size_t)(end_key - first_key) * sizeof(int));
  profile_blocks();
  for (int peer = 0; peer < size; peer++) count_block(incoming + receive_starts[peer], receive_counts[peer]);
  profile_blocks_read();
  int sum = 0;
  for (int i = 0; i < end_key - first_key; i++) {
    sum += counts[i];
    hash += (uint64_t)sum * (2 * (uint64_t)(first_key + i) + 1);
  }
  if (sum != received) has_failed = 1;
}

void kernel_iterate(int iteration) {
  /* As IS has it: some keys change, so that every iteration has something to do. */
  keys[iteration % own_keys] = iteration & ((1 << all.key_bits) - 1);
  for (int i = 0; i < own_keys; i++) sent_hash += mixed((uint64_t)keys[i]);
  count_buckets();
  deal_buckets();
  sort_into_buckets();
  exchange_keys();
  rank_keys();
}

int kernel_is_right(void) {
  uint64_t own[2] = {sent_hash, received_hash}, sums[2] = {0, 0};
  int64_t own_received = received, all_received = 0;
  MPI_Allreduce(own, sums, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(&own_received, &all_received, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  return !has_failed && sums[0] == sums[1] && all_received == (int64_t)1 << all.keys_bits;
}

uint64_t kernel_hash(void) { return mixed(hash + (uint64_t)rank); }
