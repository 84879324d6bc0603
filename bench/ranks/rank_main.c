/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One rank of a benchmark. The same for Copse, MPI libraries and bare sockets, which stand behind rank.h.
 *
 *     rank_SYSTEM BUDGET_MS CALLS_MAX CELL...       CELL: rank_cell.h
 *     rank_SYSTEM serve
 *
 * Rank 0 prints `ready` once all ranks are there and each collective of the cells has been called, and waits until its
 * standard input ends. Then, for each cell, a line: the cell's number, and samples.
 *
 *     latency  microseconds of a call on the slowest rank, after a barrier: one sample a call
 *     together likewise, but all ranks enter the call at one moment, for which they wait after the barrier: where
 *              packets travel for milliseconds, ranks leave a barrier far apart, and a call that begins then is not
 *              the call that plans are made for. Nodes share this machine's clock
 *     stream   microseconds of a call among many, back-to-back: one sample for each of a few batches
 *     noise    percent by which (post, compute 1 ms, wait) takes longer than to compute 1 ms, on the slowest rank: one
 *              sample for each pair of loops
 *     cold     microseconds of the first call of a new team of the same ranks, after a barrier of the old one
 *     overlap  by the method of the OSU benchmarks: microseconds of a call without computation, and of post, a
 *              computation that takes as long, and wait, both of the slowest rank; means over ranks of the computation
 *              and of the post, and of processors beyond these, a rank. So five samples for each of a few batches, in
 *              the order call, computation, all, post, processors
 *
 * A cell makes as many calls as fit in BUDGET_MS, at most CALLS_MAX, and one of a call that takes a second. The first
 * call's result is looked at, and the last one's; neither is timed. Exit code 1 if a call fails or a result is wrong.
 *
 * `serve`: each rank reads a line `CELL WARM_UP CALLS` at a time, the same on all ranks, until its standard input ends.
 * It makes so many pairs of a barrier and the call, and prints how long each of the last CALLS took this rank from its
 * return from the barrier, in microseconds. All results are looked at.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/ranks/rank.h"
#include "bench/ranks/rank_cell.h"
#include "bench/ranks/rank_talk.h"

enum {
  kCallsMax = 4096,
  kWarmUpCalls = 8,
  kTimedWarmUpCalls = 4, /* the last of them: how many fit is reckoned from these */
  kCallsMin = 4,
  kBatches = 8,
  kLoopPairs = 3,
  kPeriods = 2, /* of the slowest warm-up call and its barrier: how far calls are apart that start together */
  kPeriodLeastUs = 2000,
  kLongCallUs = 1000000, /* such a call is made once */
  kColdCalls = 5,
  kOverlapBatches = 3,
};

static uint32_t rank, size;
static double budget_us;
static uint32_t calls_max;
static double samples[kCallsMax], slowest[kCallsMax];

/* --- What a rank and the machine do besides --- */

static volatile double seed = 0.5; /* a compiler may compute the rest by itself otherwise */

/* Arithmetic in registers: nothing else on the machine makes it slower than by taking the core. */
static void compute(uint64_t rounds) {
  double x = seed;
  for (uint64_t i = 0; i < rounds; i++) x = x * 0.999999 + 1e-6;
  seed = x;
}

static double thread_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

/* Rounds of `compute` in 1 ms of a core: by this thread's own time, since others compute too. */
static double rounds_a_ms(void) {
  const uint32_t rounds = 100000;
  double best = 1e12;
  for (int i = 0; i < 20; i++) {
    const double start = thread_us();
    compute(rounds);
    const double took = thread_us() - start;
    if (took < best) best = took;
  }
  return rounds * 1000.0 / best;
}

/* Processor time of the whole machine since it was started, all cores together, of whatever ran, in microseconds; to
 * the kernel's tick. */
static double processors_busy_us(void) {
  unsigned long long user = 0, nice = 0, system = 0, idle = 0, waits = 0, irq = 0, softirq = 0;
  FILE* file = fopen("/proc/stat", "r");
  if (file == NULL) return 0;
  const int read =
      fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle, &waits, &irq, &softirq);
  fclose(file);
  return read == 7 ? (double)(user + nice + system + irq + softirq) * 1e6 / (double)sysconf(_SC_CLK_TCK) : 0;
}

/* --- What is not measured --- */

static void run_once(copse_collective_t collective, rank_op op, const double* send, double* receive, uint64_t count) {
  rank_call call = {.collective = collective, .op = op, .send = send, .receive = receive, .count = count};
  rank_prepare(&call);
  rank_run(&call);
  rank_release(&call);
}

/* Rank 0's value, on all ranks. */
static double agree(double value) {
  run_once(COPSE_COLL_BCAST, kSum, NULL, &value, 1);
  return value;
}

