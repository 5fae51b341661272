/*
 * Reads the checkpoint back. It trusts nothing: input that assign/state.c would not write, or that
 * assigns a thing twice, fails and leaves the log empty.
 */
#include "base/core/mem.h"
#include "base/json/json.h"
#include "base/text/base64.h"
#include "node/assign/assign_impl.h"
#include "node/node_limits.h"

/* All faults mean the same: the file is not ours. */
struct reader {
	struct assign *s;
	struct arena *a; /* for the tree */
	struct error *err;
};

static int foreign(struct reader *r, const char *what)
{
	return error_set(r->err, ERR_INVALID, "assignments: %s", what);
}

/*
 * Reads text without NULs, because our records end there. Empty text only where that is meaningful.
 */
static bool load_read_text(const struct json *object, const char *key, struct str *ret)
{
	*ret = json_text_at(object, key);
	return ret->p && str_chr(*ret, '\0') < 0;
}

static bool read_name(const struct json *object, const char *key, struct str *ret)
{
	return load_read_text(object, key, ret) && ret->n > 0;
}

static const struct json *array_at(const struct json *object, const char *key)
{
	const struct json *v = json_getz(object, key);

	return json_is(v, JSON_ARRAY) ? v : NULL;
}

static bool read_numa(const struct json *array, int64_t *numa, size_t *ret_n)
{
	size_t n = 0;

	if (json_count(array) > DEVICE_NUMA_MAX)
		return false;
	JSON_FOREACH (it, array) {
		if (!json_i64(it, &numa[n++]))
			return false;
	}
	*ret_n = n;
	return true;
}

static int load_read_device(struct reader *r, const struct json *v, struct resource_rec *res,
			    struct pod_rec *p, struct device_rec **ret_device)
{
	const struct json *numa = json_getz(v, "numa");
	int64_t nodes[DEVICE_NUMA_MAX];
	struct device_rec *d;
	struct str id;
	size_t n = 0;

	if (!read_name(v, "id", &id) || (numa && !json_is(numa, JSON_ARRAY)) ||
	    !read_numa(numa, nodes, &n))
		return foreign(r, "a device entry is not valid");
	d = assign_need_device(res, id);
	if (!p->ended && d->held && d->held != p)
		return foreign(r, "a device is held twice");
	assign_device_set_numa(d, nodes, n, numa != NULL);
	*ret_device = d;
	return 0;
}

static int read_answer(struct reader *r, const struct json *v, struct hold_rec *h)
{
	struct json *text = json_getz(v, "answer");
	struct buf packed = BUF_INIT(SIZE_MAX);

	if (!text)
		return 0;
	if (!json_is(text, JSON_STRING) ||
	    base64_decode(&packed, json_str(text), BASE64_STD, NULL) < 0) {
		buf_release(&packed);
		return foreign(r, "a saved reply of a plugin is not base64");
	}
	h->allocated = true;
	h->answer_n = packed.n;
	h->answer = buf_take(&packed);
	return 0;
}

/* After a failure some records may have no user yet; the log is cleared then. */
static int read_hold(struct reader *r, const struct json *v, struct pod_rec *p, size_t container)
{
	const struct json *ids = array_at(v, "ids");
	struct device_rec **devices;
	struct resource_rec *res;
	struct str name;
	size_t n = 0;

	if (!read_name(v, "resource", &name) || json_count(ids) == 0)
		return foreign(r, "a container's list of devices is not valid");
	res = assign_need_resource(r->s, name);
	if (assign_hold(&p->containers.v[container], res))
		return foreign(r, "a container lists a resource twice");
	devices = ARENA_ARRAY(r->a, struct device_rec *, json_count(ids));
	JSON_FOREACH (it, ids) {
		int err = load_read_device(r, it, res, p, &devices[n]);

		if (err < 0)
			return err;
		if (n > 0 && str_cmp(devices[n - 1]->id, devices[n]->id) >= 0)
			return foreign(r, "a container's devices are not in order");
		n++;
	}
	return read_answer(r, v, assign_add_hold(p, &p->containers.v[container], res, devices, n));
}

static bool read_nodes(const struct json *array, uint64_t *ret_nodes)
{
	int64_t node;

	*ret_nodes = 0;
	JSON_FOREACH (it, array) {
		if (!json_i64(it, &node) || node < 0 || node >= 64)
			return false;
		*ret_nodes |= UINT64_C(1) << node;
	}
	return *ret_nodes != 0;
}

static int read_memory(struct reader *r, const struct json *v, struct container_rec *c)
{
	struct memory_block b;

	if (!read_nodes(array_at(v, "nodes"), &b.nodes) ||
	    !json_i64(json_getz(v, "page"), &b.page) || b.page < 0 ||
	    !json_i64(json_getz(v, "bytes"), &b.bytes) || b.bytes < 0)
		return foreign(r, "a memory block entry is not valid");
	(void)vec_push(&c->memory, b);
	return 0;
}

