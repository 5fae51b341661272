/*
 * Berths, objects of a custom kind, each of which names a node for good; and pods that name a
 * Berth, which the scheduler's plugin places (berth_plugin.c).
 *
 * The user writes each Berth's value and status on the version that was read, both count upwards.
 * An acknowledged value stays until the Berth or its definition is deleted. A pod is never on
 * another node than its Berth's; in the end it is there, if the Berth is.
 */
#include "cluster_crds.h"

#include "base/core/mem.h"
#include "base/json/json.h"
#include "cluster_server.h"

enum { ASK_MS = 20 * 1000, ASKS_MAX = 8, ALIVE_MAX = 20, RECENT = 40, RUSH_MAX = 6 };

/* A number that counts upwards. */
struct counted {
	int64_t acked, tried; /* the last */
};

struct berth {
	char name[24];
	unsigned node;
	char uid[40]; /* as the create was answered; else empty */
	unsigned of; /* the definition under which it was made; 0: one that may go, or unknown */
	int64_t rv; /* to write on; 0: it must be read first */
	struct counted value, status;
	bool asked_delete, deleted, busy;
	bool held; /* it has a finalizer, perhaps */
};

enum ask_kind { ASK_CREATE, ASK_READ, ASK_VALUE, ASK_STATUS, ASK_DELETE, ASK_FREE };

struct ask {
	struct list link;
	struct crds *crds;
	struct berth *berth;
	struct client_request request;
	enum ask_kind kind;
	int64_t value;
	bool narrow; /* the definition was narrow when it was sent */
	unsigned of;
};

static struct str text_at(const struct json *tree, const char *pointer)
{
	return json_str(json_pointer(tree, str_from(pointer)));
}

static int64_t number_at(const struct json *tree, const char *part)
{
	return json_i64_at(json_getz(tree, part), "value", 0);
}

/* The definition that is there for good, as far as is known; 0: none. */
static unsigned present(const struct crds *c)
{
	return c->uid[0] && !c->doomed ? c->made : 0;
}

static bool is_safe(const struct crds *c, const struct berth *b)
{
	return b->uid[0] && b->of > 0 && b->of == present(c) && !b->asked_delete;
}

/* --- answers ------------------------------------------------------------------------------ */

static void compare(struct crds *c, const struct berth *b, const struct json *tree,
		    const char *where)
{
	const struct counted *counts[] = { &b->value, &b->status };
	const char *const parts[] = { "spec", "status" };

	for (unsigned i = 0; i < ARRAY_SIZE(parts); i++) {
		int64_t n = number_at(tree, parts[i]);

		if (n < counts[i]->acked || n > counts[i]->tried)
			cluster_fail(c->w,
				     "%s: %s of %s is %lld; %lld was acknowledged, %lld tried last",
				     where, parts[i], b->name, (long long)n,
				     (long long)counts[i]->acked, (long long)counts[i]->tried);
	}
}

/* Only for a single server: others may not know the narrower schema yet. */
static void check_narrow(const struct ask *k)
{
	const struct crds *c = k->crds;

	if (k->kind == ASK_VALUE && k->narrow && c->narrow && c->w->nservers == 1 &&
	    k->value > CRDS_NARROW)
		cluster_fail(c->w, "%s got the value %lld, which its schema does not allow",
			     k->berth->name, (long long)k->value);
}

static void on_object(struct ask *k, const struct json *tree)
{
	struct berth *b = k->berth;
	struct str uid = text_at(tree, "/metadata/uid");
	int64_t rv = 0;

	(void)str_to_i64(text_at(tree, "/metadata/resourceVersion"), &rv);
	if (k->kind == ASK_CREATE) {
		(void)snprintf(b->uid, sizeof(b->uid), "%.*s", STR_ARG(uid));
		/* One that took long may have come under a later definition. */
		b->of = k->of == present(k->crds) ? k->of : 0;
	}
	if (k->kind == ASK_VALUE)
		b->value.acked = k->value;
	else if (k->kind == ASK_STATUS)
		b->status.acked = k->value;
	compare(k->crds, b, tree, "an answer");
	check_narrow(k);
	b->rv = rv;
	if (k->kind != ASK_READ)
		observer_expect(k->crds->w, STR(CRDS_RESOURCE), str_from(b->name), rv);
}

