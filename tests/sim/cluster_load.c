/*
 * A user's load, and the user's record of the replies.
 *
 * Requests are sent once, not again and again, so that every answer says what became of one write.
 * A successful reply means that the write happened; an error with a reason means that it did not.
 * Without a reply, the result is unknown. Names are never used twice, and counters are written on
 * the version that was read, so that what arrives late cannot undo what was acknowledged later.
 */
#include "cluster_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "base/json/json.h"
#include "cluster_server.h"

enum { THINGS_MAX = 60, ASKS_MAX = 12, ASK_MS = 20 * 1000 };

/* The last one: whatever becomes of it. */
enum ask_kind { ASK_CREATE, ASK_DELETE, ASK_COUNT, ASK_READ, ASK_SETUP, ASK_ANY };

/* One request under way. */
struct ask {
	struct list link;
	struct cluster *w;
	struct client_request request;
	enum ask_kind kind;
	struct thing *thing;
	struct counter *counter;
	int64_t value; /* ASK_COUNT */
	const char *resource; /* ASK_SETUP, with its text: asked until it is done */
	char *text;
};

static struct resource of(const char *resource)
{
	bool core = strcmp(resource, "pods") == 0 || strcmp(resource, "configmaps") == 0 ||
		    strcmp(resource, "namespaces") == 0;

	if (strncmp(resource, "clusterrole", strlen("clusterrole")) == 0)
		return resource_builtin("rbac.authorization.k8s.io", "v1", resource);
	if (strcmp(resource, "priorityclasses") == 0)
		return resource_builtin("scheduling.k8s.io", "v1", resource);
	if (strncmp(resource, "clusterrole", 11) == 0)
		return resource_builtin("rbac.authorization.k8s.io", "v1", resource);
	return resource_builtin(core ? "" : "resource.k8s.io", "v1", resource);
}

/* --- answers ------------------------------------------------------------------------------ */

static void on_created(struct ask *k, const struct json *tree, const struct error *err)
{
	struct str uid = json_str(json_pointer(tree, STR("/metadata/uid")));

	if (!err)
		(void)snprintf(k->thing->uid, sizeof(k->thing->uid), "%.*s", STR_ARG(uid));
}

static void on_deleted(struct ask *k, const struct error *err)
{
	if (!err || err->code == ERR_NOT_FOUND)
		k->thing->deleted = true;
}

static int64_t value_of(const struct json *tree)
{
	int64_t v = -1;

	(void)str_to_i64(json_str(json_pointer(tree, STR("/data/value"))), &v);
	return v;
}

static void on_counter(struct ask *k, const struct json *tree, const struct error *err)
{
	struct counter *c = k->counter;
	int64_t value = value_of(tree), rv = 0;

	c->busy = false;
	c->rv = 0;
	if (err)
		return;
	(void)str_to_i64(json_str(json_pointer(tree, STR("/metadata/resourceVersion"))), &rv);
	if (value < c->value || value > c->tried)
		cluster_fail(k->w, "%s is %lld, though %lld was acknowledged and %lld tried last",
			     c->name, (long long)value, (long long)c->value, (long long)c->tried);
	c->rv = rv;
	if (k->kind == ASK_COUNT)
		c->value = k->value;
}

/* A version that was answered to a write is one that the observer must see. */
static void expect(struct ask *k, const struct json *tree)
{
	struct str kind = json_text_at(tree, "kind");
	struct str name = json_str(json_pointer(tree, STR("/metadata/name")));
	int64_t rv = 0;

	(void)str_to_i64(json_str(json_pointer(tree, STR("/metadata/resourceVersion"))), &rv);
	if (rv > 0 && str_eqz(kind, "Pod"))
		observer_expect(k->w, STR("pods"), name, rv);
	else if (rv > 0 && str_eqz(kind, "ResourceClaim"))
		observer_expect(k->w, STR("resourceclaims"), name, rv);
}

static void count(struct cluster *w, const struct client_answer *answer, const struct error *err)
{
	if (!err)
		cluster_acknowledged(w);
	else if (answer->status >= 400 && answer->status < 500)
		w->refused++;
	else
		w->unknown++;
}

