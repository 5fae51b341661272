/*
 * The objects and the operations on them. Everything is text that is parsed for each request: slow
 * but simple.
 */
#include "client/testing/fakeapi_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/api_limits.h"
#include "api/object/status.h"
#include "api/patch/patch.h"
#include "api/patch/strategic.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/system/uuid.h"

static const struct fakeapi_kind kinds[] = {
	{ "", "v1", "namespaces", "Namespace", false, false },
	{ "", "v1", "nodes", "Node", false, false },
	{ "", "v1", "configmaps", "ConfigMap", true, false },
	{ "", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", true, false },
	{ "", "v1", "persistentvolumes", "PersistentVolume", false, false },
	{ "", "v1", "pods", "Pod", true, false },
	{ "", "v1", "secrets", "Secret", true, true },
	{ "", "v1", "resourcequotas", "ResourceQuota", true, false },
	{ "", "v1", "serviceaccounts", "ServiceAccount", true, false },
	{ "", "v1", "services", "Service", true, false },
	{ "", "v1", "events", "Event", true, false },
	{ .group = "apps",
	  .version = "v1",
	  .resource = "controllerrevisions",
	  .kind = "ControllerRevision",
	  .namespaced = true },
	{ .group = "apps",
	  .version = "v1",
	  .resource = "daemonsets",
	  .kind = "DaemonSet",
	  .namespaced = true,
	  .generations = true },
	{ .group = "apps",
	  .version = "v1",
	  .resource = "deployments",
	  .kind = "Deployment",
	  .namespaced = true,
	  .generations = true },
	{ .group = "apps",
	  .version = "v1",
	  .resource = "replicasets",
	  .kind = "ReplicaSet",
	  .namespaced = true,
	  .generations = true },
	{ .group = "batch",
	  .version = "v1",
	  .resource = "jobs",
	  .kind = "Job",
	  .namespaced = true,
	  .generations = true },
	{ .group = "apiextensions.k8s.io",
	  .version = "v1",
	  .resource = "customresourcedefinitions",
	  .kind = "CustomResourceDefinition" },
	{ "coordination.k8s.io", "v1", "leases", "Lease", true, false },
	{ .group = "devplane.dev",
	  .version = "v1alpha1",
	  .resource = "devicehistories",
	  .kind = "DeviceHistory",
	  .defined = true },
	{ .group = "devplane.dev",
	  .version = "v1alpha1",
	  .resource = "resourceslicestatuses",
	  .kind = "ResourceSliceStatus",
	  .defined = true },
	{ "discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", true, false },
	{ "events.k8s.io", "v1", "events", "Event", true, false },
	{ "example.com", "v1", "widgets", "Widget", true, false },
	{ "resource.k8s.io", "v1", "deviceclasses", "DeviceClass", false, false },
	{ "resource.k8s.io", "v1", "resourceclaims", "ResourceClaim", true, false },
	{ "resource.k8s.io", "v1", "resourceclaimtemplates", "ResourceClaimTemplate", true, false },
	{ .group = "resource.k8s.io",
	  .version = "v1",
	  .resource = "resourceslices",
	  .kind = "ResourceSlice",
	  .generations = true },
	{ .group = "resource.k8s.io",
	  .version = "v1",
	  .resource = "devicetaintrules",
	  .kind = "DeviceTaintRule",
	  .generations = true },
	{ "resource.k8s.io", "v1alpha3", "resourcepoolstatusrequests", "ResourcePoolStatusRequest",
	  false, false },
};

/* --- requests -------------------------------------------------------------------------------- */

const struct fakeapi_kind *fakeapi_kind_of_path(struct str path, struct str *ret_ns,
						struct str *ret_name, struct str *ret_sub)
{
	struct str parts[8] = { STR_NULL }, rest = str_skip(path, 1), group = STR_NULL;
	size_t n = 0, at;

	while (n < ARRAY_SIZE(parts) && str_split(&rest, '/', &parts[n]))
		n++;
	*ret_ns = *ret_name = *ret_sub = STR_NULL;
	at = str_eq(parts[0], STR("apis")) ? 3 : 2;
	if (at == 3)
		group = parts[1];
	if (n > at + 2 && str_eq(parts[at], STR("namespaces")) &&
	    !str_eq(parts[at + 2], STR("status")) && !str_eq(parts[at + 2], STR("finalize"))) {
		*ret_ns = parts[at + 1];
		at += 2;
	}
	if (n > at + 1)
		*ret_name = parts[at + 1];
	if (n > at + 2)
		*ret_sub = parts[at + 2];
	for (size_t i = 0; n > at && i < ARRAY_SIZE(kinds); i++) {
		if (str_eqz(group, kinds[i].group) && str_eqz(parts[at], kinds[i].resource))
			return &kinds[i];
	}
	return NULL;
}

struct str fakeapi_param(struct str query, const char *name)
{
	struct str pair, key;

	while (str_split(&query, '&', &pair)) {
		key = STR_NULL;
		if (str_split(&pair, '=', &key) && str_eqz(key, name))
			return pair;
	}
	return STR_NULL;
}

/* --- objects --------------------------------------------------------------------------------- */

static char *fakeapi_world_key_of(const struct fakeapi_kind *k, struct str ns, struct str name)
{
	struct buf b = BUF_INIT(KIB);

	(void)buf_printf(&b, "%s%s/%.*s/%.*s", k->resource, k->group[0] ? "*" : "", STR_ARG(ns),
			 STR_ARG(name));
	return buf_take(&b);
}

static struct fakeapi_object *fakeapi_world_find(const struct fakeapi *f,
						 const struct fakeapi_kind *k, struct str ns,
						 struct str name)
{
	char *key = fakeapi_world_key_of(k, ns, name);
	struct fakeapi_object *o = omap_get(&f->objects, str_from(key));

	free(key);
	return o;
}

static struct json *fakeapi_world_parse(struct arena *a, struct str text)
{
	struct json *v;

	assert_int_equal(json_parse(a, text, NULL, &v, NULL), 0);
	return v;
}

static struct json *meta_of(struct json *object)
{
	return json_getz(object, "metadata");
}

static void add_event(struct fakeapi *f, const char *type, const struct fakeapi_object *o)
{
	struct fakeapi_event e = { .kind = o->kind,
				   .rv = o->rv,
				   .type = type,
				   .key = xstrdup(o->key),
				   .text = xstrdup(o->text) };

	assert_true(vec_push(&f->log, e));
	fakeapi_tell(f, &e);
}

static void fakeapi_world_set_text(struct fakeapi *f, struct arena *a, struct fakeapi_object *o,
				   struct json *tree)
{
	struct buf text = BUF_INIT(OBJECT_MAX);

	o->rv = ++f->rv;
	json_put_str(a, meta_of(tree), "resourceVersion",
		     str_from(arena_printf(a, "%lld", (long long)o->rv)));
	assert_int_equal(json_print(&text, tree, NULL), 0);
	free(o->text);
	o->text = buf_take(&text);
}

static void remove_object(struct fakeapi *f, struct fakeapi_object *o)
{
	struct arena a;

	arena_init(&a, SIZE_MAX);
	fakeapi_world_set_text(
		f, &a, o, fakeapi_world_parse(&a, str_from(arena_strdup(&a, str_from(o->text)))));
	arena_release(&a);
	omap_remove(&f->objects, str_from(o->key));
	add_event(f, "DELETED", o);
	free(o->key);
	free(o->text);
	free(o);
}

/* Whether nothing blocks its deletion any more. */
static bool is_free(const struct fakeapi_object *o, struct json *tree)
{
	bool ns = strcmp(o->kind->resource, "namespaces") == 0;

	return json_count(json_getz(meta_of(tree), "finalizers")) == 0 &&
	       (!ns || json_count(json_getz(json_getz(tree, "spec"), "finalizers")) == 0);
}

static void store(struct fakeapi *f, struct arena *a, struct fakeapi_object *o, struct json *tree)
{
	struct buf before = BUF_INIT(OBJECT_MAX), after = BUF_INIT(OBJECT_MAX);
	bool same;

	(void)json_print(&before,
			 fakeapi_world_parse(a, str_from(arena_strdup(a, str_from(o->text)))),
			 NULL);
	json_put_str(a, meta_of(tree), "resourceVersion",
		     str_from(arena_printf(a, "%lld", (long long)o->rv)));
	(void)json_print(&after, tree, NULL);
	same = str_eq(buf_str(&before), buf_str(&after));
	buf_release(&before);
	buf_release(&after);
	if (json_getz(meta_of(tree), "deletionTimestamp") && is_free(o, tree)) {
		remove_object(f, o);
		return;
	}
	if (same)
		return;
	fakeapi_world_set_text(f, a, o, tree);
	add_event(f, "MODIFIED", o);
}

/* --- answers --------------------------------------------------------------------------------- */

static int refuse_because(struct buf *out, enum error_code code, const struct fakeapi_kind *k,
			  struct str name, const char *why, const char *cause)
{
	struct error err = { .code = code };
	struct status_about about = { .group = str_from(k ? k->group : ""),
				      .resource = str_from(k ? k->resource : ""),
				      .name = name,
				      .cause_reason = cause };

	if (why)
		(void)error_set(&err, code, "%s", why);
	buf_clear(out);
	(void)status_print(&err, &about, out);
	return error_http_status(code);
}

static int fakeapi_world_refuse(struct buf *out, enum error_code code, const struct fakeapi_kind *k,
				struct str name, const char *why)
{
	return refuse_because(out, code, k, name, why, NULL);
}

static bool is_terminating(const struct fakeapi *f, struct str ns)
{
	const struct fakeapi_object *o = fakeapi_world_find(f, &kinds[0], STR_NULL, ns);

	return o && strstr(o->text, "\"deletionTimestamp\"");
}

/* Numbers instead of random letters: the same seed yields the same names. */
static struct str give_name(const struct fakeapi *f, struct arena *a, struct json *meta)
{
	struct str base = json_text_at(meta, "generateName");

	if (json_text_at(meta, "name").n == 0 && base.n > 0)
		json_put_str(
			a, meta, "name",
			str_from(arena_printf(a, "%.*s%lld", STR_ARG(base), (long long)f->rv + 1)));
	return json_text_at(meta, "name");
}

static int fakeapi_world_create(struct fakeapi *f, const struct fakeapi_kind *k, struct str ns,
				struct str body, struct buf *out)
{
	struct arena a;
	struct json *tree, *meta;
	struct fakeapi_object *o;
	struct uuid u;
	char uid[UUID_TEXT_SIZE];
	struct str name;
	int status = 201;

	arena_init(&a, SIZE_MAX);
	tree = fakeapi_world_parse(&a, body);
	meta = meta_of(tree);
	name = give_name(f, &a, meta);
	if (ns.n > 0 && is_terminating(f, ns)) {
		status = refuse_because(
			out, ERR_FORBIDDEN, k, name,
			"unable to create new content because it is being terminated",
			"NamespaceTerminating");
	} else if (fakeapi_world_find(f, k, ns, name)) {
		status = fakeapi_world_refuse(out, ERR_ALREADY_EXISTS, k, name, NULL);
	} else {
		json_put_str(&a, tree, "apiVersion",
			     str_from(k->group[0] ? arena_printf(&a, "%s/%s", k->group, k->version)
						  : k->version));
		json_put_str(&a, tree, "kind", str_from(k->kind));
		if (ns.n > 0)
			json_put_str(&a, meta, "namespace", ns);
		uuid_make_seeded(&u, &f->prng);
		if (!json_getz(meta, "uid"))
			json_put_str(&a, meta, "uid", uuid_print(&u, uid));
		if (k->generations)
			json_put_i64(&a, meta, "generation", 1);
		o = XNEW(struct fakeapi_object);
		o->kind = k;
		o->key = fakeapi_world_key_of(k, ns, name);
		fakeapi_world_set_text(f, &a, o, tree);
		omap_put(&f->objects, str_from(o->key), o);
		add_event(f, "ADDED", o);
		(void)buf_addz(out, o->text);
	}
	arena_release(&a);
	return status;
}

static bool fakeapi_world_differs(struct json *meta, const struct json *now, const char *name)
{
	struct str want = json_text_at(meta, name);

	return want.n > 0 && !str_eq(want, json_text_at(now, name));
}

static void fakeapi_world_keep(struct arena *a, struct json *to, struct json *from,
			       const char *name)
{
	struct json *v = json_getz(from, name), *copy;

	(void)json_remove(to, str_from(name));
	if (v && json_copy(a, v, &copy, NULL) == 0)
		json_setz(to, name, copy);
}

/* Applies the change to the object. Returns -ERR_CONFLICT, or another error if it is invalid. */
static int apply_change(struct arena *a, const struct fakeapi_object *o, struct json *now,
			struct json *change, const struct fakeapi_query *q, struct json **ret_tree)
{
	bool patch = str_eq(q->method, STR("PATCH"));
	const struct schema_kind *kind = NULL;
	int r = 0;

	*ret_tree = change;
	if (fakeapi_world_differs(meta_of(change), meta_of(now), "uid"))
		return -ERR_CONFLICT;
	if (patch)
		*ret_tree = fakeapi_world_parse(a, str_from(arena_strdup(a, str_from(o->text))));
	if (str_eq(q->type, STR("application/strategic-merge-patch+json")))
		kind = schema_find_resource(str_from(o->kind->group), str_from(o->kind->version),
					    str_from(o->kind->resource));
	if (patch && json_is(change, JSON_ARRAY))
		r = patch_json(a, ret_tree, change, NULL);
	else if (patch && kind)
		r = patch_strategic(a, ret_tree, kind->type, change, NULL);
	else if (patch)
		r = patch_merge(a, ret_tree, change, NULL);
	if (r < 0)
		return r;
	return fakeapi_world_differs(meta_of(*ret_tree), meta_of(now), "resourceVersion")
		       ? -ERR_CONFLICT
		       : 0;
}

/* The status is written separately, and changes of the spec raise the generation. */
static void keep_parts(struct arena *a, struct str sub, struct json *tree, struct json *now)
{
	int64_t generation = json_i64_at(meta_of(now), "generation", 1);

	if (str_eq(sub, STR("status")))
		fakeapi_world_keep(a, tree, now, "spec");
	else
		fakeapi_world_keep(a, tree, now, "status");
	if (!json_equal(json_getz(tree, "spec"), json_getz(now, "spec")))
		generation++;
	json_put_i64(a, meta_of(tree), "generation", generation);
}

static int fakeapi_world_change(struct fakeapi *f, struct fakeapi_object *o, struct str sub,
				const struct fakeapi_query *q, struct buf *out)
{
	struct arena a;
	struct json *now, *tree;
	const struct fakeapi_kind *kind = o->kind;
	int status = 200, r;

	arena_init(&a, SIZE_MAX);
	now = fakeapi_world_parse(&a, str_from(arena_strdup(&a, str_from(o->text))));
	r = apply_change(&a, o, now, fakeapi_world_parse(&a, q->body), q, &tree);
	if (r < 0) {
		status = fakeapi_world_refuse(out, (enum error_code)(-r), o->kind, STR_NULL, NULL);
	} else {
		fakeapi_world_keep(&a, meta_of(tree), meta_of(now), "uid");
		fakeapi_world_keep(&a, meta_of(tree), meta_of(now), "deletionTimestamp");
		if (strcmp(o->kind->resource, "namespaces") == 0 && !str_eq(sub, STR("finalize")))
			fakeapi_world_keep(&a, tree, now, "spec");
		if (kind->generations)
			keep_parts(&a, sub, tree, now);
		(void)buf_addz(out, o->text);
		store(f, &a, o, tree);
		o = fakeapi_world_find(f, kind, json_text_at(meta_of(tree), "namespace"),
				       json_text_at(meta_of(tree), "name"));
		if (o) {
			buf_clear(out);
			(void)buf_addz(out, o->text);
		}
	}
	arena_release(&a);
	return status;
}

/* --- binding --------------------------------------------------------------------------------- */

static const char *why_not_bound(struct arena *a, struct json *pod, struct json *binding)
{
	struct str name = json_text_at(meta_of(pod), "name");
	struct str node = json_text_at(json_getz(pod, "spec"), "nodeName");

	if (fakeapi_world_differs(meta_of(binding), meta_of(pod), "uid"))
		return "Precondition failed: UID in precondition is another";
	if (json_getz(meta_of(pod), "deletionTimestamp"))
		return arena_printf(a, "pod %.*s is being deleted, cannot be assigned to a host",
				    STR_ARG(name));
	if (node.n > 0)
		return arena_printf(a, "pod %.*s is already assigned to node \"%.*s\"",
				    STR_ARG(name), STR_ARG(node));
	return NULL;
}

/* Pods must have a spec. */
static int bind_pod(struct fakeapi *f, struct fakeapi_object *o, struct str body, struct buf *out)
{
	static const struct str status = STR(
		"{\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"True\"}]}");
	struct arena a;
	struct json *pod, *binding;
	const char *why;
	int r = 201;

	arena_init(&a, SIZE_MAX);
	pod = fakeapi_world_parse(&a, str_from(arena_strdup(&a, str_from(o->text))));
	binding = fakeapi_world_parse(&a, body);
	why = why_not_bound(&a, pod, binding);
	if (why) {
		r = fakeapi_world_refuse(out, ERR_CONFLICT, o->kind, STR_NULL, why);
	} else {
		json_put_str(&a, json_getz(pod, "spec"), "nodeName",
			     json_text_at(json_getz(binding, "target"), "name"));
		(void)json_remove(pod, STR("status"));
		json_setz(pod, "status", fakeapi_world_parse(&a, status));
		store(f, &a, o, pod);
		(void)buf_addz(out, "{\"kind\":\"Status\",\"status\":\"Success\"}");
	}
	arena_release(&a);
	return r;
}

/* --- deleting -------------------------------------------------------------------------------- */

static void set_finalizer(struct arena *a, struct json *meta, const char *name, bool wanted)
{
	struct json *list = json_getz(meta, "finalizers");

	if (!list) {
		list = json_make_array(a);
		json_setz(meta, "finalizers", list);
	}
	JSON_FOREACH_SAFE (v, list) {
		if (str_eqz(json_str(v), name))
			(void)json_unlink(list, v);
	}
	if (wanted)
		json_append(list, json_make_str(a, str_from(name)));
}

static void mark_and_remove(struct fakeapi *f, struct fakeapi_object *o, struct str policy,
			    bool at_once)
{
	struct arena a;
	struct json *tree, *meta;
	bool running;

	arena_init(&a, SIZE_MAX);
	tree = fakeapi_world_parse(&a, str_from(arena_strdup(&a, str_from(o->text))));
	meta = meta_of(tree);
	set_finalizer(&a, meta, "orphan", str_eq(policy, STR("Orphan")));
	set_finalizer(&a, meta, "foregroundDeletion", str_eq(policy, STR("Foreground")));
	/* A pod on a node is removed only when its node confirms, unless that is not waited for. */
	running = !at_once && strcmp(o->kind->resource, "pods") == 0 &&
		  json_getz(json_getz(tree, "spec"), "nodeName") != NULL;
	if (is_free(o, tree) && !running) {
		remove_object(f, o);
	} else {
		if (!json_getz(meta, "deletionTimestamp"))
			json_put_str(&a, meta, "deletionTimestamp", STR("2024-01-01T00:00:00Z"));
		fakeapi_world_set_text(f, &a, o, tree);
		add_event(f, "MODIFIED", o);
	}
	arena_release(&a);
}

static int remove_one(struct fakeapi *f, struct fakeapi_object *o, const struct fakeapi_query *q,
		      struct buf *out)
{
	struct str policy = fakeapi_param(q->query, "propagationPolicy");
	struct arena a;
	struct json *options = NULL, *before;
	int status = 200;

	arena_init(&a, SIZE_MAX);
	if (q->body.n > 0)
		options = fakeapi_world_parse(&a, q->body);
	if (json_text_at(options, "propagationPolicy").n > 0)
		policy = json_text_at(options, "propagationPolicy");
	before = json_getz(options, "preconditions");
	if (fakeapi_world_differs(
		    before,
		    meta_of(fakeapi_world_parse(&a, str_from(arena_strdup(&a, str_from(o->text))))),
		    "uid") ||
	    fakeapi_world_differs(
		    before,
		    meta_of(fakeapi_world_parse(&a, str_from(arena_strdup(&a, str_from(o->text))))),
		    "resourceVersion")) {
		status = fakeapi_world_refuse(out, ERR_CONFLICT, o->kind, STR_NULL,
					      "Precondition failed");
	} else {
		(void)buf_addz(out, o->text);
		mark_and_remove(f, o, policy, json_i64_at(options, "gracePeriodSeconds", 1) == 0);
	}
	arena_release(&a);
	return status;
}

bool fakeapi_selects(const struct fakeapi_kind *kind, struct str ns, struct str query,
		     const char *key)
{
	struct str rest = str_from(key), resource = STR_NULL, at = STR_NULL;
	struct str field = fakeapi_param(query, "fieldSelector");
	char *prefix = fakeapi_world_key_of(kind, STR_NULL, STR_NULL);
	bool ours = str_starts(rest, str_of(prefix, strlen(prefix) - 1));

	free(prefix);
	(void)str_split(&rest, '/', &resource);
	(void)str_split(&rest, '/', &at);
	if (!ours || (ns.n > 0 && !str_eq(ns, at)))
		return false;
	if (str_starts(field, STR("metadata.name%3D")))
		return str_eq(str_skip(field, 16), rest);
	return true;
}

static int remove_all(struct fakeapi *f, const struct fakeapi_kind *k, struct str ns)
{
	struct omap_cursor c;
	bool ok = omap_first(&f->objects, &c);

	while (ok) {
		struct fakeapi_object *o = omap_value(&c);
		char *key = xstrdup(o->key);

		if (fakeapi_selects(k, ns, STR_NULL, o->key))
			mark_and_remove(f, o, STR("Background"), false);
		ok = omap_seek_after(&f->objects, &c, str_from(key));
		free(key);
	}
	return 200;
}

/* --- reading --------------------------------------------------------------------------------- */

static int list(const struct fakeapi *f, const struct fakeapi_kind *k, struct str ns,
		struct str query, struct buf *out)
{
	struct omap_cursor c;
	bool first = true;

	(void)buf_printf(out,
			 "{\"apiVersion\":\"%s%s%s\",\"kind\":\"%sList\",\"metadata\":{"
			 "\"resourceVersion\":\"%lld\"},\"items\":[",
			 k->group, k->group[0] ? "/" : "", k->version, k->kind, (long long)f->rv);
	for (bool ok = omap_first(&f->objects, &c); ok; ok = omap_next(&c)) {
		const struct fakeapi_object *o = omap_value(&c);

		if (!fakeapi_selects(k, ns, query, o->key))
			continue;
		(void)buf_printf(out, "%s%s", first ? "" : ",", o->text);
		first = false;
	}
	(void)buf_addz(out, "]}");
	return 200;
}

bool fakeapi_serves(const struct fakeapi *f, const struct fakeapi_kind *k)
{
	char name[128];

	if ((f->hide_widgets && strcmp(k->resource, "widgets") == 0) ||
	    (f->hide_claims && strcmp(k->group, "resource.k8s.io") == 0))
		return false;
	(void)snprintf(name, sizeof(name), "%s.%s", k->resource, k->group);
	return !k->defined || fakeapi_find(f, "customresourcedefinitions", "", name);
}

static void discover_kind(const struct fakeapi *f, const struct fakeapi_kind *k,
			  const struct fakeapi_kind *before, struct buf *out)
{
	bool status = k->generations && f->slice_status;
	bool group = !before || strcmp(before->group, k->group) != 0;
	bool version = group || strcmp(before->version, k->version) != 0;

	if (group)
		(void)buf_printf(out, "%s{\"metadata\":{\"name\":\"%s\"},\"versions\":[",
				 before ? "]}]}," : "", k->group);
	if (version)
		(void)buf_printf(out,
				 "%s{\"version\":\"%s\",\"freshness\":\"Current\","
				 "\"resources\":[",
				 group ? "" : "]},", k->version);
	(void)buf_printf(out,
			 "%s{\"resource\":\"%s\",\"responseKind\":{\"group\":\"%s\","
			 "\"version\":\"%s\",\"kind\":\"%s\"},\"scope\":\"%s\","
			 "\"singularResource\":\"x\",\"verbs\":[\"create\",\"delete\",%s"
			 "\"get\",\"list\",\"patch\",\"update\",\"watch\"]%s}",
			 version ? "" : ",", k->resource, k->group, k->version, k->kind,
			 k->namespaced ? "Namespaced" : "Cluster",
			 k->no_collection ? "" : "\"deletecollection\",",
			 status ? ",\"subresources\":[{\"subresource\":\"status\"}]" : "");
}

static int discover(const struct fakeapi *f, bool core, struct buf *out)
{
	const struct fakeapi_kind *before = NULL;

	(void)buf_addz(out, "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":"
			    "\"apidiscovery.k8s.io/v2\",\"metadata\":{},\"items\":[");
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (core != !kinds[i].group[0] || !fakeapi_serves(f, &kinds[i]))
			continue;
		discover_kind(f, &kinds[i], before, out);
		before = &kinds[i];
	}
	(void)buf_addz(out, before ? "]}]}]}" : "]}");
	return 200;
}

