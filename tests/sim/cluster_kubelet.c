#include "cluster_kubelet.h"

#include "base/core/arena.h"
#include "base/core/list.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/core/random.h"
#include "base/core/vec.h"
#include "cluster_node.h"
#include "grpc/message.h"
#include "grpc/server.h"
#include "net/http/server.h"
#include "net/loop/addr.h"
#include "node/book/methods.h"
#include "node/book/podres.h"

enum { STOP_MS = 500, LIST_MS = 1500 };

struct kubelet {
	struct cluster_role *role;
	struct http_server *http;
	struct grpc_server *grpc;
	struct list lists; /* struct listing */
};

/* A List that is being put together: some pods are looked at when it begins, the others later. */
struct listing {
	struct list link;
	struct kubelet *k;
	struct grpc_call *call; /* a reference */
	struct loop_timer timer;
	struct arena arena;
	uint64_t salt; /* chooses which pods are looked at first */
	VEC(Podresources__PodResources *) pods;
};

static const struct cluster_kubelet *config_of(const struct kubelet *k)
{
	return k->role->arg;
}

static struct prng *chance_of(const struct kubelet *k)
{
	return loop_prng(k->role->loops[0]);
}

/* --- states --------------------------------------------------------------------------------- */

static void shuffle(struct prng *g, void **v, size_t n)
{
	for (size_t i = n; i > 1; i--) {
		size_t k = (size_t)prng_below(g, i);
		void *other = v[k];

		v[k] = v[i - 1];
		v[i - 1] = other;
	}
}

/* One that the kubelet knows; else NULL. */
static Podresources__PodResources *state_of(struct kubelet *k, struct arena *a, struct str uid,
					    struct str packed)
{
	Podresources__PodResources *p;
	void *m = NULL;

	(void)grpc_message_unpack(&podresources__pod_resources__descriptor, packed, a, &m, NULL);
	p = m;
	if (!p || !cluster_node_knows(config_of(k)->node, str_from(p->namespace_),
				      str_from(p->name), uid))
		return NULL;
	for (size_t i = 0; i < p->n_containers; i++)
		shuffle(chance_of(k), (void **)p->containers[i]->devices,
			p->containers[i]->n_devices);
	return p;
}

/* Handles calls that a kubelet would not answer; false: it would answer this one. */
static bool refuses(struct kubelet *k, struct grpc_call *c)
{
	if (!cluster_node_book(config_of(k)->node))
		(void)grpc_call_finish(c, GRPC_UNAVAILABLE, STR("the kubelet does not run"));
	else if (prng_below(chance_of(k), 50) == 0)
		(void)grpc_call_finish(c, GRPC_RESOURCE_EXHAUSTED, STR("rejected by rate limit"));
	else
		return false;
	return true;
}

/* --- List ----------------------------------------------------------------------------------- */

static void look_at(struct listing *l, bool first)
{
	struct podres *book = cluster_node_book(config_of(l->k)->node);
	struct str uid = STR_NULL, packed;

	while (book && podres_next_pod(book, &uid, &packed)) {
		Podresources__PodResources *p;

		if ((hash_bytes(uid, l->salt) % 2 == 0) != first)
			continue;
		p = state_of(l->k, &l->arena, uid, packed);
		if (p)
			(void)vec_push(&l->pods, p);
	}
}

static void end_listing(struct listing *l)
{
	loop_timer_stop(&l->timer);
	list_remove(&l->link);
	grpc_call_unref(l->call);
	vec_release(&l->pods);
	arena_release(&l->arena);
	free(l);
}

static void answer_list(struct loop_timer *t)
{
	struct listing *l = CONTAINER_OF(t, struct listing, timer);
	Podresources__ListResponse m = PODRESOURCES__LIST_RESPONSE__INIT;

	look_at(l, false);
	shuffle(chance_of(l->k), (void **)l->pods.v, l->pods.n);
	m.pod_resources = l->pods.v;
	m.n_pod_resources = l->pods.n;
	(void)grpc_call_reply(l->call, &m.base);
	end_listing(l);
}

static void serve_list(struct grpc_call *c, const void *request UNUSED)
{
	struct kubelet *k = grpc_call_service(c);
	bool slow = prng_below(chance_of(k), 3) == 0;
	struct listing *l;

	if (refuses(k, c))
		return;
	l = XNEW(struct listing);
	l->k = k;
	l->call = grpc_call_ref(c);
	l->salt = prng_u64(chance_of(k));
	arena_init(&l->arena, SIZE_MAX);
	vec_init(&l->pods, SIZE_MAX / sizeof(*l->pods.v));
	list_push_back(&k->lists, &l->link);
	loop_timer_init(&l->timer, k->role->loops[0], answer_list);
	look_at(l, true);
	loop_timer_start(&l->timer, slow ? (int64_t)prng_below(chance_of(k), LIST_MS) : 0);
}

