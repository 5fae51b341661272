/*
 * Replies. The plain form of an object is sent by reference: its bytes are queued, and neither
 * read nor copied here. A second reply (of a job that comes back after its timeout) is ignored:
 * reply_head() is the only place that decides.
 */
#include <stdio.h>

#include "api/write/write.h"
#include "base/core/limits.h"
#include "base/text/print.h"
#include "server/http/audit.h"
#include "server/http/reply.h"
#include "server/http/reply_form.h"
#include "server/http/reply_message.h"

enum {
	MORE_MAX = 6, /* limit for an exchange's own fields */
	WARNINGS_MAX = 100,
	WARNINGS_RUNES = 4096, /* limit for all texts; beyond it each is cut ... */
	WARNING_RUNES = 256, /* ... to this length */
};

/* --- warnings --------------------------------------------------------------------- */

/* The first `max` characters of a text. */
static struct str cut_runes(struct str s, size_t max, size_t *ret_runes)
{
	size_t runes = 0, i = 0;

	while (i < s.n) {
		if (((unsigned char)s.p[i] & 0xc0) != 0x80 && runes++ == max)
			break;
		i++;
	}
	*ret_runes = MIN(runes, max);
	return str_of(s.p, i);
}

/* `299 - "text"`. */
static struct str warning_value(struct arena *a, struct str text)
{
	char *out = arena_alloc(a, 2 * text.n + 16);
	size_t n = 0;

	memcpy(out, "299 - \"", 7);
	n = 7;
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '"' || text.p[i] == '\\')
			out[n++] = '\\';
		out[n++] = text.p[i];
	}
	out[n++] = '"';
	return str_of(out, n);
}

static bool was_told(const struct text_list *list, const struct text_list *until)
{
	for (; list != until; list = list->next)
		if (str_eq(list->text, until->text))
			return true;
	return false;
}

/* The warning of a deprecated version comes first. */
static const struct text_list *warnings_of(struct exchange *x)
{
	struct text_list *warnings = x->write ? x->write->warnings : NULL, *first;

	if (!x->deprecation.n)
		return warnings;
	first = ARENA_NEW(x->arena, struct text_list);
	first->text = x->deprecation;
	first->next = warnings;
	return first;
}

/* As upstream: duplicates are dropped; if the total is too long, each text is cut. */
size_t reply_warnings(struct exchange *x, struct http_field **ret_fields)
{
	const struct text_list *warnings = warnings_of(x);
	size_t total = 0, written = 0, n = 0, runes;
	struct http_field *fields;
	size_t max;

	if (!warnings)
		return 0;
	fields = ARENA_ARRAY(x->arena, struct http_field, WARNINGS_MAX);
	for (const struct text_list *w = warnings; w; w = w->next) {
		(void)cut_runes(w->text, SIZE_MAX, &runes);
		total += runes;
	}
	max = total > WARNINGS_RUNES ? WARNING_RUNES : SIZE_MAX;
	for (const struct text_list *w = warnings; w && n < WARNINGS_MAX; w = w->next) {
		struct str text = cut_runes(w->text, max, &runes);

		if (!text.n || !print_is_clean(text) || was_told(warnings, w))
			continue;
		if (written >= WARNINGS_RUNES)
			break;
		written += runes;
		fields[n++] = HTTP_FIELD("warning", warning_value(x->arena, text));
	}
	*ret_fields = fields;
	return n;
}

/* --- sending ---------------------------------------------------------------------- */

/* The last resort: without any reply the request would wait forever. */
static void fail_plainly(struct exchange *x)
{
	struct error err;

	(void)error_set(&err, ERR_INTERNAL, "the fields of the answer are too large");
	x->status = error_http_status(ERR_INTERNAL);
	http_stream_fail(x->stream, &err);
}