/* --- dispatch -------------------------------------------------------------------------------- */

static int answer_one(struct fakeapi *f, struct fakeapi_object *o, const struct fakeapi_query *q,
		      struct str sub, struct buf *out)
{
	if (str_eq(q->method, STR("GET"))) {
		(void)buf_addz(out, o->text);
		return 200;
	}
	if (str_eq(q->method, STR("DELETE")))
		return remove_one(f, o, q, out);
	if (str_eq(sub, STR("binding")))
		return bind_pod(f, o, q->body, out);
	return fakeapi_world_change(f, o, sub, q, out);
}

int fakeapi_answer(struct fakeapi *f, const struct fakeapi_query *q, struct buf *out)
{
	struct str ns, name, sub;
	const struct fakeapi_kind *k;
	struct fakeapi_object *o;

	if (str_eq(q->path, STR("/api")) || str_eq(q->path, STR("/apis")))
		return discover(f, str_eq(q->path, STR("/api")), out);
	k = fakeapi_kind_of_path(q->path, &ns, &name, &sub);
	if (!k || (k->defined && !fakeapi_serves(f, k)))
		return fakeapi_world_refuse(out, ERR_NOT_FOUND, NULL, STR_NULL, "no such resource");
	if (name.n == 0 && str_eq(q->method, STR("POST")))
		return fakeapi_world_create(f, k, ns, q->body, out);
	if (name.n == 0 && str_eq(q->method, STR("DELETE"))) {
		(void)buf_addz(out, "{}");
		return k->no_collection ? fakeapi_world_refuse(out, ERR_METHOD_NOT_ALLOWED, k,
							       STR_NULL, NULL)
					: remove_all(f, k, ns);
	}
	if (name.n == 0)
		return list(f, k, ns, q->query, out);
	o = fakeapi_world_find(f, k, ns, name);
	if (!o)
		return fakeapi_world_refuse(out, ERR_NOT_FOUND, k, name, NULL);
	return answer_one(f, o, q, sub, out);
}