static void on_done(struct client_request *r, const struct client_answer *answer,
		    const struct error *err)
{
	struct ask *k = CONTAINER_OF(r, struct ask, request);
	struct cluster *w = k->crds->w;
	struct json *tree = NULL;
	struct arena a;

	arena_init(&a, SIZE_MAX);
	list_remove(&k->link);
	k->berth->busy = false;
	k->berth->rv = 0;
	if (!err && k->kind != ASK_READ)
		cluster_acknowledged(w);
	if (!err && k->kind == ASK_DELETE)
		k->berth->deleted = true;
	else if (!err && k->kind == ASK_FREE)
		k->berth->held = false;
	else if (!err && client_answer_tree(answer, &a, &tree, NULL) == 0)
		on_object(k, tree);
	arena_release(&a);
	free(k);
}

/* --- what is asked ------------------------------------------------------------------------ */

static struct ask *ask_new(struct crds *c, struct berth *b, enum ask_kind kind)
{
	struct ask *k = XNEW(struct ask);

	*k = (struct ask){ .crds = c, .berth = b, .kind = kind, .narrow = c->narrow };
	k->of = present(c);
	k->request = (struct client_request){ .no_retry = true,
					      .timeout_ms = ASK_MS,
					      .on_done = on_done };
	b->busy = true;
	list_push_back(&c->asks, &k->link);
	return k;
}

static struct resource some_version(struct crds *c, const char **ret_version)
{
	*ret_version = cluster_chance(c->w, 0.8) ? "v1" : "v2";
	return crds_resource(*ret_version);
}

static void print_berth(char *out, size_t size, const struct berth *b, const char *version)
{
	(void)snprintf(out, size,
		       "{\"apiVersion\":\"" CRDS_GROUP "/%s\",\"kind\":\"Berth\",\"metadata\":{"
		       "\"name\":\"%s\"%s%.*lld%s%s},\"spec\":{\"node\":\"n%u\",\"value\":%lld},"
		       "\"status\":{\"value\":%lld}}",
		       version, b->name, b->rv ? ",\"resourceVersion\":\"" : "", b->rv ? 1 : 0,
		       (long long)b->rv, b->rv ? "\"" : "",
		       b->held ? ",\"finalizers\":[\"" CRDS_GROUP "/held\"]" : "", b->node,
		       (long long)b->value.tried, (long long)b->status.tried);
}

static void create_berth(struct crds *c)
{
	struct berth *b = XNEW(struct berth);
	const char *version;
	struct resource what = some_version(c, &version);
	struct ask *k = ask_new(c, b, ASK_CREATE);
	bool apply = cluster_chance(c->w, 0.3);
	char text[512];

	(void)vec_push(&c->berths, b);
	b->node = cluster_pick(c->w, CLUSTER_NODES);
	b->held = cluster_chance(c->w, 0.15);
	(void)snprintf(b->name, sizeof(b->name), "berth-%zu", c->berths.n);
	print_berth(text, sizeof(text), b, version);
	cluster_tell(c->w, "%s %s%s in n%u by %s", apply ? "apply" : "create",
		     b->held ? "held " : "", b->name, b->node, version);
	k->request.body = str_from(text);
	if (!apply) {
		client_create(cluster_client(c->w), &k->request, &what, STR("default"), NULL);
		return;
	}
	k->request.query = STR("fieldManager=user");
	client_patch(cluster_client(c->w), &k->request, &what,
		     (struct resource_name){ STR("default"), str_from(b->name), STR_NULL },
		     CLIENT_PATCH_APPLY, NULL);
}

void berths_rush(struct crds *c)
{
	for (unsigned i = cluster_pick(c->w, RUSH_MAX + 1); i > 0; i--)
		create_berth(c);
}

/*
 * One of the last that is there, as far as is known, and about which nothing is asked; now and then
 * one that went with its definition.
 */
static struct berth *some_berth(struct crds *c)
{
	bool gone = cluster_chance(c->w, 0.1);

