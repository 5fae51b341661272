/*
 * There is an entry for each pod and device that ever changed, until the pod is forgotten.
 * Held-back changes wait in a heap, ordered by the time when they may be reported.
 */
#include "node/status/device_events.h"

#include "base/core/mem.h"
#include "base/core/omap.h"
#include "base/core/vec.h"

struct entry {
	size_t at; /* index in the heap; SIZE_MAX: nothing is held back */
	/* pod, NUL, resource (empty for claims), NUL, id; stored behind the struct */
	struct str key;
	struct str pod_uid; /* within key */
	/* The last reported change, if any. */
	enum assign_health health;
	char *message;
	int64_t told_ms[ASSIGN_UNKNOWN + 1]; /* when the period of each direction ends */
	bool told;
	/* The change that is held back. */
	char *resource, *id, *new_message;
	enum assign_health before, now;
	int64_t due_ms;
};

struct device_events {
	struct omap entries;
	VEC(struct entry *) waiting; /* a heap: the earliest due time first */
};

/* --- entries --------------------------------------------------------------------------------- */

struct device_events *device_events_new(void)
{
	struct device_events *e = XNEW(struct device_events);

	omap_init(&e->entries);
	vec_init(&e->waiting, SIZE_MAX / sizeof(struct entry *));
	return e;
}

static void place(struct device_events *e, size_t at, struct entry *x)
{
	e->waiting.v[at] = x;
	x->at = at;
}

static void move_up(struct device_events *e, struct entry *x, size_t at)
{
	while (at > 0 && x->due_ms < e->waiting.v[(at - 1) / 2]->due_ms) {
		place(e, at, e->waiting.v[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	place(e, at, x);
}

static void move_down(struct device_events *e, struct entry *x, size_t at)
{
	size_t child;

	while ((child = 2 * at + 1) < e->waiting.n) {
		if (child + 1 < e->waiting.n &&
		    e->waiting.v[child + 1]->due_ms < e->waiting.v[child]->due_ms)
			child++;
		if (x->due_ms <= e->waiting.v[child]->due_ms)
			break;
		place(e, at, e->waiting.v[child]);
		at = child;
	}
	place(e, at, x);
}

static void stop_waiting(struct device_events *e, struct entry *x)
{
	size_t at = x->at;
	struct entry *last;

	if (at == SIZE_MAX)
		return;
	x->at = SIZE_MAX;
	last = e->waiting.v[--e->waiting.n];
	if (last == x)
		return;
	move_up(e, last, at);
	move_down(e, last, last->at);
}

static void drop_held(struct device_events *e, struct entry *x)
{
	stop_waiting(e, x);
	free(TAKE(x->resource));
	free(TAKE(x->id));
	free(TAKE(x->new_message));
}

static void entry_free(struct device_events *e, struct entry *x)
{
	drop_held(e, x);
	(void)omap_remove(&e->entries, x->key);
	free(x->message);
	free(x);
}

void device_events_free(struct device_events *e)
{
	struct omap_cursor c;

	if (!e)
		return;
	while (omap_first(&e->entries, &c))
		entry_free(e, omap_value(&c));
	omap_release(&e->entries);
	vec_release(&e->waiting);
	free(e);
}

static void put(char **at, struct str s)
{
	str_put(*at, s);
	*at += s.n;
	*(*at)++ = '\0';
}

static struct entry *entry_of(struct device_events *e, struct str pod_uid,
			      const struct device_status_change *c)
{
	/* IDs of DRA devices are unique; those of plugin devices only within their resource. */
	bool claim = str_starts(c->resource, STR("claim:"));
	struct str resource = claim ? STR_NULL : c->resource;
	struct entry *x = xcalloc(1, sizeof(*x) + pod_uid.n + resource.n + c->id.n + 3);
	char *at = (char *)(x + 1);
	struct entry *known;

	put(&at, pod_uid);
	put(&at, resource);
	put(&at, c->id);
	x->key = str_of(x + 1, (size_t)(at - (char *)(x + 1)));
	x->pod_uid = str_of(x + 1, pod_uid.n);
	known = omap_get(&e->entries, x->key);
	if (known) {
		free(x);
		return known;
	}
	x->at = SIZE_MAX;
	(void)omap_put(&e->entries, x->key, x);
	return x;
}

/* --- telling --------------------------------------------------------------------------------- */

static void tell_now(struct entry *x, const struct device_status_change *c, int64_t now_ms,
		     device_events_tell *tell, void *arg)
{
	struct device_status_change told = *c;

	if (x->told)
		told.before = x->health;
	x->told = true;
	x->health = c->now;
	free(x->message);
	x->message = str_dup(c->message);
	x->told_ms[c->now] = now_ms + DEVICE_EVENTS_PERIOD_MS;
	tell(arg, x->pod_uid, &told);
}

static void hold_back(struct device_events *e, struct entry *x,
		      const struct device_status_change *c)
{
	x->resource = str_dup(c->resource);
	x->id = str_dup(c->id);
	x->new_message = str_dup(c->message);
	x->before = c->before;
	x->now = c->now;
	x->due_ms = x->told_ms[c->now];
	(void)vec_push(&e->waiting, x);
	move_up(e, x, e->waiting.n - 1);
}

void device_events_change(struct device_events *e, struct str pod_uid,
			  const struct device_status_change *c, int64_t now_ms,
			  device_events_tell *tell, void *arg)
{
	struct entry *x = entry_of(e, pod_uid, c);

	drop_held(e, x);
	if (x->told && x->health == c->now && str_eqz(c->message, x->message))
		return;
	if (now_ms >= x->told_ms[c->now])
		tell_now(x, c, now_ms, tell, arg);
	else
		hold_back(e, x, c);
}

int64_t device_events_next(const struct device_events *e)
{
	return e->waiting.n == 0 ? INT64_MAX : e->waiting.v[0]->due_ms;
}

void device_events_due(struct device_events *e, int64_t now_ms, device_events_tell *tell, void *arg)
{
	while (device_events_next(e) <= now_ms) {
		struct entry *x = e->waiting.v[0];
		struct device_status_change c = { .resource = str_from(x->resource),
						  .id = str_from(x->id),
						  .message = str_from(x->new_message),
						  .before = x->before,
						  .now = x->now };

		tell_now(x, &c, now_ms, tell, arg);
		drop_held(e, x);
	}
}

void device_events_forget(struct device_events *e, struct str pod_uid)
{
	struct omap_cursor c;

	while (omap_seek(&e->entries, &c, pod_uid)) {
		struct entry *x = omap_value(&c);

		if (!str_eq(x->pod_uid, pod_uid))
			return;
		entry_free(e, x);
	}
}