int fakeapi_call(struct fakeapi *f, const char *method, const char *target, struct str body,
		 struct buf *out)
{
	struct buf own = BUF_INIT(MIB * 64);
	struct str rest = str_from(target), path = STR_NULL;
	int status;

	(void)str_split(&rest, '?', &path);
	if (!out)
		out = &own;
	buf_clear(out);
	status = fakeapi_answer(
		f, &(struct fakeapi_query){ str_from(method), path, rest, body, STR_NULL }, out);
	buf_release(&own);
	return status;
}

void fakeapi_add(struct fakeapi *f, const char *resource, const char *ns, const char *name,
		 const char *meta, const char *rest)
{
	struct buf target = BUF_INIT(KIB), body = BUF_INIT(MIB);
	const struct fakeapi_kind *k = NULL;

	for (size_t i = 0; !k && i < ARRAY_SIZE(kinds); i++)
		k = strcmp(kinds[i].resource, resource) == 0 ? &kinds[i] : NULL;
	assert_non_null(k);
	(void)buf_printf(&target, k->group[0] ? "/apis/%s/v1" : "/api%s/v1", k->group);
	if (ns[0])
		(void)buf_printf(&target, "/namespaces/%s", ns);
	(void)buf_printf(&target, "/%s", resource);
	(void)buf_printf(&body, "{\"metadata\":{\"name\":\"%s\"%s}%s}", name, meta, rest);
	assert_int_equal(fakeapi_call(f, "POST", target.p, buf_str(&body), NULL), 201);
	buf_release(&target);
	buf_release(&body);
}

