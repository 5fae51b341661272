/*
 * The status of a definition: which of its names are accepted, and its conditions. Upstream has a
 * controller for each condition. Here they are functions on the tree, which the owner of the state
 * calls when a definition changes.
 */
#include "api/crd/crd.h"

#include "api/api_limits.h"
#include "api/crd/checks.h"
#include "api/schema/tree.h"
#include "base/core/limits.h"
#include "base/text/print.h"

const struct crd_condition crd_installing = {
	STR("Established"),
	STR("False"),
	STR("Installing"),
	STR("the initial names have been accepted"),
};
const struct crd_condition crd_established = {
	STR("Established"),
	STR("True"),
	STR("InitialNamesAccepted"),
	STR("the initial names have been accepted"),
};
const struct crd_condition crd_deletion_pending = {
	STR("Terminating"),
	STR("True"),
	STR("InstanceDeletionPending"),
	STR("CustomResourceDefinition marked for deletion; CustomResource deletion will begin "
	    "soon"),
};
const struct crd_condition crd_deletion_begun = {
	STR("Terminating"),
	STR("True"),
	STR("InstanceDeletionInProgress"),
	STR("CustomResource deletion is in progress"),
};
const struct crd_condition crd_deletion_done = {
	STR("Terminating"),
	STR("False"),
	STR("InstanceDeletionCompleted"),
	STR("removed all instances"),
};
const struct crd_condition crd_never_established = {
	STR("Terminating"),
	STR("False"),
	STR("NeverEstablished"),
	STR("resource was never established"),
};

static const struct crd_condition not_accepted = {
	STR("Established"),
	STR("False"),
	STR("NotAccepted"),
	STR("not all names are accepted"),
};

/* --- conditions ------------------------------------------------------------------- */

static struct json *find_condition(const struct json *definition, struct str type)
{
	JSON_FOREACH (c, json_getz(json_getz(definition, "status"), "conditions"))
		if (str_eq(json_text_at(c, "type"), type))
			return c;
	return NULL;
}

static bool names_set_text(struct arena *a, struct json *object, const char *key, struct str text)
{
	if (str_eq(json_text_at(object, key), text) && json_getz(object, key))
		return false;
	json_put_str(a, object, key, arena_str(a, text));
	return true;
}

bool crd_set_condition(struct arena *a, struct json *definition,
		       const struct crd_condition *condition, int64_t now_ns)
{
	struct json *c = find_condition(definition, condition->type), *status, *list;
	bool changed = !c;

	if (!c) {
		status = json_need_object(a, definition, "status");
		list = json_getz(status, "conditions");
		if (!json_is(list, JSON_ARRAY)) {
			list = json_make_array(a);
			json_setz(status, "conditions", list);
		}
		c = json_make_object(a);
		json_append(list, c);
		json_put_str(a, c, "type", condition->type);
	}
	if (names_set_text(a, c, "status", condition->status) ||
	    json_text_at(c, "lastTransitionTime").n == 0) {
		tree_set_time(a, c, "lastTransitionTime", now_ns);
		changed = true;
	}
	changed |= names_set_text(a, c, "reason", condition->reason);
	changed |= names_set_text(a, c, "message", condition->message);
	return changed;
}

/* --- names ------------------------------------------------------------------------ */

void fill_crd_names(struct arena *a, struct json *spec, int64_t now_ns UNUSED)
{
	struct json *names = json_getz(spec, "names");
	struct str kind = json_text_at(names, "kind");

	if (!json_is(names, JSON_OBJECT) || !kind.n)
		return;
	if (!json_text_at(names, "singular").n)
		json_put_str(a, names, "singular", arena_lower(a, kind));
	if (!json_text_at(names, "listKind").n)
		json_put_str(a, names, "listKind",
			     str_from(arena_printf(a, "%.*sList", STR_ARG(kind))));
}

struct naming {
	struct arena *arena;
	const struct crd_taken *taken;
	struct str group;
	const struct json *wanted; /* spec.names */
	struct json *accepted; /* the new status.acceptedNames */
	struct crd_condition condition;
};

static bool names_is_taken(const struct naming *n, bool kind, struct str name)
{
	return kind ? n->taken->kind(n->taken->catalogue, n->group, name)
		    : n->taken->resource(n->taken->catalogue, n->group, name);
}

