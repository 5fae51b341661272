/*
 * Pods: what each container holds, and what it held when the pod ended. A pod that has ended keeps
 * its holds, and its devices keep it as a user. Only `held` of the devices is cleared, so that
 * other pods can get them. The record is freed when the pod object is deleted.
 */
#include <assert.h>

#include "base/core/mem.h"
#include "node/assign/assign_impl.h"

/* --- records --------------------------------------------------------------------------------- */

struct pod_rec *assign_pod(const struct assign *s, struct str uid)
{
	return omap_get(&s->pods, uid);
}

struct pod_rec *assign_pod_new(struct str uid, struct str ns, struct str name)
{
	struct pod_rec *p = XNEW(struct pod_rec);

	p->uid = str_dup(uid);
	p->ns = str_dup(ns);
	p->name = str_dup(name);
	vec_init(&p->containers, SIZE_MAX);
	vec_init(&p->claims, SIZE_MAX);
	vec_init(&p->doubts, SIZE_MAX);
	return p;
}

void assign_pod_add(struct assign *s, struct pod_rec *p)
{
	void *before = omap_put(&s->pods, str_from(p->uid), p);

	(void)before;
	assert(!before);
}

struct container_rec *assign_container(const struct pod_rec *p, struct str name)
{
	for (size_t i = 0; i < p->containers.n; i++) {
		if (str_eqz(name, p->containers.v[i].name))
			return &p->containers.v[i];
	}
	return NULL;
}

struct container_rec *assign_add_container(struct pod_rec *p, struct str name,
					   enum pod_container_kind kind)
{
	struct container_rec c = { .name = str_dup(name), .kind = kind };

	vec_init(&c.holds, SIZE_MAX);
	vec_init(&c.memory, SIZE_MAX);
	(void)vec_push(&p->containers, c);
	return &p->containers.v[p->containers.n - 1];
}

struct hold_rec *assign_hold(const struct container_rec *c, const struct resource_rec *r)
{
	for (size_t i = 0; i < c->holds.n; i++) {
		if (c->holds.v[i].resource == r)
			return &c->holds.v[i];
	}
	return NULL;
}

static int cmp_devices(const void *a, const void *b)
{
	return str_cmp((*(struct device_rec *const *)a)->id, (*(struct device_rec *const *)b)->id);
}

struct hold_rec *assign_add_hold(struct pod_rec *p, struct container_rec *c, struct resource_rec *r,
				 struct device_rec *const *v, size_t n)
{
	struct hold_rec h = { .resource = r, .n = n };
	size_t at = 0;

	h.devices = xcalloc(n, sizeof(struct device_rec *));
	memcpy(h.devices, v, n * sizeof(struct device_rec *));
	qsort(h.devices, n, sizeof(struct device_rec *), cmp_devices);
	for (size_t i = 0; i < n; i++) {
		assert(p->ended || !v[i]->held || v[i]->held == p);
		assign_device_use(v[i], p);
		if (!p->ended)
			v[i]->held = p;
	}
	(void)vec_push(&c->holds, h);
	for (at = c->holds.n - 1; at > 0; at--) {
		if (str_cmp(c->holds.v[at - 1].resource->name, r->name) <= 0)
			break;
		c->holds.v[at] = c->holds.v[at - 1];
	}
	c->holds.v[at] = h;
	return &c->holds.v[at];
}

static void drop_container(struct assign *s, struct pod_rec *p, struct container_rec *c)
{
	for (size_t i = 0; i < c->holds.n; i++) {
		struct hold_rec *h = &c->holds.v[i];

		for (size_t d = 0; d < h->n; d++)
			assign_device_unuse(s, h->devices[d], p);
		free(h->devices);
		free(h->answer);
	}
	vec_release(&c->holds);
	vec_release(&c->memory);
	free(c->cpus);
	free(c->name);
}

void assign_drop_containers(struct assign *s, struct pod_rec *p, size_t from)
{
	while (p->containers.n > from)
		drop_container(s, p, &p->containers.v[--p->containers.n]);
}

void assign_pod_drop(struct assign *s, struct pod_rec *p)
{
	(void)omap_remove(&s->pods, str_from(p->uid));
	assign_drop_containers(s, p, 0);
	while (p->claims.n > 0)
		assign_pod_unlink(s, p, p->claims.n - 1);
	assign_drop_doubts(p);
	vec_release(&p->containers);
	vec_release(&p->claims);
	free(p->uid);
	free(p->ns);
	free(p->name);
	free(p);
}

void assign_free_pods(struct assign *s)
{
	struct omap_cursor c;

	while (omap_first(&s->pods, &c))
		assign_pod_drop(s, omap_value(&c));
}

/* --- the end of pods ------------------------------------------------------------------------- */

static void release_container(struct pod_rec *p, struct container_rec *c)
{
	for (size_t i = 0; i < c->holds.n; i++) {
		for (size_t d = 0; d < c->holds.v[i].n; d++) {
			if (c->holds.v[i].devices[d]->held == p)
				c->holds.v[i].devices[d]->held = NULL;
		}
	}
	free(c->cpus);
	c->cpus = NULL;
	vec_release(&c->memory);
}

