/*
 * audit - one line of JSON per request, in the form of audit.k8s.io/v1.
 *
 * Level Metadata, stage ResponseComplete (watches: also ResponseStarted): who
 * did what, when, and how it ended; bodies are not recorded. Lines are written
 * by the loop of the request, one write each, so that a line is never torn.
 */
#ifndef SERVER_AUDIT_H
#define SERVER_AUDIT_H

#include "base/error.h"
#include "base/str.h"

struct arena;
struct audit;
struct exchange;

/* What admission has to say about a request: in the order in which it came. */
struct audit_annotation {
	struct audit_annotation *next;
	struct str key, value;
};

/* Adds one, copied into the arena; the first of a key counts. */
void audit_annotate(struct audit_annotation **list, struct arena *a, struct str key,
		    struct str value);

/* Appends to the file, mode 0600; "-" is standard output. */
int audit_open(const char *path, struct audit **ret_audit, struct error *err);
void audit_close(struct audit *a); /* NULL allowed */

/* Gives the exchange its audit id; the client's Audit-ID header when it sent one. */
void audit_begin(struct exchange *x);

/* A watch was answered. */
void audit_started(struct exchange *x);

/* The exchange is over, with x->status. Writes a line when there is a log. */
void audit_end(struct exchange *x);

#endif
