/*
 * The inventory: the devices that plugins offer. A list is compared with the last one device by
 * device, so that only differences are reported. If a plugin no longer lists a device that a pod
 * has or had, the device stays as Unknown until the pod is forgotten.
 *
 * The changes of a list are reported after all of it is in the log, so a watcher never sees half a
 * list.
 */
#include "base/core/mem.h"
#include "node/assign/assign_impl.h"
#include "node/node_limits.h"

const char *assign_health_name(enum assign_health h)
{
	static const char *const names[] = { "Healthy", "Unhealthy", "Unknown" };

	return names[h];
}

/* --- records --------------------------------------------------------------------------------- */

struct resource_rec *assign_resource(const struct assign *s, struct str name)
{
	return omap_get(&s->resources, name);
}

struct resource_rec *assign_need_resource(struct assign *s, struct str name)
{
	struct resource_rec *r = assign_resource(s, name);
	char *text;

	if (r)
		return r;
	r = xcalloc(1, sizeof(*r) + name.n);
	text = (char *)(r + 1);
	str_put(text, name);
	r->name = str_of(text, name.n);
	omap_init(&r->devices);
	vec_init(&r->order, RESOURCE_DEVICES_MAX);
	(void)omap_put(&s->resources, r->name, r);
	return r;
}

struct device_rec *assign_device(const struct resource_rec *r, struct str id)
{
	return omap_get(&r->devices, id);
}

struct device_rec *assign_need_device(struct resource_rec *r, struct str id)
{
	struct device_rec *d = assign_device(r, id);
	char *text;

	if (d)
		return d;
	d = xcalloc(1, sizeof(*d) + id.n + 1);
	text = (char *)(d + 1);
	str_put(text, id);
	d->resource = r;
	d->id = str_of(text, id.n);
	d->health = ASSIGN_UNKNOWN;
	vec_init(&d->users, SIZE_MAX);
	(void)omap_put(&r->devices, d->id, d);
	return d;
}

static void free_device(struct device_rec *d)
{
	free(d->message);
	free(d->numa);
	vec_release(&d->users);
	free(d);
}

static void free_resource(struct resource_rec *r)
{
	struct omap_cursor c;

	for (bool ok = omap_first(&r->devices, &c); ok; ok = omap_next(&c))
		free_device(omap_value(&c));
	omap_release(&r->devices);
	vec_release(&r->order);
	free(r);
}

void assign_free_resources(struct assign *s)
{
	struct omap_cursor c;

	for (bool ok = omap_first(&s->resources, &c); ok; ok = omap_next(&c))
		free_resource(omap_value(&c));
	omap_clear(&s->resources);
}

/* Frees a device that neither its plugin nor a pod needs. */
static void drop_device(struct assign *s, struct device_rec *d)
{
	struct resource_rec *r = d->resource;

	(void)omap_remove(&r->devices, d->id);
	free_device(d);
	if (r->dropped && r->devices.n == 0) {
		(void)omap_remove(&s->resources, r->name);
		free_resource(r);
	}
}

bool assign_device_available(const struct device_rec *d)
{
	return d->listed && d->health == ASSIGN_HEALTHY && !d->held;
}

static struct device_user *user_of(const struct device_rec *d, const struct pod_rec *pod)
{
	for (size_t i = 0; i < d->users.n; i++) {
		if (d->users.v[i].pod == pod)
			return &d->users.v[i];
	}
	return NULL;
}

void assign_device_use(struct device_rec *d, struct pod_rec *pod)
{
	struct device_user *u = user_of(d, pod);

	if (u)
		u->holds++;
	else
		(void)vec_push(&d->users, (struct device_user){ .pod = pod, .holds = 1 });
}

void assign_device_unuse(struct assign *s, struct device_rec *d, const struct pod_rec *pod)
{
	struct device_user *u = user_of(d, pod);

	if (--u->holds > 0)
		return;
	vec_remove(&d->users, (size_t)(u - d->users.v));
	if (d->held == pod)
		d->held = NULL;
	if (d->users.n == 0 && !d->listed)
		drop_device(s, d);
}

/* --- one device of a list -------------------------------------------------------------------- */

static bool same_numa(const struct device_rec *d, const int64_t *numa, size_t n, bool has)
{
	return d->has_topology == has && d->nnuma == n &&
	       (n == 0 || memcmp(d->numa, numa, n * sizeof(*numa)) == 0);
}

void assign_device_set_numa(struct device_rec *d, const int64_t *numa, size_t n, bool has)
{
	free(d->numa);
	d->numa = NULL;
	d->nnuma = n;
	d->has_topology = has;
	if (n == 0)
		return;
	d->numa = xmalloc(n * sizeof(*numa));
	memcpy(d->numa, numa, n * sizeof(*numa));
}

