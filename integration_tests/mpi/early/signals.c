/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs with signal handlers of their own, SIGSEGV's among them: faults of the program's own reach its handler, and
 * data that may be under way is waited for wherever it is touched. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "integration_tests/mpi/early/early.h"
#include "integration_tests/mpi/early/exchange.h"

enum { ALTERNATE_BYTES = 64 << 10 };

static char* own_page; /* that may not be touched */
static sigjmp_buf back;
static volatile sig_atomic_t faults;
static void* volatile fault_address;
static volatile int fault_code;
static int is_on_alternate_stack;
static char alternate_stack[ALTERNATE_BYTES];

/* What handlers look at besides: data that may be under way. */
static const struct exchange* volatile in_handler;
static volatile sig_atomic_t handler_was_wrong;
static void look_in_handler(void) {
  if (in_handler != NULL && !is_right((const struct exchange*)in_handler)) handler_was_wrong = 1;
}

static void note_fault(void) {
  char here;
  ++faults;
  is_on_alternate_stack = &here >= alternate_stack && &here < alternate_stack + ALTERNATE_BYTES;
  look_in_handler();
}
static void leave_by_jump(int number) {
  (void)number;
  note_fault();
  siglongjmp(back, 1);
}
static void note_info(const siginfo_t* info) {
  fault_address = info->si_addr;
  fault_code = info->si_code;
}
static void leave_by_jump_with_info(int number, siginfo_t* info, void* context) {
  (void)context;
  note_info(info);
  leave_by_jump(number);
}
/* The program goes on where it was. */
static void open_page(int number, siginfo_t* info, void* context) {
  (void)number, (void)context;
  note_info(info);
  note_fault();
  mprotect(own_page, PAGE, PROT_READ | PROT_WRITE);
}
static void note_only(int number) {
  (void)number;
  note_fault();
}

static void install(void (*plain)(int), int flags) {
  const struct sigaction action = {.sa_handler = plain, .sa_flags = flags};
  EXPECT(sigaction(SIGSEGV, &action, NULL) == 0);
}
static void install_with_info(void (*with_info)(int, siginfo_t*, void*), int flags) {
  const struct sigaction action = {.sa_sigaction = with_info, .sa_flags = flags | SA_SIGINFO};
  EXPECT(sigaction(SIGSEGV, &action, NULL) == 0);
}

static void close_page(void) {
  if (own_page == NULL) own_page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(own_page != MAP_FAILED && mprotect(own_page, PAGE, PROT_NONE) == 0);
  faults = 0;
  fault_address = NULL;
}

/* A fault of the program's own in the midst of data that may be under way, and its handler's part. */
static void fault_on_own_page(struct exchange* e, int has_info, int jumps) {
  const struct sigaction before_all = {.sa_handler = SIG_DFL};
  close_page();
  EXPECT(e->receive[0] == e->wanted[0]);
  if (sigsetjmp(back, 1) == 0) {
    *(volatile char*)(own_page + 77) = 1;
    EXPECT(!jumps);
  } else {
    EXPECT(jumps);
  }
  EXPECT(faults == 1);
  EXPECT(!has_info || (fault_address == own_page + 77 && fault_code == SEGV_ACCERR));
  EXPECT(e->receive[e->receive_bytes / 2] == e->wanted[e->receive_bytes / 2]);
  check(e);
  EXPECT(faults == 1 && !handler_was_wrong);
  EXPECT(sigaction(SIGSEGV, &before_all, NULL) == 0);
}

static void jumps_plain(struct exchange* e) {
  install(leave_by_jump, 0);
  fault_on_own_page(e, 0, 1);
}
static void jumps_with_info(struct exchange* e) {
  install_with_info(leave_by_jump_with_info, 0);
  fault_on_own_page(e, 1, 1);
}
static void jumps_by_signal(struct exchange* e) {
  EXPECT(signal(SIGSEGV, leave_by_jump) != SIG_ERR);
  fault_on_own_page(e, 0, 1);
}
static void goes_on(struct exchange* e) {
  install_with_info(open_page, 0);
  fault_on_own_page(e, 1, 0);
}
static void goes_on_without_defer(struct exchange* e) {
  install_with_info(open_page, SA_NODEFER | SA_RESTART);
  fault_on_own_page(e, 1, 0);
}

