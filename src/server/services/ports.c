/*
 * Free ports are known immediately for services and for pending writes of this server. The record
 * has those of other servers. An observer reads the record, and it is changed by one write at a
 * time for all waiting locks: with one write for each, all of them would fail whenever another
 * server is first. A port in the record cannot be locked. So a server that finds a recorded port
 * unused may remove it, provided that the record is still the one that was read. After another
 * server has removed a port it may be in use by someone else: then everything known about it is
 * dropped.
 */
#include <stdlib.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "server/core/ensure.h"
#include "server/core/parts.h"
#include "server/services/port_record.h"
#include "server/services/services_impl.h"

enum {
	LOWER_MIN = 16, /* ports at the start of the range that are allocated last */
	LOWER_MAX = 128,
	LOWER_PART = 32,
	/*
	 * Every server sees an unused port; after this delay the others usually have nothing to
	 * do.
	 */
	LEFT_MS = 50,
};

static const char default_ports[] = "30000-32767";

static void ports_begin(struct services *sv);
static void on_work(struct loop_timer *t);

/* --- lifecycle ------------------------------------------------------------------------------ */

int services_ports_init(struct services *sv, const char *text, struct error *err)
{
	struct service_ports *p = &sv->ports;
	struct str rest = str_from(text ? text : default_ports), first;
	uint64_t a, b;

	list_init(&p->waiting);
	list_init(&p->asked);
	loop_timer_init(&p->work, sv->server->opts.loops[0], on_work);
	if (!str_split(&rest, '-', &first) || !str_to_u64(first, &a) || !str_to_u64(rest, &b) ||
	    a < 1 || b > 65535 || a > b)
		return error_set(err, ERR_INVALID,
				 "--service-node-port-range: %s is not a range of ports such as %s",
				 text, default_ports);
	p->first = (int64_t)a;
	p->last = (int64_t)b;
	(void)snprintf(p->text, sizeof(p->text), "%d-%d", (int)a, (int)b);
	p->used = xcalloc(b - a + 1, sizeof(*p->used));
	p->reserved = xcalloc(b - a + 1, sizeof(*p->reserved));
	return 0;
}

void services_ports_release(struct services *sv)
{
	free(sv->ports.used);
	free(sv->ports.reserved);
}

/* --- free ports ----------------------------------------------------------------------------- */

const char *services_ports_text(const struct services *sv)
{
	return sv->ports.text;
}

bool services_has_port(const struct services *sv, int64_t port)
{
	return port >= sv->ports.first && port <= sv->ports.last;
}

bool services_locks_ports(const struct services *sv)
{
	return state_is_shared(sv->server->state);
}

bool services_is_port_recorded(const struct services *sv, int64_t port)
{
	return services_locks_ports(sv) && port_set_has(&sv->ports.recorded, port);
}

static bool ports_is_ours(const struct service_ports *p, int64_t port)
{
	return port_set_has(&p->in_use, port) || port_set_has(&p->held, port);
}

bool services_is_port_taken(const struct services *sv, int64_t port)
{
	return services_has_port(sv, port) &&
	       (ports_is_ours(&sv->ports, port) || services_is_port_recorded(sv, port));
}

bool services_is_port_left(const struct services *sv, int64_t port)
{
	const struct service_ports *p = &sv->ports;

	if (port)
		return port_set_has(&p->left, port) && !ports_is_ours(p, port);
	PORT_SET_FOREACH (any, &p->left)
		if (!ports_is_ours(p, any))
			return true;
	return false;
}

static int64_t pick_port(struct services *sv, int64_t first, int64_t n)
{
	struct prng *prng = loop_prng(sv->server->opts.loops[0]);
	int64_t start = n > 0 ? (int64_t)prng_below(prng, (uint64_t)n) : 0;

	for (int64_t i = 0; i < n; i++) {
		int64_t port = first + (start + i) % n;

		if (!services_is_port_taken(sv, port))
			return port;
	}
	return 0;
}

