/*
 * lib_url - absolute URLs and absolute paths, as Go's net/url reads them.
 */
#ifndef CEL_LIB_URL_H
#define CEL_LIB_URL_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"

struct cel_url {
	struct str scheme; /* in lower case */
	struct str opaque; /* of "mailto:a@b": what follows the scheme */
	struct str user; /* as written, before '@' */
	bool has_user;
	struct str host; /* with port, unescaped */
	struct str path; /* unescaped */
	struct str escaped_path; /* as one writes it in a URL */
	struct str query; /* behind '?', as written */
	bool force_query; /* a '?' with nothing behind it */
	struct str fragment; /* behind '#', as one writes it in a URL */
	struct str text; /* all of it, in the canonical form that equality compares */
};

/* -ERR_INVALID with Go's words: `parse "a": invalid URI for request`. Memory is the arena's. */
int cel_url_parse(struct arena *a, struct str text, struct cel_url *ret_url, struct error *err);

/* The same without a result. */
int cel_url_check(struct str text, struct error *err);

#endif
