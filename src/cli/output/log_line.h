/*
 * log_line - formats a line of a role's log for users.
 *
 *   {"ts":"2026-11-16T09:25:36.270191Z","level":"info","msg":"bound","pod":"a b"}
 *   2026-11-16 09:25:36.270 INFO  bound pod="a b"
 *
 * Pure. Any other line is shown as it is, without control characters.
 */
#ifndef CLI_OUTPUT_LOG_LINE_H
#define CLI_OUTPUT_LOG_LINE_H

#include "base/core/arena.h"
#include "base/core/buf.h"

struct log_line_style {
	struct str role; /* printed after the time; empty: not printed */
	size_t role_width;
	bool colour;
};

/* Appends the line and a newline. `scratch` is used and cleared. */
void log_line_print(struct buf *out, struct str line, const struct log_line_style *style,
		    struct arena *scratch);

/* The time as written in the line, which sorts chronologically; empty if it has none. */
struct str log_line_time(struct str line);

#endif