static void on_done(struct client_request *r, const struct client_answer *answer,
		    const struct error *err)
{
	struct ask *k = CONTAINER_OF(r, struct ask, request);
	struct cluster *w = k->w;
	struct json *tree = NULL;
	struct arena a;

	arena_init(&a, SIZE_MAX);
	list_remove(&k->link);
	count(w, answer, err);
	if (!err)
		(void)client_answer_tree(answer, &a, &tree, NULL);
	if (k->kind == ASK_CREATE)
		on_created(k, tree, err);
	else if (k->kind == ASK_DELETE)
		on_deleted(k, err);
	else if (k->counter)
		on_counter(k, tree, err);
	else if (k->kind == ASK_SETUP && err && err->code != ERR_ALREADY_EXISTS)
		cluster_load_make(w, k->resource, k->text);
	if (k->kind == ASK_CREATE || k->kind == ASK_DELETE)
		expect(k, tree);
	arena_release(&a);
	free(k->text);
	free(k);
}

static struct ask *ask_new(struct cluster *w, enum ask_kind kind)
{
	struct ask *k = XNEW(struct ask);

	k->w = w;
	k->kind = kind;
	k->request = (struct client_request){ .no_retry = true,
					      .timeout_ms = ASK_MS,
					      .on_done = on_done };
	list_push_back(&w->asks, &k->link);
	return k;
}

/* --- what is asked ------------------------------------------------------------------------ */

static void create_in(struct cluster *w, enum ask_kind kind, struct thing *t, const char *ns,
		      const char *resource, const char *text)
{
	struct ask *k = ask_new(w, kind);
	struct resource r = of(resource);

	k->thing = t;
	k->resource = resource;
	k->text = kind == ASK_SETUP ? xstrdup(text) : NULL;
	k->request.body = str_from(text);
	client_create(cluster_client(w), &k->request, &r, str_from(ns), NULL);
}

static void create(struct cluster *w, enum ask_kind kind, struct thing *t, const char *resource,
		   const char *text)
{
	create_in(w, kind, t, t ? t->ns : "default", resource, text);
}

static struct thing *thing_new(struct cluster *w, const char *resource, const char *prefix)
{
	struct thing *t = XNEW(struct thing);

	t->resource = resource;
	t->ns = resource[0] == 'p' || resource[0] == 'r' ? "default" : "";
	(void)snprintf(t->name, sizeof(t->name), "%s-%u", prefix, w->names++);
	(void)vec_push(&w->things, t);
	return t;
}

static void create_claim(struct cluster *w)
{
	struct thing *t = thing_new(w, "resourceclaims", "claim");
	char text[512];

	(void)snprintf(
		text, sizeof(text),
		"{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"devices\":{\"requests\":[{"
		"\"name\":\"gpu\",\"exactly\":{\"deviceClassName\":\"gpu\",\"count\":%u}}]}}}",
		t->name, 1 + cluster_pick(w, 2));
	cluster_tell(w, "create claim %s", t->name);
	create(w, ASK_CREATE, t, "resourceclaims", text);
}

void cluster_load_thing(struct cluster *w, const char *resource, const char *prefix,
			const char *spec)
{
	struct thing *t = thing_new(w, resource, prefix);
	char text[512];

	(void)snprintf(text, sizeof(text), "{\"metadata\":{\"name\":\"%s\"}%s}", t->name, spec);
	cluster_tell(w, "create %s", t->name);
	create(w, ASK_CREATE, t, resource, text);
}

struct thing *cluster_load_some(struct cluster *w, const char *resource)
{
	for (unsigned i = 0; i < 10 && w->things.n > 0; i++) {
		struct thing *t = w->things.v[cluster_pick(w, (unsigned)w->things.n)];

		if (t->uid[0] && !t->asked_delete && (!resource || t->resource == resource))
			return t;
	}
	return NULL;
}

