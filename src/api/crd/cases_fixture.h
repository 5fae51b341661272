/*
 * crd_cases_fixture - reads files of cases about custom resources, block by block.
 *
 * A block is a line and the lines below it that begin with a tab. Lines that begin with # are
 * comments. What the words mean is each test's own.
 */
#ifndef API_CRD_CASES_FIXTURE_H
#define API_CRD_CASES_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/system/file.h"

enum { LINES_MAX = 64 };

struct lines {
	struct str v[LINES_MAX];
	size_t n;
};

/* Takes a line out; false: it is not there. */
static inline bool take(struct lines *lines, struct str line)
{
	for (size_t i = 0; i < lines->n; i++) {
		if (!str_eq(lines->v[i], line))
			continue;
		lines->v[i] = lines->v[--lines->n];
		return true;
	}
	return false;
}

struct cases {
	struct buf text; /* what lines point into */
	struct str rest, head; /* head: of the next block */
};

static inline void cases_open(struct cases *c, const char *path)
{
	struct error err;

	*c = (struct cases){ .text = BUF_INIT(4 * MIB) };
	if (file_read(path, &c->text, &err) < 0)
		fail_msg("%s", err.msg);
	c->rest = buf_str(&c->text);
}

/* The next block; false at the end, where the file is released. */
static inline bool cases_next(struct cases *c, struct str *ret_head, struct lines *ret_lines)
{
	struct str line;

	ret_lines->n = 0;
	while (str_split(&c->rest, '\n', &line)) {
		if (line.n == 0 || line.p[0] == '#')
			continue;
		if (line.p[0] == '\t') {
			assert_true(ret_lines->n < LINES_MAX);
			ret_lines->v[ret_lines->n++] = str_skip(line, 1);
			continue;
		}
		*ret_head = c->head;
		c->head = line;
		if (ret_head->n)
			return true;
	}
	*ret_head = c->head;
	c->head = STR_NULL;
	if (ret_head->n == 0)
		buf_release(&c->text);
	return ret_head->n > 0;
}

#endif
