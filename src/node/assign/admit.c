/*
 * Admission: a pod gets everything that its containers request, or nothing. Containers are served
 * in the order in which they start. Chosen devices are held at once in the pod's record, and that
 * record is added to the log only after the last container is served. So a rejected pod needs no
 * rollback: its record is dropped.
 *
 * Devices are chosen as upstream's device manager does: first those left over from the pod's
 * earlier init containers, then by the affinity that the topology policy found, then by the
 * plugin's preference. If a plugin supports GetPreferredAllocation, the caller asks it. Nothing is
 * held meanwhile, and then the pod is admitted from the beginning. The plugin's reply is a hint, as
 * upstream.
 */
#include "node/assign/admit.h"

#include <inttypes.h>

#include "base/core/mem.h"

/* --- wishes ---------------------------------------------------------------------------------- */

static void free_wish(struct wish_rec *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->ids[i]);
	free(w->ids);
	free(w->pod_uid);
	free(w->container);
	free(w->resource);
}

void assign_drop_wishes(struct assign *s, struct str pod_uid)
{
	for (size_t i = s->wishes.n; i-- > 0;) {
		if (!str_eqz(pod_uid, s->wishes.v[i].pod_uid))
			continue;
		free_wish(&s->wishes.v[i]);
		vec_remove_swap(&s->wishes, i);
	}
}

static struct wish_rec *find_wish(const struct assign *s, struct str pod_uid, struct str container,
				  struct str resource)
{
	for (size_t i = 0; i < s->wishes.n; i++) {
		struct wish_rec *w = &s->wishes.v[i];

		if (str_eqz(pod_uid, w->pod_uid) && str_eqz(container, w->container) &&
		    str_eqz(resource, w->resource))
			return w;
	}
	return NULL;
}

void assign_prefer(struct assign *s, struct str pod_uid, const struct assign_wish *wish,
		   const struct str *ids, size_t n)
{
	struct wish_rec w = { .pod_uid = str_dup(pod_uid),
			      .container = str_dup(wish->container),
			      .resource = str_dup(wish->resource),
			      .ids = xcalloc(n, sizeof(char *)),
			      .n = n };
	struct wish_rec *before = find_wish(s, pod_uid, wish->container, wish->resource);

	for (size_t i = 0; i < n; i++)
		w.ids[i] = str_dup(ids[i]);
	if (!before) {
		(void)vec_push(&s->wishes, w);
		return;
	}
	free_wish(before);
	*before = w;
}

/* --- choosing devices ------------------------------------------------------------------------ */

/* The devices that one container gets of one resource. */
struct choice {
	struct admitting *in;
	struct container_rec *container;
	struct resource_rec *resource;
	int64_t required;
	struct device_list chosen;
	uint64_t mark; /* marks chosen devices */
};

static int admit_refuse(struct error *err, const char *what, struct str resource)
{
	return error_set(err, ERR_INVALID, "%s %.*s", what, STR_ARG(resource));
}

static bool admit_complete(const struct choice *c)
{
	return (int64_t)c->chosen.n == c->required;
}

static void admit_take(struct choice *c, struct device_rec *d)
{
	if (admit_complete(c) || d->mark == c->mark)
		return;
	d->mark = c->mark;
	c->chosen.v[c->chosen.n++] = d;
}

static void take_all(struct choice *c, struct device_list from)
{
	for (size_t i = 0; i < from.n; i++)
		admit_take(c, from.v[i]);
}

struct device_list assign_reusable(const struct admitting *in, const struct resource_rec *r)
{
	struct device_list l = { .v = ARENA_ARRAY(in->a, struct device_rec *, r->devices.n) };
	uint64_t mark = ++in->s->marks;

	/* If several containers have a device, the last of them decides. */
	for (size_t i = in->rec->containers.n; i-- > 0;) {
		const struct container_rec *c = &in->rec->containers.v[i];
		const struct hold_rec *h = assign_hold(c, r);

		for (size_t d = 0; h && d < h->n; d++) {
			if (h->devices[d]->mark == mark)
				continue;
			h->devices[d]->mark = mark;
			if (c->kind == POD_INIT)
				l.v[l.n++] = h->devices[d];
		}
	}
	return l;
}

struct device_list assign_available(const struct admitting *in, const struct resource_rec *r)
{
	struct device_list l = { .v = ARENA_ARRAY(in->a, struct device_rec *, r->devices.n) };
	struct omap_cursor c;

	for (bool ok = omap_first(&r->devices, &c); ok; ok = omap_next(&c)) {
		if (assign_device_available(omap_value(&c)))
			l.v[l.n++] = omap_value(&c);
	}
	return l;
}

static const struct str *ids_of(struct arena *a, struct device_list l, size_t *ret_n)
{
	struct str *ids = ARENA_ARRAY(a, struct str, l.n);

	for (size_t i = 0; i < l.n; i++)
		ids[i] = l.v[i]->id;
	*ret_n = l.n;
	return ids;
}

