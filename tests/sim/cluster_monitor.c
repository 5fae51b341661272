/*
 * Monitors of PodResources: clients of the watches as docs/podresources.md wants them, one for each
 * node's kubelet and one for the attached agent beside it. A monitor believes the events, resumes
 * where a watch broke, reads slowly now and then, and begins anew now and then.
 *
 * After each event no card and no CPU is with two pods, no device of a claim is with another claim,
 * no pod has what the kubelet never gave it, and revisions have grown. In the end a monitor knows
 * what the kubelet has, which is what the API says of the node's pods, their claims and the
 * hardware; and the attached agent is not behind.
 */
#include "cluster_world.h"

#include "base/core/mem.h"
#include "base/json/json.h"
#include "cluster_attach.h"
#include "cluster_history.h"
#include "cluster_node.h"
#include "grpc/channel.h"
#include "grpc/message.h"
#include "node/attach/order.h"
#include "node/book/methods.h"
#include "node/book/podres.h"

enum { MONITORS = 2 * CLUSTER_NODES, AGAIN_MS = 300, PING_MS = 5000 };

struct belief {
	struct str uid, packed; /* PodResources, in order */
};

/* One watch: of pods, or of what is allocatable. */
struct stream {
	struct monitor *m;
	const struct grpc_method *method;
	struct grpc_call *call; /* NULL: none is open */
	struct loop_timer again;
	int64_t revision; /* the last one; 0: none */
	bool first; /* no event came on this call */
	bool slow; /* it does not read */
};

struct monitor {
	struct cluster *w;
	unsigned node;
	bool attached; /* of the attached agent, not of the kubelet */
	struct grpc_channel *channel;
	struct stream pods, room;
	bool complete; /* it has had all pods */
	struct omap beliefs; /* struct belief by uid */
	char *packed_room; /* AllocatableResponse, in order; NULL: not received yet */
	size_t packed_room_n;
};

struct monitors {
	struct loop *loop;
	struct monitor v[MONITORS];
};

static const char *name_of(const struct monitor *m)
{
	const struct cluster_role *roles = m->attached ? m->w->attached : m->w->nodes;

	return roles[m->node].host;
}

/* --- beliefs -------------------------------------------------------------------------------- */

static void drop_belief(struct belief *b)
{
	if (b)
		free((void *)(uintptr_t)b->uid.p);
	if (b)
		free((void *)(uintptr_t)b->packed.p);
	free(b);
}

static void forget(struct monitor *m)
{
	struct omap_cursor c;

	for (bool ok = omap_first(&m->beliefs, &c); ok; ok = omap_next(&c))
		drop_belief(omap_value(&c));
	omap_clear(&m->beliefs);
	m->complete = false;
}

static void remove_pod(struct monitor *m, struct str uid)
{
	drop_belief(omap_remove(&m->beliefs, uid));
}

/* In order, so that equal states have equal bytes. */
static struct str pack_pod(struct arena *a, const Podresources__PodResources *p)
{
	size_t n = podresources__pod_resources__get_packed_size(p);
	uint8_t *packed = arena_alloc(a, n + 1);

	attach_order_pod(p);
	(void)podresources__pod_resources__pack(p, packed);
	return str_of(packed, n);
}

static void put_pod(struct monitor *m, struct str uid, const Podresources__PodResources *p)
{
	CLEANUP(arena_release) struct arena a;
	struct belief *b = XNEW(struct belief);
	struct str packed;

	arena_init(&a, SIZE_MAX);
	remove_pod(m, uid);
	packed = pack_pod(&a, p);
	b->uid = str_of(str_dup(uid), uid.n);
	b->packed = str_of(memcpy(xmalloc(packed.n + 1), packed.p, packed.n), packed.n);
	(void)omap_put(&m->beliefs, b->uid, b);
}

static Podresources__PodResources *unpack_pod(struct arena *a, struct str packed)
{
	void *p = NULL;

	(void)grpc_message_unpack(&podresources__pod_resources__descriptor, packed, a, &p, NULL);
	return p;
}

