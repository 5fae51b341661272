/*
 * assign_target - what the fuzz targets of the assignment log share: a log, and its text.
 */
#ifndef FUZZ_ASSIGN_TARGET_H
#define FUZZ_ASSIGN_TARGET_H

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "node/assign/assign.h"
#include "node/host/machine.h"
#include "target.h"

static inline struct assign *target_assign_new(const struct machine *m)
{
	static const int64_t reserved[] = { 1 << 20 };
	struct assign_opts opts = { .machine = m,
				    .static_cpus = true,
				    .static_memory = true,
				    .reserved_cpus = STR("0"),
				    .reserved_memory = reserved,
				    .nreserved_memory = 1 };
	struct assign *s = NULL;

	require(assign_new(&opts, &s, NULL) == 0);
	return s;
}

/* The checkpoint of the log, in the arena. */
static inline struct str target_assign_text(const struct assign *s, struct arena *a)
{
	struct buf b = BUF_INIT(64 * MIB);
	struct str text;

	require(assign_encode(s, &b) == 0);
	text = arena_str(a, buf_str(&b));
	buf_release(&b);
	return text;
}

#endif
