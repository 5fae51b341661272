/*
 * kmsg_reader - follows the kernel's log, and reports Xids as they happen.
 *
 * It begins with the next record: NVML's recovery action shows faults from before. If the kernel
 * overwrites records faster than they are read, those are skipped.
 * Threads: the loop's.
 */
#ifndef DRIVERS_GPU_HEALTH_KMSG_READER_H
#define DRIVERS_GPU_HEALTH_KMSG_READER_H

#include "base/core/error.h"
#include "drivers/gpu_health/kmsg.h"

struct loop;
struct kmsg_reader;

/*
 * `path` NULL: /dev/kmsg, which needs root. The xid is borrowed until on_xid() returns, which may
 * free the reader.
 */
int kmsg_reader_new(struct loop *l, const char *path,
		    void (*on_xid)(void *arg, const struct kmsg_xid *xid), void *arg,
		    struct kmsg_reader **ret_reader, struct error *err);
void kmsg_reader_free(struct kmsg_reader *r); /* NULL allowed */

#endif
