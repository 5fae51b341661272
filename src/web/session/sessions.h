/*
 * ui_sessions - the sessions of the device page, and one-time codes to log in with.
 *
 * A session has a copy of the user that logged in. It is found by a secret of 256 random bits that
 * only the browser's cookie has; the server keeps its hash. A session ends after UI_IDLE_NS
 * without a request, UI_LIFE_NS after its start, when the user's credentials expire (a token, a
 * certificate), or when it is closed. A code is a session that has not begun: it can be exchanged
 * for a session once.
 *
 * The number of sessions is limited, per user and in total. Beyond a limit the least recently
 * used one is closed.
 *
 * No I/O; the time is a parameter.
 *
 * What a user is, is the caller's business: the API server keeps its own users (server/ui), and
 * `devplane ui` the token that a user logged in with (cli/ui).
 *
 * Threads: one loop. Any thread may read a session that a request holds, while `over` may
 * change; its last reference may be dropped on any thread.
 */
#ifndef WEB_SESSION_SESSIONS_H
#define WEB_SESSION_SESSIONS_H

#include <stdatomic.h>

#include "base/core/arena.h"
#include "base/core/clock.h"
#include "base/core/list.h"
#include "web/session/secret.h"

#define UI_IDLE_NS (INT64_C(3600) * CLOCK_SEC)
#define UI_LIFE_NS (INT64_C(12) * 3600 * CLOCK_SEC)

/* Two clocks: ages use the monotonic one, expiry times of credentials use wall time. */
struct ui_now {
	int64_t mono_ns, wall_ns;
};

/* Who logs in. */
struct ui_login {
	struct str name; /* sessions are limited per name */
	int64_t ends_s; /* when the credentials expire, in seconds since 1970; 0: never */
	const void *user; /* the caller's own */
};

/* A session, or a code that may become one. */
struct ui_session {
	struct ui_login login; /* a copy, in `arena` */
	atomic_bool over; /* it has ended; never reset */

	/* Private to sessions.c. */
	void *user; /* login.user */
	void (*wipe)(void *user);
	struct arena arena;
	atomic_uint refs;
	struct list link; /* in its bucket, or in the list of codes */
	uint8_t hash[PKI_SHA256_SIZE]; /* of the secret */
	int64_t used_ns, ends_ns; /* monotonic */
};

struct ui_sessions;

/* What the caller's users are. */
struct ui_sessions_ops {
	void *(*copy)(struct arena *a, const void *user);
	/* The copy's memory will be freed: erases its secrets. On any thread. May be NULL. */
	void (*wipe)(void *user);
};

struct ui_sessions *ui_sessions_new(const struct ui_sessions_ops *ops);
void ui_sessions_free(struct ui_sessions *s); /* NULL allowed */

/* --- codes ------------------------------------------------------------------------ */

/*
 * A code with which the user can be logged in, for `life_ns`, but not longer than the user's
 * credentials are valid. Returns its expiry, wall time.
 */
int64_t ui_sessions_add_code(struct ui_sessions *s, const struct ui_login *who, int64_t life_ns,
			     struct ui_now now, char ret_code[static UI_SECRET_SIZE]);

/*
 * Finds the code and removes it, so that it works only once. The caller owns the reference. NULL
 * if the code is unknown or expired.
 */
struct ui_session *ui_sessions_take_code(struct ui_sessions *s, struct str code, struct ui_now now);

/* --- sessions --------------------------------------------------------------------- */

/* Logs the user in. Borrowed until the next call, unless it is referenced. */
struct ui_session *ui_sessions_open(struct ui_sessions *s, const struct ui_login *who,
				    struct ui_now now, char ret_id[static UI_SECRET_SIZE]);

/*
 * The session of that id, which is marked as used; borrowed as above. NULL if not found or ended.
 */
struct ui_session *ui_sessions_find(struct ui_sessions *s, struct str id, struct ui_now now);

/* Ends the session; returns false if not found. */
bool ui_sessions_close(struct ui_sessions *s, struct str id);

/* Ends a session that was found. */
void ui_sessions_end(struct ui_sessions *s, struct ui_session *e);

/* Ends the sessions, and drops the codes, of users for which `ends` is true. */
void ui_sessions_end_if(struct ui_sessions *s, bool (*ends)(const void *user, const void *arg),
			const void *arg);

/* Its latest possible end, wall time. */
int64_t ui_session_ends(const struct ui_session *e, struct ui_now now);

/*
 * The number of sessions that ended early. If it has changed, holders of sessions must check
 * `over`.
 */
uint64_t ui_sessions_ended(const struct ui_sessions *s);

struct ui_session *ui_session_ref(struct ui_session *e);
void ui_session_unref(struct ui_session *e); /* NULL allowed */

/* Keeps a reference to the session for as long as the arena lives. */
void ui_session_hold(struct ui_session *e, struct arena *a);

/* --- failures --------------------------------------------------------------------- */

/* A login failed. */
void ui_sessions_failed(struct ui_sessions *s, struct ui_now now);

/* Whether so many logins failed within this second that further ones are rejected. */
bool ui_sessions_busy(const struct ui_sessions *s, struct ui_now now);

DEFINE_CLEANUP(ui_session_unref, struct ui_session *);

#endif