	for (size_t i = 0; i < 10 && i < c->berths.n; i++) {
		size_t back = cluster_pick(c->w, (unsigned)MIN(c->berths.n, (size_t)RECENT));
		struct berth *b = c->berths.v[c->berths.n - 1 - back];

		if (b->uid[0] && !b->busy && (gone || is_safe(c, b)))
			return b;
	}
	return NULL;
}

static void write_berth(struct crds *c, struct berth *b)
{
	bool status = cluster_chance(c->w, 0.4);
	struct ask *k = ask_new(c, b, status ? ASK_STATUS : ASK_VALUE);
	const char *version;
	struct resource what = some_version(c, &version);
	struct counted *n = status ? &b->status : &b->value;
	char text[512];

	k->value = ++n->tried;
	print_berth(text, sizeof(text), b, version);
	k->request.body = str_from(text);
	if (status)
		client_update_status(cluster_client(c->w), &k->request, &what, STR("default"),
				     str_from(b->name), NULL);
	else
		client_update(cluster_client(c->w), &k->request, &what, STR("default"),
			      str_from(b->name), NULL);
}

static void read_berth(struct crds *c, struct berth *b)
{
	struct ask *k = ask_new(c, b, ASK_READ);
	const char *version;
	struct resource what = some_version(c, &version);

	client_get(cluster_client(c->w), &k->request, &what, STR("default"), str_from(b->name));
}

static void delete_berth(struct crds *c, struct berth *b)
{
	struct ask *k = ask_new(c, b, ASK_DELETE);
	struct client_delete_opts o = { .uid = str_from(b->uid) };
	const char *version;
	struct resource what = some_version(c, &version);

	cluster_tell(c->w, "delete %s", b->name);
	b->asked_delete = true;
	client_delete(cluster_client(c->w), &k->request, &what, STR("default"), str_from(b->name),
		      &o);
}

static void free_berth(struct crds *c, struct berth *b)
{
	struct ask *k = ask_new(c, b, ASK_FREE);
	struct resource what = crds_resource("v1");

	k->request.body = STR("{\"metadata\":{\"finalizers\":null}}");
	client_patch(cluster_client(c->w), &k->request, &what,
		     (struct resource_name){ STR("default"), str_from(b->name), STR_NULL },
		     CLIENT_PATCH_MERGE, NULL);
}

/* Some that wait for somebody to take their finalizer away; or all of them. */
void berths_free(struct crds *c, bool all)
{
	for (size_t i = 0; i < c->berths.n; i++) {
		struct berth *b = c->berths.v[i];

		if (b->held && !b->busy && !is_safe(c, b) && (all || cluster_chance(c->w, 0.3)))
			free_berth(c, b);
	}
}

/* Of one that is there, or of one that is still to come or never will. */
static void create_pod(struct crds *c)
{
	unsigned n = 1 + cluster_pick(c->w, (unsigned)c->berths.n + 2);
	char spec[64];

	(void)snprintf(spec, sizeof(spec), ",\"hostname\":\"berth-%u\"", n);
	cluster_load_pod(c->w, spec, "", false);
}

static size_t alive(const struct crds *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->berths.n; i++)
		n += is_safe(c, c->berths.v[i]);
	return n;
}

void berths_step(struct crds *c)
{
	unsigned kind = cluster_pick(c->w, 11);
	struct berth *b = some_berth(c);
	size_t asks = 0;

	LIST_FOREACH (it, &c->asks)
		asks++;
	if (asks >= ASKS_MAX)
		return;
	if (kind == 10)
		berths_free(c, false);
	else if (kind < 2 && b)
		delete_berth(c, b);
	else if (kind < 4 || !b)
		create_pod(c);
	else if (kind < 6 && alive(c) < ALIVE_MAX)
		create_berth(c);
	else if (b->rv)
		write_berth(c, b);
	else
		read_berth(c, b);
	if (!b && alive(c) < ALIVE_MAX)
		create_berth(c);
}

/* --- what must hold ------------------------------------------------------------------------ */

static struct berth *find_berth(const struct crds *c, struct str name)
{
	for (size_t i = 0; i < c->berths.n; i++)
		if (str_eqz(name, c->berths.v[i]->name))
			return c->berths.v[i];
	return NULL;
}

