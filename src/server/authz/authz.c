/*
 * The chain of authorizers, its texts, and what lanes remember of it. Reasons are composed only on
 * request: a decision that allows uses no memory.
 */
#include "server/authz/authz.h"

#include <stdlib.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/text/print.h"
#include "server/authz/authorizers.h"
#include "server/authz/policy_table.h"
#include "server/authz/rbac_aggregate.h"
#include "server/authz/rights.h"

#define REASON_MAX (64UL * KIB)

/* --- observers -------------------------------------------------------------------- */

struct tree {
	struct arena arena;
	struct json *json; /* NULL without an object */
};

static void tree_open(struct tree *t, const struct object *o)
{
	arena_init(&t->arena, SIZE_MAX);
	t->json = NULL;
	if (o)
		(void)object_tree(o, &t->arena, &t->json, NULL);
}

/* The rights that lanes remember are void. */
static void raise_epoch(struct authz *az)
{
	(void)atomic_fetch_add(&az->epoch, 1);
}

static void on_role(void *arg, struct object *now, struct object *before)
{
	struct authz *az = arg;
	const struct object *o = now ? now : before;
	struct tree t;

	raise_epoch(az);
	tree_open(&t, now);
	rbac_set_role(az->rbac, object_ns(o), object_name(o), t.json);
	if (az->aggregate && !object_ns(o).n)
		rbac_aggregate_change(az->aggregate, now, before, t.json);
	arena_release(&t.arena);
}

static void on_binding(void *arg, struct object *now, struct object *before)
{
	struct authz *az = arg;
	const struct object *o = now ? now : before;
	struct tree t;

	raise_epoch(az);
	tree_open(&t, now);
	rbac_set_binding(az->rbac, object_ns(o), object_name(o), t.json);
	arena_release(&t.arena);
}

static void authz_on_pod(void *arg, struct object *now, struct object *before)
{
	struct authz *az = arg;

	node_pods_change(az->pods, now, before);
}

static void reset_cluster_roles(void *arg)
{
	struct authz *az = arg;

	raise_epoch(az);
	rbac_reset_roles(az->rbac, true);
	if (az->aggregate)
		rbac_aggregate_reset(az->aggregate);
}

static void reset_roles(void *arg)
{
	raise_epoch(arg);
	rbac_reset_roles(((struct authz *)arg)->rbac, false);
}

static void reset_cluster_bindings(void *arg)
{
	raise_epoch(arg);
	rbac_reset_bindings(((struct authz *)arg)->rbac, true);
}

static void reset_bindings(void *arg)
{
	raise_epoch(arg);
	rbac_reset_bindings(((struct authz *)arg)->rbac, false);
}

static void reset_pods(void *arg)
{
	node_pods_reset(((struct authz *)arg)->pods);
}

/* --- lifecycle -------------------------------------------------------------------- */

struct authz *authz_new(size_t nlanes)
{
	static const struct {
		const char *group, *resource;
		void (*changed)(void *arg, struct object *now, struct object *before);
		void (*reset)(void *arg);
	} rows[AUTHZ_OBSERVERS] = {
		{ "rbac.authorization.k8s.io", "clusterroles", on_role, reset_cluster_roles },
		{ "rbac.authorization.k8s.io", "roles", on_role, reset_roles },
		{ "rbac.authorization.k8s.io", "clusterrolebindings", on_binding,
		  reset_cluster_bindings },
		{ "rbac.authorization.k8s.io", "rolebindings", on_binding, reset_bindings },
		{ "", "pods", authz_on_pod, reset_pods },
	};
	struct authz *az = XNEW(struct authz);

