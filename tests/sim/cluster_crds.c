/*
 * A CustomResourceDefinition that the user makes, changes, deletes and makes again.
 *
 * Each request about it waits for the one before. A change is written on the version that was
 * read, and a deletion names the uid, so that none that arrives late hits a later definition. Its
 * variants have a second version, stored or not, served or not, and a narrower schema. Some objects
 * have a finalizer, which the user takes away later.
 *
 * When faults have ended the definition is made as it is in the end; then it is deleted, and its
 * objects and its watches must go with it. Made again it must be empty.
 */
#include "cluster_crds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "base/json/json.h"
#include "cluster_server.h"

enum { ASK_MS = 20 * 1000, UP_MS = 120 * 1000 };

/* The forms of the definition, as bits. */
enum variant {
	VARIANT_FIRST = 1, /* v1 is served; it is in the end */
	VARIANT_SECOND = 2, /* there is v2 */
	VARIANT_SECOND_SERVED = 4,
	VARIANT_SECOND_STORED = 8,
	VARIANT_NARROW = 16,
	VARIANTS = 32,
};

struct resource crds_resource(const char *version)
{
	return (struct resource){ .group = STR(CRDS_GROUP),
				  .version = str_from(version),
				  .resource = STR(CRDS_RESOURCE),
				  .kind = STR("Berth"),
				  .namespaced = true };
}

static struct resource definitions(void)
{
	return resource_builtin("apiextensions.k8s.io", "v1", "customresourcedefinitions");
}

static struct str text_at(const struct json *tree, const char *pointer)
{
	return json_str(json_pointer(tree, str_from(pointer)));
}

/* --- its text ----------------------------------------------------------------------------- */

static int print_version(char *out, size_t size, const char *name, bool served, bool stored,
			 bool narrow)
{
	char bound[32] = "";

	if (narrow)
		(void)snprintf(bound, sizeof(bound), ",\"maximum\":%d", CRDS_NARROW);
	return snprintf(out, size,
			"{\"name\":\"%s\",\"served\":%s,\"storage\":%s,\"subresources\":{"
			"\"status\":{}},\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\","
			"\"properties\":{\"spec\":{\"type\":\"object\",\"required\":[\"node\"],"
			"\"properties\":{\"node\":{\"type\":\"string\"},\"value\":{"
			"\"type\":\"integer\"%s}}},\"status\":{\"type\":\"object\",\"properties\":{"
			"\"value\":{\"type\":\"integer\"}}}}}}}",
			name, served ? "true" : "false", stored ? "true" : "false", bound);
}

static void print_definition(char *out, size_t size, unsigned variant, struct str rv, bool going)
{
	bool second = variant & VARIANT_SECOND,
	     stored = second && (variant & VARIANT_SECOND_STORED),
	     narrow = variant & VARIANT_NARROW;
	int n = snprintf(out, size,
			 "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":"
			 "\"CustomResourceDefinition\",\"metadata\":{\"name\":\"" CRDS_NAME
			 "\",\"resourceVersion\":\"%.*s\",\"annotations\":{\"variant\":\"%u\"},"
			 "\"finalizers\":[%s]},"
			 "\"spec\":{\"group\":\"" CRDS_GROUP "\",\"scope\":\"Namespaced\","
			 "\"names\":{\"plural\":\"" CRDS_RESOURCE "\",\"singular\":\"berth\","
			 "\"kind\":\"Berth\",\"listKind\":\"BerthList\"},\"versions\":[",
			 STR_ARG(rv), variant,
			 going ? "\"customresourcecleanup.apiextensions.k8s.io\"" : "");

	n += print_version(out + n, size - (size_t)n, "v1", variant & VARIANT_FIRST, !stored,
			   narrow);
	if (second) {
		n += snprintf(out + n, size - (size_t)n, ",");
		n += print_version(out + n, size - (size_t)n, "v2", variant & VARIANT_SECOND_SERVED,
				   stored, narrow);
	}
	(void)snprintf(out + n, size - (size_t)n, "]}}");
}

/* --- what is known of it ------------------------------------------------------------------ */

static bool is_doomed(const struct crds *c, struct str uid)
{
	for (size_t i = 0; i < c->doomed_uids.n; i++)
		if (str_eqz(uid, c->doomed_uids.v[i]))
			return true;
	return false;
}

static void learn(struct crds *c, const struct json *tree, bool created)
{
	struct str uid = text_at(tree, "/metadata/uid");

	if (str_eqz(uid, c->uid))
		return;
	(void)snprintf(c->uid, sizeof(c->uid), "%.*s", STR_ARG(uid));
	c->made++;
	c->doomed = is_doomed(c, uid);
	c->born = 0;
	if (created)
		(void)str_to_i64(text_at(tree, "/metadata/resourceVersion"), &c->born);
}

/* --- requests ----------------------------------------------------------------------------- */