bool reply_head(struct exchange *x, int status, struct str content_type, struct str encoding,
		int64_t length)
{
	struct http_field few[11 + MORE_MAX] UNZEROED, *fields = few, *warnings = NULL;
	size_t n = 0, nwarnings;
	int r;

	if (x->answered)
		return false;
	x->answered = true;
	x->status = status;
	nwarnings = reply_warnings(x, &warnings);
	if (nwarnings)
		fields = ARENA_ARRAY(x->arena, struct http_field, nwarnings + ARRAY_SIZE(few));
	fields[n++] = HTTP_FIELD("content-type", content_type);
	fields[n++] = (struct http_field){ .name = STR("audit-id"),
					   .value = str_from(x->audit_id),
					   .unique = true,
					   .lasting = true };
	fields[n] = HTTP_FIELD("cache-control", x->cache_control ? str_from(x->cache_control)
								 : STR("no-cache, private"));
	fields[n++].lasting = !x->cache_control;
	if (encoding.n) {
		fields[n++] = HTTP_FIELD("content-encoding", encoding);
		fields[n++] = HTTP_FIELD("vary", STR("Accept-Encoding"));
	}
	if (x->about.retry_after_s)
		fields[n++] = HTTP_FIELD(
			"retry-after",
			str_from(arena_printf(x->arena, "%d", x->about.retry_after_s)));
	if (x->etag) {
		fields[n++] = HTTP_FIELD("etag", str_from(x->etag));
		fields[n++] = HTTP_FIELD("vary", STR("Accept"));
	}
	if (x->location.n)
		fields[n++] = HTTP_FIELD("location", x->location);
	for (size_t i = 0; i < x->nmore && i < MORE_MAX; i++)
		fields[n++] = x->more[i];
	n += flow_fields(&x->flow, fields + n);
	for (size_t i = 0; i < nwarnings; i++)
		fields[n++] = warnings[i];
	r = http_stream_respond(x->stream, status, fields, n, length);
	if (r == -ERR_HEADERS_TOO_LARGE)
		fail_plainly(x);
	return r == 0;
}

/*
 * A write that has been made is not rejected: the stream is reset, so that the client takes the
 * outcome as unknown.
 */
static void refuse_body(struct exchange *x)
{
	struct error err;

	if (!request_verb_writes(x->request.verb)) {
		exchange_refuse_memory(x);
		return;
	}
	(void)error_set(&err, ERR_TOO_MANY_REQUESTS, "too much memory is held for the client");
	x->answered = true;
	x->status = error_http_status(ERR_TOO_MANY_REQUESTS);
	http_stream_reset(x->stream, &err);
}

bool reply_take(struct exchange *x, size_t bytes)
{
	if (x->answered || memory_take_rest(x, bytes))
		return true;
	refuse_body(x);
	return false;
}

void reply_body(struct exchange *x, int status, struct str content_type, struct slice body)
{
	if (!reply_take(x, body.n) ||
	    !reply_head(x, status, content_type, STR_NULL, (int64_t)body.n)) {
		slice_release(&body);
		return;
	}
	(void)http_stream_send(x->stream, body);
	(void)http_stream_end(x->stream, NULL, 0);
	flow_leave(&x->flow);
	exchange_made(x);
}

struct str reply_content_type(const struct exchange *x)
{
	return negotiate_media_type(x->accept.format);
}

static void send_buf(struct exchange *x, int status, struct str content_type, const struct buf *b)
{
	struct bytes *bytes = bytes_copy(buf_str(b));

	reply_body(x, status, content_type, (struct slice){ bytes->data, bytes->n, bytes });
}

/* Sends JSON text as protobuf; returns false if its kind has no protobuf. */
static bool send_as_message(struct exchange *x, int status, struct str text)
{
	CLEANUP(arena_release) struct arena scratch;
	struct reply_form f = reply_form_of(x);
	struct json *tree;

	arena_init(&scratch, SIZE_MAX);
	return json_parse(&scratch, text, NULL, &tree, NULL) == 0 &&
	       reply_message_tree(x, status, &f, tree, NULL) == 0;
}

