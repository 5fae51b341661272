/*
 * ui_passes - lets processes read with the rights of sessions, for a short time.
 *
 * A process that answers a request of the device page, such as an explanation, needs the rights of
 * the session's user, and the session has no credentials that another process could use. A pass is
 * found by a secret of 256 random bits, of which only the hash is kept. It ends when its holder
 * ends it, after its time, and with the session. A process that uses it does not keep the session
 * in use. A session has at most one pass, and there are at most UI_PASSES_MAX, which also limits
 * the processes.
 *
 * No I/O; the time is a parameter.
 *
 * Threads: the sessions' loop, except that any thread may check or end a pass that it holds.
 */
#ifndef WEB_SESSION_PASSES_H
#define WEB_SESSION_PASSES_H

#include "base/core/error.h"
#include "web/session/sessions.h"

struct ui_pass {
	struct ui_session *session; /* referenced */
	int64_t ends_ns; /* monotonic; at the latest */

	/* Private to passes.c. */
	atomic_bool over;
	atomic_uint refs;
	struct list link;
	uint8_t hash[PKI_SHA256_SIZE]; /* of the secret */
};

struct ui_passes;

struct ui_passes *ui_passes_new(void);
void ui_passes_free(struct ui_passes *all); /* NULL allowed */

/*
 * A pass for the session, which the caller ends. -ERR_TOO_MANY_REQUESTS if the session has one, or
 * if there are too many.
 */
int ui_passes_issue(struct ui_passes *all, struct ui_session *e, int64_t life_ns, struct ui_now now,
		    char ret_secret[static UI_SECRET_SIZE], struct ui_pass **ret_pass,
		    struct error *err);

/* The session of the pass with that secret, borrowed; NULL if it is unknown or has ended. */
struct ui_session *ui_passes_find(struct ui_passes *all, struct str secret, int64_t mono_ns);

/* --- on any thread ------------------------------------------------------------------ */

/* Whether it has not ended. */
bool ui_pass_is_valid(const struct ui_pass *p, int64_t mono_ns);

/* Ends it, and drops the caller's reference. NULL allowed. */
void ui_pass_end(struct ui_pass *p);

DEFINE_CLEANUP(ui_pass_end, struct ui_pass *);

#endif
