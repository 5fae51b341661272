/*
 * audit - one line of JSON per request, in the form of audit.k8s.io/v1.
 *
 * Level Metadata, stage ResponseComplete (watches: also ResponseStarted): who
 * did what, when, and how it ended; bodies are not recorded. Lines are written
 * by the loop of the request. A line that cannot be written is counted
 * (apiserver_audit_error_total), and requests go on; in strict mode each request
 * is written before it is done, too (RequestReceived), and refused if that fails.
 */
#ifndef SERVER_HTTP_AUDIT_H
#define SERVER_HTTP_AUDIT_H

#include "base/core/error.h"
#include "base/core/str.h"

struct arena;
struct audit;
struct exchange;
struct log;
struct metrics;

/* What admission has to say about a request: in the order in which it came. */
struct audit_annotation {
	struct audit_annotation *next;
	struct str key, value;
};

/* Adds one, copied into the arena; the first of a key counts. */
void audit_annotate(struct audit_annotation **list, struct arena *a, struct str key,
		    struct str value);

struct audit_opts {
	const char *path; /* is appended to, mode 0600; "-" is standard output */
	bool strict;
	struct metrics *metrics;
	const struct log *log;
};

int audit_open(const struct audit_opts *opts, struct audit **ret_audit, struct error *err);
void audit_close(struct audit *a); /* NULL allowed */
DEFINE_CLEANUP(audit_close, struct audit *);

/* Gives the exchange its audit id; the client's Audit-ID header when it sent one. */
void audit_begin(struct exchange *x);

/* Its user is known. False: it must be refused, as its line cannot be written. */
bool audit_received(struct exchange *x);

/* A watch was answered. */
void audit_started(struct exchange *x);

/* The exchange is over, with x->status. Writes a line when there is a log. */
void audit_end(struct exchange *x);

#endif
