/*
 * issues - errors in an expression, with their places.
 *
 *	ERROR: <input>:1:8: undeclared reference to 'devise' (in container '')
 *	 | 1 == 1 && devise.driver
 *	 | ..........^
 */
#ifndef CEL_CORE_ISSUES_H
#define CEL_CORE_ISSUES_H

#include "base/core/arena.h"
#include "base/core/buf.h"

struct cel_issue {
	struct cel_issue *next;
	size_t offset; /* in bytes from the start of the text; SIZE_MAX: no place */
	struct str message;
};

struct cel_issues {
	struct arena *arena;
	struct str text; /* of the expression */
	struct cel_issue *first, *last;
	size_t n; /* number of all issues; at most CEL_ISSUES_MAX are kept */
};

void cel_issues_init(struct cel_issues *issues, struct arena *a, struct str text);
void cel_issue_add(struct cel_issues *issues, size_t offset, const char *fmt, ...)
	PRINTF_LIKE(3, 4);

/* Returns line and column, both from 1, in characters, as messages count them. */
void cel_issue_place(const struct cel_issues *issues, const struct cel_issue *issue,
		     size_t *ret_line, size_t *ret_column);

/* Appends all issues sorted by place, as cel-go prints them (see above), joined by "\n". */
void cel_issues_print(const struct cel_issues *issues, struct buf *out);

#endif