/* Its claims: none, one of its own, two devices of its own, or one that others may use, too. */
static void describe_claims(struct cluster *w, char *text, size_t size, char *uses,
			    size_t uses_size)
{
	const struct thing *claim = cluster_load_some(w, "resourceclaims");
	unsigned kind = cluster_pick(w, 5);

	text[0] = uses[0] = '\0';
	if (kind == 0)
		return;
	(void)snprintf(uses, uses_size, ",\"resources\":{\"claims\":[{\"name\":\"g\"}]}");
	if (kind >= 3 && claim)
		(void)snprintf(
			text, size,
			",\"resourceClaims\":[{\"name\":\"g\",\"resourceClaimName\":\"%s\"}]",
			claim->name);
	else
		(void)snprintf(text, size,
			       ",\"resourceClaims\":[{\"name\":\"g\",\"resourceClaimTemplateName\":"
			       "\"gpus-%u\"}]",
			       displace_template(w, 1 + (kind == 2)));
}

/* Compilers differ in which argument they evaluate first: one draw per statement. */
static void describe_end(struct cluster *w, char *text, size_t size)
{
	unsigned seconds = 1 + cluster_pick(w, 20), status = cluster_pick(w, 2);

	(void)snprintf(text, size,
		       ",\"annotations\":{\"devplane.dev/hollow-exit.c\":\"%u after %us\"}", status,
		       seconds);
}

static void send_pod(struct cluster *w, struct thing *t, const char *ends, const char *spec,
		     const char *container)
{
	unsigned grace = 1 + cluster_pick(w, 5);
	char text[2048];

	(void)snprintf(text, sizeof(text),
		       "{\"metadata\":{\"name\":\"%s\"%s},\"spec\":{\"restartPolicy\":\"%s\","
		       "\"automountServiceAccountToken\":false,"
		       "\"terminationGracePeriodSeconds\":%u,\"containers\":[{\"name\":\"c\","
		       "\"image\":\"i\"%s}]%s}}",
		       t->name, ends, ends[0] ? "Never" : "Always", grace, container, spec);
	cluster_tell(w, "create pod %s%.60s", t->name, spec);
	create(w, ASK_CREATE, t, "pods", text);
}

void cluster_load_pod(struct cluster *w, const char *spec, const char *container, bool may_go)
{
	struct thing *t = thing_new(w, "pods", "pod");

	t->may_go = may_go;
	send_pod(w, t, "", spec, container);
}

static void create_pod(struct cluster *w)
{
	struct thing *t = thing_new(w, "pods", "pod");
	char claims[256], uses[128], ends[128] = "";

	if (cluster_chance(w, 0.3))
		describe_end(w, ends, sizeof(ends));
	describe_claims(w, claims, sizeof(claims), uses, sizeof(uses));
	/* A rule may taint its device, unless its claim tolerates that. */
	t->may_go = (w->parts & CLUSTER_TAINTS) && claims[0] && !strstr(claims, "gpus-3");
	send_pod(w, t, ends, claims, uses);
}

static void create_namespace(struct cluster *w)
{
	struct thing *t = thing_new(w, "namespaces", "ns");
	char text[128];

	(void)snprintf(text, sizeof(text), "{\"metadata\":{\"name\":\"%s\"}}", t->name);
	cluster_tell(w, "create namespace %s", t->name);
	create(w, ASK_CREATE, t, "namespaces", text);
}

/* Something in a namespace, which goes with it. */
static void fill_namespace(struct cluster *w)
{
	const struct thing *t = cluster_load_some(w, "namespaces");
	bool map = cluster_chance(w, 0.5);
	char text[512];

	if (!t)
		return;
	(void)snprintf(text, sizeof(text), "{\"metadata\":{\"name\":\"x-%u\"}%s}", w->names++,
		       map ? ""
			   : ",\"spec\":{\"devices\":{\"requests\":[{\"name\":\"gpu\",\"exactly\":{"
			     "\"deviceClassName\":\"gpu\"}}]}}");
	create_in(w, ASK_ANY, NULL, t->name, map ? "configmaps" : "resourceclaims", text);
}

static void make_space(struct cluster *w)
{
	if (cluster_chance(w, 0.3))
		create_namespace(w);
	else
		fill_namespace(w);
}