static const struct json *get_berth(struct crds *c, const struct berth *b)
{
	return cluster_server_get(c->w->server, CRDS_GROUP, CRDS_RESOURCE, "default", b->name,
				  &c->w->arena);
}

static void check_one(struct crds *c, const struct berth *b)
{
	const struct json *tree = get_berth(c, b);
	bool same = tree && str_eqz(text_at(tree, "/metadata/uid"), b->uid);

	if (is_safe(c, b) && !tree)
		cluster_fail(c->w, "%s was created and is lost", b->name);
	if (is_safe(c, b) && !same)
		cluster_fail(c->w, "%s is another than the one that was created", b->name);
	if (b->deleted && same && !json_pointer(tree, STR("/metadata/deletionTimestamp")))
		cluster_fail(c->w, "%s was deleted and is back", b->name);
	if (b->uid[0] && b->of > 0 && b->of < present(c) && same)
		cluster_fail(c->w, "%s is back with a later definition", b->name);
	if (same)
		compare(c, b, tree, c->w->server->host);
}

struct search {
	struct crds *c;
	const struct cluster_role *server;
};

/* Only what was made since the definition was can belong to it. */
static void check_age(void *arg, struct str key, int64_t revision)
{
	const struct search *s = arg;

	if (revision < s->c->born)
		cluster_fail(s->c->w, "%s: %.*s is of %lld, older than its definition of %lld",
			     s->server->host, STR_ARG(key), (long long)revision,
			     (long long)s->c->born);
}

static void check_server(struct crds *c, const struct cluster_role *server)
{
	struct search s = { c, server };
	const struct json *d = cluster_server_get(server, "apiextensions.k8s.io",
						  "customresourcedefinitions", "", CRDS_NAME,
						  &c->w->arena);

	if (str_eqz(text_at(d, "/metadata/uid"), c->uid))
		cluster_server_each_version(server, CRDS_GROUP, CRDS_RESOURCE, check_age, &s);
}

static void check_pod(void *arg, const struct json *pod)
{
	struct crds *c = arg;
	struct str node = text_at(pod, "/spec/nodeName");
	struct str name = text_at(pod, "/spec/hostname");
	const struct berth *b = find_berth(c, name);

	if (!b && str_starts(name, STR("berth-")) && node.n > 0)
		cluster_fail(c->w, "pod %.*s is on %.*s, and there never was %.*s",
			     STR_ARG(text_at(pod, "/metadata/name")), STR_ARG(node), STR_ARG(name));
	if (b && node.n > 0 && !str_eqz(node, c->w->nodes[b->node].host))
		cluster_fail(c->w, "pod %.*s is on %.*s, and %s in %s",
			     STR_ARG(text_at(pod, "/metadata/name")), STR_ARG(node), b->name,
			     c->w->nodes[b->node].host);
}

void berths_check(struct crds *c)
{
	struct cluster *w = c->w;

	if (cluster_choose_server(w)) {
		for (size_t i = 0; i < c->berths.n; i++)
			check_one(c, c->berths.v[i]);
		cluster_server_each(w->server, "", "pods", &w->arena, check_pod, c);
	}
	for (unsigned i = 0; i < w->nservers; i++)
		if (cluster_server_ready(&w->servers[i]))
			check_server(c, &w->servers[i]);
}

bool crds_waits(struct cluster *w, const struct json *pod)
{
	struct str name = text_at(pod, "/spec/hostname");
	const struct berth *b = w->crds ? find_berth(w->crds, name) : NULL;

	return str_starts(name, STR("berth-")) && !(b && get_berth(w->crds, b));
}

/* --- life --------------------------------------------------------------------------------- */

bool berths_idle(const struct crds *c)
{
	return list_empty(&c->asks);
}

void berths_release(struct crds *c)
{
	LIST_FOREACH_SAFE (it, &c->asks) {
		struct ask *k = LIST_ENTRY(it, struct ask, link);

		client_cancel(&k->request);
		free(k);
	}
	for (size_t i = 0; i < c->berths.n; i++)
		free(c->berths.v[i]);
	vec_release(&c->berths);
}