static void on_alternate_stack(struct exchange* e, int jumps) {
  const stack_t stack = {.ss_sp = alternate_stack, .ss_size = ALTERNATE_BYTES};
  stack_t before, now;
  EXPECT(sigaltstack(&stack, &before) == 0);
  install_with_info(jumps ? leave_by_jump_with_info : open_page, SA_ONSTACK);
  fault_on_own_page(e, 1, jumps);
  EXPECT(is_on_alternate_stack);
  EXPECT(sigaltstack(NULL, &now) == 0 && now.ss_sp == alternate_stack && now.ss_size == ALTERNATE_BYTES);
  EXPECT(sigaltstack(&before, NULL) == 0);
}
static void alternate_stack_goes_on(struct exchange* e) { on_alternate_stack(e, 0); }
static void alternate_stack_jumps(struct exchange* e) { on_alternate_stack(e, 1); }

/* The handler itself looks at the data, while its own signal, or every one, is blocked. */
static void handler_looks(struct exchange* e) {
  in_handler = e;
  install_with_info(open_page, 0);
  fault_on_own_page(e, 1, 0);
  in_handler = NULL;
}
static void handler_looks_and_jumps(struct exchange* e) {
  struct sigaction action = {.sa_sigaction = leave_by_jump_with_info, .sa_flags = SA_SIGINFO};
  sigfillset(&action.sa_mask);
  EXPECT(sigaction(SIGSEGV, &action, NULL) == 0);
  in_handler = e;
  fault_on_own_page(e, 1, 1);
  in_handler = NULL;
}

/* A handler of before MPI_Init, which stays. */
static void install_before_init(void) { install_with_info(open_page, 0); }
static void handler_before_init(struct exchange* e) {
  static int is_first = 1;
  if (!is_first) install_before_init();
  is_first = 0;
  fault_on_own_page(e, 1, 0);
}

/* Handlers are as the program has set them. */
static void handlers_are_kept(struct exchange* e) {
  struct sigaction found;
  install(leave_by_jump, SA_NODEFER);
  EXPECT(sigaction(SIGSEGV, NULL, &found) == 0);
  EXPECT(found.sa_handler == leave_by_jump && (found.sa_flags & (SA_SIGINFO | SA_NODEFER)) == SA_NODEFER);
  EXPECT(signal(SIGSEGV, SIG_IGN) == leave_by_jump);
  check(e);
  EXPECT(signal(SIGSEGV, SIG_DFL) == SIG_IGN);
  EXPECT(sigaction(SIGSEGV, NULL, &found) == 0 && found.sa_handler == SIG_DFL);
}
/* One that is reset by its first fault, which is not one of data that comes. */
static void reset_handler(struct exchange* e) {
  struct sigaction found;
  install_with_info(open_page, SA_RESETHAND);
  EXPECT(e->receive[PAGE] == e->wanted[PAGE]);
  close_page();
  *(volatile char*)own_page = 1;
  EXPECT(faults == 1);
  EXPECT(sigaction(SIGSEGV, NULL, &found) == 0 && found.sa_handler == SIG_DFL);
  check(e);
}
static void sent_by_itself(struct exchange* e) {
  install(note_only, 0);
  faults = 0;
  raise(SIGSEGV);
  EXPECT(faults == 1);
  kill(getpid(), SIGSEGV);
  check(e);
  EXPECT(faults == 2);
  EXPECT(signal(SIGSEGV, SIG_DFL) == note_only);
}

/* --- Touching while SIGSEGV is blocked --- */

