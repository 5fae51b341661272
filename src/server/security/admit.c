/*
 * Text of rejections, warnings and annotations is upstream's. Pods that exist when a namespace gets
 * a stricter standard are checked on the state's loop. So this stops after CHECKED_MAX pods or
 * CHECKED_BYTES of them, and upstream after 3,000 pods or a second.
 */
#include "server/security/admit.h"

#include "api/security/pod_checks.h"
#include "base/report/metrics.h"
#include "server/admission/request.h"
#include "server/core/parts.h"
#include "server/http/audit.h"
#include "server/security/security.h"

enum { CHECKED_MAX = 300, CHECKED_BYTES = 2 * 1024 * 1024 };

/* Where the pod is in an object; NULL: it is the object itself. */
static const struct holder {
	struct str group, resource;
	const char *template;
} holders[] = {
	{ STR(""), STR("pods"), NULL },
	{ STR(""), STR("replicationcontrollers"), "/spec/template" },
	{ STR(""), STR("podtemplates"), "/template" },
	{ STR("apps"), STR("replicasets"), "/spec/template" },
	{ STR("apps"), STR("deployments"), "/spec/template" },
	{ STR("apps"), STR("statefulsets"), "/spec/template" },
	{ STR("apps"), STR("daemonsets"), "/spec/template" },
	{ STR("batch"), STR("jobs"), "/spec/template" },
	{ STR("batch"), STR("cronjobs"), "/spec/jobTemplate/spec/template" },
};

static const struct holder *holder_of(const struct schema_kind *k)
{
	for (size_t i = 0; i < ARRAY_SIZE(holders); i++)
		if (str_eq(k->group, holders[i].group) && str_eq(k->resource, holders[i].resource))
			return &holders[i];
	return NULL;
}

static bool is_namespace(const struct schema_kind *k)
{
	return !k->group.n && str_eq(k->resource, STR("namespaces"));
}