static struct str in_use(struct naming *n, struct str name)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(KIB);

	(void)print_quoted(&text, name);
	(void)buf_addz(&text, " is already in use");
	return arena_str(n->arena, buf_str(&text));
}

static void names_refuse(struct naming *n, struct str reason, struct str message)
{
	n->condition.status = STR("False");
	n->condition.reason = reason;
	n->condition.message = message;
}

/* Accepts a name that the definition holds already, or that is free. */
static void accept_name(struct naming *n, const char *key, bool kind, struct str reason)
{
	struct str want = json_text_at(n->wanted, key);
	struct str have = json_text_at(n->accepted, key);

	if (str_eq(want, have))
		return;
	if (names_is_taken(n, kind, want))
		names_refuse(n, reason, in_use(n, want));
	else if (want.n)
		json_put_str(n->arena, n->accepted, key, want);
	else
		json_remove(n->accepted, str_from(key));
}

/* Accepts all of the short names, or none of the new ones. */
static void accept_short_names(struct naming *n)
{
	CLEANUP(buf_release) struct buf message = BUF_INIT(64 * KIB);
	const struct json *want = json_getz(n->wanted, "shortNames");
	const struct json *have = json_getz(n->accepted, "shortNames");
	size_t conflicts = 0;

	JSON_FOREACH (name, want) {
		struct str used;

		if (json_has_text(have, json_str(name)) ||
		    !names_is_taken(n, false, json_str(name)))
			continue;
		used = in_use(n, json_str(name));
		(void)buf_printf(&message, "%s%.*s", conflicts++ ? ", " : "", STR_ARG(used));
	}
	if (conflicts == 0) {
		tree_carry(n->arena, n->accepted, n->wanted, "shortNames");
		return;
	}
	names_refuse(n, STR("ShortNamesConflict"),
		     str_from(arena_printf(n->arena, conflicts > 1 ? "[%.*s]" : "%.*s",
					   (int)message.n, message.p)));
}

static void accept_all(struct naming *n)
{
	accept_name(n, "plural", false, STR("PluralConflict"));
	accept_name(n, "singular", false, STR("SingularConflict"));
	accept_short_names(n);
	accept_name(n, "kind", true, STR("KindConflict"));
	accept_name(n, "listKind", true, STR("ListKindConflict"));
	tree_carry(n->arena, n->accepted, n->wanted, "categories");
}

/* "plural" and "kind" are present even when empty, as in a new status. */
static bool same_names(const struct json *a, const struct json *b)
{
	static const char *const members[] = { "plural", "singular", "shortNames",
					       "kind",   "listKind", "categories" };

	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		const struct json *x = json_getz(a, members[i]), *y = json_getz(b, members[i]);
		bool empty_x = !x || (json_count(x) == 0 && json_str(x).n == 0);
		bool empty_y = !y || (json_count(y) == 0 && json_str(y).n == 0);

		if (empty_x != empty_y || (!empty_x && !json_equal(x, y)))
			return false;
	}
	return true;
}

bool crd_accept_names(struct arena *a, struct json *definition, const struct crd_taken *taken,
		      int64_t now_ns)
{
	const struct json *spec = json_getz(definition, "spec");
	struct json *status = json_need_object(a, definition, "status");
	const struct json *before = json_getz(status, "acceptedNames");
	const struct crd_condition *progress = NULL;
	struct naming n = {
		.arena = a,
		.taken = taken,
		.group = json_text_at(spec, "group"),
		.wanted = json_getz(spec, "names"),
		.accepted = before ? tree_copy(a, before) : json_make_object(a),
		.condition = { STR("NamesAccepted"), STR("True"), STR("NoConflicts"),
			       STR("no conflicts found") },
	};
	bool changed;

	accept_all(&n);
	changed = !same_names(before, n.accepted);
	if (changed)
		json_setz(status, "acceptedNames", n.accepted);
	changed |= crd_set_condition(a, definition, &n.condition, now_ns);
	if (!tree_condition_is_true(definition, STR("Established"))) {
		if (str_eqz(n.condition.status, "True"))
			progress = &crd_installing;
		else if (!find_condition(definition, STR("Established")))
			progress = &not_accepted;
	}
	if (progress)
		changed |= crd_set_condition(a, definition, progress, now_ns);
	return changed;
}

