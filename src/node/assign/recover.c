/*
 * Recovery after the log was lost: running containers and the statuses of pods name the plugin
 * devices that they have. An earlier agent of this node wrote both. Containers carry their devices
 * since they were created, but a status may lag behind the last changes, so the runtime counts
 * more. A device that neither names is not assumed to be free: if a pod requests more devices than
 * are named, the whole resource is in doubt.
 *
 * The plugins' extended resources are unknown until the plugins are back, so all extended resources
 * count. CPUs and memory are chosen again, and containers are moved to them.
 */
#include "base/core/mem.h"
#include "node/assign/admit.h"

enum { WORDS_MAX = 1024 };

/* --- doubts ---------------------------------------------------------------------------------- */

static bool doubts(const struct pod_rec *p, struct str resource)
{
	for (size_t i = 0; i < p->doubts.n; i++) {
		if (str_eqz(resource, p->doubts.v[i]))
			return true;
	}
	return false;
}

const struct pod_rec *assign_doubter(const struct assign *s, const struct pod_rec *but,
				     struct str resource)
{
	struct omap_cursor c;

	for (bool ok = omap_first(&s->pods, &c); ok; ok = omap_next(&c)) {
		if (omap_value(&c) != but && doubts(omap_value(&c), resource))
			return omap_value(&c);
	}
	return NULL;
}

void assign_add_doubt(struct pod_rec *p, struct str resource)
{
	if (!doubts(p, resource))
		(void)vec_push(&p->doubts, str_dup(resource));
}

void assign_drop_doubts(struct pod_rec *p)
{
	for (size_t i = 0; i < p->doubts.n; i++)
		free(p->doubts.v[i]);
	vec_release(&p->doubts);
}

bool assign_in_doubt(const struct assign *s, struct str pod_uid)
{
	const struct pod_rec *p = assign_pod(s, pod_uid);

	return p && p->doubts.n > 0;
}

void assign_settle_doubt(struct assign *s, struct str pod_uid)
{
	struct pod_rec *p = assign_pod(s, pod_uid);

	if (!p || p->doubts.n == 0)
		return;
	assign_drop_doubts(p);
	assign_drop_containers(s, p, 0);
	assign_recount(s);
	assign_tell(s, ASSIGN_POD, p, STR_NULL, STR_NULL);
	assign_tell_shared(s);
}

/* --- recovery -------------------------------------------------------------------------------- */

struct recovery {
	struct admitting in;
	const struct json *running; /* devices by container and resource; or NULL */
	struct buf held, doubt; /* text for assign_recovery */
};

static void add_word(struct buf *b, struct str resource, struct str more)
{
	if (b->n + resource.n + more.n < WORDS_MAX)
		(void)buf_printf(b, "%s%.*s%.*s", b->n > 0 ? "; " : "", STR_ARG(resource),
				 STR_ARG(more));
}

/* A device plugin's resource has a domain other than kubernetes.io. */
static bool is_extended(struct str name)
{
	ptrdiff_t at = str_chr(name, '/');

	return at > 0 && str_find(str_of(name.p, (size_t)at), STR("kubernetes.io")) < 0;
}

/*
 * Returns the device that an entry names, or NULL if this pod cannot have it. An entry of a status
 * is an object, one of the runtime is the ID.
 */
static struct device_rec *device_of(const struct recovery *r, struct resource_rec *res,
				    const struct json *entry, uint64_t mark)
{
	bool is_status = json_is(entry, JSON_OBJECT);
	struct str id = is_status ? json_text_at(entry, "resourceID") : json_str(entry);
	struct device_rec *d;

	if (id.n == 0 || str_chr(id, '\0') >= 0)
		return NULL;
	d = assign_need_device(res, id);
	if ((d->held && d->held != r->in.rec) || d->mark == mark)
		return NULL;
	d->mark = mark;
	return d;
}

static size_t named_devices(struct recovery *r, struct resource_rec *res, const struct json *list,
			    struct device_rec **ret_devices)
{
	uint64_t mark = ++r->in.s->marks;
	size_t n = 0;

	JSON_FOREACH (it, list) {
		struct device_rec *d = device_of(r, res, it, mark);

		if (d)
			ret_devices[n++] = d;
	}
	return n;
}