/* Subresources of pods that change nothing that matters here. */
static bool is_ignored(struct str subresource)
{
	static const char *const names[] = { "binding", "eviction", "status" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (str_eqz(subresource, names[i]))
			return true;
	return false;
}

bool admit_security_concerns(const struct admission_request *req)
{
	const struct schema_kind *k = req->path_kind;
	struct str sub = req->write->subresource;

	if (!req->server->security || req->foreign || k->custom)
		return false;
	if (is_namespace(k))
		return !sub.n;
	if (!holder_of(k))
		return false;
	return !sub.n || (!holder_of(k)->template && !is_ignored(sub));
}

/* --- evaluating ------------------------------------------------------------------- */

struct evaluation {
	struct admission_request *req;
	struct security_policy policy;
	struct field_errors errs; /* of the namespace's labels */
	const struct json *metadata, *spec;
	bool is_pod;
	struct security_findings of[SECURITY_MODES]; /* reasons empty: no violation */
};

static const struct security_config *config_of(const struct admission_request *req)
{
	return &req->server->security->config;
}

static void annotate(struct admission_request *req, const char *name, const char *value)
{
	audit_annotate(&req->about.annotations, req->work,
		       str_from(arena_printf(req->work, SECURITY_LABELS "%s", name)),
		       str_from(value));
}

static const char *exemption_of(const struct admission_request *req)
{
	const struct security_config *c = config_of(req);

	if (security_is_exempt(&c->namespaces, req->ns))
		return "namespace";
	return security_is_exempt(&c->users, req->user->name) ? "user" : NULL;
}

static void read_policy(struct evaluation *v)
{
	field_errors_init(&v->errs, v->req->write->arena);
	security_policy_read(v->req->write->namespace_labels, &config_of(v->req)->defaults,
			     &v->errs, &v->policy);
}

/* Whether no mode could find a violation. Only pods are rejected. */
static bool is_lax(const struct evaluation *v)
{
	struct security_policy p = v->policy;

	if (!v->is_pod)
		p.of[SECURITY_ENFORCE].level = SECURITY_PRIVILEGED;
	return !field_errors_any(&v->errs) && security_policy_is_privileged(&p);
}

static void find_pod(struct evaluation *v, const struct json *object)
{
	const char *at = holder_of(v->req->path_kind)->template;
	const struct json *pod = at ? json_pointer(object, str_from(at)) : object;

	v->is_pod = !at;
	v->metadata = json_getz(pod, "metadata");
	v->spec = json_getz(pod, "spec");
}

static void evaluate(struct evaluation *v)
{
	struct arena *a = v->req->write->arena;

	for (int i = v->is_pod ? SECURITY_ENFORCE : SECURITY_AUDIT; i < SECURITY_MODES; i++) {
		int same = 0;

		while (same < i && !security_standard_is(&v->policy.of[same], &v->policy.of[i]))
			same++;
		if (same < i && (v->is_pod || same > SECURITY_ENFORCE))
			v->of[i] = v->of[same];
		else
			(void)security_check_pod(v->metadata, v->spec, &v->policy.of[i], a,
						 &v->of[i]);
	}
}

static bool violates(const struct evaluation *v, enum security_mode mode)
{
	return v->of[mode].reasons.n > 0;
}

/* --- which updates matter --------------------------------------------------------- */

static bool has_other_images(const struct json *list, const struct json *old)
{
	const struct json *was = json_first(old);

	if (json_count(list) != json_count(old))
		return true;
	JSON_FOREACH (it, list) {
		if (!str_eq(json_text_at(it, "image"), json_text_at(was, "image")))
			return true;
		was = was->next;
	}
	return false;
}

/* Other changes of a pod are harmless: what could matter in them is immutable. */
static bool is_significant(const struct json *spec, const struct json *old)
{
	static const char *const lists[] = { "initContainers", "containers",
					     "ephemeralContainers" };

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		if (has_other_images(json_getz(spec, lists[i]), json_getz(old, lists[i])))
			return true;
	return false;
}

/* The stored object; the table parses it only for plugins that always need it. */
static int stored_tree(struct admission_request *req, const struct json *old,
		       const struct json **ret_old, struct error *err)
{
	struct object *o;
	struct json *tree = NULL;
	int r = 0;

	if (!old && req->op == ADMIT_UPDATE) {
		o = resource_tip(state_resource(req->state, req->path_kind), req->ns, req->name);
		r = o ? object_tree(o, req->write->arena, &tree, err) : 0;
		old = tree;
	}
	*ret_old = old;
	return r;
}

static const char *violation_text(const struct evaluation *v, enum security_mode mode)
{
	struct arena *a = v->req->write->arena;

	return arena_printf(
		a, "violate%s PodSecurity \"%s\": %.*s", mode == SECURITY_ENFORCE ? "s" : "",
		security_standard_print(&v->policy.of[mode], a), STR_ARG(v->of[mode].details));
}

/* --- metrics ---------------------------------------------------------------------- */

static struct str operation_of(const struct admission_request *req)
{
	return req->op == ADMIT_CREATE ? STR("create") : STR("update");
}

static struct str resource_of(const struct evaluation *v)
{
	return v->is_pod ? STR("pod") : STR("controller");
}

static void count(const struct evaluation *v, enum security_mode mode, bool denied)
{
	const struct security_standard *s = &v->policy.of[mode];
	const struct admission_request *req = v->req;
	struct arena *a = req->write->arena;
	int minor = s->level == SECURITY_PRIVILEGED ? SECURITY_LATEST : s->minor;
	struct str version = minor > SECURITY_NEWEST && minor < SECURITY_LATEST
				     ? STR("future")
				     : str_from(security_version_print(minor, a));

	metrics_counter_add(metrics_counter(req->server->security->evaluations,
					    denied ? STR("deny") : STR("allow"),
					    str_from(security_level_name(s->level)), version,
					    str_from(security_mode_name(mode)), operation_of(req),
					    resource_of(v), req->write->subresource),
			    1);
}

static void count_exemption(const struct evaluation *v)
{
	const struct admission_request *req = v->req;

	metrics_counter_add(metrics_counter(req->server->security->exemptions, operation_of(req),
					    resource_of(v), req->write->subresource),
			    1);
}

static void count_error(const struct evaluation *v)
{
	const struct admission_request *req = v->req;

	metrics_counter_add(metrics_counter(req->server->security->errors, STR("false"),
					    operation_of(req), resource_of(v),
					    req->write->subresource),
			    1);
}

/* --- reporting -------------------------------------------------------------------- */

static void report_faulty_labels(struct evaluation *v)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(64 * 1024);

	if (!field_errors_any(&v->errs))
		return;
	(void)buf_addz(&text, "Failed to parse policy: ");
	(void)field_errors_aggregate(&v->errs, &text);
	count_error(v);
	annotate(v->req, "error", arena_strdup(v->req->work, buf_str(&text)));
}

static int report(struct evaluation *v, struct error *err)
{
	struct write *w = v->req->write;

	report_faulty_labels(v);
	if (v->is_pod) {
		count(v, SECURITY_ENFORCE, violates(v, SECURITY_ENFORCE));
		annotate(v->req, "enforce-policy",
			 security_standard_print(&v->policy.of[SECURITY_ENFORCE], w->arena));
	}
	if (violates(v, SECURITY_AUDIT)) {
		count(v, SECURITY_AUDIT, true);
		annotate(v->req, "audit-violations",
			 arena_printf(w->arena, "would %s", violation_text(v, SECURITY_AUDIT)));
	}
	if (v->is_pod && violates(v, SECURITY_ENFORCE)) {
		w->message = str_from(violation_text(v, SECURITY_ENFORCE));
		v->req->about.name = v->req->name; /* also if it was generated */
		return error_set(err, ERR_FORBIDDEN, "%.*s", STR_ARG(w->message));
	}
	if (violates(v, SECURITY_WARN)) {
		count(v, SECURITY_WARN, true);
		write_warn(w, "would %s", violation_text(v, SECURITY_WARN));
	}
	return 0;
}

