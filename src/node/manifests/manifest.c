/*
 * The functions of a creation in the API server do the work, so that a manifest means here exactly
 * what it means to `kubectl create`. The hash is that of the object before its defaults are set: a
 * release with another default does not restart static pods.
 */
#include "node/manifests/manifest.h"

#include "api/api_limits.h"
#include "api/check/pod_refs.h"
#include "api/write/write.h"
#include "base/core/limits.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/time/timestamp.h"

enum { HASH_SEED_1 = 1, HASH_SEED_2 = 2 };

/* --- metadata ----------------------------------------------------------------------- */

/* 128 bits, as many as upstream's. */
static int manifest_hash(struct arena *a, const struct manifest_input *in, const struct json *pod,
			 char ret_hash[static 33], struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(OBJECT_MAX);
	struct json *copy;
	int r = json_copy(a, pod, &copy, err);

	if (r < 0)
		return r;
	json_sort(a, copy);
	if (json_print(&text, copy, NULL) < 0)
		return error_set(err, ERR_TOO_LARGE, "the pod is too large");
	(void)buf_printf(&text, "%chost:%.*s%cfile:%.*s", 0, STR_ARG(in->node_name), 0,
			 STR_ARG(in->path));
	if (text.overflow)
		return error_set(err, ERR_TOO_LARGE, "the pod is too large");
	(void)snprintf(ret_hash, 33, "%016llx%016llx",
		       (unsigned long long)hash_bytes(buf_str(&text), HASH_SEED_1),
		       (unsigned long long)hash_bytes(buf_str(&text), HASH_SEED_2));
	return 0;
}

static void annotate(struct arena *a, const struct manifest_input *in, struct json *meta,
		     struct str hash)
{
	struct json *annotations = json_need_object(a, meta, "annotations");
	char now[TIMESTAMP_SIZE];

	json_remove(annotations, STR(MANIFEST_MIRROR));
	json_put_str(a, annotations, MANIFEST_SOURCE, STR("file"));
	json_put_str(a, annotations, MANIFEST_HASH, hash);
	json_put_str(a, annotations, MANIFEST_SEEN,
		     arena_str(a, timestamp_print(in->now_ns, TIMESTAMP_SECONDS, now)));
}

/* Replaces a toleration of the same key, operator and effect, as upstream. */
static void tolerate_all(struct arena *a, struct json *spec)
{
	struct json *list = json_need_array(a, spec, "tolerations"), *all = json_make_object(a);

	JSON_FOREACH_SAFE (it, list) {
		if (json_text_at(it, "key").n == 0 &&
		    str_eqz(json_text_at(it, "operator"), "Exists") &&
		    str_eqz(json_text_at(it, "effect"), "NoExecute"))
			(void)json_unlink(list, it);
	}
	json_put_str(a, all, "operator", STR("Exists"));
	json_put_str(a, all, "effect", STR("NoExecute"));
	json_append(list, all);
}

/* Turns the decoded manifest into the body of a creation. */
static int manifest_complete(struct arena *a, const struct manifest_input *in, struct json *pod,
			     char ret_hash[static 33], struct error *err)
{
	struct json *meta = json_need_object(a, pod, "metadata");
	struct json *spec = json_need_object(a, pod, "spec");
	struct str name = json_text_at(meta, "name");
	int r;

	if (name.n == 0)
		return error_set(err, ERR_INVALID, "invalid pod: name is needed for the pod");
	(void)json_remove(pod, STR("status"));
	(void)json_remove(meta, STR("uid"));
	(void)json_remove(meta, STR("ownerReferences"));
	(void)json_remove(meta, STR("resourceVersion"));
	r = manifest_hash(a, in, pod, ret_hash, err);
	if (r < 0)
		return r;
	json_put_str(a, meta, "name",
		     str_from(arena_printf(a, "%.*s-%.*s", STR_ARG(name),
					   STR_ARG(arena_lower(a, in->node_name)))));
	if (json_text_at(meta, "namespace").n == 0)
		json_put_str(a, meta, "namespace", STR("default"));
	json_put_str(a, spec, "nodeName", in->node_name);
	annotate(a, in, meta, arena_str(a, str_from(ret_hash)));
	tolerate_all(a, spec);
	return 0;
}

