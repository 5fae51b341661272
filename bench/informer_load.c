/*
 * informer_load KUBECONFIG RESOURCE [NAMESPACE [SELECTOR [metadata]]] - a copy of one resource.
 *
 * RESOURCE is PLURAL.VERSION[.GROUP]: "pods.v1", "resourceclaims.v1.resource.k8s.io". Prints
 * "synced COUNT MS" when the first state is there, then obeys commands, one per line of
 * standard input:
 *
 *	wait COUNT	waits until there are so many objects; then as "state"
 *	until VERSION	waits until all up to that resourceVersion has been seen; then as "state"
 *	events COUNT	waits until so many more have come; prints "events PER_SECOND"
 *	pause		ends the watch
 *	resume COUNT	goes on from where it was; then as "events"
 *	objects		prints one line of JSON: the resourceVersion of every key
 *	state		prints one line of JSON: the copy's count, resourceVersion and digest,
 *			what was told to a handler, its own count and digest of that, and
 *			what was asked of the server
 *
 * A digest is a sum over all objects, so that the order does not matter: of key, uid and
 * version for the copy, of key and uid for the handler and, to compare, for the copy. It ends
 * with its input.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/json/writer.h"
#include "client/informer/informer.h"
#include "client/kubeconfig/kubeconfig.h"
#include "net/loop/loop.h"

enum { TICK_MS = 2 };

struct load {
	struct loop *loop;
	struct client *client;
	struct informers *set;
	struct informer *informer;
	struct informer_handler handler;
	struct loop_timer timer; /* reads commands, and looks whether what is waited for has come */
	struct buf input;
	char waiting; /* first letter of the command under way, or 0 */
	uint64_t want, from; /* its number; the events when it began */
	int64_t begun_ns;
	size_t count; /* the handler's own account */
	uint64_t digest;
};

static int64_t now_ns(void)
{
	return clock_monotonic(clock_system());
}

static uint64_t identity(const struct cached *o)
{
	return hash_bytes(o->key, 1) + hash_bytes(o->uid, 2);
}

static void on_add(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	struct load *l = CONTAINER_OF(h, struct load, handler);

	l->count++;
	l->digest += identity(o);
}

static void on_update(struct informer_handler *h, struct cached *old, struct cached *o)
{
	CONTAINER_OF(h, struct load, handler)->digest += identity(o) - identity(old);
}

static void on_delete(struct informer_handler *h, struct cached *last, bool unknown UNUSED)
{
	struct load *l = CONTAINER_OF(h, struct load, handler);

	l->count--;
	l->digest -= identity(last);
}

static void on_synced(struct informer_handler *h)
{
	struct load *l = CONTAINER_OF(h, struct load, handler);

	(void)printf("synced %zu %lld\n", cache_count(informer_cache(l->informer)),
		     (long long)((now_ns() - l->begun_ns) / CLOCK_MS));
	(void)fflush(stdout);
}

/* --- commands ----------------------------------------------------------------------------- */

static void print_state(const struct load *l)
{
	const struct cache *c = informer_cache(l->informer);
	struct str rv = informer_resource_version(l->informer);
	struct cache_walk w = { 0 };
	uint64_t versions = 0, identities = 0;
	struct informer_stats st;
	struct cached *o;

	while ((o = cache_next(c, &w))) {
		identities += identity(o);
		versions += identity(o) + hash_bytes(o->resource_version, 3);
	}
	informer_stats(l->informer, &st);
	(void)printf(
		"{\"count\":%zu,\"resourceVersion\":\"%.*s\",\"digest\":\"%016llx\","
		"\"identities\":\"%016llx\",\"handlerCount\":%zu,\"handlerIdentities\":\"%016llx\","
		"\"added\":%llu,\"updated\":%llu,\"deleted\":%llu,\"events\":%llu,"
		"\"lists\":%llu,\"watches\":%llu,\"relists\":%llu}\n",
		cache_count(c), STR_ARG(rv), (unsigned long long)versions,
		(unsigned long long)identities, l->count, (unsigned long long)l->digest,
		(unsigned long long)st.added, (unsigned long long)st.updated,
		(unsigned long long)st.deleted, (unsigned long long)st.events,
		(unsigned long long)st.lists, (unsigned long long)st.watches,
		(unsigned long long)st.relists);
	(void)fflush(stdout);
}

static void print_objects(const struct load *l)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(SIZE_MAX / 2);
	struct cache_walk walk = { 0 };
	struct json_writer w;
	struct cached *o;

	json_writer_init(&w, &text, NULL);
	json_writer_begin_object(&w);
	while ((o = cache_next(informer_cache(l->informer), &walk))) {
		json_writer_key(&w, o->key);
		json_writer_str(&w, o->resource_version);
	}
	json_writer_end_object(&w);
	(void)json_writer_finish(&w);
	(void)puts(text.p);
	(void)fflush(stdout);
}

