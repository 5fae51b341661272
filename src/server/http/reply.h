/*
 * reply - shared by the files that reply.
 */
#ifndef SERVER_HTTP_REPLY_H
#define SERVER_HTTP_REPLY_H

#include "api/object/status.h"
#include "base/core/limits.h"
#include "server/http/exchange.h"

/* Limit for a reply that is made in one buffer: several times OBJECT_MAX. */
#define REPLY_MAX (64UL * MIB)

/*
 * Sends the head. Returns false if the exchange was answered or closed before. `encoding` is
 * empty or "gzip"; length -1: unknown.
 */
bool reply_head(struct exchange *x, int status, struct str content_type, struct str encoding,
		int64_t length);

/*
 * Charges that many bytes of a reply to the client, before the head is sent. Returns false if
 * that exceeds a limit; the error reply has been sent (memory.h).
 */
bool reply_take(struct exchange *x, size_t bytes);

/*
 * Makes header fields of the reply's warnings, in x->arena; returns their number. Call it at most
 * once per exchange, and only if you send a head of your own: reply_head() includes them.
 */
size_t reply_warnings(struct exchange *x, struct http_field **ret_fields);

/* Head, body and end. Takes over the slice. */
void reply_body(struct exchange *x, int status, struct str content_type, struct slice body);

/* The Status of a failure with more details than reply_error() has. */
void reply_status(struct exchange *x, const struct error *err, const struct status_about *about);

/* A Status that was made elsewhere; its code is the HTTP status. */
void reply_refusal(struct exchange *x, const struct json *status);

/* Rejects the options in the query. */
void reply_bad_options(struct exchange *x, const char *options_kind, const struct error *err,
		       const struct field_errors *causes);

/* Upstream's reply for paths that do not exist. */
void reply_no_page(struct exchange *x);

/* `{"kind":"Status",..,"status":"Success","code":201}`. */
void reply_success(struct exchange *x, int status);

/* The reply to a deletion that leaves no object to show. */
void reply_deleted(struct exchange *x, struct str name, struct str uid);

/* The negotiated media type. */
struct str reply_content_type(const struct exchange *x);

#endif
