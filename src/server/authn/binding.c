/*
 * A token is valid as long as the objects exist that it is bound to. All lookups are in committed
 * state, in memory: one for the account, one more for a pod, node or secret.
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

static struct object *binding_find(struct state *st, struct str resource, struct str ns,
				   struct str name)
{
	const struct schema_kind *kind = schema_find_resource(STR(""), STR("v1"), resource);
	const struct resource *r = kind ? state_resource(st, kind) : NULL;

	return r ? resource_get(r, ns, name) : NULL;
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

static int check_account(struct state *st, const struct user_binding *b, int64_t now_ns,
			 struct error *err)
{
	const struct object *o = binding_find(st, STR("serviceaccounts"), b->ns, b->account);

	if (!o)
		return error_set(err, ERR_UNAUTHORIZED, "serviceaccounts \"%.*s\" not found",
				 STR_ARG(b->account));
	if (!str_eq(o->uid, b->account_uid))
		return error_set(err, ERR_UNAUTHORIZED,
				 "service account UID (%.*s) does not match claim (%.*s)",
				 STR_ARG(o->uid), STR_ARG(b->account_uid));
	if (binding_is_gone(o, now_ns))
		return error_set(err, ERR_UNAUTHORIZED,
				 "service account %.*s/%.*s has been deleted", STR_ARG(b->ns),
				 STR_ARG(b->account));
	return 0;
}

/* `what` is upstream's word for it: "pod", "node", "secret". */
static int check_bound(const struct object *o, struct str uid, const char *what, int64_t now_ns,
		       struct error *err)
{
	if (!o)
		return error_set(err, ERR_UNAUTHORIZED, INVALIDATED);
	if (!str_eq(o->uid, uid))
		return error_set(err, ERR_UNAUTHORIZED,
				 "%s UID (%.*s) does not match service account %s ref claim (%.*s)",
				 what, STR_ARG(o->uid), what, STR_ARG(uid));
	if (binding_is_gone(o, now_ns))
		return error_set(err, ERR_UNAUTHORIZED, INVALIDATED);
	return 0;
}

/* A pod's token names the node where the pod was started. That node need not exist any longer. */
int authn_explain_binding(struct state *st, const struct user *u, int64_t now_ns, struct error *err)
{
	const struct user_binding *b = u->binding;
	int r;

	if (!b)
		return 0;
	r = check_account(st, b, now_ns, err);
	if (r == 0 && b->secret.n)
		r = check_bound(binding_find(st, STR("secrets"), b->ns, b->secret), b->secret_uid,
				"secret", now_ns, err);
	if (r == 0 && b->pod.n)
		r = check_bound(binding_find(st, STR("pods"), b->ns, b->pod), b->pod_uid, "pod",
				now_ns, err);
	else if (r == 0 && b->node.n)
		r = check_bound(binding_find(st, STR("nodes"), STR(""), b->node), b->node_uid,
				"node", now_ns, err);
	return r;
}

int authn_check_binding(struct state *st, const struct user *u, int64_t now_ns, struct error *err)
{
	if (authn_explain_binding(st, u, now_ns, NULL) == 0)
		return 0;
	return error_set(err, ERR_UNAUTHORIZED, "Unauthorized");
}