static int read_cpus(struct reader *r, const struct json *v, const struct pod_rec *p,
		     struct container_rec *c)
{
	struct json *text = json_getz(v, "cpus");
	struct cpu_set cpus;

	if (!text)
		return 0;
	if (!json_is(text, JSON_STRING) || p->ended ||
	    cpu_set_parse(json_str(text), &cpus, NULL) < 0 || cpu_set_empty(&cpus))
		return foreign(r, "a container's list of CPUs is not valid");
	c->cpus = XNEW(struct cpu_set);
	*c->cpus = cpus;
	return 0;
}

static int load_kind_of(struct str text)
{
	for (int i = 0; i < (int)ASSIGN_KINDS; i++) {
		if (str_eqz(text, assign_kind_names[i]))
			return i;
	}
	return -1;
}

static int read_container(struct reader *r, const struct json *v, struct pod_rec *p)
{
	int kind = load_kind_of(json_text_at(v, "kind")), err;
	struct str name;
	size_t at = p->containers.n;

	if (!read_name(v, "name", &name) || kind < 0 || !array_at(v, "devices") ||
	    assign_container(p, name))
		return foreign(r, "a container entry is not valid");
	err = read_cpus(r, v, p, assign_add_container(p, name, (enum pod_container_kind)kind));
	JSON_FOREACH (it, array_at(v, "devices"))
		err = err < 0 ? err : read_hold(r, it, p, at);
	JSON_FOREACH (it, array_at(v, "memory"))
		err = err < 0 ? err : read_memory(r, it, &p->containers.v[at]);
	return err;
}

static bool read_strs(const struct json *array, struct arena *a, const struct str **ret, size_t *n)
{
	struct str *v = ARENA_ARRAY(a, struct str, json_count(array));

	*ret = v;
	*n = json_count(array);
	if (!array)
		return false;
	JSON_FOREACH (it, array) {
		if (!json_is(it, JSON_STRING))
			return false;
		*v++ = json_str(it);
	}
	return true;
}

static int read_claim_device(struct reader *r, const struct json *v, struct claim_rec *c)
{
	struct assign_claim_device d = { 0 };
	size_t before = c->devices.n;

	if (!read_name(v, "driver", &d.driver) || !load_read_text(v, "pool", &d.pool) ||
	    !load_read_text(v, "device", &d.device) || !load_read_text(v, "share", &d.share_id) ||
	    !read_strs(array_at(v, "requests"), r->a, &d.requests, &d.nrequests) ||
	    !read_strs(array_at(v, "cdi"), r->a, &d.cdi, &d.ncdi))
		return foreign(r, "a claim's device entry is not valid");
	assign_claim_add_device(r->s, c, &d);
	return c->devices.n > before ? 0 : foreign(r, "a claim lists a device twice");
}

static bool load_read_list(const struct json *array, struct claim_rec *c,
			   bool (*add)(struct claim_rec *c, struct str text))
{
	if (!array)
		return false;
	JSON_FOREACH (it, array) {
		struct str text = json_str(it);

		if (text.n == 0 || str_chr(text, '\0') >= 0 || !add(c, text))
			return false;
	}
	return true;
}

static bool add_user(struct claim_rec *c, struct str pod_uid)
{
	struct claim_user *u = assign_claim_need_user(c, pod_uid);

	if (u->uses)
		return false;
	return u->uses = true;
}

/* The caller owns *ret_claim if it is not NULL, also after a failure. */
static int load_read_claim(struct reader *r, const struct json *v, struct claim_rec **ret_claim)
{
	bool unpreparing;
	struct str uid, ns, name;
	struct claim_rec *c;
	int err = 0;

	if (!read_name(v, "uid", &uid) || !load_read_text(v, "namespace", &ns) ||
	    !read_name(v, "name", &name) || !json_bool(json_getz(v, "unpreparing"), &unpreparing))
		return foreign(r, "a claim entry is not valid");
	*ret_claim = c = assign_claim_new(uid, ns, name);
	c->state = unpreparing ? ASSIGN_CLAIM_UNPREPARING : ASSIGN_CLAIM_PREPARING;
	if (!load_read_list(array_at(v, "drivers"), c, assign_claim_add_driver) ||
	    !load_read_list(array_at(v, "pods"), c, add_user) || !array_at(v, "devices"))
		return foreign(r, "a claim's lists of drivers or pods are not valid");
	/* Older agents did not write it; claims get it again when their pods prepare them. */
	if (array_at(v, "exclusive") &&
	    !load_read_list(array_at(v, "exclusive"), c, assign_claim_add_exclusive))
		return foreign(r, "a claim's list of exclusive devices is not valid");
	JSON_FOREACH (it, array_at(v, "devices"))
		err = err < 0 ? err : read_claim_device(r, it, c);
	return err;
}

