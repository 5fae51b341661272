/*
 * page - what every server of the device page sends alike.
 *
 * No side effects.
 */
#ifndef WEB_SESSION_PAGE_H
#define WEB_SESSION_PAGE_H

#include "base/core/buf.h"
#include "net/http/http.h"

/* The header fields of every reply below /ui: a policy that only lets in the page's own files. */
enum { UI_FIELDS = 5 };
extern const struct http_field ui_fields[UI_FIELDS];

/* What the page learns of its session. */
struct ui_session_info {
	struct str user;
	const struct str *groups;
	size_t ngroups;
	int64_t ends_ns; /* its latest possible end, wall time */
};

/* Appends it as JSON. */
void ui_session_print(struct buf *out, const struct ui_session_info *i);

/* Appends "NAME":"TIME" as a member of the object that is being written. */
struct json_writer;
void ui_put_time(struct json_writer *w, const char *key, int64_t ns);

/* A token as a person pasted it, without the white space around it. */
struct str ui_token_trim(struct str s);

#endif
