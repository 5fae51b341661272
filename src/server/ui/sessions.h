/*
 * ui_sessions - who is logged in to the device page, and one-time codes to log in with.
 *
 * A session is a copy of the user that logged in, found by a secret of 256 random bits that only
 * the browser's cookie has: here are its hash and the user. It ends after UI_IDLE_NS without a
 * request, UI_LIFE_NS after its beginning, when what the user showed ends (a token, a
 * certificate), or when it is closed. A code is the same before it is traded for a session, which
 * can be done once.
 *
 * All of it is bounded: one user's sessions, and all sessions; beyond that the one that was not
 * used for longest is closed.
 *
 * Pure: no I/O, and the time is a parameter.
 * Threads: the state's loop. A session that a request holds may be read by any, and `over` changes
 * under it; its last reference may be dropped anywhere.
 */
#ifndef SERVER_UI_SESSIONS_H
#define SERVER_UI_SESSIONS_H

#include <stdatomic.h>

#include "base/core/arena.h"
#include "base/core/clock.h"
#include "base/core/list.h"
#include "net/tls/pki_sign.h"
#include "server/core/user.h"

#define UI_IDLE_NS (INT64_C(3600) * CLOCK_SEC)
#define UI_LIFE_NS (INT64_C(12) * 3600 * CLOCK_SEC)

enum {
	UI_SECRET_BYTES = 32,
	UI_SECRET_SIZE = 44, /* base64url of it, and a NUL */
};

/* Two clocks: ages are of the one that only grows, what others wrote is of the other. */
struct ui_now {
	int64_t mono_ns, wall_ns;
};

/* A session, or a code that may become one. */
struct ui_session {
	struct user user; /* a copy, in `arena` */
	atomic_bool over; /* it has ended; never taken back */

	/* Private to ui_sessions.c. */
	struct arena arena;
	atomic_uint refs;
	struct list link; /* of its bucket, or of the codes */
	uint8_t hash[PKI_SHA256_SIZE]; /* of the secret */
	int64_t used_ns, ends_ns; /* monotonic */
};

struct ui_sessions;

struct ui_sessions *ui_sessions_new(void);
void ui_sessions_free(struct ui_sessions *s); /* NULL allowed */

/* --- codes ------------------------------------------------------------------------ */

/*
 * A code that `user` may be logged in by, for `life_ns` and no longer than what the user showed is
 * good. Returns when it ends, wall time.
 */
int64_t ui_sessions_add_code(struct ui_sessions *s, const struct user *user, int64_t life_ns,
			     struct ui_now now, char ret_code[static UI_SECRET_SIZE]);

/*
 * Whose code it is, and takes it away: nobody else gets it. The caller owns the reference. NULL
 * when there is no such code, or not any more.
 */
struct ui_session *ui_sessions_take_code(struct ui_sessions *s, struct str code, struct ui_now now);

/* --- sessions --------------------------------------------------------------------- */

/* Logs `user` in. Borrowed until the next call, unless it is referenced. */
struct ui_session *ui_sessions_open(struct ui_sessions *s, const struct user *user,
				    struct ui_now now, char ret_id[static UI_SECRET_SIZE]);

/* The session of that id, now used; borrowed as above. NULL: none, or it has ended. */
struct ui_session *ui_sessions_find(struct ui_sessions *s, struct str id, struct ui_now now);

/* Ends it; false when there is none. */
bool ui_sessions_close(struct ui_sessions *s, struct str id);

/* The same of one that was found. */
void ui_sessions_end(struct ui_sessions *s, struct ui_session *e);

/* An object is gone: ends the sessions of tokens that are bound to it. */
void ui_sessions_unbind(struct ui_sessions *s, struct str uid);

/* When it ends at the latest, wall time. */
int64_t ui_session_ends(const struct ui_session *e, struct ui_now now);

/* How many sessions ended before their time: whoever holds one should look at `over`. */
uint64_t ui_sessions_ended(const struct ui_sessions *s);

struct ui_session *ui_session_ref(struct ui_session *e);
void ui_session_unref(struct ui_session *e); /* NULL allowed */

/* It lives as long as the arena, by a reference of the arena's own. */
void ui_session_hold(struct ui_session *e, struct arena *a);

/* --- failures --------------------------------------------------------------------- */

/* A login failed. */
void ui_sessions_failed(struct ui_sessions *s, struct ui_now now);

/* Whether there were so many within this second that nobody is to be tried again in it. */
bool ui_sessions_busy(const struct ui_sessions *s, struct ui_now now);

DEFINE_CLEANUP(ui_session_unref, struct ui_session *);

#endif