	arena_init(&az->arena, SIZE_MAX);
	az->rbac = rbac_new();
	az->pods = node_pods_new();
	az->node_rules = rbac_rules_parse(&az->arena,
					  policy_table_rules(&az->arena, STR("system:node")));
	for (size_t i = 0; i < AUTHZ_OBSERVERS; i++)
		az->observers[i] = (struct state_observer){ .group = str_from(rows[i].group),
							    .resource = str_from(rows[i].resource),
							    .changed = rows[i].changed,
							    .reset = rows[i].reset,
							    .arg = az };
	atomic_init(&az->epoch, 1);
	az->nlanes = nlanes;
	az->lanes = xcalloc(nlanes, sizeof(struct rights *));
	for (size_t i = 0; i < nlanes; i++)
		az->lanes[i] = rights_new();
	return az;
}

void authz_free(struct authz *az)
{
	if (!az)
		return;
	rbac_aggregate_free(az->aggregate);
	node_pods_free(az->pods);
	rbac_free(az->rbac);
	for (size_t i = 0; i < az->nlanes; i++)
		rights_free(az->lanes[i]);
	free(az->lanes);
	arena_release(&az->arena);
	free(az);
}

const struct state_observer *authz_observers(struct authz *az, size_t *ret_n)
{
	*ret_n = AUTHZ_OBSERVERS;
	return az->observers;
}

void authz_attach(struct authz *az, struct state *st)
{
	az->state = st;
}

/* --- deciding --------------------------------------------------------------------- */

static struct str take_text(struct arena *a, struct buf *b)
{
	return b->n ? arena_str(a, buf_str(b)) : STR("");
}

static void tell_allowed(const struct rbac_grant *grant, struct arena *a, struct str *ret_reason)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(REASON_MAX);

	(void)buf_addz(&text, "RBAC: allowed by ");
	rbac_grant_print(&text, grant);
	*ret_reason = take_text(a, &text);
}

/* RBAC's reason for not allowing: roles that do not exist. */
static void tell_missing(struct authz *az, const struct authz_query *q, struct arena *a,
			 struct buf *reason)
{
	CLEANUP(buf_release) struct buf missing = BUF_INIT(REASON_MAX);

	(void)rbac_rules_of(az->rbac, q->user, q->ns, a, &missing);
	if (missing.n == 0)
		return;
	(void)buf_printf(reason, "%srbac: RBAC: ", reason->n ? "\n" : "");
	(void)buf_add_str(reason, buf_str(&missing));
}

static enum authz_decision decide_node(struct authz *az, const struct authz_query *q,
				       struct arena *a, struct buf *reason)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(REASON_MAX);
	struct str node = user_node(q->user);
	enum authz_decision decision;

	if (!node.p)
		return AUTHZ_NO_OPINION;
	decision = node_authorize(az, q, node, a, &text);
	if (text.n && decision == AUTHZ_NO_OPINION)
		(void)buf_addz(reason, "node: ");
	(void)buf_add_str(reason, buf_str(&text));
	return decision;
}

/*
 * A lane may remember this: RBAC reads nothing but its index and the texts of a key in rights.c.
 * Not for a node, because the node authorizer decided first, on more objects.
 */
static struct authz_right right_of(const struct authz *az, const struct authz_query *q,
				   const struct rbac_grant *grant)
{
	if (user_node(q->user).p)
		return (struct authz_right){ 0 };
	return (struct authz_right){ .epoch = atomic_load(&az->epoch),
				     .any_ns = !grant->ns.n,
				     .any_name = !grant->named };
}

/* The two results are set only if they are not NULL. */
static enum authz_decision decide(struct authz *az, const struct authz_query *q, struct arena *a,
				  struct str *ret_reason, struct authz_right *ret_right)
{
	CLEANUP(buf_release) struct buf reason = BUF_INIT(REASON_MAX);
	enum authz_decision decision;
	struct rbac_grant grant;