/* The largest value of all ranks, at rank 0, one by one. */
static void take_slowest(uint32_t count) { run_once(COPSE_COLL_REDUCE, kMax, samples, slowest, count); }

static void print_samples(int cell_index, const double* values, uint32_t count) {
  if (rank == 0) say_samples(cell_index, values, count);
}

/* The largest of all ranks' values, on all ranks. */
static double agree_on_slowest(double value) {
  samples[0] = value;
  take_slowest(1);
  return agree(slowest[0]);
}

/* --- Data --- */

static void* take_memory(const rank_data* data, size_t bytes) {
  if (bytes == 0) return NULL;
  void* memory = data->cell.registered ? rank_allocate(bytes) : malloc(bytes);
  if (memory != NULL) return memory;
  fprintf(stderr, "rank %u: no memory (bytes=%zu)\n", rank, bytes);
  exit(1);
}

static void give_memory(const rank_data* data, void* memory) {
  if (memory == NULL) return;
  if (data->cell.registered) {
    rank_deallocate(memory);
  } else {
    free(memory);
  }
}

static void make_data(const rank_cell* what, rank_data* data) {
  rank_plan_data(what, rank, size, data);
  data->call.send = data->send = take_memory(data, data->send_bytes);
  data->call.receive = data->receive = take_memory(data, data->receive_bytes);
  rank_fill(data);
}

static void free_data(rank_data* data) {
  give_memory(data, data->send);
  give_memory(data, data->receive);
  rank_free_plan(data);
}

static void check_result(const rank_data* data) {
  const size_t wrong = rank_find_wrong(data);
  if (wrong == SIZE_MAX) return;
  fprintf(stderr, "rank %u: wrong result (byte=%zu, limit=%zu)\n", rank, wrong, data->receive_bytes);
  exit(1);
}

/* The first call, checked: later ones find what it has made. Returns what it took, on the slowest rank. */
static double make_first_call(rank_data* data) {
  const double start = wall_us();
  rank_run(&data->call);
  const double took_us = wall_us() - start;
  check_result(data);
  return agree_on_slowest(took_us);
}

/* --- Latency --- */

static double time_calls(rank_call* call, int calls) {
  const double start = wall_us();
  for (int i = 0; i < calls; i++) rank_run(call);
  return agree_on_slowest((wall_us() - start) / calls);
}

/* A number of calls within what a cell makes. */
static uint32_t clamp_calls(double fit) {
  return (uint32_t)(fit < kCallsMin ? kCallsMin : fit > calls_max ? calls_max : fit);
}

/* How many calls fit into the budget, the same on all ranks. */
static uint32_t warm_up(rank_call* call, double first_us) {
  if (first_us >= kLongCallUs) return 1;
  double took_us = time_calls(call, 1);
  if (took_us * kWarmUpCalls < budget_us) {
    time_calls(call, kWarmUpCalls - kTimedWarmUpCalls);
    took_us = time_calls(call, kTimedWarmUpCalls);
  }
  const double fit = budget_us / (took_us + 0.1);
  return clamp_calls(fit);
}

static void measure_latency(int cell_index, rank_call* call, rank_call* barrier, double first_us) {
  const uint32_t calls = warm_up(call, first_us);
  for (uint32_t i = 0; i < calls; i++) {
    rank_run(barrier);
    const double start = wall_us();
    rank_run(call);
    samples[i] = wall_us() - start;
  }
  take_slowest(calls);
  print_samples(cell_index, slowest, calls);
}

static void measure_cold(int cell_index, const rank_call* call, rank_call* barrier) {
  const uint32_t calls = calls_max < kColdCalls ? calls_max : kColdCalls;
  for (uint32_t i = 0; i < calls; i++) {
    rank_call first = *call;
    rank_enter_team();
    rank_prepare(&first);
    rank_run(barrier);
    const double start = wall_us();
    rank_run(&first);
    samples[i] = wall_us() - start;
    rank_release(&first);
    rank_run(barrier);
    rank_leave_team();
  }
  take_slowest(calls);
  print_samples(cell_index, slowest, calls);
}

static void wait_until(double us) {
  const struct timespec time = {(time_t)(us / 1e6), (long)((us - 1e6 * (double)(time_t)(us / 1e6)) * 1e3)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) != 0) {
  }
}