static void tell_held(struct recovery *r, const struct hold_rec *h)
{
	CLEANUP(buf_release) struct buf ids = BUF_INIT(WORDS_MAX);

	for (size_t i = 0; i < h->n; i++)
		(void)buf_printf(&ids, "%s%.*s", i > 0 ? ", " : ": ", STR_ARG(h->devices[i]->id));
	add_word(&r->held, h->resource->name, buf_str(&ids));
}

static void recover_resource(struct recovery *r, struct container_rec *rec, struct str name,
			     int64_t required, const struct json *list)
{
	struct resource_rec *res = assign_need_resource(r->in.s, name);
	struct device_rec **v = ARENA_ARRAY(r->in.a, struct device_rec *, json_count(list));
	size_t n = named_devices(r, res, list, v);

	if (n > 0)
		tell_held(r, assign_add_hold(r->in.rec, rec, res, v, n));
	if ((int64_t)n == required)
		return;
	if (!doubts(r->in.rec, name))
		add_word(&r->doubt, name, STR_NULL);
	assign_add_doubt(r->in.rec, name);
}

static void recover_container(struct recovery *r, const struct pod_containers *c)
{
	struct container_rec *rec = assign_add_container(r->in.rec, c->name, c->kind);
	const char *key = c->kind == POD_MAIN ? "containerStatuses" : "initContainerStatuses";
	const struct json *status = json_find(json_getz(r->in.pod->status, key), "name", c->name);
	const struct json *entries = json_getz(status, "allocatedResourcesStatus");
	const struct json *running = json_get(r->running, c->name);

	JSON_FOREACH (it, json_getz(json_getz(c->container, "resources"), "limits")) {
		struct str name = json_key(it);
		int64_t required = pod_container_limit(c->container, name);
		const struct json *list = json_get(running, name);

		if (!list)
			list = json_getz(json_find(entries, "name", name), "resources");
		if (is_extended(name) && required > 0 &&
		    !assign_backed_by_claim(r->in.pod, c->name, name))
			recover_resource(r, rec, name, required, list);
	}
	/*
	 * The container runs already. If it gets no CPUs or memory of its own, it uses the shared
	 * ones.
	 */
	(void)assign_take_cpus(&r->in, c->container, rec, NULL);
	(void)assign_take_memory(&r->in, c->container, rec, NULL);
}

static bool asks_for_devices(const struct pod *pod)
{
	struct pod_containers c = pod_containers(pod);

	while (pod_containers_next(&c)) {
		JSON_FOREACH (it, json_getz(json_getz(c.container, "resources"), "limits")) {
			if (is_extended(json_key(it)))
				return true;
		}
	}
	return false;
}

static struct pod_rec *recover_new(struct assign *s, const struct pod *pod)
{
	struct pod_rec *p = assign_pod_new(pod->uid, pod->ns, pod->name);

	assign_pod_add(s, p);
	return p;
}

static void recover_anew(struct assign *s, struct pod_rec *p)
{
	assign_drop_doubts(p);
	assign_drop_containers(s, p, 0);
	assign_recount(s);
}

void assign_recover(struct assign *s, const struct pod *pod, const struct json *running,
		    struct arena *a, struct assign_recovery *ret_recovery)
{
	struct assign_admission io = { 0 };
	struct pod_containers c = pod_containers(pod);
	struct recovery r = { .in = { .s = s, .pod = pod, .a = a, .io = &io, .affinity.any = true },
			      .running = running,
			      .held = BUF_INIT(WORDS_MAX),
			      .doubt = BUF_INIT(WORDS_MAX) };

	*ret_recovery = (struct assign_recovery){ 0 };
	r.in.rec = assign_pod(s, pod->uid);
	if (!asks_for_devices(pod) || (r.in.rec && !(running && r.in.rec->doubts.n > 0)))
		return;
	if (r.in.rec)
		recover_anew(s, r.in.rec);
	else
		r.in.rec = recover_new(s, pod);
	r.in.guaranteed = assign_is_guaranteed(pod);
	vec_init(&r.in.again, SIZE_MAX);
	while (pod_containers_next(&c)) {
		if (c.kind != POD_EPHEMERAL)
			recover_container(&r, &c);
	}
	vec_release(&r.in.again);
	ret_recovery->held = arena_str(a, buf_str(&r.held));
	ret_recovery->doubt = arena_str(a, buf_str(&r.doubt));
	buf_release(&r.held);
	buf_release(&r.doubt);
	assign_tell(s, ASSIGN_POD, r.in.rec, STR_NULL, STR_NULL);
	assign_tell_shared(s);
}
