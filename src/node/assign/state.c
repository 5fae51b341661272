/*
 * The checkpoint: everything that must survive a restart, as JSON in a fixed order, so that equal
 * logs have equal text. It stores the names of resources (they come back without devices, as
 * upstream's do), pods with what they hold or held, and claims with their users. It does not store
 * health, which plugins report again, or whether a claim is prepared, because drivers are called
 * again after a restart. assign/load.c reads it.
 */
#include "base/json/writer.h"
#include "base/text/base64.h"
#include "node/assign/assign_impl.h"

const char *const assign_kind_names[] = {
	[POD_INIT] = "init", [POD_SIDECAR] = "sidecar", [POD_MAIN] = "main"
};

static void put_strz(struct json_writer *w, const char *key, const char *v)
{
	json_writer_keyz(w, key);
	json_writer_strz(w, v);
}

static void put_str(struct json_writer *w, const char *key, struct str v)
{
	json_writer_keyz(w, key);
	json_writer_str(w, v);
}

static void put_strs(struct json_writer *w, const char *key, const struct str *v, size_t n)
{
	json_writer_keyz(w, key);
	json_writer_begin_array(w);
	for (size_t i = 0; i < n; i++)
		json_writer_str(w, v[i]);
	json_writer_end_array(w);
}

static void begin_array(struct json_writer *w, const char *key)
{
	json_writer_keyz(w, key);
	json_writer_begin_array(w);
}

static void write_device(struct json_writer *w, const struct device_rec *d)
{
	json_writer_begin_object(w);
	put_str(w, "id", d->id);
	if (d->has_topology) {
		begin_array(w, "numa");
		for (size_t i = 0; i < d->nnuma; i++)
			json_writer_i64(w, d->numa[i]);
		json_writer_end_array(w);
	}
	json_writer_end_object(w);
}

static void write_hold(struct json_writer *w, const struct hold_rec *h)
{
	struct buf packed = BUF_INIT(SIZE_MAX);

	json_writer_begin_object(w);
	put_str(w, "resource", h->resource->name);
	begin_array(w, "ids");
	for (size_t i = 0; i < h->n; i++)
		write_device(w, h->devices[i]);
	json_writer_end_array(w);
	if (h->allocated) {
		(void)base64_encode(&packed, str_of(h->answer, h->answer_n), BASE64_STD);
		put_str(w, "answer", buf_str(&packed));
		buf_release(&packed);
	}
	json_writer_end_object(w);
}

static void write_memory(struct json_writer *w, const struct memory_block *b)
{
	json_writer_begin_object(w);
	begin_array(w, "nodes");
	for (int i = 0; i < 64; i++) {
		if (b->nodes >> i & 1)
			json_writer_i64(w, i);
	}
	json_writer_end_array(w);
	json_writer_keyz(w, "page");
	json_writer_i64(w, b->page);
	json_writer_keyz(w, "bytes");
	json_writer_i64(w, b->bytes);
	json_writer_end_object(w);
}

static void write_cpus(struct json_writer *w, const struct cpu_set *cpus)
{
	struct arena a;

	arena_init(&a, SIZE_MAX);
	put_str(w, "cpus", cpu_set_print(cpus, &a));
	arena_release(&a);
}

static void write_container(struct json_writer *w, const struct container_rec *c)
{
	json_writer_begin_object(w);
	put_strz(w, "name", c->name);
	put_strz(w, "kind", assign_kind_names[c->kind]);
	begin_array(w, "devices");
	for (size_t i = 0; i < c->holds.n; i++)
		write_hold(w, &c->holds.v[i]);
	json_writer_end_array(w);
	if (c->cpus)
		write_cpus(w, c->cpus);
	begin_array(w, "memory");
	for (size_t i = 0; i < c->memory.n; i++)
		write_memory(w, &c->memory.v[i]);
	json_writer_end_array(w);
	json_writer_end_object(w);
}