/* --- approval --------------------------------------------------------------------- */

#define APPROVAL "api-approved.kubernetes.io"
#define PULL     "see https://github.com/kubernetes/enhancements/pull/1111"

bool crd_is_protected(struct str group)
{
	return str_eqz(group, "k8s.io") || str_ends(group, STR(".k8s.io")) ||
	       str_eqz(group, "kubernetes.io") || str_ends(group, STR(".kubernetes.io"));
}

/* Whether it has a scheme and a host, and only characters that a URL may have. */
static bool is_url(struct str s)
{
	ptrdiff_t at = str_find(s, STR("://"));

	if (at <= 0 || (size_t)at + 3 >= s.n || s.p[at + 3] == '/')
		return false;
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] <= ' ' || s.p[i] == 0x7f)
			return false;
	return true;
}

enum crd_approval crd_approval(struct arena *a, const struct json *definition,
			       struct str *ret_reason)
{
	const struct json *meta = json_getz(definition, "metadata");
	struct str value = json_text_at(json_getz(meta, "annotations"), APPROVAL);
	CLEANUP(buf_release) struct buf text = BUF_INIT(ANNOTATIONS_MAX * 4);

	if (value.n == 0) {
		*ret_reason = STR("protected groups must have approval annotation \"" APPROVAL
				  "\", " PULL);
		return CRD_APPROVAL_MISSING;
	}
	if (str_starts(value, STR("unapproved"))) {
		(void)buf_addz(&text, "not approved: ");
		(void)print_quoted(&text, value);
		*ret_reason = arena_str(a, buf_str(&text));
		return CRD_APPROVAL_BYPASSED;
	}
	if (is_url(value)) {
		*ret_reason = str_from(arena_printf(a, "approved in %.*s", STR_ARG(value)));
		return CRD_APPROVED;
	}
	*ret_reason = STR("protected groups must have approval annotation \"" APPROVAL
			  "\" with either a URL or a reason starting with \"unapproved\", " PULL);
	return CRD_APPROVAL_INVALID;
}

bool crd_set_approval(struct arena *a, struct json *definition, int64_t now_ns)
{
	static const struct {
		struct str status, reason;
	} rows[] = {
		[CRD_APPROVAL_INVALID] = { STR("False"), STR("InvalidAnnotation") },
		[CRD_APPROVAL_MISSING] = { STR("False"), STR("MissingAnnotation") },
		[CRD_APPROVAL_BYPASSED] = { STR("False"), STR("UnapprovedAnnotation") },
		[CRD_APPROVED] = { STR("True"), STR("ApprovedAnnotation") },
	};
	struct str group = json_text_at(json_getz(definition, "spec"), "group");
	struct crd_condition c = { .type = STR("KubernetesAPIApprovalPolicyConformant") };
	enum crd_approval state;

	if (!crd_is_protected(group))
		return false;
	state = crd_approval(a, definition, &c.message);
	c.status = rows[state].status;
	c.reason = rows[state].reason;
	return crd_set_condition(a, definition, &c, now_ns);
}

/* --- deletion --------------------------------------------------------------------- */

void crd_begin_deletion(struct arena *a, struct json *definition, int64_t now_ns)
{
	struct json *meta = json_need_object(a, definition, "metadata"),
		    *list = json_getz(meta, "finalizers");

	if (!json_is(list, JSON_ARRAY)) {
		list = json_make_array(a);
		json_setz(meta, "finalizers", list);
	}
	if (!json_has_text(list, STR(CRD_FINALIZER)))
		json_append(list, json_make_str(a, STR(CRD_FINALIZER)));
	(void)crd_set_condition(a, definition, &crd_deletion_pending, now_ns);
}

bool crd_remove_finalizer(struct json *definition)
{
	struct json *meta = json_getz(definition, "metadata");
	struct json *list = json_getz(meta, "finalizers");
	bool found = false;

	JSON_FOREACH_SAFE (item, list) {
		if (!str_eq(json_str(item), STR(CRD_FINALIZER)))
			continue;
		json_unlink(list, item);
		found = true;
	}
	if (found && json_count(list) == 0)
		json_remove(meta, STR("finalizers"));
	return found;
}
