/*
 * metrics_process - what this process uses, as every Prometheus client tells it.
 *
 * process_cpu_seconds_total, process_open_fds, process_max_fds,
 * process_resident_memory_bytes, process_virtual_memory_bytes and
 * process_start_time_seconds, read from /proc when the metrics are printed. A
 * figure that cannot be read is NaN.
 */
#ifndef BASE_REPORT_METRICS_PROCESS_H
#define BASE_REPORT_METRICS_PROCESS_H

#include "base/core/error.h"
#include "base/core/str.h"

struct metrics;

/* Adds them to the registry. Twice does no harm. */
int metrics_process_register(struct metrics *m, struct error *err);

/* What /proc/PID/stat says, of the fields that we show. */
struct metrics_process_stat {
	uint64_t cpu_ticks; /* user and system */
	uint64_t start_ticks; /* since boot */
	uint64_t virtual_bytes;
	uint64_t resident_pages;
};

/* False when the text is not a stat line. */
bool metrics_process_parse(struct str text, struct metrics_process_stat *ret_stat);

#endif
