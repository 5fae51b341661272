/*
 * log_line - a line of a role's log, for people.
 *
 *	{"ts":"2026-11-16T09:25:36.270191Z","level":"info","msg":"bound","pod":"a b"}
 *	2026-11-16 09:25:36.270 INFO  bound pod="a b"
 *
 * Pure. What is no such line is shown as it is, made harmless.
 */
#ifndef CLI_OUTPUT_LOG_LINE_H
#define CLI_OUTPUT_LOG_LINE_H

#include "base/core/arena.h"
#include "base/core/buf.h"

struct log_line_style {
	struct str role; /* shown behind the time; empty: not */
	size_t role_width;
	bool colour;
};

/* Appends the line and a newline. `scratch` is used, and cleared. */
void log_line_print(struct buf *out, struct str line, const struct log_line_style *style,
		    struct arena *scratch);

/* The time of the line as it is written, which sorts as times do; empty when it has none. */
struct str log_line_time(struct str line);

#endif
