/*
 * crd_cases_fixture - reads .cases files about custom resources, block by block.
 *
 * A block is a line and the lines below it that begin with a tab. Lines that begin with # are
 * comments. Each test defines the meaning of the words.
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

/* Removes a line. Returns false if not found. */
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
	struct buf text; /* the file; lines point into it */
	struct str rest, head; /* head: first line of the next block */
};

static inline void cases_open(struct cases *c, const char *path)
{
	struct error err;

	*c = (struct cases){ .text = BUF_INIT(4 * MIB) };
	if (file_read(path, &c->text, &err) < 0)
		fail_msg("%s", err.msg);
	c->rest = buf_str(&c->text);
}

/* Reads the next block. At the end, releases the file and returns false. */
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
