/*
 * audit - one line of JSON per request, in the format of audit.k8s.io/v1.
 *
 * Level Metadata, stage ResponseComplete (watches: also ResponseStarted): who did what and when,
 * and the outcome. Bodies are not recorded. The request's loop writes the line. If a line cannot
 * be written, the server counts that (apiserver_audit_error_total) and proceeds. In strict mode
 * each request is also logged before it is executed (RequestReceived), and rejected if that
 * fails.
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

/* Annotations that admission adds to a request, in the order in which they were added. */
struct audit_annotation {
	struct audit_annotation *next;
	struct str key, value;
};

/* Adds an annotation, copied into the arena. If the key exists, the first value stays. */
void audit_annotate(struct audit_annotation **list, struct arena *a, struct str key,
		    struct str value);

struct audit_opts {
	const char *path; /* appended to, mode 0600; "-" is standard output */
	bool strict;
	struct metrics *metrics;
	const struct log *log;
};

int audit_open(const struct audit_opts *opts, struct audit **ret_audit, struct error *err);
void audit_close(struct audit *a); /* NULL allowed */
DEFINE_CLEANUP(audit_close, struct audit *);

/* Sets the exchange's audit ID: the client's Audit-ID header if it sent one, else a new one. */
void audit_begin(struct exchange *x);

/*
 * The user is known. Returns false if the line cannot be written and the request must be
 * rejected.
 */
bool audit_received(struct exchange *x);

/* The reply to a watch has begun. */
void audit_started(struct exchange *x);

/* The exchange has ended with x->status. Writes a line if there is a log. */
void audit_end(struct exchange *x);

#endif
