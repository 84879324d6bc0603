/* SPDX-License-Identifier: Apache-2.0
 *
 * Slurm's plugin: `srun --copse` puts libcopse-mpi.so in front of the MPI of a step's tasks, as copse-run does.
 *
 * It only sets variables of the tasks' environment. It loads nothing into Slurm's processes and never fails a job: each
 * function returns 0, and whatever is wrong is told in one line. spank(7) says which process calls what. */
#include <dlfcn.h>
#include <limits.h>
#include <slurm/slurm.h>
#include <slurm/spank.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/run/rank_environment.h"

SPANK_PLUGIN(copse, 1)

#define ENVIRONMENT "SLURM_COPSE" /* in srun's environment, in place of --copse */
#define ON "on"                   /* --copse without a value */
#define OFF "off"
#define VALUE_BYTES 16       /* more than any value has */
#define PRELOAD_BYTES 131072 /* Linux's limit of a variable */
#define LIBRARY_ARGUMENT "library="
#define DEFAULT_ARGUMENT "default="

/* Arguments of the plugin in plugstack.conf. */
struct settings {
  char library[PATH_MAX]; /* default: beside the plugin */
  const char* value;      /* of jobs that say nothing */
};

static int on_option(int val, const char* value, int remote);

static struct spank_option the_option = {
    (char*)"copse",
    (char*)"faster|all|off",
    (char*)"let Copse's daemons run the collectives of MPI programs: where that is faster (default), all, or none",
    2, /* the value is optional */
    0,
    on_option};

static bool is_value(const char* text) {
  return strcmp(text, ON) == 0 || strcmp(text, OFF) == 0 || copse_ranks_is_offload(text);
}

/* Tells the user of a value that is none. */
static void check(const char* name, const char* value) {
  if (is_value(value)) return;
  slurm_spank_log("copse: the job runs without Copse: %s: none of faster, all and off (value=%s)", name, value);
}

/* Slurm hands the option from salloc and sbatch to each srun inside, and from there to slurmstepd. */
static int on_option(int val, const char* value, int remote) {
  (void)val;
  if (remote == 0 && value != NULL) check("--copse", value);
  return 0;
}

static void find_library(char library[PATH_MAX]) {
  Dl_info self;
  library[0] = '\0';
  if (dladdr((const void*)&plugin_name, &self) == 0) return;
  const char* slash = strrchr(self.dli_fname, '/');
  const int folder = slash == NULL ? 0 : (int)(slash - self.dli_fname) + 1;
  if (snprintf(library, PATH_MAX, "%.*s%s", folder, self.dli_fname, COPSE_RANKS_LIBRARY) >= PATH_MAX) library[0] = '\0';
}

/* slurmd loads the plugin when it starts, so its log has each wrong argument once. */
static void refuse_argument(const char* argument, const char* limit) {
  if (spank_context() != S_CTX_SLURMD) return;
  slurm_error("copse: plugstack.conf: the argument is not used (argument=%s, limit=%s)", argument, limit);
}

static struct settings settings_of(int count, char* arguments[]) {
  struct settings settings = {.value = OFF};
  find_library(settings.library);
  for (int i = 0; i < count; ++i) {
    const char* argument = arguments[i];
    if (strncmp(argument, LIBRARY_ARGUMENT, strlen(LIBRARY_ARGUMENT)) == 0) {
      const char* path = argument + strlen(LIBRARY_ARGUMENT);
      if (snprintf(settings.library, PATH_MAX, "%s", path) >= PATH_MAX) settings.library[0] = '\0';
    } else if (strncmp(argument, DEFAULT_ARGUMENT, strlen(DEFAULT_ARGUMENT)) == 0) {
      const char* value = argument + strlen(DEFAULT_ARGUMENT);
      if (is_value(value)) {
        settings.value = value;
      } else {
        refuse_argument(argument, DEFAULT_ARGUMENT "on, faster, all or off");
      }
    } else {
      refuse_argument(argument, LIBRARY_ARGUMENT "PATH or " DEFAULT_ARGUMENT "VALUE");
    }
  }
  return settings;
}