static uint64_t seen_version(const struct load *l)
{
	uint64_t v = 0;

	(void)str_to_u64(informer_resource_version(l->informer), &v);
	return v;
}

static uint64_t told(const struct load *l)
{
	struct informer_stats st;

	informer_stats(l->informer, &st);
	return st.added + st.updated + st.deleted;
}

/* True when what is waited for has come. */
static bool look(struct load *l)
{
	uint64_t n;

	switch (l->waiting) {
	case 'w':
		n = cache_count(informer_cache(l->informer));
		if (!informer_synced(l->informer) || n != l->want)
			return false;
		print_state(l);
		return true;
	case 'u':
		if (!informer_synced(l->informer) || seen_version(l) < l->want)
			return false;
		print_state(l);
		return true;
	case 'e':
	case 'r':
		n = told(l) - l->from;
		if (n >= 1 && !l->begun_ns)
			l->begun_ns = now_ns();
		if (n < l->want)
			return false;
		(void)printf("events %.0f\n",
			     (double)n / ((double)(now_ns() - l->begun_ns) / (double)CLOCK_SEC));
		(void)fflush(stdout);
		return true;
	default:
		return true;
	}
}

static void obey(struct load *l, const char *line)
{
	const char *space = strchr(line, ' ');

	l->want = space ? strtoull(space + 1, NULL, 10) : 0;
	l->waiting = line[0];
	l->from = told(l);
	l->begun_ns = 0;
	if (line[0] == 's')
		print_state(l);
	else if (line[0] == 'o')
		print_objects(l);
	else if (line[0] == 'p')
		informers_stop(l->set);
	else if (line[0] == 'r')
		informers_start(l->set);
	if (!strchr("wuer", line[0]))
		l->waiting = 0;
}

static void read_input(struct load *l)
{
	char piece[4096];
	ssize_t n;

	while ((n = read(STDIN_FILENO, piece, sizeof(piece))) > 0)
		(void)buf_add(&l->input, piece, (size_t)n);
	if (n == 0)
		loop_stop(l->loop);
}

static void on_tick(struct loop_timer *t)
{
	struct load *l = CONTAINER_OF(t, struct load, timer);
	ptrdiff_t at;

	read_input(l);
	while (l->set && look(l)) {
		l->waiting = 0;
		at = str_chr(buf_str(&l->input), '\n');
		if (at < 0)
			break;
		l->input.p[at] = '\0';
		obey(l, l->input.p);
		buf_consume(&l->input, (size_t)at + 1);
	}
	loop_timer_start(t, TICK_MS);
}

/* --- setup --------------------------------------------------------------------------------- */

static int load_client(struct load *l, const char *path, struct error *err)
{
	CLEANUP(kubeconfig_release) struct kubeconfig config = { 0 };
	struct kubeconfig_opts opts = { .path = path };
	struct client_opts client_opts = { .config = &config, .role = "informer-load" };
	int r = kubeconfig_load(&config, &opts, err);

	if (r == 0)
		r = loop_new(&l->loop, err);
	return r < 0 ? r : client_new(l->loop, &client_opts, &l->client, err);
}

static void load_informer(struct load *l, int argc, char **argv)
{
	struct str rest = str_from(argv[2]);
	struct resource resource = { .namespaced = argc > 3 && argv[3][0] };
	struct informer_spec spec = { .resource = &resource };

	(void)str_split(&rest, '.', &resource.resource);
	(void)str_split(&rest, '.', &resource.version);
	resource.group = rest;
	if (argc > 3)
		spec.ns = str_from(argv[3]);
	if (argc > 4)
		spec.label_selector = str_from(argv[4]);
	spec.metadata_only = argc > 5;
	l->set = informers_new(l->client, NULL);
	l->informer = informers_get(l->set, &spec);
	l->handler = (struct informer_handler){ .on_add = on_add,
						.on_update = on_update,
						.on_delete = on_delete,
						.on_synced = on_synced };
	informer_add_handler(l->informer, &l->handler);
	informers_start(l->set);
}

int main(int argc, char **argv)
{
	struct load l = { .input = BUF_INIT(1024 * 1024) };
	struct error err;

	if (argc < 3 || load_client(&l, argv[1], &err) < 0) {
		(void)fprintf(stderr, "informer_load: %s\n",
			      argc >= 3 ? err.msg
					: "usage: informer_load KUBECONFIG RESOURCE [NAMESPACE "
					  "[SELECTOR]]");
		return 2;
	}
	(void)fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
	l.begun_ns = now_ns();
	load_informer(&l, argc, argv);
	loop_timer_init(&l.timer, l.loop, on_tick);
	loop_timer_start(&l.timer, 0);
	loop_run(l.loop);
	informers_free(TAKE(l.set));
	client_free(l.client);
	/* Connections give their memory back in the next turn: stdin is still at its end. */
	loop_timer_start(&l.timer, 0);
	loop_run(l.loop);
	loop_timer_stop(&l.timer);
	loop_free(l.loop);
	buf_release(&l.input);
	return 0;
}
