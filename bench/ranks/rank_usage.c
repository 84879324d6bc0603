/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/ranks/rank_usage.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kSocketsMax = 4096, kEstablished = 1, kDataNetwork = 0x4d0a /* 10.77, as /proc writes it */ };

double pss_kb(pid_t pid) {
  char path[64], line[256];
  snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid);
  FILE* file = fopen(path, "r");
  double value = 0;
  while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
    if (sscanf(line, "Pss: %lf", &value) == 1) break;
  }
  if (file != NULL) fclose(file);
  return value;
}

/* Inodes of the process's sockets. */
static int list_sockets(pid_t pid, unsigned long* inodes) {
  char path[32], link[320], target[64];
  snprintf(path, sizeof(path), "/proc/%d/fd", pid);
  DIR* folder = opendir(path);
  int count = 0;
  for (struct dirent* entry; folder != NULL && count < kSocketsMax && (entry = readdir(folder)) != NULL;) {
    snprintf(link, sizeof(link), "%s/%s", path, entry->d_name);
    const ssize_t length = readlink(link, target, sizeof(target) - 1);
    if (length <= 0) continue;
    target[length] = '\0';
    if (sscanf(target, "socket:[%lu]", &inodes[count]) == 1) count++;
  }
  if (folder != NULL) closedir(folder);
  return count;
}

int connections(pid_t pid) {
  static unsigned long inodes[kSocketsMax];
  const int sockets = list_sockets(pid, inodes);
  char path[64], line[512];
  snprintf(path, sizeof(path), "/proc/%d/net/tcp", pid);
  FILE* file = fopen(path, "r");
  int count = 0;
  while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
    unsigned remote, state;
    unsigned long inode;
    /* number: local remote state queues timer retransmissions user timeout inode */
    if (sscanf(line, " %*d: %*x:%*x %x:%*x %x %*x:%*x %*x:%*x %*x %*u %*d %lu", &remote, &state, &inode) != 3) continue;
    if (state != kEstablished || (remote & 0xffff) != kDataNetwork) continue;
    for (int i = 0; i < sockets; i++) count += inodes[i] == inode;
  }
  if (file != NULL) fclose(file);
  return count;
}

double processors_busy_us(void) {
  unsigned long long user = 0, nice = 0, system = 0, idle = 0, waits = 0, irq = 0, softirq = 0;
  FILE* file = fopen("/proc/stat", "r");
  if (file == NULL) return 0;
  const int read =
      fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle, &waits, &irq, &softirq);
  fclose(file);
  return read == 7 ? (double)(user + nice + system + irq + softirq) * 1e6 / (double)sysconf(_SC_CLK_TCK) : 0;
}