int slurm_spank_init(spank_t spank, int count, char* arguments[]) {
  settings_of(count, arguments);
  spank_option_register(spank, &the_option);
  return 0;
}

/* In srun: tells of a bad value of its environment. */
int slurm_spank_init_post_opt(spank_t spank, int count, char* arguments[]) {
  (void)spank, (void)count, (void)arguments;
  const char* value = getenv(ENVIRONMENT);
  if (spank_context() == S_CTX_LOCAL && value != NULL) check(ENVIRONMENT, value);
  return 0;
}

/* Sets `value` to what is asked for this step: by its --copse, else by its environment, else by plugstack.conf. */
static void find_value(spank_t spank, const struct settings* settings, char value[VALUE_BYTES]) {
  char* given = NULL;
  if (spank_option_getopt(spank, &the_option, &given) == ESPANK_SUCCESS) {
    snprintf(value, VALUE_BYTES, "%s", given == NULL || given[0] == '\0' ? ON : given);
  } else if (spank_getenv(spank, ENVIRONMENT, value, VALUE_BYTES) == ESPANK_ENV_NOEXIST) {
    snprintf(value, VALUE_BYTES, "%s", settings->value);
  }
}

/* Returns whether the step's tasks are what srun starts, rather than a batch script, a shell or nothing at all. */
static bool is_step_of_srun(spank_t spank) {
  uint32_t step = 0;
  return spank_get_item(spank, S_JOB_STEPID, &step) == ESPANK_SUCCESS && step < SLURM_MAX_NORMAL_STEP_ID;
}

/* Returns NULL, or why the tasks cannot have the library. With the user's rights. */
static const char* fault_of(const char* library) {
  struct stat about;
  if (library[0] == '\0') return "no path";
  if (!copse_ranks_can_preload(library)) return "LD_PRELOAD has no paths with colons or spaces";
  if (stat(library, &about) != 0 || !S_ISREG(about.st_mode)) return "no such file";
  return eaccess(library, R_OK) == 0 ? NULL : "not readable";
}

/* Sets LD_PRELOAD. Returns NULL, or what went wrong. */
static const char* preload(spank_t spank, const char* library) {
  static char value[PRELOAD_BYTES];
  size_t bytes = 0;
  const spank_err_t found = spank_getenv(spank, COPSE_RANKS_PRELOAD, value, (int)sizeof(value));
  if (found == ESPANK_SUCCESS) bytes = strlen(value);
  if (found != ESPANK_SUCCESS && found != ESPANK_ENV_NOEXIST) return COPSE_RANKS_PRELOAD " is too long";
  if (bytes + strlen(library) + 2 > sizeof(value)) return COPSE_RANKS_PRELOAD " is too long";
  snprintf(value + bytes, sizeof(value) - bytes, "%s%s", bytes == 0 ? "" : ":", library);
  return spank_setenv(spank, COPSE_RANKS_PRELOAD, value, 1) == ESPANK_SUCCESS ? NULL : "the environment is closed";
}

/* The log of each node has the line, and the user one of them. */
static void tell(spank_t spank, const char* error, const char* library) {
  uint32_t node = 0;
  spank_get_item(spank, S_JOB_NODEID, &node);
  if (node == 0) {
    slurm_spank_log("copse: the job runs without Copse: library: %s (value=%s)", error, library);
  } else {
    slurm_info("copse: the job runs without Copse: library: %s (value=%s)", error, library);
  }
}

/* In slurmstepd, as the user, once a node and before there are tasks. */
int slurm_spank_user_init(spank_t spank, int count, char* arguments[]) {
  if (!is_step_of_srun(spank)) return 0;
  const struct settings settings = settings_of(count, arguments);
  char value[VALUE_BYTES] = OFF;
  find_value(spank, &settings, value);
  if (!is_value(value) || strcmp(value, OFF) == 0) return 0;
  const char* error = fault_of(settings.library);
  if (error == NULL) error = preload(spank, settings.library);
  if (error != NULL) {
    tell(spank, error, settings.library);
  } else if (copse_ranks_is_offload(value)) {
    spank_setenv(spank, COPSE_RANKS_OFFLOAD, value, 1);
  }
  return 0;
}