/* Takes the devices that the plugin prefers. Returns 1 if the plugin must be asked first. */
static int take_preferred(struct choice *c, struct device_list from)
{
	struct assign_admission *io = c->in->io;
	struct str name = c->resource->name, container = str_from(c->container->name);
	struct device_list both = { .v = ARENA_ARRAY(c->in->a, struct device_rec *,
						     from.n + c->chosen.n) };
	const struct wish_rec *w;

	if (!io->wants_preferred || !io->wants_preferred(io->arg, name))
		return 0;
	w = find_wish(c->in->s, c->in->pod->uid, container, name);
	for (size_t i = 0; i < from.n; i++)
		from.v[i]->offer = c->mark;
	for (size_t i = 0; w && i < w->n; i++) {
		struct device_rec *d = assign_device(c->resource, str_from(w->ids[i]));

		if (d && d->offer == c->mark)
			admit_take(c, d);
	}
	if (w)
		return 0;
	for (size_t i = 0; i < c->chosen.n; i++)
		both.v[both.n++] = c->chosen.v[i];
	for (size_t i = 0; i < from.n; i++) {
		if (from.v[i]->mark != c->mark)
			both.v[both.n++] = from.v[i];
	}
	io->wish = (struct assign_wish){ .resource = name,
					 .container = arena_str(c->in->a, container),
					 .size = c->required };
	io->wish.available = ids_of(c->in->a, both, &io->wish.navailable);
	io->wish.must = ids_of(c->in->a, c->chosen, &io->wish.nmust);
	return 1;
}

static int unexpectedly_short(const struct choice *c, struct error *err)
{
	return error_set(err, ERR_INVALID,
			 "unexpectedly allocated less resources than required. Requested: %" PRId64
			 ", Got: %zu",
			 c->required, c->chosen.n);
}

/* More devices than needed are aligned: the plugin chooses among them. */
static int choose_aligned(struct choice *c, struct device_list aligned, struct error *err)
{
	int r = take_preferred(c, aligned);

	if (r != 0)
		return r;
	take_all(c, aligned);
	return admit_complete(c) ? 0 : unexpectedly_short(c, err);
}

static int choose_rest(struct choice *c, struct device_list available,
		       const struct device_split *by, struct error *err)
{
	int r;

	take_all(c, by->aligned);
	if (admit_complete(c))
		return 0;
	r = take_preferred(c, available);
	if (r != 0)
		return r;
	take_all(c, by->unaligned);
	take_all(c, by->anywhere);
	return admit_complete(c) ? 0 : unexpectedly_short(c, err);
}

static int admit_choose(struct choice *c, struct error *err)
{
	struct device_list available, reusable = assign_reusable(c->in, c->resource);
	struct device_split by;
	int64_t needed;

	c->mark = ++c->in->s->marks;
	take_all(c, reusable);
	if (admit_complete(c))
		return 0;
	available = assign_available(c->in, c->resource);
	needed = c->required - (int64_t)c->chosen.n;
	if ((int64_t)available.n < needed)
		return error_set(err, ERR_INVALID,
				 "requested number of devices unavailable for %.*s. Requested: "
				 "%" PRId64 ", Available: %zu",
				 STR_ARG(c->resource->name), needed, available.n);
	assign_split(c->in, c->resource, available, &by);
	if (needed < (int64_t)by.aligned.n)
		return choose_aligned(c, by.aligned, err);
	return choose_rest(c, available, &by, err);
}

static int check_registered(const struct admitting *in, const struct resource_rec *r,
			    struct error *err)
{
	const struct pod_rec *other = assign_doubter(in->s, in->rec, r->name);

	if (other)
		return error_set(
			err, ERR_INVALID,
			"devices of %.*s may be in use by pod %s/%s, whose assignment was lost",
			STR_ARG(r->name), other->ns, other->name);
	if (r->dropped)
		return admit_refuse(err, "cannot allocate unregistered device", r->name);
	if (r->nhealthy == 0)
		return admit_refuse(err,
				    "no healthy devices present; cannot allocate unhealthy devices",
				    r->name);
	return 0;
}

/* --- requests -------------------------------------------------------------------------------- */

bool assign_backed_by_claim(const struct pod *pod, struct str container, struct str resource)
{
	const struct json *status = json_getz(pod->status, "extendedResourceClaimStatus");

	JSON_FOREACH (it, json_getz(status, "requestMappings")) {
		if (str_eq(json_text_at(it, "containerName"), container) &&
		    str_eq(json_text_at(it, "resourceName"), resource))
			return true;
	}
	return false;
}

bool assign_request_next(const struct admitting *in, const struct json *container,
			 const struct json **at, struct resource_rec **ret_resource,
			 int64_t *ret_required)
{
	struct str name = json_text_at(container, "name");
	const struct json *limits = json_getz(json_getz(container, "resources"), "limits");
	const struct json *it = *at ? (*at)->next : json_first(limits);

	for (; it; it = it->next) {
		struct resource_rec *r = assign_resource(in->s, json_key(it));
		int64_t required = r ? pod_container_limit(container, r->name) : 0;

		if (required <= 0 || assign_backed_by_claim(in->pod, name, r->name))
			continue;
		*at = it;
		*ret_resource = r;
		*ret_required = required;
		return true;
	}
	return false;
}

