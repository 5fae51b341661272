/*
 * Sessions are in buckets by a byte of their hash. The hash is SHA-256 of a secret that clients
 * cannot choose, so the choice of a bucket reveals nothing about the secrets in it. Within a
 * bucket all hashes are compared, each in constant time. An ended session is dropped when it is
 * found: by a lookup, or when a new one is made and all are visited anyway.
 */
#include "web/session/sessions.h"

#include <stdlib.h>

#include "base/core/mem.h"
#include "web/web_limits.h"

enum { BUCKETS = 64 };

struct ui_sessions {
	const struct ui_sessions_ops *ops;
	struct list buckets[BUCKETS];
	struct list codes;
	uint64_t ended;
	int64_t second; /* the second in which failures are counted */
	unsigned failures;
};

/* --- a session -------------------------------------------------------------------- */

static struct ui_session *session_new(const struct ui_sessions *s, const struct ui_login *who,
				      int64_t life_ns, struct ui_now now)
{
	struct ui_session *e = XNEW(struct ui_session);

	atomic_init(&e->refs, 1);
	list_init(&e->link);
	arena_init(&e->arena, SIZE_MAX);
	e->user = s->ops->copy(&e->arena, who->user);
	e->wipe = s->ops->wipe;
	e->login = (struct ui_login){ arena_str(&e->arena, who->name), who->ends_s, e->user };
	e->used_ns = now.mono_ns;
	e->ends_ns = now.mono_ns + life_ns;
	return e;
}

struct ui_session *ui_session_ref(struct ui_session *e)
{
	atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
	return e;
}

void ui_session_unref(struct ui_session *e)
{
	if (!e || atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) > 1)
		return;
	if (e->wipe)
		e->wipe(e->user);
	arena_release(&e->arena);
	free(e);
}

static void drop_held(void *e)
{
	ui_session_unref(e);
}

void ui_session_hold(struct ui_session *e, struct arena *a)
{
	arena_hold(a, drop_held, ui_session_ref(e));
}

/* The user's credentials expire at a second of the wall clock, and are valid until then. */
static bool has_ended(const struct ui_session *e, struct ui_now now)
{
	return now.mono_ns >= e->ends_ns || now.mono_ns - e->used_ns >= UI_IDLE_NS ||
	       (e->login.ends_s && now.wall_ns / CLOCK_SEC >= e->login.ends_s);
}

int64_t ui_session_ends(const struct ui_session *e, struct ui_now now)
{
	int64_t ends_ns = now.wall_ns + (e->ends_ns - now.mono_ns);

	if (e->login.ends_s && e->login.ends_s < ends_ns / CLOCK_SEC)
		ends_ns = e->login.ends_s * CLOCK_SEC;
	return ends_ns;
}

/* --- all of them ------------------------------------------------------------------ */

struct ui_sessions *ui_sessions_new(const struct ui_sessions_ops *ops)
{
	struct ui_sessions *s = XNEW(struct ui_sessions);

	s->ops = ops;
	for (size_t i = 0; i < BUCKETS; i++)
		list_init(&s->buckets[i]);
	list_init(&s->codes);
	return s;
}

static void sessions_drop(struct ui_sessions *s, struct ui_session *e)
{
	list_remove(&e->link);
	atomic_store(&e->over, true);
	s->ended++;
	ui_session_unref(e);
}

static void drop_all(struct ui_sessions *s, struct list *l)
{
	LIST_FOREACH_SAFE (node, l)
		sessions_drop(s, LIST_ENTRY(node, struct ui_session, link));
}

void ui_sessions_free(struct ui_sessions *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < BUCKETS; i++)
		drop_all(s, &s->buckets[i]);
	drop_all(s, &s->codes);
	free(s);
}

/* Counts sessions, and finds the least recently used one. */
struct census {
	struct str name;
	size_t all, own; /* own: of that user */
	struct ui_session *idlest, *own_idlest;
};

static struct ui_session *idler(struct ui_session *a, struct ui_session *b)
{
	return a && a->used_ns <= b->used_ns ? a : b;
}

static void sessions_count(struct ui_sessions *s, struct list *l, struct ui_now now,
			   struct census *c)
{
	LIST_FOREACH_SAFE (node, l) {
		struct ui_session *e = LIST_ENTRY(node, struct ui_session, link);

		if (has_ended(e, now)) {
			sessions_drop(s, e);
			continue;
		}
		c->all++;
		c->idlest = idler(c->idlest, e);
		if (!str_eq(e->login.name, c->name))
			continue;
		c->own++;
		c->own_idlest = idler(c->own_idlest, e);
	}
}

/* A user who logs in repeatedly loses their own sessions, not those of others. */
static void sessions_make_room(struct ui_sessions *s, const struct census *c, size_t own_max,
			       size_t max)
{
	if (c->own >= own_max)
		sessions_drop(s, c->own_idlest);
	else if (c->all >= max)
		sessions_drop(s, c->idlest);
}

