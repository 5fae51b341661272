/*
 * The API server and `devplane ui` serve the same page; the page expects the same of both.
 */
#include "web/session/page.h"

#include "base/json/writer.h"
#include "base/time/timestamp.h"

const struct http_field ui_fields[UI_FIELDS] = {
	{ { "content-security-policy", 23 },
	  { "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
	    "connect-src 'self'; font-src 'none'; base-uri 'none'; form-action 'none'; "
	    "frame-ancestors 'none'",
	    169 } },
	{ { "x-content-type-options", 22 }, { "nosniff", 7 } },
	{ { "referrer-policy", 15 }, { "no-referrer", 11 } },
	{ { "cross-origin-opener-policy", 26 }, { "same-origin", 11 } },
	{ { "cross-origin-resource-policy", 28 }, { "same-origin", 11 } },
};

static struct str readable(struct str s)
{
	return str_is_utf8(s) ? s : STR("(not UTF-8)");
}

void ui_put_time(struct json_writer *w, const char *key, int64_t ns)
{
	char text[TIMESTAMP_SIZE];

	json_writer_keyz(w, key);
	json_writer_str(w, timestamp_print(ns, TIMESTAMP_SECONDS, text));
}

void ui_session_print(struct buf *out, const struct ui_session_info *i)
{
	struct json_writer w;

	json_writer_init(&w, out, NULL);
	json_writer_begin_object(&w);
	json_writer_keyz(&w, "user");
	json_writer_str(&w, readable(i->user));
	json_writer_keyz(&w, "groups");
	json_writer_begin_array(&w);
	for (size_t k = 0; k < i->ngroups; k++)
		json_writer_str(&w, readable(i->groups[k]));
	json_writer_end_array(&w);
	ui_put_time(&w, "expires", i->ends_ns);
	json_writer_end_object(&w);
	(void)json_writer_finish(&w);
}

struct str ui_token_trim(struct str s)
{
	while (s.n && (unsigned char)s.p[s.n - 1] <= ' ')
		s.n--;
	while (s.n && (unsigned char)s.p[0] <= ' ')
		s = str_skip(s, 1);
	return s;
}
