/*
 * metrics_process - the usual process metrics of Prometheus clients.
 *
 * process_cpu_seconds_total, process_open_fds, process_max_fds, process_resident_memory_bytes,
 * process_virtual_memory_bytes and process_start_time_seconds, read from /proc when the metrics are
 * printed. A value that cannot be read is NaN.
 */
#ifndef BASE_REPORT_METRICS_PROCESS_H
#define BASE_REPORT_METRICS_PROCESS_H

#include "base/core/error.h"
#include "base/core/str.h"

struct metrics;

/* Adds them to the registry. Idempotent. */
int metrics_process_register(struct metrics *m, struct error *err);

/* The fields of /proc/PID/stat that we use. */
struct metrics_process_stat {
	uint64_t cpu_ticks; /* user and system */
	uint64_t start_ticks; /* since boot */
	uint64_t virtual_bytes;
	uint64_t resident_pages;
};

/* Returns false if the text is not a stat line. */
bool metrics_process_parse(struct str text, struct metrics_process_stat *ret_stat);

#endif
