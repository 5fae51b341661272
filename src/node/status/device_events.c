/*
 * There is an entry for each pod and device that ever changed, until the pod is forgotten.
 * Held-back changes wait in a heap, ordered by the time when they may be reported.
 */
#include "node/status/device_events.h"

#include "base/core/mem.h"
#include "base/ordered/heap.h"
#include "base/ordered/omap.h"

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
	struct heap waiting; /* of struct entry, the earliest due time first */
};

/* --- entries --------------------------------------------------------------------------------- */

static bool is_due_earlier(const void *a, const void *b)
{
	return ((const struct entry *)a)->due_ms < ((const struct entry *)b)->due_ms;
}

struct device_events *device_events_new(void)
{
	struct device_events *e = XNEW(struct device_events);

	omap_init(&e->entries);
	heap_init(&e->waiting, struct entry, at, is_due_earlier);
	return e;
}

static void drop_held(struct device_events *e, struct entry *x)
{
	heap_remove(&e->waiting, x);
	free(TAKE(x->resource));
	free(TAKE(x->id));
	free(TAKE(x->new_message));
}

static void device_events_entry_free(struct device_events *e, struct entry *x)
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
		device_events_entry_free(e, omap_value(&c));
	omap_release(&e->entries);
	heap_release(&e->waiting);
	free(e);
}

static void device_events_put(char **at, struct str s)
{
	str_put(*at, s);
	*at += s.n;
	*(*at)++ = '\0';
}

static struct entry *device_events_entry_of(struct device_events *e, struct str pod_uid,
					    const struct device_status_change *c)
{
	/* IDs of DRA devices are unique; those of plugin devices only within their resource. */
	bool claim = str_starts(c->resource, STR("claim:"));
	struct str resource = claim ? STR_NULL : c->resource;
	struct entry *x = xcalloc(1, sizeof(*x) + pod_uid.n + resource.n + c->id.n + 3);
	char *at = (char *)(x + 1);
	struct entry *known;

	device_events_put(&at, pod_uid);
	device_events_put(&at, resource);
	device_events_put(&at, c->id);
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
	heap_push(&e->waiting, x);
}

void device_events_change(struct device_events *e, struct str pod_uid,
			  const struct device_status_change *c, int64_t now_ms,
			  device_events_tell *tell, void *arg)
{
	struct entry *x = device_events_entry_of(e, pod_uid, c);

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
	const struct entry *first = heap_first(&e->waiting);

	return first ? first->due_ms : INT64_MAX;
}

void device_events_due(struct device_events *e, int64_t now_ms, device_events_tell *tell, void *arg)
{
	while (device_events_next(e) <= now_ms) {
		struct entry *x = heap_first(&e->waiting);
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
		device_events_entry_free(e, x);
	}
}
