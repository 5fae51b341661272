/*
 * audit - the audit log: which requests it records, and where their events go.
 *
 * Without a policy, each request is one event of level Metadata when it ends (watches: also when
 * their reply begins). A policy is read at the start and again whenever its file changes; if the
 * new one is faulty, the old one stays. Events go to a file, to a webhook, or to both. Neither
 * holds up a request, except for a file that is not in batch mode.
 *
 * Threads: audit_decide() on a lane's loop, with its lane's number; audit_open() and audit_close()
 * on the first loop's thread; the others any.
 */
#ifndef SERVER_AUDIT_AUDIT_H
#define SERVER_AUDIT_AUDIT_H

#include "server/audit/event.h"
#include "server/core/audit_options.h"

struct audit;

int audit_open(const struct audit_opts *opts, struct audit **ret_audit, struct error *err);
void audit_close(struct audit *a); /* NULL allowed */
DEFINE_CLEANUP(audit_close, struct audit *);

/* What the policy says about a request, also counted; and whether there is a policy. */
struct audit_decision audit_decide(struct audit *a, size_t lane, const struct audit_question *q);
bool audit_has_policy(const struct audit *a);

/* Whether requests whose first line cannot be written are rejected; counts such a rejection. */
bool audit_is_strict(const struct audit *a);
void audit_count_rejection(struct audit *a);

/* Records an event. Returns false if it is lost in the file: it could not be written there. */
bool audit_emit(struct audit *a, const struct audit_event *e);

#endif
