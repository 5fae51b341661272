/*
 * web - the files of the device page, as constants of the program.
 *
 * They are made at build time from the files of this folder that meson.build names. Nothing in
 * them is secret and nothing is made for a user: whoever serves them may send them to anybody.
 * Threads: constant.
 */
#ifndef WEB_WEB_H
#define WEB_WEB_H

#include "base/core/str.h"

struct web_file {
	struct str name; /* "index.html" */
	const char *content_type;
	const char *etag; /* of the content, with its quotes */
	struct str bytes;
	struct str zipped; /* the same, gzipped; empty: not worth it */
};

/* The file of exactly that name, or NULL. Names are not decoded, and there are no folders. */
const struct web_file *web_find(struct str name);

/* All of them, in the order of their names. */
const struct web_file *web_all(size_t *ret_n);

#endif
