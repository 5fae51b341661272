/*
 * Callbacks that record their arguments.
 */
#include "store/etcd/client_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>

#include "base/core/limits.h"

static void on_events(void *arg, const struct store_event *events, size_t n, int64_t revision)
{
	struct etcd_client_world *c = arg;
	int64_t last = c->delivered;

	for (size_t i = 0; i < n; i++) {
		const struct store_event *e = &events[i];

		assert_true(e->revision > c->delivered && e->revision >= last);
		assert_true(e->revision <= revision);
		last = e->revision;
		(void)buf_printf(&c->events, "%.*s%s%.*s@%" PRId64 "%s ", STR_ARG(e->key.name),
				 e->value ? "=" : "-", e->value ? (int)e->value->n : 0,
				 e->value ? e->value->data : "", e->revision, e->write ? "*" : "");
		if (e->write)
			assert_int_equal(e->write->revision, e->revision);
	}
	assert_true(revision > c->delivered);
	c->delivered = revision;
	c->batches++;
}

static void client_world_on_lost(void *arg, const struct error *err)
{
	struct etcd_client_world *c = arg;

	assert_false(c->lost);
	c->lost = true;
	c->lost_why = *err;
}

void etcd_client_world_open(struct etcd_client_world *c, struct etcd_world *w)
{
	*c = (struct etcd_client_world){ .world = w, .store = etcd_world_open(w, NULL) };
	buf_init(&c->events, MIB);
	(void)buf_reserve(&c->events, 1);
	c->events.p[0] = '\0';
}

void etcd_client_world_follow(struct etcd_client_world *c, int64_t revision)
{
	struct store_feed feed = { .on_events = on_events,
				   .on_lost = client_world_on_lost,
				   .arg = c };

	c->delivered = revision;
	c->lost = false;
	store_follow(c->store, revision, &feed);
}

struct asked {
	bool done;
	int64_t revision;
};

static void on_current(void *arg, int64_t revision, const struct error *err)
{
	struct asked *a = arg;

	a->done = true;
	a->revision = err ? -(int64_t)err->code : revision;
}

int64_t etcd_client_world_current(struct etcd_client_world *c)
{
	struct asked a = { 0 };

	store_current(c->store, on_current, &a);
	assert_false(a.done);
	etcd_world_until(c->world, &a.done);
	return a.revision;
}

void etcd_client_world_init(struct etcd_client_world *c, struct etcd_world *w)
{
	etcd_client_world_open(c, w);
	etcd_client_world_follow(c, etcd_client_world_current(c));
	etcd_world_run(w, 10);
}

void etcd_client_world_release(struct etcd_client_world *c)
{
	etcd_world_close(c->world, c->store);
	buf_release(&c->events);
}

static void client_world_on_done(struct store_write *w, const struct error *err)
{
	struct etcd_world_write *z = CONTAINER_OF(w, struct etcd_world_write, write);

	assert_false(z->done);
	z->done = true;
	z->result = err ? -(int)err->code : 0;
	if (err)
		z->err = *err;
	z->delivered_then = z->client->delivered;
	z->events_then = z->client->events.n;
	bytes_unref(w->value);
}

static void submit(struct etcd_client_world *c, struct etcd_world_write *z, const char *name,
		   const char *value)
{
	z->client = c;
	z->deletes = !value;
	(void)snprintf(z->name, sizeof(z->name), "%s", name);
	z->write.key = (struct store_key){ STR("core/pods"), STR("ns"), str_from(z->name) };
	z->write.value = value ? bytes_copy(str_from(value)) : NULL;
	z->write.done = client_world_on_done;
	store_write(c->store, &z->write);
	assert_false(z->done);
}

void etcd_client_world_put(struct etcd_client_world *c, struct etcd_world_write *z,
			   const char *name, const char *value, int64_t expected)
{
	*z = (struct etcd_world_write){ .write.expected = expected };
	submit(c, z, name, value);
}

void etcd_client_world_guarded(struct etcd_client_world *c, struct etcd_world_write *z,
			       const char *name, const struct str *guards, size_t n, int64_t view)
{
	*z = (struct etcd_world_write){
		.write = { .guards = guards, .nguards = n, .view = view },
	};
	submit(c, z, name, "guarded");
}

void etcd_client_world_based(struct etcd_client_world *c, struct etcd_world_write *z,
			     const char *name, const char *basis, int64_t at)
{
	*z = (struct etcd_world_write){
		.write.bases[1] = { .key = { STR("core/pods"), STR("ns"), str_from(basis) },
				    .at = at },
	};
	submit(c, z, name, "based");
}

void etcd_client_world_after(struct etcd_world_write *z, struct etcd_world_write *after,
			     const char *value)
{
	*z = (struct etcd_world_write){ .write.after = &after->write };
	submit(after->client, z, after->name, value);
}

int etcd_world_write_wait(struct etcd_world_write *z)
{
	etcd_world_until(z->client->world, &z->done);
	return z->result;
}
