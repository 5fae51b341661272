/*
 * The tree is parsed once per version of the object and lives with it; readers walk it. A node has
 * few, small pods, so each tree is kept.
 */
#include "node/pod/pod.h"

#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/json/quantity.h"
#include "client/informer/cached.h"
#include "dra/claims/pod_claims.h"

enum { GRACE_DEFAULT_S = 30, PRIORITY_CRITICAL = 2000 * 1000 * 1000 };

static const char *const lists[] = { "initContainers", "containers", "ephemeralContainers" };

/* --- life ------------------------------------------------------------------------------------ */

static struct json *object_at(struct pod *p, const char *key)
{
	struct json *v = json_getz(p->tree, key);

	return json_is(v, JSON_OBJECT) ? v : json_make_object(&p->arena);
}

static int read_pod(struct pod *p, struct error *err)
{
	int64_t grace;

	p->metadata = object_at(p, "metadata");
	p->spec = object_at(p, "spec");
	p->status = object_at(p, "status");
	p->uid = json_text_at(p->metadata, "uid");
	p->ns = json_text_at(p->metadata, "namespace");
	p->name = json_text_at(p->metadata, "name");
	if (p->uid.n == 0 || p->name.n == 0)
		return error_set(err, ERR_PROTOCOL, "a pod without uid or name");
	p->deleting = json_text_at(p->metadata, "deletionTimestamp").n > 0;
	grace = json_i64_at(p->spec, "terminationGracePeriodSeconds", GRACE_DEFAULT_S);
	if (p->deleting)
		grace = json_i64_at(p->metadata, "deletionGracePeriodSeconds", grace);
	p->grace_s = grace < 0 ? 1 : grace;
	return 0;
}

static struct pod *pod_make(void)
{
	struct pod *p = XNEW(struct pod);

	p->refs = 1;
	arena_init(&p->arena, REQUEST_WORK_MAX);
	return p;
}

int pod_new(struct cached *object, struct pod **ret_pod, struct error *err)
{
	CLEANUP(pod_unref) struct pod *p = pod_make();
	int r;

	r = cached_tree_held(object, &p->arena, &p->tree, err);
	if (r == 0)
		r = read_pod(p, err);
	if (r < 0)
		return r;
	*ret_pod = TAKE(p);
	return 0;
}

int pod_parse(struct str text, struct pod **ret_pod, struct error *err)
{
	CLEANUP(pod_unref) struct pod *p = pod_make();
	int r;

	r = json_parse(&p->arena, arena_str(&p->arena, text), NULL, &p->tree, err);
	if (r == 0)
		r = read_pod(p, err);
	if (r < 0)
		return r;
	*ret_pod = TAKE(p);
	return 0;
}

struct pod *pod_ref(struct pod *p)
{
	p->refs++;
	return p;
}

void pod_unref(struct pod *p)
{
	if (!p || --p->refs > 0)
		return;
	arena_release(&p->arena);
	free(p);
}

/* --- containers ------------------------------------------------------------------------------ */

struct pod_containers pod_containers(const struct pod *p)
{
	return (struct pod_containers){ .pod = p,
					.next = json_first(json_getz(p->spec, lists[0])) };
}

static enum pod_container_kind pod_kind_of(const struct json *container, int list)
{
	if (list == 0)
		return str_eqz(json_text_at(container, "restartPolicy"), "Always") ? POD_SIDECAR
										   : POD_INIT;
	return list == 1 ? POD_MAIN : POD_EPHEMERAL;
}

bool pod_containers_next(struct pod_containers *c)
{
	while (!c->next) {
		if (++c->list >= (int)ARRAY_SIZE(lists))
			return false;
		c->next = json_first(json_getz(c->pod->spec, lists[c->list]));
	}
	c->container = c->next;
	c->next = c->container->next;
	c->name = json_text_at(c->container, "name");
	c->kind = pod_kind_of(c->container, c->list);
	return true;
}

struct json *pod_container(const struct pod *p, struct str name, enum pod_container_kind *ret_kind)
{
	struct pod_containers c = pod_containers(p);

	while (pod_containers_next(&c)) {
		if (!str_eq(c.name, name))
			continue;
		if (ret_kind)
			*ret_kind = c.kind;
		return c.container;
	}
	return NULL;
}

int64_t pod_container_limit(const struct json *container, struct str resource)
{
	const struct json *resources = json_getz(container, "resources");
	struct json *v = json_get(json_getz(resources, "limits"), resource);
	struct quantity q;

	if (!v)
		v = json_get(json_getz(resources, "requests"), resource);
	return quantity_read(v, &q) ? quantity_value(q) : 0;
}

/* --- the pod --------------------------------------------------------------------------------- */

struct str pod_restart_policy(const struct pod *p)
{
	struct str s = json_text_at(p->spec, "restartPolicy");

	return s.n > 0 ? s : STR("Always");
}

bool pod_terminal(const struct pod *p)
{
	struct str phase = json_text_at(p->status, "phase");

	return str_eqz(phase, "Succeeded") || str_eqz(phase, "Failed");
}

bool pod_host_network(const struct pod *p)
{
	return json_true_at(p->spec, "hostNetwork");
}

struct str pod_claim_name(const struct pod *p, struct str name, bool *ret_none)
{
	const struct json *entry = json_find(json_getz(p->spec, "resourceClaims"), "name", name);
	struct pod_claims_ref ref = pod_claims_ref_of(p->tree, entry);

	*ret_none = ref.state == POD_CLAIMS_REF_UNNEEDED;
	return ref.claim;
}

bool pod_is_critical(const struct pod *p)
{
	return p->is_static || json_i64_at(p->spec, "priority", 0) >= PRIORITY_CRITICAL;
}

bool pod_is_node_critical(const struct pod *p)
{
	return pod_is_critical(p) &&
	       str_eqz(json_text_at(p->spec, "priorityClassName"), "system-node-critical");
}