/* As for addresses: the upper part first. */
int64_t services_pick_port(struct services *sv)
{
	const struct service_ports *p = &sv->ports;
	int64_t n = p->last - p->first + 1;
	int64_t lower = n <= LOWER_MIN
				? 0
				: MIN(MAX(n / LOWER_PART, (int64_t)LOWER_MIN), (int64_t)LOWER_MAX);
	int64_t port = pick_port(sv, p->first + lower, n - lower);

	return port ? port : pick_port(sv, p->first, lower);
}

/* --- released ports ------------------------------------------------------------------------- */

/* Checks the record at the end of this turn. */
static void ports_look(struct services *sv)
{
	if (sv->started && services_locks_ports(sv))
		loop_timer_start(&sv->ports.work, 0);
}

static void look_at_left(struct services *sv)
{
	struct prng *prng = loop_prng(sv->server->opts.loops[0]);
	struct service_ports *p = &sv->ports;

	if (sv->started && services_locks_ports(sv) && !port_set_empty(&p->left) &&
	    !loop_timer_running(&p->work))
		loop_timer_start(&p->work, (int64_t)prng_below(prng, LEFT_MS));
}

/* Only a port in the record can be removed from it. */
static void ports_leave(struct services *sv, int64_t port)
{
	if (services_is_port_recorded(sv, port))
		port_set_add(&sv->ports.left, port);
}

void services_reserve_port(struct services *sv, int64_t port)
{
	if (!services_has_port(sv, port))
		return;
	sv->ports.reserved[port - sv->ports.first]++;
	port_set_add(&sv->ports.held, port);
}

void services_return_port(struct services *sv, int64_t port)
{
	uint32_t *n;

	if (!services_has_port(sv, port))
		return;
	n = &sv->ports.reserved[port - sv->ports.first];
	if (!*n || --*n)
		return;
	port_set_remove(&sv->ports.held, port);
	if (port_set_has(&sv->ports.left, port))
		look_at_left(sv);
}

void services_unlock_port(struct services *sv, int64_t port, bool unused)
{
	struct service_ports *p = &sv->ports;

	/* A port that was removed from the record meanwhile is no longer ours. */
	if (!port_set_has(&p->locked, port))
		return;
	port_set_remove(&p->locked, port);
	if (!unused || port_set_has(&p->in_use, port))
		return;
	ports_leave(sv, port);
	look_at_left(sv);
}

static void count_port(struct services *sv, int64_t port, bool more)
{
	struct service_ports *p = &sv->ports;
	uint32_t *n;

	if (!services_has_port(sv, port))
		return;
	n = &p->used[port - p->first];
	if (more) {
		(*n)++;
		port_set_add(&p->in_use, port);
		port_set_remove(&p->left, port);
		port_set_remove(&p->suspects, port);
	} else if (*n && !--*n) {
		port_set_remove(&p->in_use, port);
		ports_leave(sv, port);
	}
}

static void count_ports(struct services *sv, const struct json *spec, bool more)
{
	JSON_FOREACH (port, json_getz(spec, "ports"))
		count_port(sv, json_i64_at(port, "nodePort", 0), more);
	count_port(sv, json_i64_at(spec, "healthCheckNodePort", 0), more);
}

void services_ports_changed(struct services *sv, const struct json *now, const struct json *before)
{
	count_ports(sv, before, false);
	count_ports(sv, now, true);
	look_at_left(sv);
}

void services_ports_reset(struct services *sv)
{
	struct service_ports *p = &sv->ports;

	memset(p->used, 0, (size_t)(p->last - p->first + 1) * sizeof(*p->used));
	p->in_use = p->left = p->suspects = (struct port_set){ 0 };
}

/* --- the record ----------------------------------------------------------------------------- */

/*
 * The next content of the record, without the waiting locks. Returns whether it differs from the
 * current one. Ports outside of our ranges stay: another server may have other flags.
 */