static void blocked_by_process(struct exchange* e) {
  sigset_t some, before;
  sigemptyset(&some);
  sigaddset(&some, SIGSEGV);
  EXPECT(sigprocmask(SIG_BLOCK, &some, &before) == 0);
  check(e);
  EXPECT(sigprocmask(SIG_SETMASK, &before, NULL) == 0);
}
/* Blocks all signals of this thread; returns those that were. */
static sigset_t block_all(void) {
  sigset_t all, before;
  sigfillset(&all);
  EXPECT(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
  return before;
}
static void blocked_by_thread(struct exchange* e) {
  sigset_t now;
  const sigset_t before = block_all();
  check(e);
  EXPECT(pthread_sigmask(SIG_SETMASK, NULL, &now) == 0 && sigismember(&now, SIGTERM) && sigismember(&now, SIGUSR1));
  EXPECT(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
}
static void* check_in_thread(void* e) {
  check(e);
  return NULL;
}
/* A thread is born with the mask of its maker. */
static void blocked_in_thread(struct exchange* e) {
  pthread_t thread;
  const sigset_t before = block_all();
  EXPECT(pthread_create(&thread, NULL, check_in_thread, e) == 0);
  EXPECT(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
  EXPECT(pthread_join(thread, NULL) == 0);
}

/* One that there was before MPI_Init. */
static pthread_t early_thread;
static pthread_barrier_t early_thread_goes;
static struct exchange* volatile early_threads_data;
static void* await_data(void* unused) {
  (void)unused;
  pthread_barrier_wait(&early_thread_goes);
  check(early_threads_data);
  return NULL;
}
static void start_early_thread(void) {
  EXPECT(pthread_barrier_init(&early_thread_goes, NULL, 2) == 0);
  const sigset_t before = block_all();
  EXPECT(pthread_create(&early_thread, NULL, await_data, NULL) == 0);
  EXPECT(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
}
static void blocked_in_thread_before_init(struct exchange* e) {
  static int is_over;
  if (is_over) return;
  is_over = 1;
  early_threads_data = e;
  pthread_barrier_wait(&early_thread_goes);
  EXPECT(pthread_join(early_thread, NULL) == 0);
}

/* --- Other signals --- */

static volatile sig_atomic_t alarms;
static void on_alarm(int number) {
  (void)number;
  ++alarms;
  look_in_handler();
}
static void install_alarm(void (*handler)(int), int fills_mask) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  if (fills_mask) sigfillset(&action.sa_mask);
  EXPECT(sigaction(SIGALRM, &action, NULL) == 0);
  alarms = 0;
}
/* To this thread: an MPI may have others, which block no signals. */
static timer_t new_timer(long first_ns, long interval_ns) {
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM};
  const struct itimerspec times = {{0, interval_ns}, {0, first_ns}};
  timer_t timer;
  event._sigev_un._tid = gettid();
  EXPECT(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && timer_settime(timer, 0, &times, NULL) == 0);
  return timer;
}
static void alarm_looks(struct exchange* e) {
  sigset_t alarm, before;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  install_alarm(on_alarm, e->round / 2 % 2);
  in_handler = e;
  EXPECT(sigprocmask(SIG_BLOCK, &alarm, &before) == 0);
  const timer_t timer = new_timer(1, 0);
  while (alarms == 0) sigsuspend(&before);
  timer_delete(timer);
  EXPECT(sigprocmask(SIG_SETMASK, &before, NULL) == 0);
  in_handler = NULL;
  EXPECT(!handler_was_wrong);
}
/* Wherever the program is, in calls and in faults, too. */
static void alarms_all_the_time(void) {
  enum { BYTES = 300 << 10, ROUNDS = 40 };
  struct exchange still = {.kind = BCAST, .block = BYTES, .late = 1};
  plan_in_pages(&still);
  install_alarm(on_alarm, 0);
  perform(&still);
  in_handler = &still;
  const timer_t timer = new_timer(500000, 1000000);
  for (int round = 0, all = 0; round < ROUNDS || !all; ++round) {
    run_in_pages(
        (struct exchange){.kind = round % 2 == 0 ? BCAST : ALLTOALL, .block = BYTES, .round = round, .root = round});
    /* As many rounds everywhere: who had no alarm yet asks for more. */
    all = alarms > 0;
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  }
  timer_delete(timer);
  in_handler = NULL;
  EXPECT(!handler_was_wrong);
  finish(&still);
}

/* Handlers that touch what is under way, while the thread is in calls that bring other data. */
static const volatile char* volatile touched;
static char untouched_value;
static void on_alarm_touch(int number) {
  const volatile char* const at = touched;
  (void)number;
  ++alarms;
  if (at != NULL && *at != untouched_value) handler_was_wrong = 1;
}
static void alarms_touch_in_calls(void) {
  enum { BYTES = 2 << 20, CALLS = 20 };
  const int rounds = thorough ? 60 : 20;
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  install_alarm(on_alarm_touch, 0);
  const timer_t timer = new_timer(130000, 130000);
  for (int round = 0; round < rounds; ++round) {
    struct exchange e = {.kind = BCAST, .block = BYTES, .round = round, .root = round % size};
    int sum = 0;
    plan_in_pages(&e);
    perform(&e);
    untouched_value = e.wanted[BYTES / 2];
    touched = e.receive + BYTES / 2;
    for (int i = 0; i < CALLS; ++i) MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, other);
    EXPECT(sum == size * (size - 1) / 2);
    touched = NULL;
    finish(&e);
  }
  timer_delete(timer);
  MPI_Comm_free(&other);
  EXPECT(!handler_was_wrong);
}

/* The same while it is in messages, of which the late rank's come late. */
static void alarms_touch_in_messages(void) {
  enum { BYTES = 2 << 20, MESSAGE_BYTES = 1 << 20 };
  const int rounds = thorough ? 30 : 10;
  SCOPED char *sent = malloc(MESSAGE_BYTES), *found = malloc(MESSAGE_BYTES), *expected = malloc(MESSAGE_BYTES);
  install_alarm(on_alarm_touch, 0);
  const timer_t timer = new_timer(130000, 130000);
  for (int round = 0; round < rounds; ++round) {
    struct exchange e = {.kind = BCAST, .block = BYTES, .round = round, .root = round % size, .late = 1 + round % size};
    plan_in_pages(&e);
    fill(sent, MESSAGE_BYTES, (struct data){rank, 1, 30000 + round, 0});
    fill(expected, MESSAGE_BYTES, (struct data){previous_rank(), 1, 30000 + round, 0});
    perform(&e);
    untouched_value = e.wanted[BYTES / 2];
    touched = e.receive + BYTES / 2;
    shift(sent, found, MESSAGE_BYTES);
    touched = NULL;
    expect_same("message", found, expected, MESSAGE_BYTES);
    finish(&e);
  }
  timer_delete(timer);
  EXPECT(!handler_was_wrong);
}

/* As small as programs have it, above memory that may not be written to; with messages that want turns meanwhile. */
static void small_alternate_stack(void) {
  enum { STACK_BYTES = 8 << 10, BYTES = 2 << 20, LONG_BYTES = 4 << 20, ROUNDS = 10, TAG = 4 };
  char* const stack = map_pages(PAGE + STACK_BYTES);
  SCOPED char *sent = calloc(1, LONG_BYTES), *found = malloc(LONG_BYTES);
  EXPECT(mprotect(stack, PAGE, PROT_NONE) == 0);
  const stack_t mine = {.ss_sp = stack + PAGE, .ss_size = STACK_BYTES};
  stack_t before, now;
  EXPECT(sigaltstack(&mine, &before) == 0);
  for (int round = 0; round < ROUNDS; ++round) {
    MPI_Request requests[2];
    struct exchange e = {.kind = BCAST, .block = BYTES, .round = round, .root = round % size, .late = 1 + round % size};
    plan_in_pages(&e);
    MPI_Irecv(found, LONG_BYTES, MPI_BYTE, previous_rank(), TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(sent, LONG_BYTES, MPI_BYTE, next_rank(), TAG, MPI_COMM_WORLD, &requests[1]);
    perform(&e);
    check(&e);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    release(&e);
  }
  EXPECT(sigaltstack(&before, &now) == 0 && now.ss_sp == mine.ss_sp && now.ss_size == STACK_BYTES);
  munmap(stack, PAGE + STACK_BYTES);
}

EARLY_GROUP(signals, MPI_THREAD_FUNNELED,
            {.name = "handler_before_init", .pending = handler_before_init, .before_init = install_before_init},
            PENDING(jumps_plain), PENDING(jumps_with_info), PENDING(jumps_by_signal), PENDING(goes_on),
            PENDING(goes_on_without_defer), PENDING(alternate_stack_goes_on), PENDING(alternate_stack_jumps),
            PENDING(handler_looks), PENDING(handler_looks_and_jumps), PENDING(handlers_are_kept),
            PENDING(reset_handler), PENDING(sent_by_itself), PENDING(blocked_by_process), PENDING(blocked_by_thread),
            PENDING(blocked_in_thread),
            {.name = "blocked_in_thread_before_init",
             .pending = blocked_in_thread_before_init,
             .before_init = start_early_thread},
            PENDING(alarm_looks), RUN(alarms_all_the_time), RUN(alarms_touch_in_calls), RUN(alarms_touch_in_messages),
            RUN(small_alternate_stack));