/* --- reading ------------------------------------------------------------------------ */

static int manifest_refuse(const struct write *w, int r, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(KIB);

	if (r != -ERR_INVALID || !field_errors_any(&w->errs))
		return r;
	(void)field_errors_aggregate(&w->errs, &text);
	return error_set(err, ERR_INVALID, "invalid pod: %.*s", STR_ARG(buf_str(&text)));
}

static void manifest_warnings(const struct write *w, struct buf *out)
{
	for (const struct text_list *t = w->warnings; t; t = t->next)
		(void)buf_printf(out, "%s%.*s", out->n > 0 ? "; " : "", STR_ARG(t->text));
}

/* Removes what only the API server's copy of a pod has. */
static void strip(struct json *pod)
{
	struct json *meta = json_getz(pod, "metadata");

	(void)json_remove(meta, STR("managedFields"));
	(void)json_remove(meta, STR("creationTimestamp"));
	(void)json_remove(meta, STR("generation"));
}

static int manifest_make(struct json *tree, struct pod **ret_pod, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(OBJECT_MAX);
	int r;

	if (json_print(&text, tree, NULL) < 0)
		return error_set(err, ERR_TOO_LARGE, "the pod is too large");
	r = pod_parse(buf_str(&text), ret_pod, err);
	if (r == 0)
		(*ret_pod)->is_static = true;
	return r;
}

int pod_manifest_read(const struct manifest_input *in, struct pod **ret_pod, struct buf *warnings,
		      struct error *err)
{
	CLEANUP(arena_release) struct arena a;
	struct prng prng;
	struct write w = { .arena = &a,
			   .kind = schema_find_resource(STR(""), STR("v1"), STR("pods")),
			   .gates = in->gates,
			   .now_ns = in->now_ns,
			   .prng = &prng,
			   .options.field_validation = WRITE_WARN };
	struct json *body = NULL, *pod = NULL;
	const char *refers;
	int r;

	arena_init(&a, REQUEST_WORK_MAX);
	prng_init(&prng, 1); /* for generated names; a manifest has its own */
	write_init(&w);
	r = write_decode(&w, in->text, DECODE_YAML, &body, err);
	if (r == 0)
		r = manifest_complete(&a, in, body, w.uid, err);
	if (r == 0) {
		w.ns = json_text_at(json_getz(body, "metadata"), "namespace");
		r = manifest_refuse(&w, write_create(&w, body, &pod, err), err);
	}
	manifest_warnings(&w, warnings);
	if (r < 0)
		return r;
	refers = pod_refs_any(pod);
	if (refers)
		return error_set(err, ERR_FORBIDDEN, "static pods may not reference %s", refers);
	strip(pod);
	return manifest_make(pod, ret_pod, err);
}

/* --- mirror pods -------------------------------------------------------------------- */

struct json *pod_manifest_mirror(struct arena *a, const struct pod *pod, struct str node_name,
				 struct str node_uid)
{
	struct json *mirror = NULL, *meta, *owner = json_make_object(a);

	if (json_copy(a, pod->tree, &mirror, NULL) < 0)
		return NULL;
	(void)json_remove(mirror, STR("status"));
	meta = json_getz(mirror, "metadata");
	(void)json_remove(meta, STR("uid"));
	json_put_str(a, json_need_object(a, meta, "annotations"), MANIFEST_MIRROR, pod->uid);
	json_put_str(a, owner, "apiVersion", STR("v1"));
	json_put_str(a, owner, "kind", STR("Node"));
	json_put_str(a, owner, "name", node_name);
	json_put_str(a, owner, "uid", node_uid);
	json_put_bool(a, owner, "controller", true);
	json_append(json_need_array(a, meta, "ownerReferences"), owner);
	return mirror;
}

struct str pod_manifest_mirror_hash(const struct pod *pod)
{
	return json_text_at(json_getz(pod->metadata, "annotations"), MANIFEST_MIRROR);
}