static int read_log_claim(struct reader *r, const struct json *v)
{
	struct claim_rec *c = NULL;
	int err = load_read_claim(r, v, &c);

	if (err == 0 && !assign_claim_add(r->s, c))
		err = foreign(r, "a claim or its device is listed twice");
	if (err < 0 && c)
		assign_claim_unref(r->s, c);
	return err;
}

static int read_past(struct reader *r, const struct json *v, struct pod_rec *p, struct str name)
{
	struct claim_rec *c = NULL;
	int err = load_read_claim(r, v, &c);

	if (err == 0 && c->users.n + c->exclusive.n > 0)
		err = foreign(r, "a claim of the past is used");
	if (err == 0) {
		c->forgotten = true;
		assign_pod_link(p, name, c);
	}
	if (c)
		assign_claim_unref(r->s, c);
	return err;
}

static int read_link(struct reader *r, const struct json *v, struct pod_rec *p)
{
	const struct json *past = json_getz(v, "past");
	struct claim_rec *c;
	struct str name;

	if (!read_name(v, "name", &name) || assign_pod_claim(p, name))
		return foreign(r, "a pod's claim entry is not valid");
	if (past)
		return read_past(r, past, p, name);
	c = assign_claim_rec(r->s, json_text_at(v, "uid"));
	if (!c)
		return foreign(r, "a pod uses a claim that is not listed");
	assign_pod_link(p, name, c);
	return 0;
}

static int read_doubts(struct reader *r, const struct json *array, struct pod_rec *p)
{
	JSON_FOREACH (it, array) {
		struct str name = json_str(it);

		if (name.n == 0 || str_chr(name, '\0') >= 0 || p->ended)
			return foreign(r, "an entry of a lost assignment is not valid");
		assign_add_doubt(p, name);
	}
	return 0;
}

static int read_pod(struct reader *r, const struct json *v)
{
	struct str uid, ns, name;
	struct pod_rec *p;
	bool ended;
	int err = 0;

	if (!read_name(v, "uid", &uid) || !load_read_text(v, "namespace", &ns) ||
	    !read_name(v, "name", &name) || !json_bool(json_getz(v, "ended"), &ended) ||
	    !array_at(v, "containers") || !array_at(v, "claims") || assign_pod(r->s, uid))
		return foreign(r, "a pod entry is not valid");
	p = assign_pod_new(uid, ns, name);
	p->ended = ended;
	assign_pod_add(r->s, p);
	JSON_FOREACH (it, array_at(v, "containers"))
		err = err < 0 ? err : read_container(r, it, p);
	JSON_FOREACH (it, array_at(v, "claims"))
		err = err < 0 ? err : read_link(r, it, p);
	return err < 0 ? err : read_doubts(r, array_at(v, "doubts"), p);
}

/*
 * Marks all resources as dropped: so far they are known only because a pod has a device of them.
 * read_resource() then restores those in the list.
 */
static void drop_all(struct assign *s)
{
	struct omap_cursor c;

	for (bool ok = omap_first(&s->resources, &c); ok; ok = omap_next(&c))
		((struct resource_rec *)omap_value(&c))->dropped = true;
}

static int read_resource(struct reader *r, const struct json *v)
{
	if (json_str(v).n == 0)
		return foreign(r, "a resource has no name");
	assign_need_resource(r->s, json_str(v))->dropped = false;
	return 0;
}

static int load_read_all(struct reader *r, const struct json *root, const char *key,
			 int (*read)(struct reader *r, const struct json *v))
{
	const struct json *array = array_at(root, key);
	int err = array ? 0 : foreign(r, "a part is missing");

	JSON_FOREACH (it, array)
		err = err < 0 ? err : read(r, it);
	return err;
}

static int read_log(struct reader *r, const struct json *root)
{
	int err = load_read_all(r, root, "claims", read_log_claim);

	if (err == 0)
		err = load_read_all(r, root, "pods", read_pod);
	if (err < 0)
		return err;
	drop_all(r->s);
	return load_read_all(r, root, "resources", read_resource);
}

int assign_decode(struct assign *s, struct str body, struct error *err)
{
	CLEANUP(arena_release) struct arena a;
	struct reader r = { .s = s, .a = &a, .err = err };
	struct json *root;

	arena_init(&a, ASSIGN_STATE_WORK_MAX);
	if (json_parse(&a, body, NULL, &root, NULL) < 0)
		return foreign(&r, "not JSON");
	if (read_log(&r, root) < 0) {
		assign_clear(s);
		return -ERR_INVALID;
	}
	assign_recount(s);
	s->told_cpus = s->free_cpus;
	return 0;
}