/* Returns true if health or message changed. */
static bool set_health(struct device_rec *d, enum assign_health health, struct str message)
{
	if (d->health == health && str_eq(str_of(d->message, d->message_n), message))
		return false;
	if (d->listed && d->health == ASSIGN_HEALTHY)
		d->resource->nhealthy--;
	if (d->listed && health == ASSIGN_HEALTHY)
		d->resource->nhealthy++;
	d->health = health;
	free(d->message);
	d->message = message.n > 0 ? str_dup(message) : NULL;
	d->message_n = message.n;
	return true;
}

static void set_listed(struct device_rec *d, bool listed)
{
	struct resource_rec *r = d->resource;
	size_t by = listed ? 1 : (size_t)-1;

	if (d->listed == listed)
		return;
	d->listed = listed;
	r->nlisted += by;
	if (d->health == ASSIGN_HEALTHY)
		r->nhealthy += by;
}

/* The changes made by one list. */
struct list_diff {
	VEC(struct device_rec *) health;
	VEC(const struct pod_rec *) moved; /* pods that hold devices whose NUMA nodes changed */
	bool inventory; /* devices, their number, NUMA nodes or usability changed */
};

/*
 * Returns the record of the device at this index of the list. Plugins usually send their devices in
 * the same order, so it is mostly the same device as in the last list.
 */
static struct device_rec *device_at(struct resource_rec *r, size_t at, struct str id)
{
	struct device_rec *last;

	if (at == r->order.n)
		(void)vec_push(&r->order, NULL);
	last = r->order.v[at];
	if (!last || !str_eq(last->id, id))
		r->order.v[at] = assign_need_device(r, id);
	return r->order.v[at];
}

static void list_device(struct resource_rec *r, size_t at, const struct assign_device *v,
			struct list_diff *d)
{
	size_t known = r->devices.n, n = MIN(v->nnuma, (size_t)DEVICE_NUMA_MAX);
	struct device_rec *rec = device_at(r, at, v->id);
	bool was_healthy = rec->health == ASSIGN_HEALTHY;

	if (rec->listed && rec->seen == r->lists)
		return; /* the list has this id twice */
	rec->seen = r->lists;
	if (!same_numa(rec, v->numa, n, v->has_topology)) {
		d->inventory = true;
		assign_device_set_numa(rec, v->numa, n, v->has_topology);
		if (rec->held)
			(void)vec_push(&d->moved, rec->held);
	}
	d->inventory |= !rec->listed;
	set_listed(rec, true);
	/* A new device has no health that could have changed, unless a pod uses it already. */
	if (!set_health(rec, v->health, v->message) || (r->devices.n > known && rec->users.n == 0))
		return;
	d->inventory |= was_healthy != (v->health == ASSIGN_HEALTHY);
	(void)vec_push(&d->health, rec);
}

/* Handles devices that are no longer in the list. */
static void sweep(struct assign *s, struct resource_rec *r, struct list_diff *d)
{
	VEC(struct device_rec *) unused;
	struct omap_cursor c;

	vec_init(&unused, SIZE_MAX);
	for (bool ok = omap_first(&r->devices, &c); ok; ok = omap_next(&c)) {
		struct device_rec *rec = omap_value(&c);

		if (!rec->listed || rec->seen == r->lists)
			continue;
		d->inventory = true;
		if (set_health(rec, ASSIGN_UNKNOWN, STR_NULL) && rec->users.n > 0)
			(void)vec_push(&d->health, rec);
		set_listed(rec, false);
		if (rec->users.n == 0)
			(void)vec_push(&unused, rec);
	}
	for (size_t i = 0; i < unused.n; i++)
		drop_device(s, unused.v[i]);
	vec_release(&unused);
}

static int cmp_pods(const void *a, const void *b)
{
	const struct pod_rec *x = *(const struct pod_rec *const *)a;
	const struct pod_rec *y = *(const struct pod_rec *const *)b;

	return strcmp(x->uid, y->uid);
}

/* Reports each pod once, however many of its devices have moved. */
static void tell_moved(struct assign *s, struct list_diff *d)
{
	if (d->moved.n > 0)
		qsort(d->moved.v, d->moved.n, sizeof(*d->moved.v), cmp_pods);
	for (size_t i = 0; i < d->moved.n; i++) {
		if (i == 0 || d->moved.v[i] != d->moved.v[i - 1])
			assign_tell(s, ASSIGN_POD, d->moved.v[i], STR_NULL, STR_NULL);
	}
}

static void tell_diff(struct assign *s, const struct resource_rec *r, struct list_diff *d)
{
	struct str name = r->name;

	s->health_changes += d->health.n;
	for (size_t i = 0; i < d->health.n; i++) {
		const struct device_rec *rec = d->health.v[i];

		for (size_t u = 0; u < rec->users.n; u++)
			assign_tell(s, ASSIGN_DEVICE_HEALTH, rec->users.v[u].pod, name, rec->id);
		if (rec->users.n == 0)
			assign_tell(s, ASSIGN_DEVICE_HEALTH, NULL, name, rec->id);
	}
	tell_moved(s, d);
	if (d->inventory)
		assign_tell(s, ASSIGN_INVENTORY, NULL, STR_NULL, STR_NULL);
	vec_release(&d->health);
	vec_release(&d->moved);
}