void cluster_load_delete(struct cluster *w, struct thing *t)
{
	struct ask *k = ask_new(w, ASK_DELETE);
	struct resource r = of(t->resource);
	struct client_delete_opts o = { .propagation = "Background" };

	cluster_tell(w, "delete %s", t->name);
	k->thing = t;
	t->asked_delete = true;
	client_delete(cluster_client(w), &k->request, &r, str_from(t->ns), str_from(t->name), &o);
}

void cluster_load_try(struct cluster *w, const char *resource, const char *text)
{
	create_in(w, ASK_ANY, NULL, "default", resource, text);
}

void cluster_load_try_delete(struct cluster *w, const char *resource, const char *name,
			     int64_t grace_s)
{
	struct client_delete_opts o = { .has_grace = true, .grace_s = grace_s };
	struct ask *k = ask_new(w, ASK_ANY);
	struct resource r = of(resource);

	client_delete(cluster_client(w), &k->request, &r, STR("default"), str_from(name), &o);
}

static void delete_some(struct cluster *w)
{
	struct thing *t = cluster_load_some(w, cluster_chance(w, 0.7) ? "pods" : NULL);

	if (t)
		cluster_load_delete(w, t);
}

static void count_up(struct cluster *w)
{
	struct counter *c = &w->counters[cluster_pick(w, CLUSTER_MAPS)];
	struct resource r = of("configmaps");
	struct ask *k;
	char text[256];

	if (c->busy)
		return;
	k = ask_new(w, c->rv ? ASK_COUNT : ASK_READ);
	c->busy = true;
	k->counter = c;
	if (!c->rv) {
		client_get(cluster_client(w), &k->request, &r, STR("default"), str_from(c->name));
		return;
	}
	k->value = ++c->tried;
	(void)snprintf(
		text, sizeof(text),
		"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\","
		"\"resourceVersion\":\"%lld\"},\"data\":{\"value\":\"%lld\"}}",
		c->name, (long long)c->rv, (long long)k->value);
	k->request.body = str_from(text);
	client_update(cluster_client(w), &k->request, &r, STR("default"), str_from(c->name), NULL);
}

/* Objects whose deletion was acknowledged are no longer checked. */
static void forget_some(struct cluster *w)
{
	for (size_t i = w->things.n; i-- > 0;) {
		struct thing *t = w->things.v[i];
		bool busy = false;

		LIST_FOREACH (it, &w->asks)
			busy = busy || LIST_ENTRY(it, struct ask, link)->thing == t;
		if (busy || (t->uid[0] && !t->deleted))
			continue;
		vec_remove(&w->things, i);
		free(t);
	}
}

static size_t under_way(const struct cluster *w)
{
	size_t n = 0;

	LIST_FOREACH (it, &w->asks)
		n++;
	return n;
}

void cluster_load_step(struct cluster *w)
{
	unsigned kind = cluster_pick(w, 20);

	if (under_way(w) >= ASKS_MAX)
		return;
	if (w->things.n > THINGS_MAX)
		forget_some(w);
	if (w->things.n > THINGS_MAX || kind < 6)
		delete_some(w);
	else if (kind < 13)
		create_pod(w);
	else if (kind < 16)
		create_claim(w);
	else if (kind == 16)
		make_space(w);
	else
		count_up(w);
}

/* --- the beginning and the end ------------------------------------------------------------ */

void cluster_load_make(struct cluster *w, const char *resource, const char *text)
{
	create(w, ASK_SETUP, NULL, resource, text);
}

