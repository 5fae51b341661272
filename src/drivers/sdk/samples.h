/*
 * samples - struct dp_metrics of the SDK: a driver's own samples for one scrape of /metrics.
 *
 * Samples come in any order, and are printed by name, as the text format wants it.
 * Threads: one at a time.
 */
#ifndef DRIVERS_SDK_SAMPLES_H
#define DRIVERS_SDK_SAMPLES_H

#include "base/core/buf.h"
#include "devplane/driver.h"

struct dp_metrics *samples_new(void);
void samples_free(struct dp_metrics *m); /* NULL allowed */

/* Appends everything in text format 0.0.4. Returns -ERR_TOO_LARGE at the buffer's limit. */
int samples_print(const struct dp_metrics *m, struct buf *out);

/* The number of samples that were rejected. */
size_t samples_rejected(const struct dp_metrics *m);

DEFINE_CLEANUP(samples_free, struct dp_metrics *);

#endif