static bool ports_plan(const struct service_ports *p, struct port_set *ret_next)
{
	bool changes = p->damaged;

	for (size_t i = 0; i < PORT_SET_WORDS; i++) {
		uint64_t had = p->recorded.words[i];
		uint64_t has = p->in_use.words[i] | p->locked.words[i];
		uint64_t gone = p->left.words[i] & ~has & ~p->held.words[i];

		ret_next->words[i] = (had & ~gone) | has;
		changes = changes || ret_next->words[i] != had;
	}
	return changes;
}

/* Drops what is known about ports that another server removed. */
static void note_record(struct service_ports *p, const struct port_set *now)
{
	for (size_t i = 0; i < PORT_SET_WORDS; i++) {
		uint64_t stays = ~(p->recorded.words[i] & ~now->words[i]);

		p->left.words[i] &= stays;
		p->suspects.words[i] &= stays;
		p->locked.words[i] &= stays;
	}
	p->recorded = *now;
}

/* The record was deleted, by some mistake: ports that pending writes have locked are put back. */
static void lose_record(struct service_ports *p)
{
	p->recorded = p->left = p->suspects = (struct port_set){ 0 };
}

void services_ports_on_record(void *arg, struct object *now, struct object *before)
{
	CLEANUP(arena_release) struct arena a;
	struct services *sv = arg;
	struct service_ports *p = &sv->ports;
	struct port_set ports = { 0 };
	struct json *tree = NULL;

	arena_init(&a, SIZE_MAX);
	if (!str_eq((now ? now : before)->key, PORT_RECORD_KEY))
		return;
	if (now)
		(void)object_tree(now, &a, &tree, NULL);
	p->damaged = now && !port_record_of(tree, &ports);
	if (now && !p->damaged)
		note_record(p, &ports);
	else
		lose_record(p);
	if (ports_plan(p, &ports))
		ports_look(sv);
}

void services_ports_on_record_reset(void *arg)
{
	struct service_ports *p = &((struct services *)arg)->ports;

	/* Ports may have been removed and added again since. */
	lose_record(p);
	p->locked = (struct port_set){ 0 };
	p->damaged = false;
}

/* --- changing it ---------------------------------------------------------------------------- */

static struct port_lock *lock_of(struct list *node)
{
	return LIST_ENTRY(node, struct port_lock, link);
}

/* Gives each waiting lock the ports that are free, each port to one lock. */
static void grant(struct service_ports *p, struct port_set *next)
{
	LIST_FOREACH (it, &p->asked) {
		struct port_lock *l = lock_of(it);

		for (size_t i = 0; i < PORT_SET_WORDS; i++) {
			l->wanted.words[i] &= ~next->words[i];
			next->words[i] |= l->wanted.words[i];
		}
	}
}

/* Calls done() for all locks of this write. They may request again immediately, and then wait. */
static void ports_answer(struct service_ports *p, const struct error *err)
{
	struct list told, *node;

	list_init(&told);
	list_splice_back(&told, &p->asked);
	while ((node = list_pop_front(&told))) {
		struct port_lock *l = lock_of(node);

		for (size_t i = 0; i < PORT_SET_WORDS && !err; i++)
			p->locked.words[i] |= l->wanted.words[i];
		l->done(l, err);
	}
}

/* A failure is retried with the next check of all, unless a lock waits. */
static void ports_go_on(struct services *sv, bool failed)
{
	struct service_ports *p = &sv->ports;
	struct port_set next;

	p->busy = false;
	if (!list_empty(&p->waiting))
		ports_begin(sv);
	else if (!failed && ports_plan(p, &next))
		ports_look(sv);
}

/* Fails the locks whose client already got a timeout. */
static void drop_late(struct services *sv)
{
	struct service_ports *p = &sv->ports;
	int64_t now_ns = clock_monotonic(sv->server->clock);
	struct error err;

	(void)error_set(&err, ERR_TIMEOUT, "request did not complete within the allotted timeout");
	LIST_FOREACH_SAFE (it, &p->waiting) {
		if (lock_of(it)->deadline_ns > now_ns)
			continue;
		list_remove(it);
		lock_of(it)->done(lock_of(it), &err);
	}
}