/* --- the others ----------------------------------------------------------------------------- */

static void serve_get(struct grpc_call *c, const void *request)
{
	struct kubelet *k = grpc_call_service(c);
	const Podresources__GetRequest *in = request;
	Podresources__GetResponse out = PODRESOURCES__GET_RESPONSE__INIT;
	struct str uid = STR_NULL, packed;
	CLEANUP(arena_release) struct arena a;

	arena_init(&a, SIZE_MAX);
	if (refuses(k, c))
		return;
	while (podres_next_pod(cluster_node_book(config_of(k)->node), &uid, &packed)) {
		Podresources__PodResources *p = state_of(k, &a, uid, packed);

		if (p && strcmp(p->name, in->pod_name) == 0 &&
		    strcmp(p->namespace_, in->pod_namespace) == 0)
			out.pod_resources = p;
	}
	if (config_of(k)->no_get)
		(void)grpc_call_finish(c, GRPC_UNKNOWN,
				       STR("PodResources API Get method disabled"));
	else if (!out.pod_resources)
		(void)grpc_call_finish(c, GRPC_UNKNOWN,
				       str_from(arena_printf(&a, "pod %s in namespace %s not found",
							     in->pod_name, in->pod_namespace)));
	else
		(void)grpc_call_reply(c, &out.base);
}

static void serve_allocatable(struct grpc_call *c, const void *request UNUSED)
{
	struct kubelet *k = grpc_call_service(c);
	CLEANUP(bytes_unref) struct bytes *packed = NULL;
	CLEANUP(arena_release) struct arena a;
	Podresources__AllocatableResponse *room;
	void *m = NULL;

	arena_init(&a, SIZE_MAX);
	if (refuses(k, c))
		return;
	packed = podres_allocatable(cluster_node_book(config_of(k)->node));
	(void)grpc_message_unpack(&podresources__allocatable_response__descriptor,
				  str_skip(bytes_str(packed), GRPC_PREFIX), &a, &m, NULL);
	room = m;
	room->revision = 0;
	shuffle(chance_of(k), (void **)room->devices, room->n_devices);
	(void)grpc_call_reply(c, &room->base);
}

static const struct grpc_handler rows[] = {
	{ .method = &podres_method_list, .on_request = serve_list },
	{ .method = &podres_method_get, .on_request = serve_get },
	{ .method = &podres_method_allocatable, .on_request = serve_allocatable },
};

/* --- the role ------------------------------------------------------------------------------- */

static void handle(void *arg, struct http_stream *s, size_t lane UNUSED)
{
	grpc_server_handle(((struct kubelet *)arg)->grpc, s);
}

static int start(struct cluster_role *role, struct error *err)
{
	struct kubelet *k = XNEW(struct kubelet);
	struct http_server_opts opts = { .nloops = 1, .handler = handle, .arg = k };
	char text[280];
	struct addr at;

	role->impl = k;
	k->role = role;
	list_init(&k->lists);
	k->grpc = grpc_server_new(NULL);
	grpc_server_add(k->grpc, rows, ARRAY_SIZE(rows), k);
	opts.loops = role->loops;
	k->http = http_server_new(&opts);
	(void)snprintf(text, sizeof(text), "unix:%s", config_of(k)->socket);
	(void)addr_parse(&at, str_from(text), 0, NULL);
	return http_server_listen(k->http, &at, NULL, 0, NULL, err);
}

static void end_listings(struct kubelet *k)
{
	LIST_FOREACH_SAFE (it, &k->lists)
		end_listing(LIST_ENTRY(it, struct listing, link));
}

static void stop(struct cluster_role *role, void (*done)(void *arg), void *arg)
{
	struct kubelet *k = role->impl;

	http_server_drain(k->http, STOP_MS, done, arg);
}

static void die(struct cluster_role *role UNUSED, bool stopping, void (*done)(void *arg), void *arg)
{
	if (!stopping)
		done(arg);
}

static void drop(struct cluster_role *role)
{
	struct kubelet *k = role->impl;

	end_listings(k);
	http_server_free(k->http);
	grpc_server_free(k->grpc);
	free(k);
}

const struct cluster_role_ops cluster_kubelet_ops = {
	.start = start, .stop = stop, .drop = drop, .die = die, .nloops = 1
};