	if (ret_reason)
		*ret_reason = STR("");
	if (ret_right)
		*ret_right = (struct authz_right){ 0 };
	if (user_in_group(q->user, USER_MASTERS))
		return AUTHZ_ALLOW;
	decision = decide_node(az, q, a, &reason);
	if (decision == AUTHZ_NO_OPINION && rbac_allows(az->rbac, q, &grant)) {
		if (ret_reason)
			tell_allowed(&grant, a, ret_reason);
		if (ret_right)
			*ret_right = right_of(az, q, &grant);
		return AUTHZ_ALLOW;
	}
	if (decision == AUTHZ_NO_OPINION && ret_reason)
		tell_missing(az, q, a, &reason);
	if (decision != AUTHZ_ALLOW && ret_reason)
		*ret_reason = take_text(a, &reason);
	return decision;
}

enum authz_decision authz_decide(struct authz *az, const struct authz_query *q, struct arena *a,
				 struct str *ret_reason)
{
	return decide(az, q, a, ret_reason, NULL);
}

/* Upstream removes HTML-like text from this message. */
static void add_sanitized(struct buf *out, struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '&')
			(void)buf_addz(out, "&amp;");
		else if (s.p[i] == '<')
			(void)buf_addz(out, "&lt;");
		else if (s.p[i] == '>')
			(void)buf_addz(out, "&gt;");
		else
			(void)buf_addc(out, s.p[i]);
	}
}

static void print_refusal(struct buf *out, const struct authz_query *q)
{
	(void)buf_addz(out, "User ");
	(void)print_quoted(out, q->user->name);
	(void)buf_printf(out, " cannot %.*s ", STR_ARG(q->verb));
	if (q->is_path) {
		(void)buf_addz(out, "path ");
		(void)print_quoted(out, q->path);
		return;
	}
	(void)buf_printf(out, "resource \"%.*s%s%.*s\" in API group \"%.*s\" ",
			 STR_ARG(q->resource), q->subresource.n ? "/" : "", STR_ARG(q->subresource),
			 STR_ARG(q->group));
	if (q->ns.n) {
		(void)buf_addz(out, "in the namespace ");
		(void)print_quoted(out, q->ns);
	} else {
		(void)buf_addz(out, "at the cluster scope");
	}
}

static int authz_refuse(const struct authz_query *q, struct str reason, struct error *err)
{
	CLEANUP(buf_release) struct buf plain = BUF_INIT(REASON_MAX);
	CLEANUP(buf_release) struct buf text = BUF_INIT(4 * REASON_MAX);

	print_refusal(&plain, q);
	add_sanitized(&text, buf_str(&plain));
	if (reason.n)
		(void)buf_printf(&text, ": %.*s", STR_ARG(reason));
	return error_set(err, ERR_FORBIDDEN, "%.*s", STR_ARG(buf_str(&text)));
}

/*
 * A denial is decided twice, the second time for its reason, so that allowed requests pay
 * nothing.
 */
int authz_require_right(struct authz *az, const struct authz_query *q, struct arena *a,
			struct authz_right *ret_right, struct error *err)
{
	bool wanted = ret_right && q->wants_reason;
	enum authz_decision decision;
	struct str reason;

	decision = decide(az, q, a, wanted ? &reason : NULL, ret_right);
	if (decision != AUTHZ_ALLOW && !wanted)
		(void)authz_decide(az, q, a, &reason);
	if (wanted)
		ret_right->reason = reason;
	return decision == AUTHZ_ALLOW ? 0 : authz_refuse(q, reason, err);
}

int authz_require(struct authz *az, const struct authz_query *q, struct arena *a, struct error *err)
{
	return authz_require_right(az, q, a, NULL, err);
}

/* --- on a lane -------------------------------------------------------------------- */

bool authz_recall(struct authz *az, size_t lane, const struct authz_query *q,
		  struct str *ret_reason)
{
	if (ret_reason)
		*ret_reason = STR("");
	return user_in_group(q->user, USER_MASTERS) ||
	       rights_have(az->lanes[lane], q, atomic_load(&az->epoch), ret_reason);
}

void authz_remember(struct authz *az, size_t lane, const struct authz_query *q,
		    const struct authz_right *right)
{
	rights_add(az->lanes[lane], q, right);
}
