/*
 * The etcd store on an etcd that runs: writes of objects of 2 KB with 1, 16 and
 * 256 of them on their way, and reading them all again.
 *
 *	etcd_bench http://127.0.0.1:2379
 *
 * One line per figure. Its keys stay in etcd, below the prefix /bench-<time>.
 */
#include <inttypes.h>

#include "base/core/arena.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "net/loop/loop.h"
#include "store/etcd/store.h"

enum { KEYS = 4096, VALUE = 2048, SECONDS = 3 };

struct bench {
	struct loop *loop;
	struct store *store;
	struct bytes *value;
	int64_t revisions[KEYS]; /* 0: does not exist */
	int64_t until; /* ns: no write begins after it */
	size_t next, done, in_flight;
};

struct slot {
	struct store_write write;
	struct bench *bench;
	size_t key;
	char name[16];
};

static void die(const char *what)
{
	(void)fprintf(stderr, "etcd_bench: %s\n", what);
	exit(1);
}

static void on_done(struct store_write *w, const struct error *err);

static void submit(struct slot *s)
{
	struct bench *b = s->bench;

	s->key = b->next++ % KEYS;
	(void)snprintf(s->name, sizeof(s->name), "pod-%05zu", s->key);
	s->write = (struct store_write){ .key = { STR("core/pods"), STR("default"),
						  str_from(s->name) },
					 .value = b->value,
					 .expected = b->revisions[s->key],
					 .done = on_done };
	b->in_flight++;
	store_write(b->store, &s->write);
}

static void on_done(struct store_write *w, const struct error *err)
{
	struct slot *s = CONTAINER_OF(w, struct slot, write);
	struct bench *b = s->bench;

	if (err)
		die(err->msg);
	b->revisions[s->key] = w->revision;
	b->in_flight--;
	b->done++;
	if (clock_monotonic(clock_system()) < b->until)
		submit(s);
	else if (!b->in_flight)
		loop_stop(b->loop);
}

static void on_events(void *arg, const struct store_event *events, size_t n, int64_t revision)
{
	(void)arg;
	(void)events;
	(void)n;
	(void)revision;
}

static void on_lost(void *arg, const struct error *err)
{
	(void)arg;
	die(err->msg);
}

static void run(struct bench *b, size_t in_flight)
{
	struct slot *slots = xcalloc(in_flight, sizeof(*slots));
	int64_t began = clock_monotonic(clock_system());
	double seconds;

	b->until = began + SECONDS * CLOCK_SEC;
	b->done = 0;
	for (size_t i = 0; i < in_flight; i++) {
		slots[i].bench = b;
		submit(&slots[i]);
	}
	loop_run(b->loop);
	seconds = (double)(clock_monotonic(clock_system()) - began) * 1e-9;
	printf("etcd-write-%-11zu ours=%.0f writes/s, %.0f us each\n", in_flight,
	       (double)b->done / seconds, seconds * 1e6 * (double)in_flight / (double)b->done);
	free(slots);
}

struct reading {
	struct loop *loop;
	size_t n;
	int64_t revision;
};

static void on_range(void *arg, const struct store_range_result *result, const struct error *err)
{
	struct reading *r = arg;

	if (err)
		die(err->msg);
	r->n = result->n;
	loop_stop(r->loop);
}

static void on_current(void *arg, int64_t revision, const struct error *err)
{
	struct reading *r = arg;

	if (err)
		die(err->msg);
	r->revision = revision;
	loop_stop(r->loop);
}

static void read_all(struct bench *b)
{
	struct reading r = { .loop = b->loop };
	int64_t began = clock_monotonic(clock_system());
	struct arena arena;

	arena_init(&arena, SIZE_MAX);
	store_range(b->store, &(struct store_range){ .resource = STR("core/pods") }, &arena,
		    on_range, &r);
	loop_run(b->loop);
	printf("%-22s ours=%.0f objects/s\n", "etcd-load",
	       (double)r.n * 1e9 / (double)(clock_monotonic(clock_system()) - began));
	arena_release(&arena);
}

static void on_closed(void *arg)
{
	loop_stop(arg);
}

int main(int argc, char **argv)
{
	struct bench *b = XNEW(struct bench);
	struct store_feed feed = { .on_events = on_events, .on_lost = on_lost, .arg = b };
	const char *endpoints[] = { argc > 1 ? argv[1] : "http://127.0.0.1:2379" };
	struct store_etcd_opts opts = { .endpoints = endpoints, .nendpoints = 1 };
	struct reading now = { 0 };
	struct error err = { 0 };
	char prefix[64];

	(void)snprintf(prefix, sizeof(prefix), "/bench-%" PRId64, clock_wall(clock_system()));
	opts.prefix = prefix;
	if (loop_new(&b->loop, &err) < 0 || store_etcd_open(b->loop, &opts, &b->store, &err) < 0)
		die(err.msg);
	b->value = bytes_new(VALUE);
	memset(b->value->data, 'x', VALUE);
	now.loop = b->loop;
	store_current(b->store, on_current, &now);
	loop_run(b->loop);
	store_follow(b->store, now.revision, &feed);
	run(b, 1);
	run(b, 16);
	run(b, 256);
	read_all(b);
	store_close(b->store, on_closed, b->loop);
	loop_run(b->loop);
	loop_free(b->loop);
	bytes_unref(b->value);
	free(b);
	return 0;
}
