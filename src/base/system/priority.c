/*
 * sched_setattr() sets policy and nice value at once, and is allowed in sandboxes that forbid
 * setpriority(), such as those of the systemd units.
 */
#include "base/system/priority.h"

#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's struct sched_attr, which no header of the C library has. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

void priority_lower(int pid)
{
	struct attributes a = { .size = sizeof(a),
				.policy = SCHED_BATCH,
				.nice = PRIORITY_LOW_NICE };

	(void)syscall(SYS_sched_setattr, pid, &a, 0);
}