/* --- after each event ----------------------------------------------------------------------- */

struct holders {
	struct monitor *m;
	struct arena arena;
	struct omap by_thing; /* to a pod, or the claim that a device is with */
	const char *pod;
};

static void hold(struct holders *h, const char *thing, const char *holder)
{
	const char *other = omap_put(&h->by_thing, str_from(thing), (void *)(uintptr_t)holder);

	if (other && strcmp(other, holder) != 0)
		cluster_fail(h->m->w, "the monitor of %s: %s is with %s and with %s", name_of(h->m),
			     thing, other, holder);
}

static void hold_thing(void *arg, const char *thing, const char *claim)
{
	struct holders *h = arg;

	hold(h, thing, claim ? claim : h->pod);
}

static void check_belief(struct holders *h, const struct belief *b)
{
	const Podresources__PodResources *p = unpack_pod(&h->arena, b->packed);
	/* A kubelet's answers have no uid: see "What it cannot" in docs/podresources.md. */
	struct str uid = h->m->attached ? STR_NULL : b->uid;
	const char *bad = cluster_history_contradicts(uid, p, &h->arena);

	h->pod = arena_printf(&h->arena, "pod %s (%.*s)", p->name, STR_ARG(b->uid));
	if (bad)
		cluster_fail(h->m->w, "the monitor of %s: %s is with %s, which never had it",
			     name_of(h->m), bad, h->pod);
	cluster_history_each(p, &h->arena, hold_thing, h);
}

static void check_holders(struct monitor *m)
{
	struct holders h = { .m = m };
	struct omap_cursor c;

	omap_init(&h.by_thing);
	arena_init(&h.arena, SIZE_MAX);
	for (bool ok = omap_first(&m->beliefs, &c); ok; ok = omap_next(&c))
		check_belief(&h, omap_value(&c));
	omap_release(&h.by_thing);
	arena_release(&h.arena);
}

/*
 * They grow, also over restarts of the server; an odd one, within a full state, may come again. A
 * server that starts with a clock that was set back begins lower.
 */
static void see_revision(struct stream *s, int64_t revision, bool initial_end)
{
	struct cluster *w = s->m->w;
	bool same = revision % 2 != 0 || initial_end;

	if ((same ? revision < s->revision : revision <= s->revision) &&
	    !(s->first && (w->parts & CLUSTER_CLOCKS)))
		cluster_fail(w, "the monitor of %s: revision %lld came after %lld", name_of(s->m),
			     (long long)revision, (long long)s->revision);
	s->revision = revision;
	s->first = false;
}

static void on_pods(struct stream *s, const Podresources__PodEvent *e)
{
	struct monitor *m = s->m;
	struct str uid = str_from(e->uid);

	see_revision(s, e->revision, e->initial_end);
	if (e->initial_end)
		m->complete = true;
	else if (e->n_pod_resources == 0)
		forget(m);
	else if (e->action == PODRESOURCES__ACTION__DELETED)
		remove_pod(m, uid);
	else
		put_pod(m, uid, e->pod_resources[0]);
	check_holders(m);
}

static char *pack_room(Podresources__AllocatableResponse *room, size_t *ret_n)
{
	char *packed;

	room->revision = 0;
	attach_order_allocatable(room);
	*ret_n = podresources__allocatable_response__get_packed_size(room);
	packed = xmalloc(*ret_n + 1);
	(void)podresources__allocatable_response__pack(room, (uint8_t *)packed);
	return packed;
}

static void on_room(struct stream *s, const Podresources__AllocatableEvent *e)
{
	Podresources__AllocatableResponse room = PODRESOURCES__ALLOCATABLE_RESPONSE__INIT;
	struct monitor *m = s->m;

	see_revision(s, e->revision, e->initial_end);
	if (e->initial_end)
		return;
	room.devices = e->devices;
	room.n_devices = e->n_devices;
	room.cpu_ids = e->cpu_ids;
	room.n_cpu_ids = e->n_cpu_ids;
	room.memory = e->memory;
	room.n_memory = e->n_memory;
	room.claim_resources = e->claim_resources;
	room.n_claim_resources = e->n_claim_resources;
	free(m->packed_room);
	m->packed_room = pack_room(&room, &m->packed_room_n);
}