/* Releases everything that the pod holds; the record keeps what it held. */
static void release_pod(struct assign *s, struct pod_rec *p)
{
	for (size_t i = 0; i < p->containers.n; i++)
		release_container(p, &p->containers.v[i]);
	assign_drop_doubts(p);
	p->ended = true;
	assign_recount(s);
}

void assign_end_pod(struct assign *s, struct str pod_uid)
{
	struct pod_rec *p = assign_pod(s, pod_uid);

	assign_drop_wishes(s, pod_uid);
	if (!p || p->ended)
		return;
	release_pod(s, p);
	assign_tell(s, ASSIGN_POD, p, STR_NULL, STR_NULL);
	assign_tell_shared(s);
}

void assign_forget_pod(struct assign *s, struct str pod_uid)
{
	struct pod_rec *p = assign_pod(s, pod_uid);

	assign_end_pod(s, pod_uid);
	if (!p)
		return;
	(void)omap_remove(&s->pods, pod_uid);
	assign_drop_containers(s, p, 0);
	while (p->claims.n > 0)
		assign_pod_unlink(s, p, p->claims.n - 1);
	assign_tell(s, ASSIGN_POD, p, STR_NULL, STR_NULL);
	assign_pod_drop(s, p);
}

bool assign_has_pod(const struct assign *s, struct str pod_uid)
{
	return assign_pod(s, pod_uid) != NULL;
}

bool assign_is_admitted(const struct assign *s, struct str pod_uid)
{
	const struct pod_rec *p = assign_pod(s, pod_uid);

	return p && !p->ended && p->containers.n > 0;
}

bool assign_next_pod(const struct assign *s, struct str *at_uid, bool *ret_ended)
{
	struct omap_cursor c;
	const struct pod_rec *p;

	if (!omap_seek_after(&s->pods, &c, *at_uid))
		return false;
	p = omap_value(&c);
	*at_uid = str_from(p->uid);
	*ret_ended = p->ended;
	return true;
}

/* --- requests to plugins and their replies --------------------------------------------------- */

static void view_hold(const struct container_rec *c, const struct hold_rec *h, struct arena *a,
		      struct assign_request *ret)
{
	struct str *ids = ARENA_ARRAY(a, struct str, h->n);

	for (size_t i = 0; i < h->n; i++)
		ids[i] = h->devices[i]->id;
	*ret = (struct assign_request){ .container = str_from(c->name),
					.resource = h->resource->name,
					.ids = ids,
					.nids = h->n };
}

static const struct hold_rec *unanswered(const struct container_rec *c)
{
	for (size_t i = 0; i < c->holds.n; i++) {
		if (!c->holds.v[i].allocated)
			return &c->holds.v[i];
	}
	return NULL;
}

bool assign_next_request(const struct assign *s, struct str pod_uid, struct arena *a,
			 struct assign_request *ret_request)
{
	const struct pod_rec *p = assign_pod(s, pod_uid);

	for (size_t i = 0; p && !p->ended && i < p->containers.n; i++) {
		const struct hold_rec *h = unanswered(&p->containers.v[i]);

		if (!h)
			continue;
		view_hold(&p->containers.v[i], h, a, ret_request);
		return true;
	}
	return false;
}

static struct hold_rec *find_hold(const struct assign *s, struct str pod_uid, struct str container,
				  struct str resource)
{
	const struct pod_rec *p = assign_pod(s, pod_uid);
	const struct container_rec *c = p ? assign_container(p, container) : NULL;
	const struct resource_rec *r = assign_resource(s, resource);

	return c && r ? assign_hold(c, r) : NULL;
}

void assign_set_answer(struct assign *s, struct str pod_uid, struct str container,
		       struct str resource, struct str packed)
{
	struct hold_rec *h = find_hold(s, pod_uid, container, resource);

	if (!h)
		return;
	free(h->answer);
	h->answer = str_dup(packed);
	h->answer_n = packed.n;
	h->allocated = true;
	assign_tell(s, ASSIGN_POD, assign_pod(s, pod_uid), STR_NULL, STR_NULL);
}

bool assign_next_answer(const struct assign *s, struct str pod_uid, struct str container,
			struct str *at_resource, struct str *ret_packed, struct arena *a,
			struct assign_request *ret_request)
{
	const struct pod_rec *p = assign_pod(s, pod_uid);
	const struct container_rec *c = p ? assign_container(p, container) : NULL;

	for (size_t i = 0; c && i < c->holds.n; i++) {
		const struct hold_rec *h = &c->holds.v[i];

		if (!h->allocated || str_cmp(h->resource->name, *at_resource) <= 0)
			continue;
		*at_resource = h->resource->name;
		*ret_packed = str_of(h->answer, h->answer_n);
		view_hold(c, h, a, ret_request);
		return true;
	}
	return false;
}