/* Returns 1 if a plugin must be asked first. */
static int admit_devices(struct admitting *in, const struct json *container,
			 struct container_rec *rec, struct error *err)
{
	struct choice c = { .in = in, .container = rec };
	const struct json *at = NULL;
	int r = 0;

	while (r == 0 && assign_request_next(in, container, &at, &c.resource, &c.required)) {
		r = check_registered(in, c.resource, err);
		if (r < 0)
			return r;
		/*
		 * A request for more devices than exist is rejected without allocating room for
		 * them.
		 */
		c.chosen.n = 0;
		c.chosen.v = ARENA_ARRAY(in->a, struct device_rec *,
					 MIN((size_t)c.required, c.resource->devices.n));
		r = admit_choose(&c, err);
		if (r == 0)
			(void)assign_add_hold(in->rec, rec, c.resource, c.chosen.v, c.chosen.n);
	}
	return r;
}

static int admit_container(struct admitting *in, const struct pod_containers *c, struct error *err)
{
	struct container_rec *rec = assign_add_container(in->rec, c->name, c->kind);
	int r = 0;

	if (!in->s->topology_pod_scope)
		r = assign_find_affinity(in, c->container, err);
	if (r == 0)
		r = admit_devices(in, c->container, rec, err);
	if (r == 0)
		r = assign_take_cpus(in, c->container, rec, err);
	if (r == 0)
		r = assign_take_memory(in, c->container, rec, err);
	return r;
}

static int admit_new(struct admitting *in, struct error *err)
{
	struct pod_containers c = pod_containers(in->pod);
	int r = 0;

	if (in->s->topology_pod_scope)
		r = assign_find_affinity(in, NULL, err);
	while (r == 0 && pod_containers_next(&c)) {
		if (c.kind != POD_EPHEMERAL)
			r = admit_container(in, &c, err);
	}
	return r;
}

/* --- the verb -------------------------------------------------------------------------------- */

/* Devices held already, as after a restart, stay held, whatever their plugin does now. */
static int check_held(struct admitting *in, struct error *err)
{
	struct pod_containers c = pod_containers(in->pod);
	struct resource_rec *r;
	int64_t required;

	while (pod_containers_next(&c)) {
		const struct container_rec *rec = assign_container(in->rec, c.name);
		const struct json *at = NULL;

		while (rec && assign_request_next(in, c.container, &at, &r, &required)) {
			const struct hold_rec *h = assign_hold(rec, r);

			if (h && (int64_t)h->n != required)
				return error_set(err, ERR_INVALID,
						 "pod \"%s\" container \"%s\" changed request for "
						 "resource \"%.*s\" from %zu to %" PRId64,
						 in->rec->uid, rec->name, STR_ARG(r->name), h->n,
						 required);
		}
	}
	return 0;
}

/* All or nothing: if the pod is not admitted, releases what this call held for it. */
static int admit_into(struct admitting *in, struct error *err)
{
	int r;

	in->guaranteed = assign_is_guaranteed(in->pod);
	vec_init(&in->again, SIZE_MAX);
	r = admit_new(in, err);
	vec_release(&in->again);
	if (r != 0) {
		assign_drop_containers(in->s, in->rec, 0);
		assign_recount(in->s);
	}
	return r;
}

/* Admits a pod that the log did not know, or knew only by its claims. */
static int admit_anew(struct admitting *in, struct error *err)
{
	bool known = in->rec != NULL;
	int r;

	if (!known)
		in->rec = assign_pod_new(in->pod->uid, in->pod->ns, in->pod->name);
	r = admit_into(in, err);
	if (r == 0 && !known)
		assign_pod_add(in->s, in->rec);
	if (r != 0 && !known)
		assign_pod_drop(in->s, in->rec);
	if (r > 0)
		return r;
	assign_drop_wishes(in->s, in->pod->uid);
	if (r < 0)
		return r;
	assign_tell(in->s, ASSIGN_POD, in->rec, STR_NULL, STR_NULL);
	assign_tell_shared(in->s);
	return 0;
}

int assign_admit(struct assign *s, const struct pod *pod, struct arena *a,
		 struct assign_admission *io, struct error *err)
{
	struct admitting in = { .s = s, .pod = pod, .a = a, .io = io, .affinity.any = true };
	int r;

	io->waiting = false;
	io->ended = false;
	io->doubt = assign_in_doubt(s, pod->uid);
	io->reason = NULL;
	in.rec = assign_pod(s, pod->uid);
	if (in.rec && in.rec->ended) {
		io->ended = true;
		return 0;
	}
	if (io->doubt)
		return 0;
	if (in.rec && in.rec->containers.n > 0)
		r = check_held(&in, err);
	else
		r = admit_anew(&in, err);
	if (r < 0 && !io->reason)
		io->reason = "UnexpectedAdmissionError";
	io->waiting = r > 0;
	return MIN(r, 0);
}