/* --- watches -------------------------------------------------------------------------------- */

static void on_message(struct grpc_call *c, const void *message)
{
	struct stream *s = grpc_call_data(c);

	if (s == &s->m->pods)
		on_pods(s, message);
	else
		on_room(s, message);
}

static void on_end(struct grpc_call *c, const struct grpc_status *st UNUSED)
{
	struct stream *s = grpc_call_data(c);

	s->call = NULL;
	loop_timer_start(&s->again, AGAIN_MS);
}

static void open_watch(struct loop_timer *t)
{
	static const struct grpc_call_ops ops = { .on_message = on_message, .on_end = on_end };
	struct stream *s = CONTAINER_OF(t, struct stream, again);
	Podresources__WatchRequest m = PODRESOURCES__WATCH_REQUEST__INIT;

	m.send_initial = s->revision == 0;
	m.after_revision = s->revision;
	s->first = true;
	s->slow = false;
	s->call = grpc_channel_call(s->m->channel, s->method, NULL, &ops, s);
	(void)grpc_call_send(s->call, &m.base);
	(void)grpc_call_half_close(s->call);
}

static void begin_stream(struct monitor *m, struct stream *s, const struct grpc_method *method,
			 struct loop *l)
{
	*s = (struct stream){ .m = m, .method = method };
	loop_timer_init(&s->again, l, open_watch);
	loop_timer_start(&s->again, 0);
}

static void begin_monitor(struct monitor *m, struct loop *l)
{
	struct grpc_channel_opts to = { .connect_timeout_ms = 1000,
					.ping_interval_ms = PING_MS,
					.backoff_initial_ms = 100,
					.backoff_max_ms = 1000 };
	char text[256];

	omap_init(&m->beliefs);
	(void)snprintf(text, sizeof(text), "unix:%s/%s", m->w->hardware[m->node].root,
		       m->attached ? CLUSTER_ATTACH_SOCKET : CLUSTER_KUBELET_SOCKET);
	(void)addr_parse(&to.to, str_from(text), 0, NULL);
	m->channel = grpc_channel_new(l, &to);
	begin_stream(m, &m->pods, &podres_method_watch, l);
	begin_stream(m, &m->room, &podres_method_watch_allocatable, l);
}

void monitors_begin(struct cluster *w)
{
	if (!(w->parts & CLUSTER_ATTACH))
		return;
	w->monitors = XNEW(struct monitors);
	w->monitors->loop = sim_loop_new(w->sim, "monitor");
	for (unsigned i = 0; i < MONITORS; i++) {
		struct monitor *m = &w->monitors->v[i];

		*m = (struct monitor){ .w = w, .node = i / 2, .attached = i % 2 != 0 };
		begin_monitor(m, w->monitors->loop);
	}
}

/* --- moods ---------------------------------------------------------------------------------- */

static void read_on(struct stream *s)
{
	if (s->call && s->slow)
		grpc_call_resume(s->call);
	s->slow = false;
}

static void begin_anew(struct monitor *m)
{
	forget(m);
	m->pods.revision = 0;
	if (m->pods.call)
		grpc_call_cancel(m->pods.call);
}

void monitors_step(struct cluster *w)
{
	struct monitor *m = &w->monitors->v[cluster_pick(w, MONITORS)];
	struct stream *s = cluster_chance(w, 0.7) ? &m->pods : &m->room;
	unsigned kind = cluster_pick(w, 8);

	if (kind == 0) {
		begin_anew(m);
	} else if (kind < 3 && s->call) {
		grpc_call_cancel(s->call);
	} else if (kind < 6 && s->call && !s->slow) {
		s->slow = true;
		grpc_call_pause(s->call);
	} else {
		read_on(s);
	}
}

