/*
 * A token is valid as long as the objects exist that it is bound to. All lookups are in committed
 * state, in memory: one for the account, one more for a pod, node or secret. The state's loop and
 * the lanes differ only in how they find an object.
 */
#include "server/authn/authn.h"

#include "api/api_limits.h"
#include "api/object/object.h"
#include "base/core/arena.h"
#include "base/core/clock.h"
#include "base/json/json.h"
#include "base/time/timestamp.h"
#include "server/authn/token_claims.h"
#include "server/engine/state.h"

#define INVALIDATED "service account token has been invalidated"

/* A check of one binding. */
struct binding_check {
	struct state *state;
	bool on_lane; /* else on the state's loop */
	size_t lane;
	int64_t now_ns;
};

/* Returns a reference. */
static struct object *binding_find(const struct binding_check *c, struct str resource,
				   struct str ns, struct str name)
{
	const struct schema_kind *kind = schema_find_resource(STR(""), STR("v1"), resource);
	const struct resource *r = kind ? state_resource(c->state, kind) : NULL;
	struct object *o;

	if (!r)
		return NULL;
	if (c->on_lane)
		return resource_look(r, c->lane, ns, name);
	o = resource_get(r, ns, name);
	return o ? object_ref(o) : NULL;
}

/* Its deletion time, past or future; INT64_MIN if it cannot be parsed. */
static int64_t deletion_time(const struct object *o)
{
	CLEANUP(arena_release) struct arena a;
	struct json *tree = NULL;
	int64_t deleted_ns;
	struct str when;

	arena_init(&a, REQUEST_WORK_MAX);
	if (object_tree(o, &a, &tree, NULL) < 0)
		return INT64_MIN;
	when = json_text_at(json_getz(tree, "metadata"), "deletionTimestamp");
	return timestamp_parse(when, &deleted_ns, NULL) < 0 ? INT64_MIN : deleted_ns;
}

/*
 * An object that waits for finalizers or its grace period counts as gone one minute after its
 * deletion time. Such objects are few, so reading them each time is cheap.
 */
static bool binding_is_gone(const struct object *o, int64_t now_ns)
{
	return o->deleting && deletion_time(o) < now_ns - TOKEN_CLAIMS_LEEWAY_S * CLOCK_SEC;
}

static int check_account(const struct binding_check *c, const struct user_binding *b,
			 struct error *err)
{
	CLEANUP(object_unref)
	struct object *o = binding_find(c, STR("serviceaccounts"), b->ns, b->account);

	if (!o)
		return error_set(err, ERR_UNAUTHORIZED, "serviceaccounts \"%.*s\" not found",
				 STR_ARG(b->account));
	if (!str_eq(o->uid, b->account_uid))
		return error_set(err, ERR_UNAUTHORIZED,
				 "service account UID (%.*s) does not match claim (%.*s)",
				 STR_ARG(o->uid), STR_ARG(b->account_uid));
	if (binding_is_gone(o, c->now_ns))
		return error_set(err, ERR_UNAUTHORIZED,
				 "service account %.*s/%.*s has been deleted", STR_ARG(b->ns),
				 STR_ARG(b->account));
	return 0;
}

/* An object that a token names beside its account; `what` is upstream's word for it. */
struct bound {
	const char *what, *resource;
	struct str ns, name, uid;
};

static int check_bound(const struct binding_check *c, const struct bound *b, struct error *err)
{
	CLEANUP(object_unref)
	struct object *o = binding_find(c, str_from(b->resource), b->ns, b->name);

	if (!o)
		return error_set(err, ERR_UNAUTHORIZED, INVALIDATED);
	if (!str_eq(o->uid, b->uid))
		return error_set(err, ERR_UNAUTHORIZED,
				 "%s UID (%.*s) does not match service account %s ref claim (%.*s)",
				 b->what, STR_ARG(o->uid), b->what, STR_ARG(b->uid));
	if (binding_is_gone(o, c->now_ns))
		return error_set(err, ERR_UNAUTHORIZED, INVALIDATED);
	return 0;
}

/* A pod's token names the node where the pod was started. That node need not exist any longer. */
static int check_binding(const struct binding_check *c, const struct user_binding *b,
			 struct error *err)
{
	const struct bound secret = { "secret", "secrets", b->ns, b->secret, b->secret_uid };
	const struct bound pod = { "pod", "pods", b->ns, b->pod, b->pod_uid };
	const struct bound node = { "node", "nodes", STR(""), b->node, b->node_uid };
	int r = check_account(c, b, err);

	if (r == 0 && b->secret.n)
		r = check_bound(c, &secret, err);
	if (r == 0 && b->pod.n)
		r = check_bound(c, &pod, err);
	else if (r == 0 && b->node.n)
		r = check_bound(c, &node, err);
	return r;
}

int authn_check_binding(struct state *st, const struct user *u, int64_t now_ns, struct error *err)
{
	if (authn_explain_binding(st, u, now_ns, NULL) == 0)
		return 0;
	return error_set(err, ERR_UNAUTHORIZED, "Unauthorized");
}

int authn_explain_binding(struct state *st, const struct user *u, int64_t now_ns, struct error *err)
{
	const struct binding_check c = { .state = st, .now_ns = now_ns };

	return u->binding ? check_binding(&c, u->binding, err) : 0;
}

bool authn_binding_holds(struct state *st, size_t lane, const struct user *u, int64_t now_ns)
{
	const struct binding_check c = {
		.state = st, .on_lane = true, .lane = lane, .now_ns = now_ns
	};

	return !u->binding || check_binding(&c, u->binding, NULL) == 0;
}