const struct fakeapi_object *fakeapi_find(const struct fakeapi *f, const char *resource,
					  const char *ns, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct fakeapi_object *o;

		if (strcmp(kinds[i].resource, resource) != 0)
			continue;
		o = fakeapi_world_find(f, &kinds[i], str_from(ns), str_from(name));
		if (o)
			return o;
	}
	return NULL;
}

bool fakeapi_has(const struct fakeapi *f, const char *resource, const char *ns, const char *name,
		 const char *text)
{
	const struct fakeapi_object *o = fakeapi_find(f, resource, ns, name);

	return o && strstr(o->text, text);
}

size_t fakeapi_count_with(const struct fakeapi *f, const char *resource, const char *text)
{
	struct omap_cursor c;
	size_t n = 0;

	for (bool ok = omap_first(&f->objects, &c); ok; ok = omap_next(&c)) {
		const struct fakeapi_object *o = omap_value(&c);

		n += strcmp(o->kind->resource, resource) == 0 && strstr(o->text, text);
	}
	return n;
}

size_t fakeapi_count(const struct fakeapi *f, const char *resource)
{
	return fakeapi_count_with(f, resource, "");
}

const char *fakeapi_name_at(const struct fakeapi *f, const char *resource, size_t index)
{
	struct omap_cursor c;

	for (bool ok = omap_first(&f->objects, &c); ok; ok = omap_next(&c)) {
		const struct fakeapi_object *o = omap_value(&c);

		if (strcmp(o->kind->resource, resource) == 0 && index-- == 0)
			return strrchr(o->key, '/') + 1;
	}
	fail_msg("there are not so many %s", resource);
	return NULL;
}