/* --- verbs ----------------------------------------------------------------------------------- */

void assign_set_resource(struct assign *s, struct str resource, const struct assign_device *v,
			 size_t n)
{
	struct resource_rec *r = assign_need_resource(s, resource);
	struct list_diff diff = { .inventory = !r->connected };
	size_t listed = 0;

	vec_init(&diff.health, SIZE_MAX);
	vec_init(&diff.moved, SIZE_MAX);
	r->connected = true;
	r->dropped = false;
	r->lists++;
	for (size_t i = 0; i < n && listed < RESOURCE_DEVICES_MAX; i++) {
		/* Ignores ids that Pod status cannot show. */
		if (v[i].id.n > 0 && str_is_utf8(v[i].id))
			list_device(r, listed++, &v[i], &diff);
	}
	r->order.n = listed;
	sweep(s, r, &diff);
	tell_diff(s, r, &diff);
}

uint64_t assign_health_changes(const struct assign *s)
{
	return s->health_changes;
}

void assign_resource_gone(struct assign *s, struct str resource)
{
	struct resource_rec *r = assign_resource(s, resource);
	struct list_diff diff = { .inventory = true };
	struct omap_cursor c;

	if (!r || !r->connected)
		return;
	vec_init(&diff.health, SIZE_MAX);
	vec_init(&diff.moved, SIZE_MAX);
	r->connected = false;
	for (bool ok = omap_first(&r->devices, &c); ok; ok = omap_next(&c)) {
		if (set_health(omap_value(&c), ASSIGN_UNKNOWN, STR_NULL))
			(void)vec_push(&diff.health, omap_value(&c));
	}
	tell_diff(s, r, &diff);
}

void assign_drop_resource(struct assign *s, struct str resource)
{
	struct resource_rec *r = assign_resource(s, resource);
	struct list_diff diff = { .inventory = true };

	if (!r || r->dropped)
		return;
	vec_init(&diff.health, SIZE_MAX);
	vec_init(&diff.moved, SIZE_MAX);
	r->connected = false;
	r->lists++;
	r->order.n = 0;
	sweep(s, r, &diff);
	r->dropped = true;
	tell_diff(s, r, &diff);
	if (r->devices.n > 0)
		return;
	(void)omap_remove(&s->resources, r->name);
	free_resource(r);
}

/* --- views ----------------------------------------------------------------------------------- */

bool assign_has_resource(const struct assign *s, struct str resource)
{
	const struct resource_rec *r = assign_resource(s, resource);

	return r && !r->dropped;
}

bool assign_is_connected(const struct assign *s, struct str resource)
{
	const struct resource_rec *r = assign_resource(s, resource);

	return r && r->connected;
}

bool assign_next_resource(const struct assign *s, struct str *at, int64_t *ret_capacity,
			  int64_t *ret_allocatable)
{
	struct omap_cursor c;

	for (bool ok = omap_seek_after(&s->resources, &c, *at); ok; ok = omap_next(&c)) {
		const struct resource_rec *r = omap_value(&c);

		if (r->dropped)
			continue;
		*at = r->name;
		*ret_capacity = (int64_t)r->nlisted;
		*ret_allocatable = (int64_t)r->nhealthy;
		return true;
	}
	return false;
}

bool assign_device_health(const struct assign *s, struct str resource, struct str id,
			  enum assign_health *ret_health, struct str *ret_message)
{
	const struct resource_rec *r = assign_resource(s, resource);
	const struct device_rec *d = r ? assign_device(r, id) : NULL;
	bool there = d && d->listed;

	*ret_health = there ? d->health : ASSIGN_UNKNOWN;
	if (ret_message)
		*ret_message = there ? str_of(d->message, d->message_n) : STR_NULL;
	return there;
}

bool assign_device_next(const struct assign *s, struct str resource, struct str *at,
			struct assign_device *ret_device)
{
	const struct resource_rec *r = assign_resource(s, resource);
	struct omap_cursor c;

	if (!r)
		return false;
	for (bool ok = omap_seek_after(&r->devices, &c, *at); ok; ok = omap_next(&c)) {
		const struct device_rec *d = omap_value(&c);

		if (!d->listed)
			continue;
		*at = d->id;
		*ret_device = (struct assign_device){ .id = d->id,
						      .message = str_of(d->message, d->message_n),
						      .health = d->health,
						      .numa = d->numa,
						      .nnuma = d->nnuma,
						      .has_topology = d->has_topology };
		return true;
	}
	return false;
}