void cluster_load_begin(struct cluster *w)
{
	char text[512];

	cluster_load_make(w, "deviceclasses",
			  "{\"metadata\":{\"name\":\"gpu\"},\"spec\":{\"selectors\":[{\"cel\":{"
			  "\"expression\":"
			  "\"device.driver == '" CLUSTER_DRIVER "'\"}}]}}");
	for (int n = 1; n <= 2; n++) {
		(void)snprintf(
			text, sizeof(text),
			"{\"metadata\":{\"name\":\"gpus-%d\"},\"spec\":{\"spec\":{\"devices\":{"
			"\"requests\":[{\"name\":\"gpu\",\"exactly\":{\"deviceClassName\":\"gpu\","
			"\"count\":%d}}]}}}}",
			n, n);
		cluster_load_make(w, "resourceclaimtemplates", text);
	}
	for (unsigned i = 0; i < CLUSTER_MAPS; i++) {
		struct counter *c = &w->counters[i];

		(void)snprintf(c->name, sizeof(c->name), "counter-%u", i);
		(void)snprintf(text, sizeof(text),
			       "{\"metadata\":{\"name\":\"%s\"},\"data\":{\"value\":\"0\"}}",
			       c->name);
		cluster_load_make(w, "configmaps", text);
	}
	for (int64_t ms = 0; ms < 120000 && !list_empty(&w->asks); ms += 100)
		cluster_run(w, 100);
	assert_true(list_empty(&w->asks));
}

struct adopt {
	struct cluster *w;
	const char *resource, *ns;
};

static void adopt_one(void *arg, const struct json *tree)
{
	const struct adopt *a = arg;
	struct cluster *w = a->w;
	struct str name = json_str(json_pointer(tree, STR("/metadata/name")));
	struct str uid = json_str(json_pointer(tree, STR("/metadata/uid")));
	bool deleting = json_pointer(tree, STR("/metadata/deletionTimestamp")) != NULL;
	struct thing *t = NULL;

	if (json_pointer(tree, STR("/metadata/ownerReferences")) || deleting ||
	    !str_eqz(json_str(json_pointer(tree, STR("/metadata/namespace"))), a->ns) ||
	    (!a->ns[0] && !str_starts(name, STR("ns-")) && !str_starts(name, STR("rule-"))))
		return;
	for (size_t i = 0; i < w->things.n && !t; i++)
		t = str_eqz(name, w->things.v[i]->name) ? w->things.v[i] : NULL;
	if (!t) {
		t = XNEW(struct thing);
		t->resource = a->resource;
		t->ns = a->ns;
		/* Nobody remembers what kind of pod it is. */
		t->may_go = w->parts & (CLUSTER_PRIORITY | CLUSTER_TAINTS);
		t->reused = str_starts(name, STR(CLUSTER_REUSED));
		(void)snprintf(t->name, sizeof(t->name), "%.*s", STR_ARG(name));
		(void)vec_push(&w->things, t);
	}
	/* A name that is used again: the deletion was that of the object before. */
	if (!str_eqz(uid, t->uid))
		t->deleted = false;
	(void)snprintf(t->uid, sizeof(t->uid), "%.*s", STR_ARG(uid));
}

void cluster_load_adopt(struct cluster *w)
{
	struct adopt pods = { w, "pods", "default" }, claims = { w, "resourceclaims", "default" };
	struct adopt namespaces = { w, "namespaces", "" }, rules = { w, "devicetaintrules", "" };

	(void)cluster_choose_server(w);
	cluster_server_each(w->server, "", "pods", &w->arena, adopt_one, &pods);
	cluster_server_each(w->server, "resource.k8s.io", "resourceclaims", &w->arena, adopt_one,
			    &claims);
	cluster_server_each(w->server, "", "namespaces", &w->arena, adopt_one, &namespaces);
	cluster_server_each(w->server, "resource.k8s.io", "devicetaintrules", &w->arena, adopt_one,
			    &rules);
	arena_clear(&w->arena);
}

bool cluster_load_delete_all(struct cluster *w)
{
	bool any = false;

	for (size_t i = 0; i < w->things.n; i++) {
		if (!w->things.v[i]->uid[0] || w->things.v[i]->deleted)
			continue;
		cluster_load_delete(w, w->things.v[i]);
		any = true;
	}
	return any;
}

bool cluster_load_idle(const struct cluster *w)
{
	return list_empty(&w->asks);
}

void cluster_load_release(struct cluster *w)
{
	LIST_FOREACH_SAFE (it, &w->asks) {
		struct ask *k = LIST_ENTRY(it, struct ask, link);

		client_cancel(&k->request);
		free(k->text);
		free(k);
	}
	for (size_t i = 0; i < w->things.n; i++)
		free(w->things.v[i]);
	vec_release(&w->things);
}