static void begin(struct crds *c,
		  void (*on_done)(struct client_request *r, const struct client_answer *answer,
				  const struct error *err))
{
	c->request = (struct client_request){ .no_retry = true,
					      .timeout_ms = ASK_MS,
					      .on_done = on_done };
}

static void on_written(struct client_request *r, const struct client_answer *answer,
		       const struct error *err)
{
	struct crds *c = CONTAINER_OF(r, struct crds, request);
	struct json *tree = NULL;
	struct arena a;

	if (err)
		return;
	arena_init(&a, SIZE_MAX);
	cluster_acknowledged(c->w);
	if (client_answer_tree(answer, &a, &tree, NULL) == 0)
		learn(c, tree, c->creating);
	c->narrow = c->sent & VARIANT_NARROW;
	arena_release(&a);
}

static void on_deleted(struct client_request *r, const struct client_answer *answer UNUSED,
		       const struct error *err)
{
	struct crds *c = CONTAINER_OF(r, struct crds, request);

	if (err)
		return;
	cluster_acknowledged(c->w);
	if (c->phase == CRDS_PLAY)
		berths_rush(c);
}

static unsigned some_variant(struct crds *c)
{
	if (c->phase != CRDS_PLAY)
		return VARIANT_FIRST | VARIANT_SECOND | VARIANT_SECOND_SERVED;
	/* v1 is mostly served. */
	return cluster_pick(c->w, VARIANTS) | (cluster_chance(c->w, 0.7) ? VARIANT_FIRST : 0U);
}

/* `going` is whether it is being deleted: then it keeps the server's finalizer. */
static void write_definition(struct crds *c, struct str rv, bool going)
{
	struct resource what = definitions();
	unsigned variant = some_variant(c);
	char text[4096];

	print_definition(text, sizeof(text), variant, rv, going);
	cluster_tell(c->w, "%s the definition: %u", rv.n ? "change" : "create", variant);
	begin(c, on_written);
	c->sent = variant;
	c->creating = rv.n == 0;
	c->narrow = false;
	c->request.body = str_from(text);
	if (rv.n)
		client_update(cluster_client(c->w), &c->request, &what, STR_NULL, STR(CRDS_NAME),
			      NULL);
	else
		client_create(cluster_client(c->w), &c->request, &what, STR_NULL, NULL);
}

/* Another server hears of it late, and has creations to decide on when it wakes. */
static void hold_up_another(struct crds *c)
{
	struct cluster_role *server = &c->w->servers[cluster_pick(c->w, (unsigned)c->w->nservers)];
	int64_t ms = cluster_pick(c->w, 1000);

	if (c->w->nservers > 1 && server->state == CLUSTER_UP && cluster_chance(c->w, 0.5)) {
		cluster_tell(c->w, "pause %s for %lld ms", server->host, (long long)ms);
		sim_pause(server->loops[0], ms);
	}
}

static void delete_definition(struct crds *c, struct str uid)
{
	struct client_delete_opts o = { .uid = uid };
	struct resource what = definitions();

	cluster_tell(c->w, "delete the definition");
	if (!is_doomed(c, uid))
		(void)vec_push(&c->doomed_uids, str_dup(uid));
	c->doomed = c->doomed || str_eqz(uid, c->uid);
	c->narrow = false;
	begin(c, on_deleted);
	client_delete(cluster_client(c->w), &c->request, &what, STR_NULL, STR(CRDS_NAME), &o);
	if (c->phase != CRDS_PLAY)
		return;
	berths_rush(c);
	hold_up_another(c);
}

/* It is there: what is to be done with it? */
static void go_on(struct crds *c, const struct json *tree)
{
	int64_t variant = 0;
	bool going = json_pointer(tree, STR("/metadata/deletionTimestamp")) != NULL;

	(void)str_to_i64(text_at(tree, "/metadata/annotations/variant"), &variant);
	/* It waits for finalizers, which can be taken away where the objects are served. */
	if (going && !(variant & VARIANT_FIRST))
		write_definition(c, text_at(tree, "/metadata/resourceVersion"), true);
	if (going)
		return;
	if (c->phase == CRDS_DELETE || (c->phase == CRDS_PLAY && cluster_chance(c->w, 0.3)))
		delete_definition(c, text_at(tree, "/metadata/uid"));
	else if (c->phase == CRDS_PLAY || variant != (int64_t)some_variant(c))
		write_definition(c, text_at(tree, "/metadata/resourceVersion"), false);
	else
		c->reached = true;
}

static void on_read(struct client_request *r, const struct client_answer *answer,
		    const struct error *err)
{
	struct crds *c = CONTAINER_OF(r, struct crds, request);
	struct json *tree = NULL;
	struct arena a;

	if (err && err->code == ERR_NOT_FOUND && answer->status == 404) {
		if (c->phase == CRDS_DELETE)
			c->reached = true;
		else
			write_definition(c, STR_NULL, false);
	}
	if (err)
		return;
	arena_init(&a, SIZE_MAX);
	if (client_answer_tree(answer, &a, &tree, NULL) == 0) {
		learn(c, tree, false);
		go_on(c, tree);
	}
	arena_release(&a);
}