static void on_fresh(struct state *st UNUSED, struct job *j, const struct error *err)
{
	struct services *sv = CONTAINER_OF(j, struct services, ports.sync);
	struct service_ports *p = &sv->ports;

	/* A slow sync with other servers is not a reason to fail. */
	if (err && err->code != ERR_TIMEOUT) {
		list_splice_back(&p->asked, &p->waiting);
		ports_answer(p, err);
	}
	drop_late(sv);
	ports_go_on(sv, err && err->code != ERR_TIMEOUT);
}

static int64_t revision_of(struct services *sv)
{
	const struct object *o = resource_get(state_resource(sv->server->state, port_record_kind()),
					      PORT_RECORD_NS, PORT_RECORD_NAME);

	return o ? o->revision : 0;
}

/* Another writer was first. Its change has usually arrived already. */
static void try_again(struct services *sv)
{
	struct service_ports *p = &sv->ports;

	list_splice_back(&p->asked, &p->waiting);
	list_splice_back(&p->waiting, &p->asked);
	drop_late(sv);
	if (revision_of(sv) != p->base)
		ports_go_on(sv, false);
	else
		state_sync(sv->server->state, &p->sync, 0, on_fresh);
}

static void ports_on_written(void *arg, const struct error *err, bool outrun)
{
	struct services *sv = arg;

	if (err && !atomic_load(&sv->server->stopping))
		log_warn(sv->server->opts.log, "cannot write the record of node ports",
			 LOG_ERR(err));
	if (outrun && !err) {
		try_again(sv);
		return;
	}
	ports_answer(&sv->ports, err);
	ports_go_on(sv, err != NULL);
}

/* Whether another write of the record through this server is pending. */
static bool is_pending(struct services *sv)
{
	struct resource *r = state_resource(sv->server->state, port_record_kind());

	return resource_tip(r, PORT_RECORD_NS, PORT_RECORD_NAME) !=
	       resource_get(r, PORT_RECORD_NS, PORT_RECORD_NAME);
}

/* Only one write at a time: the next begins when it has ended. */
static void ports_begin(struct services *sv)
{
	struct service_ports *p = &sv->ports;
	struct port_set next;
	struct ensure *e;

	if (p->busy || (!ports_plan(p, &next) && list_empty(&p->waiting)))
		return;
	p->busy = true;
	if (is_pending(sv)) {
		state_sync(sv->server->state, &p->sync, state_revision(sv->server->state) + 1,
			   on_fresh);
		return;
	}
	list_splice_back(&p->asked, &p->waiting);
	grant(p, &next);
	p->base = revision_of(sv);
	e = ensure_new(sv->server, ports_on_written, sv);
	if (p->base || !port_set_empty(&next))
		port_record_write(e, &next);
	ensure_end(e);
}

static void on_work(struct loop_timer *t)
{
	ports_begin(CONTAINER_OF(t, struct services, ports.work));
}

void services_lock_ports(struct services *sv, struct port_lock *l)
{
	list_push_back(&sv->ports.waiting, &l->link);
	ports_begin(sv);
}

/* A port without a user may belong to a write of another server, but not for that long. */
void services_ports_repair(struct services *sv)
{
	struct service_ports *p = &sv->ports;
	struct port_set nobodys = { 0 };

	if (!services_locks_ports(sv))
		return;
	PORT_SET_FOREACH (port, &p->recorded)
		if (services_has_port(sv, port) && !ports_is_ours(p, port))
			port_set_add(&nobodys, port);
	for (size_t i = 0; i < PORT_SET_WORDS; i++)
		p->left.words[i] |= nobodys.words[i] & p->suspects.words[i];
	p->suspects = nobodys;
	ports_look(sv);
}