/* Takes over the bytes. */
static void send_json(struct exchange *x, int status, enum accept_format format, struct bytes *json)
{
	CLEANUP(arena_release) struct arena scratch;
	CLEANUP(buf_release) struct buf out = BUF_INIT(REPLY_MAX);
	CLEANUP(bytes_unref) struct bytes *text = json;
	bool yaml = format == ACCEPT_YAML;

	arena_init(&scratch, SIZE_MAX);
	if (format == ACCEPT_PROTOBUF && send_as_message(x, status, bytes_str(text)))
		return;
	if ((yaml || x->accept.pretty) &&
	    reply_form_restyle(yaml, &scratch, bytes_str(text), &out, NULL) == 0)
		send_buf(x, status, negotiate_media_type(yaml ? ACCEPT_YAML : ACCEPT_JSON), &out);
	else
		reply_body(x, status, STR("application/json"), slice_of(text));
}

void reply_json(struct exchange *x, int status, struct bytes *json)
{
	send_json(x, status, x->accept.format, json);
}

static void reply_buf_json(struct exchange *x, int status, const struct buf *b)
{
	struct bytes *json = bytes_copy(buf_str(b));

	audit_response(x, json);
	reply_json(x, status, json);
}

void reply_text(struct exchange *x, int status, struct str content_type, struct str text)
{
	struct bytes *bytes = bytes_copy(text);

	reply_body(x, status, content_type, (struct slice){ bytes->data, bytes->n, bytes });
}

/* --- failures --------------------------------------------------------------------- */

void reply_status(struct exchange *x, const struct error *err, const struct status_about *about)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(4 * MIB);
	int status = error_http_status((int)err->code);

	x->about.retry_after_s = about->retry_after_s;
	/* A request that is rejected early has not been negotiated yet. */
	if (!x->accept.as_version.p)
		(void)exchange_negotiate(x, ACCEPT_OF_RESOURCES | ACCEPT_OBJECT_AS_PROTOBUF, NULL);
	if (status_print(err, about, &out) < 0) {
		reply_text(x, status, STR("text/plain; charset=utf-8"), str_from(err->msg));
		return;
	}
	audit_failure(x, buf_str(&out));
	send_json(x, status, x->accept.failure_format, bytes_copy(buf_str(&out)));
}

void reply_refusal(struct exchange *x, const struct json *status)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(4 * MIB);
	int code = (int)json_i64_at(status, "code", 500);

	if (json_print(&out, status, NULL) < 0) {
		reply_text(x, code, STR("text/plain; charset=utf-8"),
			   json_text_at(status, "message"));
		return;
	}
	audit_failure(x, buf_str(&out));
	send_json(x, code, x->accept.failure_format, bytes_copy(buf_str(&out)));
}

void reply_error(struct exchange *x, const struct error *err, const struct field_errors *causes)
{
	const struct schema_kind *kind = x->about.kind ? x->about.kind : x->kind;
	struct status_about about = {
		.name = x->about.name.p ? x->about.name : x->request.name,
		.causes = causes,
		.cause_reason = x->about.cause_reason,
		.cause_message = x->about.cause_message,
		.cause_field = x->about.cause_field,
		.retry_after_s = x->about.retry_after_s,
	};

	if (x->write) {
		about.message = x->write->message;
		about.conflicts = x->write->conflicts;
	}
	if (kind) {
		about.group = kind->group;
		about.resource = kind->resource;
		about.kind = kind->kind;
	}
	/* A store that is unreachable now may be reachable later. */
	if (err->code == ERR_UNAVAILABLE && !about.retry_after_s)
		about.retry_after_s = 1;
	reply_status(x, err, &about);
}