/* --- finding one ------------------------------------------------------------------ */

/* Compares all of them, for constant time. NULL if not found. */
static struct ui_session *sessions_find(const struct list *l, const uint8_t *hash)
{
	struct ui_session *found = NULL;

	LIST_FOREACH (node, l) {
		struct ui_session *e = LIST_ENTRY(node, struct ui_session, link);

		if (pki_equal(e->hash, hash, sizeof(e->hash)))
			found = e;
	}
	return found;
}

static struct list *bucket_of(struct ui_sessions *s, const uint8_t *hash)
{
	return &s->buckets[hash[0] % BUCKETS];
}

/* --- codes ------------------------------------------------------------------------ */

int64_t ui_sessions_add_code(struct ui_sessions *s, const struct ui_login *who, int64_t life_ns,
			     struct ui_now now, char ret_code[static UI_SECRET_SIZE])
{
	struct ui_session *e = session_new(s, who, life_ns, now);
	struct census c = { .name = who->name };

	sessions_count(s, &s->codes, now, &c);
	sessions_make_room(s, &c, UI_USER_CODES_MAX, UI_CODES_MAX);
	ui_secret_make(ret_code, e->hash);
	list_push_back(&s->codes, &e->link);
	return ui_session_ends(e, now);
}

struct ui_session *ui_sessions_take_code(struct ui_sessions *s, struct str code, struct ui_now now)
{
	uint8_t hash[PKI_SHA256_SIZE];
	struct ui_session *e = ui_secret_hash(code, hash) ? sessions_find(&s->codes, hash) : NULL;

	if (!e)
		return NULL;
	if (has_ended(e, now)) {
		sessions_drop(s, e);
		return NULL;
	}
	list_remove(&e->link);
	return e;
}

/* --- sessions --------------------------------------------------------------------- */

struct ui_session *ui_sessions_open(struct ui_sessions *s, const struct ui_login *who,
				    struct ui_now now, char ret_id[static UI_SECRET_SIZE])
{
	struct ui_session *e = session_new(s, who, UI_LIFE_NS, now);
	struct census c = { .name = who->name };

	for (size_t i = 0; i < BUCKETS; i++)
		sessions_count(s, &s->buckets[i], now, &c);
	sessions_make_room(s, &c, UI_USER_SESSIONS_MAX, UI_SESSIONS_MAX);
	ui_secret_make(ret_id, e->hash);
	list_push_back(bucket_of(s, e->hash), &e->link);
	return e;
}

static struct ui_session *look_up(struct ui_sessions *s, struct str id)
{
	uint8_t hash[PKI_SHA256_SIZE];

	return ui_secret_hash(id, hash) ? sessions_find(bucket_of(s, hash), hash) : NULL;
}

struct ui_session *ui_sessions_find(struct ui_sessions *s, struct str id, struct ui_now now)
{
	struct ui_session *e = look_up(s, id);

	if (e && has_ended(e, now)) {
		sessions_drop(s, e);
		return NULL;
	}
	if (e)
		e->used_ns = MAX(e->used_ns, now.mono_ns);
	return e;
}

bool ui_sessions_close(struct ui_sessions *s, struct str id)
{
	struct ui_session *e = look_up(s, id);

	if (!e)
		return false;
	sessions_drop(s, e);
	return true;
}

void ui_sessions_end(struct ui_sessions *s, struct ui_session *e)
{
	/* It may have ended while it was held. */
	if (!atomic_load(&e->over))
		sessions_drop(s, e);
}

static void list_end_if(struct ui_sessions *s, struct list *l,
			bool (*ends)(const void *user, const void *arg), const void *arg)
{
	LIST_FOREACH_SAFE (node, l) {
		struct ui_session *e = LIST_ENTRY(node, struct ui_session, link);

		if (ends(e->user, arg))
			sessions_drop(s, e);
	}
}

void ui_sessions_end_if(struct ui_sessions *s, bool (*ends)(const void *user, const void *arg),
			const void *arg)
{
	for (size_t i = 0; i < BUCKETS; i++)
		list_end_if(s, &s->buckets[i], ends, arg);
	list_end_if(s, &s->codes, ends, arg);
}

uint64_t ui_sessions_ended(const struct ui_sessions *s)
{
	return s->ended;
}

/* --- failures --------------------------------------------------------------------- */

void ui_sessions_failed(struct ui_sessions *s, struct ui_now now)
{
	int64_t second = now.mono_ns / CLOCK_SEC;

	if (second != s->second)
		s->failures = 0;
	s->second = second;
	s->failures++;
}

bool ui_sessions_busy(const struct ui_sessions *s, struct ui_now now)
{
	return now.mono_ns / CLOCK_SEC == s->second && s->failures >= UI_FAILURES_MAX;
}