static void look(struct crds *c)
{
	struct resource what = definitions();

	if (client_busy(&c->request))
		return;
	begin(c, on_read);
	client_get(cluster_client(c->w), &c->request, &what, STR_NULL, STR(CRDS_NAME));
}

/* --- life --------------------------------------------------------------------------------- */

void crds_step(struct cluster *w)
{
	if (cluster_chance(w, 0.15))
		look(w->crds);
	else
		berths_step(w->crds);
}

static void make_rights(struct cluster *w)
{
	cluster_load_make(
		w, "clusterroles",
		"{\"metadata\":{\"name\":\"berths\"},\"rules\":[{\"apiGroups\":[\"" CRDS_GROUP
		"\"],\"resources\":[\"*\"],\"verbs\":[\"get\",\"list\",\"watch\"]}]}");
	cluster_load_make(w, "clusterrolebindings",
			  "{\"metadata\":{\"name\":\"berths\"},\"roleRef\":{\"apiGroup\":"
			  "\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\",\"name\":"
			  "\"berths\"},\"subjects\":[{\"apiGroup\":\"rbac.authorization.k8s.io\","
			  "\"kind\":\"User\",\"name\":\"system:kube-scheduler\"}]}");
	for (int64_t ms = 0; ms < UP_MS && !cluster_load_idle(w); ms += 100)
		cluster_run(w, 100);
}

void crds_begin(struct cluster *w)
{
	struct crds *c = XNEW(struct crds);

	w->crds = c;
	c->w = w;
	list_init(&c->asks);
	vec_init(&c->berths, SIZE_MAX / sizeof(struct berth *));
	vec_init(&c->doomed_uids, SIZE_MAX / sizeof(char *));
	make_rights(w);
	(void)snprintf(c->scheduler, sizeof(c->scheduler),
		       "{\"apiVersion\":\"kubescheduler.config.k8s.io/v1\",\"kind\":"
		       "\"KubeSchedulerConfiguration\",\"devplane\":{\"plugins\":[{\"path\":"
		       "\"" SIM_BERTH_PLUGIN "\"}]},\"profiles\":[{\"schedulerName\":"
		       "\"default-scheduler\",\"plugins\":{\"multiPoint\":{\"enabled\":[{"
		       "\"name\":\"Berth\"}]}}}]}");
	for (unsigned i = 0; i < CLUSTER_SCHEDULERS; i++)
		w->schedulers[i].arg = c->scheduler;
}

bool crds_idle(const struct cluster *w)
{
	return !w->crds || (!client_busy(&w->crds->request) && berths_idle(w->crds));
}

void crds_check(struct cluster *w)
{
	berths_check(w->crds);
}

/* Works on what the phase is for; true when that is done. */
static bool reach(struct cluster *w, enum crds_phase phase)
{
	struct crds *c = w->crds;

	if (c->phase != phase) {
		c->phase = phase;
		c->reached = false;
	}
	berths_free(c, true);
	if (!c->reached)
		look(c);
	return c->reached;
}

bool crds_settled(struct cluster *w)
{
	return reach(w, CRDS_SETTLE);
}

static void count_one(void *arg, struct str key UNUSED, int64_t revision UNUSED)
{
	(*(unsigned *)arg)++;
}

static unsigned count_berths(const struct cluster_role *server)
{
	unsigned n = 0;

	cluster_server_each_version(server, CRDS_GROUP, CRDS_RESOURCE, count_one, &n);
	return n;
}

bool crds_gone(struct cluster *w, char *why, size_t size)
{
	(void)snprintf(why, size, "the definition is still there");
	if (!reach(w, CRDS_DELETE))
		return false;
	for (unsigned i = 0; i < w->nservers; i++) {
		(void)snprintf(why, size, "%s still has objects of the definition",
			       w->servers[i].host);
		if (!cluster_server_ready(&w->servers[i]) || count_berths(&w->servers[i]) > 0)
			return false;
	}
	(void)snprintf(why, size, "the watch of what is gone does not end");
	return observer_sees_no_definition(w);
}

bool crds_empty_again(struct cluster *w, char *why, size_t size)
{
	(void)snprintf(why, size, "the definition cannot be made again");
	if (!reach(w, CRDS_AGAIN) || !cluster_choose_server(w))
		return false;
	if (count_berths(w->server) > 0)
		cluster_fail(w, "a definition that was made again has %u objects",
			     count_berths(w->server));
	return true;
}

void crds_release(struct cluster *w)
{
	struct crds *c = w->crds;

	if (!c)
		return;
	client_cancel(&c->request);
	berths_release(c);
	for (size_t i = 0; i < c->doomed_uids.n; i++)
		free(c->doomed_uids.v[i]);
	vec_release(&c->doomed_uids);
	free(TAKE(w->crds));
}