void reply_bad_options(struct exchange *x, const char *options_kind, const struct error *err,
		       const struct field_errors *causes)
{
	struct status_about about = {
		.group = STR("meta.k8s.io"),
		.kind = str_from(options_kind),
		.causes = causes,
	};

	if (err->code != ERR_INVALID)
		about = (struct status_about){ .causes = NULL };
	reply_status(x, err, &about);
}

void reply_no_page(struct exchange *x)
{
	reply_text(x, 404, STR("text/plain; charset=utf-8"), STR("404 page not found\n"));
}

/* --- success ---------------------------------------------------------------------- */

void reply_success(struct exchange *x, int status)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(KIB);

	(void)buf_printf(&out,
			 "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
			 "\"status\":\"Success\",\"code\":%d}",
			 status);
	reply_buf_json(x, status, &out);
}

void reply_deleted(struct exchange *x, struct str name, struct str uid)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(64 * KIB);
	struct status_about about = {
		.group = x->kind->group,
		.resource = x->kind->resource,
		.kind = x->kind->kind,
		.name = name,
		.uid = uid,
	};

	(void)status_print_deleted(&about, &out);
	reply_buf_json(x, 200, &out);
}

/* A single object cannot be shown as a list. */
static bool refuse_form(struct exchange *x, const struct reply_form *f)
{
	struct error err;

	if (f->as != ACCEPT_PARTIAL_LIST)
		return false;
	(void)error_set(&err, ERR_NOT_ACCEPTABLE,
			"you requested PartialObjectMetadataList, but the requested object is not "
			"a list (%.*s)",
			STR_ARG(f->kind->kind));
	reply_error(x, &err, NULL);
	return true;
}

static void print_form(struct exchange *x, int status, const struct reply_form *f,
		       struct arena *scratch, struct json *tree)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(REPLY_MAX);
	struct error err;

	if (reply_form_print(f, scratch, tree, &out, &err) < 0) {
		(void)error_set(&err, ERR_INTERNAL, "the object cannot be printed");
		reply_error(x, &err, NULL);
		return;
	}
	send_buf(x, status, reply_content_type(x), &out);
}

void reply_object(struct exchange *x, int status, const struct object *o)
{
	CLEANUP(arena_release) struct arena scratch;
	struct reply_form f = reply_form_of(x);
	struct json *tree;
	struct error err UNZEROED;

	arena_init(&scratch, SIZE_MAX);
	if (x->answered)
		return;
	audit_response(x, o->json);
	if (reply_form_is_plain(&f))
		reply_body(x, status, STR("application/json"), slice_of(o->json));
	else if (refuse_form(x, &f))
		return;
	else if (f.protobuf)
		reply_message_object(x, status, &f, o);
	else if (reply_form_tree(&f, &scratch, o, &tree, &err) < 0)
		reply_error(x, &err, NULL);
	else
		print_form(x, status, &f, &scratch, tree);
}

/* The tree may be of another kind than the resource: a Scale. */
static const struct schema_kind *reply_kind_of(const struct json *tree,
					       const struct schema_kind *usual)
{
	const struct schema_kind *kind = schema_find_kind(json_text_at(tree, "apiVersion"),
							  json_text_at(tree, "kind"));

	return kind ? kind : usual;
}

void reply_tree(struct exchange *x, int status, const struct json *tree)
{
	CLEANUP(arena_release) struct arena scratch;
	struct reply_form f = reply_form_of(x);
	struct json *copy;
	struct error err;

	arena_init(&scratch, SIZE_MAX);
	f.kind = reply_kind_of(tree, f.kind);
	if (x->answered || refuse_form(x, &f))
		return;
	audit_response_tree(x, tree);
	if (f.protobuf) {
		if (reply_message_tree(x, status, &f, tree, &err) < 0)
			reply_error(x, &err, NULL);
		return;
	}
	if (json_copy(&scratch, tree, &copy, &err) < 0)
		reply_error(x, &err, NULL);
	else
		print_form(x, status, &f, &scratch, copy);
}