static void write_claim_device(struct json_writer *w, const struct assign_claim_device *d)
{
	json_writer_begin_object(w);
	put_str(w, "driver", d->driver);
	put_str(w, "pool", d->pool);
	put_str(w, "device", d->device);
	put_str(w, "share", d->share_id);
	put_strs(w, "requests", d->requests, d->nrequests);
	put_strs(w, "cdi", d->cdi, d->ncdi);
	json_writer_end_object(w);
}

static void write_claim(struct json_writer *w, const struct claim_rec *c)
{
	json_writer_begin_object(w);
	put_strz(w, "uid", c->uid);
	put_strz(w, "namespace", c->ns);
	put_strz(w, "name", c->name);
	json_writer_keyz(w, "unpreparing");
	json_writer_bool(w, c->state == ASSIGN_CLAIM_UNPREPARING);
	begin_array(w, "drivers");
	for (size_t i = 0; i < c->drivers.n; i++)
		json_writer_strz(w, c->drivers.v[i]);
	json_writer_end_array(w);
	begin_array(w, "pods");
	for (size_t i = 0; i < c->users.n; i++) {
		if (c->users.v[i].uses)
			json_writer_strz(w, c->users.v[i].uid);
	}
	json_writer_end_array(w);
	begin_array(w, "exclusive");
	for (size_t i = 0; i < c->exclusive.n; i++)
		json_writer_strz(w, c->exclusive.v[i]);
	json_writer_end_array(w);
	begin_array(w, "devices");
	for (size_t i = 0; i < c->devices.n; i++)
		write_claim_device(w, &c->devices.v[i]->view);
	json_writer_end_array(w);
	json_writer_end_object(w);
}

/* A claim in the log is referenced by its uid; one that is only this pod's past is written here. */
static void write_link(struct json_writer *w, const struct claim_link *l)
{
	json_writer_begin_object(w);
	put_strz(w, "name", l->name);
	if (l->claim->forgotten) {
		json_writer_keyz(w, "past");
		write_claim(w, l->claim);
	} else {
		put_strz(w, "uid", l->claim->uid);
	}
	json_writer_end_object(w);
}

static void write_pod(struct json_writer *w, const struct pod_rec *p)
{
	json_writer_begin_object(w);
	put_strz(w, "uid", p->uid);
	put_strz(w, "namespace", p->ns);
	put_strz(w, "name", p->name);
	json_writer_keyz(w, "ended");
	json_writer_bool(w, p->ended);
	begin_array(w, "containers");
	for (size_t i = 0; i < p->containers.n; i++)
		write_container(w, &p->containers.v[i]);
	json_writer_end_array(w);
	begin_array(w, "claims");
	for (size_t i = 0; i < p->claims.n; i++)
		write_link(w, &p->claims.v[i]);
	json_writer_end_array(w);
	if (p->doubts.n > 0) {
		begin_array(w, "doubts");
		for (size_t i = 0; i < p->doubts.n; i++)
			json_writer_strz(w, p->doubts.v[i]);
		json_writer_end_array(w);
	}
	json_writer_end_object(w);
}

static void write_resource(struct json_writer *w, const struct resource_rec *r)
{
	if (!r->dropped)
		json_writer_str(w, r->name);
}

#define WRITE_ALL(w, key, omap, write)                                              \
	do {                                                                        \
		struct omap_cursor at_;                                             \
		begin_array(w, key);                                                \
		for (bool ok_ = omap_first(omap, &at_); ok_; ok_ = omap_next(&at_)) \
			write(w, omap_value(&at_));                                 \
		json_writer_end_array(w);                                           \
	} while (0)

int assign_encode(const struct assign *s, struct buf *out)
{
	struct json_writer w;

	json_writer_init(&w, out, NULL);
	json_writer_begin_object(&w);
	WRITE_ALL(&w, "resources", &s->resources, write_resource);
	WRITE_ALL(&w, "claims", &s->claims, write_claim);
	WRITE_ALL(&w, "pods", &s->pods, write_pod);
	json_writer_end_object(&w);
	return json_writer_finish(&w);
}