/* The barrier and the call start at moments that all ranks have agreed on: far enough apart for both to be over. */
static void measure_together(int cell_index, rank_call* call, rank_call* barrier) {
  double longest = 0;
  for (int i = 0; i < kWarmUpCalls; i++) {
    const double start = wall_us();
    rank_run(barrier);
    rank_run(call);
    const double took = wall_us() - start;
    if (i >= kWarmUpCalls - kTimedWarmUpCalls && took > longest) longest = took;
  }
  samples[0] = longest;
  take_slowest(1);
  const double period_us = agree(kPeriods * slowest[0] + kPeriodLeastUs);
  const double fit = budget_us / period_us;
  const uint32_t calls = (uint32_t)agree(clamp_calls(fit));
  const double begin = agree(wall_us() + period_us);
  for (uint32_t i = 0; i < calls; i++) {
    const double start = begin + (i + 1) * period_us;
    rank_run(barrier);
    wait_until(start);
    rank_run(call);
    samples[i] = wall_us() - start;
  }
  take_slowest(calls);
  print_samples(cell_index, slowest, calls);
}

static void measure_stream(int cell_index, rank_call* call, rank_call* barrier, double first_us) {
  const uint32_t calls = warm_up(call, first_us) / kBatches + 1;
  rank_run(barrier);
  for (uint32_t batch = 0; batch < kBatches; batch++) {
    const double start = wall_us();
    for (uint32_t i = 0; i < calls; i++) rank_run(call);
    samples[batch] = (wall_us() - start) / calls;
  }
  take_slowest(kBatches);
  print_samples(cell_index, slowest, kBatches);
}

/* --- Noise --- */

/* The same rounds for all ranks. */
static uint32_t calibrate(void) { return (uint32_t)agree(rounds_a_ms()); }

static double time_loop(uint32_t turns, uint32_t rounds, rank_call* call, rank_call* barrier) {
  rank_run(barrier);
  const double start = wall_us();
  for (uint32_t i = 0; i < turns; i++) {
    if (call != NULL) rank_post(call);
    compute(rounds);
    if (call != NULL) rank_wait(call);
  }
  return wall_us() - start;
}

static void measure_noise(int cell_index, rank_call* call, rank_call* barrier) {
  const uint32_t rounds = calibrate();
  time_loop(1, rounds, call, barrier);
  rank_run(barrier);
  const double start = wall_us();
  time_loop(2, rounds, NULL, barrier);
  rank_run(barrier);
  const double fit = budget_us / kLoopPairs / (wall_us() - start); /* of two turns without and with a call */
  const uint32_t turns = (uint32_t)agree(clamp_calls(fit));
  double percent[kLoopPairs];
  for (int pair = 0; pair < kLoopPairs; pair++) {
    samples[0] = time_loop(turns, rounds, NULL, barrier);
    samples[1] = time_loop(turns, rounds, call, barrier);
    take_slowest(2);
    percent[pair] = (slowest[1] / slowest[0] - 1) * 100;
  }
  print_samples(cell_index, percent, kLoopPairs);
}

/* --- Overlap --- */

/* The mean of all ranks' values, on all ranks. */
static double agree_on_mean(double value) {
  double sum = 0;
  run_once(COPSE_COLL_REDUCE, kSum, &value, &sum, 1);
  return agree(sum / size);
}

typedef struct {
  double total_us, post_us, compute_us;
} split;

/* Means of `calls` calls; `rounds` of computation in each. The whole is the slowest rank's: a root may be done when
 * what it sends is on its way, and others compute until it has come. */
static split time_split(uint32_t calls, uint32_t rounds, rank_call* call, rank_call* barrier) {
  split mean = {0, 0, 0};
  for (uint32_t i = 0; i < calls; i++) {
    rank_run(barrier);
    const double start = wall_us();
    if (call != NULL) rank_post(call);
    const double posted = wall_us();
    if (rounds > 0) compute(rounds);
    mean.compute_us += (wall_us() - posted) / calls;
    if (call != NULL) rank_wait(call);
    mean.total_us += (wall_us() - start) / calls;
    mean.post_us += (posted - start) / calls;
  }
  mean.total_us = agree_on_slowest(mean.total_us);
  mean.post_us = agree_on_mean(mean.post_us);
  mean.compute_us = agree_on_mean(mean.compute_us);
  return mean;
}

static void measure_overlap(int cell_index, rank_call* call, rank_call* barrier) {
  const double rounds_per_us = calibrate() / 1000.0;
  const split first = time_split(2, 0, call, barrier);
  const double fit = budget_us / (first.total_us * 3 * kOverlapBatches);
  const uint32_t calls = (uint32_t)agree(fit < 1 ? 1 : fit > calls_max ? calls_max : fit);
  double values[5 * kOverlapBatches], *value = values;
  for (int batch = 0; batch < kOverlapBatches; batch++) {
    const split pure = time_split(calls, 0, call, barrier);
    const uint32_t rounds = (uint32_t)(rounds_per_us * pure.total_us) + 1;
    const split alone = time_split(calls, rounds, NULL, barrier);
    const double busy_before = processors_busy_us();
    const split all = time_split(calls, rounds, call, barrier);
    const double busy = (processors_busy_us() - busy_before) / calls / size;
    *value++ = pure.total_us;
    *value++ = alone.compute_us;
    *value++ = all.total_us;
    *value++ = all.post_us;
    *value++ = busy - alone.compute_us - all.post_us;
  }
  print_samples(cell_index, values, 5 * kOverlapBatches);
}