void monitors_calm(struct cluster *w)
{
	for (unsigned i = 0; w->monitors && i < MONITORS; i++) {
		read_on(&w->monitors->v[i].pods);
		read_on(&w->monitors->v[i].room);
	}
}

static void end_monitor(struct monitor *m)
{
	loop_timer_stop(&m->pods.again);
	loop_timer_stop(&m->room.again);
	grpc_channel_free(m->channel);
	/* Its calls have ended, and want to begin again. */
	loop_timer_stop(&m->pods.again);
	loop_timer_stop(&m->room.again);
	forget(m);
	omap_release(&m->beliefs);
	free(m->packed_room);
}

void monitors_end(struct cluster *w)
{
	for (unsigned i = 0; w->monitors && i < MONITORS; i++)
		end_monitor(&w->monitors->v[i]);
}

void monitors_release(struct cluster *w)
{
	if (w->monitors)
		loop_free(w->monitors->loop);
	free(w->monitors);
}

/* --- in the end ----------------------------------------------------------------------------- */

struct comparison {
	struct cluster *w;
	const struct monitor *m;
	size_t n; /* pods that were seen */
	const char *bad;
};

static void object_to(struct comparison *c, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The first reason stays. */
static void object_to(struct comparison *c, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	if (c->bad)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	c->bad = arena_printf(&c->w->arena, "the monitor of %s: %s", name_of(c->m), text);
}

static void compare_pods(struct comparison *c, const struct podres *book)
{
	struct str uid = STR_NULL, packed;
	size_t n = 0;

	while (podres_next_pod(book, &uid, &packed)) {
		const struct belief *b = omap_get(&c->m->beliefs, uid);
		struct arena *a = &c->w->arena;

		n++;
		if (!b)
			object_to(c, "pod %.*s is missing", STR_ARG(uid));
		else if (!str_eq(b->packed, pack_pod(a, unpack_pod(a, packed))))
			object_to(c, "pod %.*s is not as the kubelet has it", STR_ARG(uid));
	}
	if (n != c->m->beliefs.n)
		object_to(c, "there are %zu pods, the kubelet has %zu", c->m->beliefs.n, n);
	if (!c->m->complete)
		object_to(c, "the first state did not come");
}

/* Cards that are well can be handed out, and no others. */
static void check_cards(struct comparison *c, const Podresources__AllocatableResponse *room)
{
	const struct cluster_cards *cards = &c->w->cards[c->m->node];
	bool offered[CLUSTER_CARDS] = { false };

	for (size_t i = 0; i < room->n_devices; i++)
		for (size_t k = 0; k < room->devices[i]->n_device_ids; k++) {
			const char *id = room->devices[i]->device_ids[k];

			offered[id[strlen(id) - 1] - '0'] = true;
		}
	for (unsigned i = 0; i < CLUSTER_CARDS; i++)
		if (offered[i] == cards->sick[i])
			object_to(c, "card-%u is %s and %s", i, cards->sick[i] ? "sick" : "well",
				  offered[i] ? "allocatable" : "not allocatable");
}

static void compare_room(struct comparison *c, struct podres *book)
{
	CLEANUP(bytes_unref) struct bytes *answer = podres_allocatable(book);
	CLEANUP(free) char *packed = NULL;
	void *room = NULL;
	size_t n = 0;

	(void)grpc_message_unpack(&podresources__allocatable_response__descriptor,
				  str_skip(bytes_str(answer), GRPC_PREFIX), &c->w->arena, &room,
				  NULL);
	packed = pack_room(room, &n);
	if (!c->m->packed_room ||
	    !str_eq(str_of(packed, n), str_of(c->m->packed_room, c->m->packed_room_n)))
		object_to(c, "allocatable is not as the kubelet has it");
	if (c->w->parts & CLUSTER_PLUGINS)
		check_cards(c, room);
}

/* --- the API -------------------------------------------------------------------------------- */

static struct str text_at(const struct json *tree, const char *pointer)
{
	return json_str(json_pointer(tree, str_from(pointer)));
}

static bool has_device(const Podresources__PodResources *p, struct str pool, struct str device)
{
	for (size_t i = 0; i < p->n_containers; i++)
		for (size_t k = 0; k < p->containers[i]->n_dynamic_resources; k++) {
			const Podresources__DynamicResource *d =
				p->containers[i]->dynamic_resources[k];

			for (size_t j = 0; j < d->n_claim_resources; j++)
				if (str_eqz(pool, d->claim_resources[j]->pool_name) &&
				    str_eqz(device, d->claim_resources[j]->device_name))
					return true;
		}
	return false;
}

static struct str claim_of(const struct json *pod)
{
	struct str name = text_at(pod, "/spec/resourceClaims/0/resourceClaimName");

	return name.n > 0 ? name
			  : text_at(pod, "/status/resourceClaimStatuses/0/resourceClaimName");
}

static int64_t cards_in(const Podresources__PodResources *p)
{
	int64_t n = 0;

	for (size_t i = 0; i < p->n_containers; i++)
		for (size_t k = 0; k < p->containers[i]->n_devices; k++)
			n += (int64_t)p->containers[i]->devices[k]->n_device_ids;
	return n;
}

static void check_pod(void *arg, const struct json *pod)
{
	struct comparison *c = arg;
	struct arena *a = &c->w->arena;
	const struct belief *b = omap_get(&c->m->beliefs, text_at(pod, "/metadata/uid"));
	struct str phase = text_at(pod, "/status/phase"), name = text_at(pod, "/metadata/name");
	const Podresources__PodResources *p;
	const struct json *claim;

	if (!str_eqz(text_at(pod, "/spec/nodeName"), c->w->nodes[c->m->node].host) ||
	    str_eqz(phase, "Failed") || str_eqz(phase, "Succeeded"))
		return;
	c->n++;
	if (!b) {
		object_to(c, "pod %.*s is missing", STR_ARG(name));
		return;
	}
	p = unpack_pod(a, b->packed);
	claim = cluster_server_get(c->w->server, "resource.k8s.io", "resourceclaims", "default",
				   arena_strdup(a, claim_of(pod)), a);
	JSON_FOREACH (r, json_pointer(claim, STR("/status/allocation/devices/results")))
		if (!has_device(p, json_text_at(r, "pool"), json_text_at(r, "device")))
			object_to(c, "pod %.*s lacks %.*s of its claim", STR_ARG(name),
				  STR_ARG(json_text_at(r, "device")));
	if (cards_in(p) != cards_of_pod(pod))
		object_to(c, "pod %.*s has %lld cards and wants %lld", STR_ARG(name),
			  (long long)cards_in(p), (long long)cards_of_pod(pod));
}

static void compare_api(struct comparison *c)
{
	cluster_server_each(c->w->server, "", "pods", &c->w->arena, check_pod, c);
	if (c->n != c->m->beliefs.n)
		object_to(c, "there are %zu pods, the API has %zu", c->m->beliefs.n, c->n);
}

static void compare(struct comparison *c)
{
	struct podres *book = cluster_node_book(&c->w->nodes[c->m->node]);
	struct error err;

	if (!book) {
		object_to(c, "the kubelet does not run");
		return;
	}
	compare_pods(c, book);
	compare_room(c, book);
	compare_api(c);
	if (c->m->attached && cluster_attach_ready(&c->w->attached[c->m->node], &err) < 0)
		object_to(c, "%s", err.msg);
}

const char *monitors_settled(struct cluster *w)
{
	struct comparison c = { .w = w };

	for (unsigned i = 0; w->monitors && i < MONITORS && !c.bad; i++) {
		c.m = &w->monitors->v[i];
		c.n = 0;
		compare(&c);
	}
	return c.bad;
}