static int admit_holder(struct admission_request *req, const struct json *old,
			const struct json *object, struct error *err)
{
	struct evaluation v = { .req = req };
	const char *exempt = exemption_of(req);
	int r;

	find_pod(&v, object);
	read_policy(&v);
	if (!exempt && is_lax(&v)) {
		if (v.is_pod)
			return report(&v, err);
		return 0;
	}
	if (!exempt && v.is_pod && !req->is_secure) {
		r = stored_tree(req, old, &old, err);
		if (r < 0)
			return r;
		if (old && !is_significant(v.spec, json_getz(old, "spec")))
			return 0;
	}
	if (!exempt && security_is_exempt(&config_of(req)->runtime_classes,
					  json_text_at(v.spec, "runtimeClassName")))
		exempt = "runtimeClass";
	if (exempt) {
		annotate(req, "exempt", exempt);
		count_exemption(&v);
		return 0;
	}
	if (v.spec && !req->is_secure)
		evaluate(&v);
	r = admission_check_memory(req->write->arena, err);
	return r < 0 ? r : report(&v, err);
}

void admit_security_draft(struct admission_request *req, const struct object *ns UNUSED,
			  const struct json *old, struct json *object)
{
	struct evaluation v = { .req = req };

	if (!object || old || !admit_security_concerns(req) || is_namespace(req->path_kind))
		return;
	find_pod(&v, object);
	read_policy(&v);
	if (is_lax(&v))
		return;
	evaluate(&v);
	req->is_secure = !field_errors_any(&v.errs) && !violates(&v, SECURITY_ENFORCE) &&
			 !violates(&v, SECURITY_AUDIT) && !violates(&v, SECURITY_WARN);
}

/* --- namespaces ------------------------------------------------------------------- */

/* Pods with the same violation. */
struct alike {
	struct str reasons, first; /* the first pod by name */
	size_t n;
};

struct survey {
	struct admission_request *req;
	const struct security_standard *standard;
	struct arena pod; /* memory for one pod at a time */
	struct alike v[CHECKED_MAX];
	size_t n, checked, bytes, total; /* kinds of violations; pods; their text; all pods */
};

static void count_alike(struct survey *s, const struct object *o, struct str reasons)
{
	struct arena *a = s->req->write->arena;
	size_t i = 0;

	while (i < s->n && !str_eq(s->v[i].reasons, reasons))
		i++;
	if (i == s->n)
		s->v[s->n++] = (struct alike){ arena_str(a, reasons), object_name(o), 0 };
	s->v[i].n++;
}

static void survey_pod(struct survey *s, const struct object *o)
{
	struct security_findings found;
	struct json *tree = NULL;

	if (object_tree(o, &s->pod, &tree, NULL) == 0 &&
	    !security_is_exempt(&config_of(s->req)->runtime_classes,
				json_text_at(json_getz(tree, "spec"), "runtimeClassName")) &&
	    !security_check_pod(json_getz(tree, "metadata"), json_getz(tree, "spec"), s->standard,
				&s->pod, &found))
		count_alike(s, o, found.reasons);
	arena_clear(&s->pod);
}

static void survey_pods(void *arg, const struct list_result *pods, const struct error *err UNUSED)
{
	struct survey *s = arg;

	if (!pods)
		return;
	s->total = pods->n + (pods->remaining > 0 ? (size_t)pods->remaining : 0);
	while (s->checked < pods->n && s->bytes < CHECKED_BYTES) {
		const struct object *o = pods->items[s->checked++];

		s->bytes += o->json->n;
		survey_pod(s, o);
	}
}

static int by_text(const void *a, const void *b)
{
	const struct alike *x = a, *y = b;
	int r = str_cmp(x->first, y->first);

	return r ? r : str_cmp(x->reasons, y->reasons);
}

static void warn_of(struct survey *s, const struct alike *it)
{
	struct write *w = s->req->write;

	if (it->n == 1)
		write_warn(w, "%.*s: %.*s", STR_ARG(it->first), STR_ARG(it->reasons));
	else if (it->n == 2)
		write_warn(w, "%.*s (and 1 other pod): %.*s", STR_ARG(it->first),
			   STR_ARG(it->reasons));
	else
		write_warn(w, "%.*s (and %zu other pods): %.*s", STR_ARG(it->first), it->n - 1,
			   STR_ARG(it->reasons));
}

