/*
 * ui_sessions - the sessions of the device page, and one-time codes to log in with.
 *
 * A session is a copy of the user that logged in. It is found by a secret of 256 random bits that
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
 * Threads: the state's loop. Any thread may read a session that a request holds, while `over` may
 * change; its last reference may be dropped on any thread.
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

/* Two clocks: ages use the monotonic one, expiry times of credentials use wall time. */
struct ui_now {
	int64_t mono_ns, wall_ns;
};

/* A session, or a code that may become one. */
struct ui_session {
	struct user user; /* a copy, in `arena` */
	atomic_bool over; /* it has ended; never reset */

	/* Private to sessions.c. */
	struct arena arena;
	atomic_uint refs;
	struct list link; /* in its bucket, or in the list of codes */
	uint8_t hash[PKI_SHA256_SIZE]; /* of the secret */
	int64_t used_ns, ends_ns; /* monotonic */
};

struct ui_sessions;

struct ui_sessions *ui_sessions_new(void);
void ui_sessions_free(struct ui_sessions *s); /* NULL allowed */

/* --- codes ------------------------------------------------------------------------ */

/*
 * A code with which `user` can be logged in, for `life_ns`, but not longer than the user's
 * credentials are valid. Returns its expiry, wall time.
 */
int64_t ui_sessions_add_code(struct ui_sessions *s, const struct user *user, int64_t life_ns,
			     struct ui_now now, char ret_code[static UI_SECRET_SIZE]);

/*
 * Finds the code and removes it, so that it works only once. The caller owns the reference. NULL
 * if the code is unknown or expired.
 */
struct ui_session *ui_sessions_take_code(struct ui_sessions *s, struct str code, struct ui_now now);

/* --- sessions --------------------------------------------------------------------- */

/* Logs `user` in. Borrowed until the next call, unless it is referenced. */
struct ui_session *ui_sessions_open(struct ui_sessions *s, const struct user *user,
				    struct ui_now now, char ret_id[static UI_SECRET_SIZE]);

/*
 * The session of that id, which is marked as used; borrowed as above. NULL if not found or ended.
 */
struct ui_session *ui_sessions_find(struct ui_sessions *s, struct str id, struct ui_now now);

/* Ends the session; returns false if not found. */
bool ui_sessions_close(struct ui_sessions *s, struct str id);

/* Ends a session that was found. */
void ui_sessions_end(struct ui_sessions *s, struct ui_session *e);

/* An object was deleted: ends the sessions of tokens that are bound to it. */
void ui_sessions_unbind(struct ui_sessions *s, struct str uid);

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