/* --- All --- */

static void measure(int cell_index, const rank_cell* what) {
  rank_data data;
  make_data(what, &data);
  rank_call barrier = {.collective = COPSE_COLL_BARRIER};
  rank_prepare(&data.call);
  rank_prepare(&barrier);
  const double first_us = make_first_call(&data);
  switch (what->mode) {
    case kLatency:
      measure_latency(cell_index, &data.call, &barrier, first_us);
      break;
    case kTogether:
      measure_together(cell_index, &data.call, &barrier);
      break;
    case kStream:
      measure_stream(cell_index, &data.call, &barrier, first_us);
      break;
    case kCold:
      measure_cold(cell_index, &data.call, &barrier);
      break;
    case kOverlap:
      measure_overlap(cell_index, &data.call, &barrier);
      break;
    case kNoise:
    case kModes:
      measure_noise(cell_index, &data.call, &barrier);
      break;
  }
  check_result(&data);
  rank_release(&barrier);
  rank_release(&data.call);
  free_data(&data);
}

/* Short calls, so that what the system makes for a collective, or for a pair of ranks, is there. */
static void call_each(const rank_cell* cells, int count) {
  int called[COPSE_COLL_REDUCE_SCATTERV + 1] = {0};
  for (int i = 0; i < count; i++) {
    if (called[cells[i].collective]++ > 0) continue;
    const rank_cell small = {.collective = cells[i].collective, .bytes = sizeof(double)};
    rank_data data;
    make_data(&small, &data);
    rank_prepare(&data.call);
    make_first_call(&data);
    rank_release(&data.call);
    free_data(&data);
  }
}

static int serve(void) {
  char line[256], text[128];
  unsigned warm_up, calls;
  rank_call barrier = {.collective = COPSE_COLL_BARRIER};
  rank_prepare(&barrier);
  while (fgets(line, sizeof(line), stdin) != NULL) {
    rank_cell what;
    rank_data data;
    if (sscanf(line, "%127s %u %u", text, &warm_up, &calls) != 3 || !rank_parse_cell(text, &what) ||
        calls > kCallsMax) {
      fprintf(stderr, "rank_SYSTEM: not a request: %s", line);
      return 2;
    }
    make_data(&what, &data);
    rank_prepare(&data.call);
    for (unsigned i = 0; i < warm_up + calls; i++) {
      rank_fill(&data); /* what an earlier call left there must not pass */
      rank_run(&barrier);
      const double start = wall_us();
      rank_run(&data.call);
      if (i >= warm_up) samples[i - warm_up] = wall_us() - start;
      check_result(&data);
    }
    rank_release(&data.call);
    free_data(&data);
    say_samples(0, samples, calls);
  }
  rank_release(&barrier);
  rank_end();
  return 0;
}

int main(int argc, char** argv) {
  rank_start(&argc, &argv, &rank, &size);
  if (argc == 2 && strcmp(argv[1], "serve") == 0) return serve();
  if (argc < 4) {
    fprintf(stderr, "usage: rank_SYSTEM BUDGET_MS CALLS_MAX CELL...\n");
    return 2;
  }
  budget_us = strtod(argv[1], NULL) * 1000;
  const unsigned long wanted = strtoul(argv[2], NULL, 10);
  calls_max = wanted < kCallsMax ? (uint32_t)wanted : kCallsMax;
  const int count = argc - 3;
  rank_cell* cells = calloc((size_t)count, sizeof(rank_cell));
  for (int i = 0; i < count; i++) {
    if (!rank_parse_cell(argv[i + 3], &cells[i])) {
      fprintf(stderr, "rank_SYSTEM: usage: not a cell (cell=%s)\n", argv[i + 3]);
      return 2;
    }
  }
  run_once(COPSE_COLL_BARRIER, kSum, NULL, NULL, 0);
  call_each(cells, count);
  run_once(COPSE_COLL_BARRIER, kSum, NULL, NULL, 0);
  if (rank == 0) {
    say_ready();
    await_end_of_input();
  }
  for (int i = 0; i < count; i++) measure(i, &cells[i]);
  free(cells);
  rank_end();
  return 0;
}