static void report_survey(struct survey *s)
{
	struct write *w = s->req->write;

	if (s->checked < s->total)
		write_warn(w,
			   "new PodSecurity enforce level only checked against the first %zu of "
			   "%zu existing pods",
			   s->checked, s->total);
	if (!s->n)
		return;
	write_warn(w,
		   "existing pods in namespace \"%.*s\" violate the new PodSecurity enforce level "
		   "\"%s\"",
		   STR_ARG(s->req->name), security_standard_print(s->standard, w->arena));
	qsort(s->v, s->n, sizeof(*s->v), by_text);
	for (size_t i = 0; i < s->n; i++)
		warn_of(s, &s->v[i]);
}

static void survey_namespace(struct admission_request *req, const struct security_standard *to)
{
	struct resource *pods = state_resource(
		req->state, schema_find_resource(STR(""), STR("v1"), STR("pods")));
	struct list_query q = { .ns = req->name, .limit = CHECKED_MAX };
	struct arena *a = req->write->arena;
	struct survey *s = ARENA_NEW(a, struct survey);

	s->req = req;
	s->standard = to;
	arena_init(&s->pod, SIZE_MAX);
	resource_list(pods, &q, a, survey_pods, s);
	report_survey(s);
	arena_release(&s->pod);
}

static const struct json *labels_of(const struct json *ns)
{
	return json_getz(json_getz(ns, "metadata"), "labels");
}

/* `namespace "x" is exempt from Pod Security, and the policy (enforce=..) will be ignored`. */
static void warn_exempt(struct admission_request *req, const struct json *ns,
			const struct security_policy *p)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(4096);
	struct arena *a = req->write->arena;
	bool same = true;

	for (int i = 0; i < SECURITY_MODES; i++) {
		const char *name = security_mode_name(i);
		const struct json *l = labels_of(ns);

		same = same && security_standard_is(&p->of[i], &config_of(req)->defaults.of[i]);
		if (p->of[i].level == SECURITY_PRIVILEGED ||
		    (!json_getz(l, arena_printf(a, SECURITY_LABELS "%s", name)) &&
		     !json_getz(l, arena_printf(a, SECURITY_LABELS "%s-version", name))))
			continue;
		(void)buf_printf(&text, "%s%s=%s", text.n ? ", " : "", name,
				 security_standard_print(&p->of[i], a));
	}
	if (!same && !security_policy_is_privileged(p))
		write_warn(req->write,
			   "namespace \"%.*s\" is exempt from Pod Security, and the policy (%.*s) "
			   "will be ignored",
			   STR_ARG(req->name), STR_ARG(buf_str(&text)));
}

static bool has_same_faults(const struct field_errors *a, const struct field_errors *b)
{
	CLEANUP(buf_release) struct buf x = BUF_INIT(64 * 1024), y = BUF_INIT(64 * 1024);

	(void)field_errors_aggregate(a, &x);
	(void)field_errors_aggregate(b, &y);
	return str_eq(buf_str(&x), buf_str(&y));
}

static bool is_stricter(const struct security_standard *to, const struct security_standard *from)
{
	if (to->level == SECURITY_PRIVILEGED || security_standard_is(to, from))
		return false;
	return to->minor != from->minor || to->level > from->level;
}

static int admit_namespace(struct admission_request *req, const struct json *old,
			   const struct json *ns, struct error *err)
{
	const struct security_policy *defaults = &config_of(req)->defaults;
	struct field_errors *errs = &req->write->errs, before;
	struct security_policy is, was;
	int r = stored_tree(req, old, &old, err);

	if (r < 0)
		return r;
	field_errors_init(errs, req->write->arena);
	field_errors_init(&before, req->write->arena);
	security_policy_read(labels_of(ns), defaults, errs, &is);
	security_policy_read(labels_of(old), defaults, &before, &was);
	if (field_errors_any(errs) && (!old || !has_same_faults(errs, &before)))
		return error_copy(err, &(struct error){ .code = ERR_INVALID }); /* says the errs */
	field_errors_init(errs, req->write->arena);
	if (old && !is_stricter(&is.of[SECURITY_ENFORCE], &was.of[SECURITY_ENFORCE]))
		return 0;
	if (security_is_exempt(&config_of(req)->namespaces, req->name))
		warn_exempt(req, ns, &is);
	else if (old)
		survey_namespace(req, &is.of[SECURITY_ENFORCE]);
	return 0;
}

int admit_security(struct admission_request *req, const struct json *old, struct json *object,
		   struct error *err)
{
	if (!object)
		return 0;
	if (is_namespace(req->path_kind))
		return admit_namespace(req, old, object, err);
	return admit_holder(req, old, object, err);
}
