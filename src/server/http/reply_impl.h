/*
 * reply_impl - what the files of the answers share.
 */
#ifndef SERVER_HTTP_REPLY_IMPL_H
#define SERVER_HTTP_REPLY_IMPL_H

#include "api/object/status.h"
#include "server/http/exchange.h"

/* An answer that is made in one buffer: some times OBJECT_MAX. */
#define REPLY_MAX (64UL * MIB)

/*
 * Sends the head; false when the exchange was answered or closed before.
 * `encoding` is empty or "gzip"; length -1: not known.
 */
bool reply_head(struct exchange *x, int status, struct str content_type, struct str encoding,
		int64_t length);

/*
 * Has the client's memory take so many bytes of an answer on, before its head; false when that was
 * refused instead (memory.h).
 */
bool reply_take(struct exchange *x, size_t bytes);

/*
 * The warnings of an answer as fields, in x->arena; how many. reply_head() sends them; for who
 * sends a head of its own. Once in an exchange.
 */
size_t reply_warnings(struct exchange *x, struct http_field **ret_fields);

/* Head, body and end. The slice is taken over. */
void reply_body(struct exchange *x, int status, struct str content_type, struct slice body);

/* A failure's Status that says more than reply_error() knows. */
void reply_status(struct exchange *x, const struct error *err, const struct status_about *about);

/* A Status that was made elsewhere; its code is the answer's. */
void reply_refusal(struct exchange *x, const struct json *status);

/* The options in the query are refused. */
void reply_bad_options(struct exchange *x, const char *options_kind, const struct error *err,
		       const struct field_errors *causes);

/* Upstream's answer to paths that nothing serves. */
void reply_no_page(struct exchange *x);

/* `{"kind":"Status",..,"status":"Success","code":201}`. */
void reply_success(struct exchange *x, int status);

/* What a deletion that leaves no object to show is answered with. */
void reply_deleted(struct exchange *x, struct str name, struct str uid);

/* The media type of what was negotiated. */
struct str reply_content_type(const struct exchange *x);

#endif
