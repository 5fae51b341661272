/*
 * The LMDB store with real syncs: creates and updates of objects of 1.5 KB, many
 * in flight and one at a time, and reading them all again.
 *
 *	store_bench [FOLDER [BYTES [journal|direct [UPDATES]]]]
 *
 * The disk to measure, by default that of /tmp; the size; whether to use the journal; the number of
 * updates: more than 200,000 show what the journal's applier sustains.
 * One line per figure.
 */
#include <ftw.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/core/arena.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/system/file.h"
#include "net/loop/loop.h"
#include "store/lmdb/store.h"

enum { KEYS = 20000, UPDATES = 60000, LONE = 500, IN_FLIGHT = 512, VALUE = 1536 };

struct bench {
	struct loop *loop;
	struct store *store;
	struct bytes *value;
	char (*names)[16];
	int64_t *revisions; /* of each key; 0: does not exist */
	size_t left, in_flight; /* writes that are to be made, and under way */
	size_t next;
	uint64_t batches;
};

struct slot {
	struct store_write write;
	struct bench *bench;
	size_t key;
};

static void die(const char *what)
{
	(void)fprintf(stderr, "store_bench: %s\n", what);
	exit(1);
}

static void on_done(struct store_write *w, const struct error *err);

static void submit(struct slot *s)
{
	struct bench *b = s->bench;

	s->key = b->next++ % KEYS;
	s->write = (struct store_write){ .key = { STR("core/pods"), STR("default"),
						  str_from(b->names[s->key]) },
					 .value = b->value,
					 .expected = b->revisions[s->key],
					 .done = on_done };
	b->left--;
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
	if (b->left)
		submit(s);
	else if (!b->in_flight)
		loop_stop(b->loop);
}

static void on_events(void *arg, const struct store_event *events, size_t n, int64_t revision)
{
	(void)events;
	(void)n;
	(void)revision;
	((struct bench *)arg)->batches++;
}

static void on_lost(void *arg, const struct error *err)
{
	(void)arg;
	die(err->msg);
}

static double resident_mib(void)
{
	struct buf text = BUF_INIT(1 << 16);
	double kib = 0;
	const char *at;

	if (file_read("/proc/self/status", &text, NULL) == 0 && (at = strstr(text.p, "VmRSS:")))
		(void)sscanf(at, "VmRSS: %lf", &kib);
	buf_release(&text);
	return kib / 1024;
}

static void run(struct bench *b, const char *name, size_t writes, size_t in_flight)
{
	struct slot *slots = xcalloc(in_flight, sizeof(*slots));
	uint64_t batches = b->batches;
	int64_t began = clock_monotonic(clock_system());
	double seconds;

	b->left = writes;
	for (size_t i = 0; i < in_flight; i++) {
		slots[i].bench = b;
		submit(&slots[i]);
	}
	loop_run(b->loop);
	seconds = (double)(clock_monotonic(clock_system()) - began) * 1e-9;
	batches = b->batches - batches;
	printf("%-22s ours=%.0f writes/s, %.0f us per commit of %.0f writes, %.0f MiB resident\n",
	       name, (double)writes / seconds, seconds * 1e6 / (double)batches,
	       (double)writes / (double)batches, resident_mib());
	free(slots);
}

struct reading {
	struct loop *loop;
	size_t n;
};

static void on_range(void *arg, const struct store_range_result *result, const struct error *err)
{
	struct reading *r = arg;

	if (err)
		die(err->msg);
	r->n = result->n;
	loop_stop(r->loop);
}

static void read_all(struct bench *b)
{
	struct reading r = { .loop = b->loop };
	int64_t began = clock_monotonic(clock_system());
	struct arena arena;
	double seconds;

	arena_init(&arena, SIZE_MAX);
	store_range(b->store, &(struct store_range){ .resource = STR("core/pods") }, &arena,
		    on_range, &r);
	loop_run(b->loop);
	seconds = (double)(clock_monotonic(clock_system()) - began) * 1e-9;
	printf("%-22s ours=%.0f objects/s\n", "store-load", (double)r.n / seconds);
	arena_release(&arena);
	printf("%-22s ours=%.0f MiB\n", "store-resident", resident_mib());
}

static void on_closed(void *arg)
{
	loop_stop(arg);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

int main(int argc, char **argv)
{
	struct bench b = { 0 };
	uint64_t size = VALUE, updates = UPDATES;
	struct store_feed feed = { .on_events = on_events, .on_lost = on_lost, .arg = &b };
	struct store_lmdb_opts opts = { 0 };
	struct error err = { 0 };
	char dir[256];

	if (argc > 2 && !str_to_u64(str_from(argv[2]), &size))
		die("the size is a number of bytes");
	if (argc > 4 && !str_to_u64(str_from(argv[4]), &updates))
		die("updates are a number");
	b.value = bytes_new(size);
	(void)snprintf(dir, sizeof(dir), "%s/store-bench-XXXXXX", argc > 1 ? argv[1] : "/tmp");
	if (!mkdtemp(dir) || loop_new(&b.loop, &err) < 0)
		die("cannot begin");
	opts.dir = dir;
	opts.journal = argc > 3 && strcmp(argv[3], "journal") == 0;
	if (store_lmdb_open(b.loop, &opts, &b.store, &err) < 0)
		die(err.msg);
	store_follow(b.store, 0, &feed);
	memset(b.value->data, 'x', size);
	b.names = xcalloc(KEYS, sizeof(*b.names));
	b.revisions = xcalloc(KEYS, sizeof(*b.revisions));
	for (int i = 0; i < KEYS; i++)
		(void)snprintf(b.names[i], sizeof(b.names[i]), "pod-%05d", i * 7919 % KEYS);
	run(&b, "store-create", KEYS, IN_FLIGHT);
	run(&b, "store-update", updates, IN_FLIGHT);
	run(&b, "store-update-alone", LONE, 1);
	read_all(&b);
	store_close(b.store, on_closed, b.loop);
	loop_run(b.loop);
	loop_free(b.loop);
	bytes_unref(b.value);
	free(b.names);
	free(b.revisions);
	(void)nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	return 0;
}
