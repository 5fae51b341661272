/*
 * json_writer - prints JSON without building a tree first.
 *
 *	json_writer_init(&w, &buf, NULL);
 *	json_writer_begin_object(&w);
 *	json_writer_keyz(&w, "kind");
 *	json_writer_strz(&w, "Status");
 *	json_writer_end_object(&w);
 *	return json_writer_finish(&w);
 *
 * The writer adds commas, quotes and indentation. The calls must make up exactly one value.
 * Anything else (a value without its key, an end that does not match) is a bug and asserts. The
 * calls return nothing: the buffer records an overflow, and json_writer_finish() reports it.
 */
#ifndef BASE_JSON_WRITER_H
#define BASE_JSON_WRITER_H

#include "base/json/json.h"

enum { JSON_WRITER_DEPTH_MAX = 64 };

/* Embed it; the fields are internal. */
struct json_writer {
	struct buf *out; /* appended to; must outlive the writer */
	struct json_style style;
	uint64_t objects; /* one bit per open level, the innermost lowest */
	unsigned depth;
	bool follows; /* the innermost level has a child already */
	bool keyed; /* a key waits for its value */
};

/* `style` may be NULL: compact. Nothing needs releasing. */
void json_writer_init(struct json_writer *w, struct buf *out, const struct json_style *style);

void json_writer_begin_object(struct json_writer *w);
void json_writer_end_object(struct json_writer *w);
void json_writer_begin_array(struct json_writer *w);
void json_writer_end_array(struct json_writer *w);

/* Call it before every value in an object. It does not check for repeated names. */
void json_writer_key(struct json_writer *w, struct str key);
void json_writer_keyz(struct json_writer *w, const char *key);

void json_writer_null(struct json_writer *w);
void json_writer_bool(struct json_writer *w, bool v);
void json_writer_i64(struct json_writer *w, int64_t v);
void json_writer_u64(struct json_writer *w, uint64_t v);
void json_writer_f64(struct json_writer *w, double v); /* v is finite */
void json_writer_str(struct json_writer *w, struct str v); /* v is UTF-8 */
void json_writer_strz(struct json_writer *w, const char *v);

/* A whole tree as one value. */
void json_writer_tree(struct json_writer *w, const struct json *v);

/* A value that is already JSON text; copied unchanged. */
void json_writer_raw(struct json_writer *w, struct str text);

/* Call it after the value is complete. Returns 0, or -ERR_TOO_LARGE if the buffer overflowed. */
int json_writer_finish(struct json_writer *w);

#endif
