/*
 * Namespaces, secrets, service accounts and volumes: small rules that upstream
 * keeps in the strategies and conversions of the core group.
 */
#include "api/write/strategies.h"

#include "api/api_limits.h"
#include "api/services/service.h"
#include "api/write/write_impl.h"
#include "base/json/index.h"
#include "base/text/base64.h"

/* --- namespaces --------------------------------------------------------------------------- */

void strategy_namespace_fill(struct arena *a, struct json *parent, int64_t now_ns)
{
	struct json *meta = json_getz(parent, "metadata");
	struct str name = json_text_at(meta, "name");

	if (name.n)
		json_put_str(a, json_need_object(a, meta, "labels"), "kubernetes.io/metadata.name",
			     name);
}

void strategy_namespace_create(struct write *w, struct json *object)
{
	struct json *spec = json_need_object(w->arena, object, "spec");
	struct json *finalizers = json_getz(spec, "finalizers");

	if (!finalizers) {
		finalizers = json_make_array(w->arena);
		json_setz(spec, "finalizers", finalizers);
	}
	if (!json_has_text(finalizers, STR("kubernetes")))
		json_append(finalizers, json_make_str(w->arena, STR("kubernetes")));
	json_setz(object, "status", json_make_object(w->arena));
	json_put_str(w->arena, json_getz(object, "status"), "phase", STR("Active"));
}

void strategy_namespace_update(struct write *w, struct json *object, const struct json *old)
{
	if (w->subresource.n == 0)
		tree_carry(w->arena, json_need_object(w->arena, object, "spec"),
			   json_getz(old, "spec"), "finalizers");
}

bool strategy_namespace_delete(struct write *w, struct json *object,
			       const struct delete_options *options)
{
	struct json *meta = json_getz(object, "metadata");

	if (!json_getz(meta, "deletionTimestamp")) {
		tree_set_time(w->arena, meta, "deletionTimestamp", w->now_ns);
		json_put_str(w->arena, json_need_object(w->arena, object, "status"), "phase",
			     STR("Terminating"));
		write_set_propagation(w, meta, options);
		return true;
	}
	return json_count(json_getz(json_getz(object, "spec"), "finalizers")) > 0;
}

/* --- secrets ------------------------------------------------------------------------------- */

static void put_data(struct arena *a, struct json *data, struct json_index *had, struct str key,
		     struct str text)
{
	struct json *old = json_index_get(had, key);

	if (!old) {
		json_add(data, key, json_make_str(a, text));
		return;
	}
	/* Replaces the value in place; searching for it again would take quadratic time. */
	old->type = JSON_STRING;
	old->text = text.p ? text.p : "";
	old->n = (uint32_t)text.n;
}

/* Moves stringData into data, as upstream does. */
void strategy_secret_fill(struct arena *a, struct json *parent, int64_t now_ns)
{
	struct json *text = json_remove(parent, STR("stringData")), *data;
	CLEANUP(json_index_release) struct json_index had;

	json_index_init(&had, NULL, NULL);
	if (json_count(text) == 0)
		return;
	data = json_need_object(a, parent, "data");
	json_index_init(&had, data, NULL);
	JSON_FOREACH (entry, text) {
		struct buf b = BUF_INIT(2 * OBJECT_MAX);

		(void)base64_encode(&b, json_str(entry), BASE64_STD);
		put_data(a, data, &had, json_key(entry), arena_str(a, buf_str(&b)));
		buf_release(&b);
	}
}

/* --- service accounts ------------------------------------------------------------------------ */

static void clean_secret_references(struct write *w, struct json *object)
{
	JSON_FOREACH (reference, json_getz(object, "secrets")) {
		JSON_FOREACH_SAFE (member, reference)
			if (!str_eq(json_key(member), STR("name")))
				json_unlink(reference, member);
	}
}

void strategy_service_account_create(struct write *w, struct json *object)
{
	clean_secret_references(w, object);
}

void strategy_service_account_update(struct write *w, struct json *object, const struct json *old)
{
	clean_secret_references(w, object);
}

/* --- limit ranges --------------------------------------------------------------------------- */

void strategy_limit_range_create(struct write *w, struct json *object)
{
	struct json *meta = json_getz(object, "metadata");

	if (!json_text_at(meta, "name").n)
		json_put_str(w->arena, meta, "name", json_text_at(meta, "uid"));
}

/* --- services --------------------------------------------------------------------------------- */

void strategy_service_update(struct write *w, struct json *object, const struct json *old)
{
	if (w->subresource.n == 0)
		service_drop_fields(w->arena, object, old);
}

/* --- volumes ---------------------------------------------------------------------------------- */

void strategy_volume_create(struct write *w, struct json *object)
{
	struct json *status = json_make_object(w->arena);

	json_setz(object, "status", status);
	json_put_str(w->arena, status, "phase", STR("Pending"));
	tree_set_time(w->arena, status, "lastPhaseTransitionTime", w->now_ns);
}

/* The time of the phase is kept with it, and set if a phase change has no time. */
void strategy_volume_update(struct write *w, struct json *object, const struct json *old)
{
	static const char time[] = "lastPhaseTransitionTime";
	const struct json *old_status = json_getz(old, "status");
	struct json *status = json_getz(object, "status");

	if (!str_eq(w->subresource, STR("status")) || !json_is(status, JSON_OBJECT))
		return;
	if (tree_same(status, old_status, "phase")) {
		if (!json_getz(status, time))
			tree_carry(w->arena, status, old_status, time);
	} else if (!json_getz(status, time) || tree_same(status, old_status, time)) {
		tree_set_time(w->arena, status, time, w->now_ns);
	}
}

/* Fills in the older and the newer spelling of a data source from each other. */
static void normalize_sources(struct write *w, struct json *object)
{
	struct json *spec = json_getz(object, "spec");
	const struct json *reference = json_getz(spec, "dataSourceRef");

	if (json_getz(spec, "dataSource") && !reference)
		json_setz(spec, "dataSourceRef",
			  tree_copy(w->arena, json_getz(spec, "dataSource")));
	else if (reference && !json_getz(spec, "dataSource") && !json_getz(reference, "namespace"))
		json_setz(spec, "dataSource", tree_copy(w->arena, reference));
}

void strategy_volume_claim_create(struct write *w, struct json *object)
{
	normalize_sources(w, object);
	json_setz(object, "status", json_make_object(w->arena));
	json_put_str(w->arena, json_getz(object, "status"), "phase", STR("Pending"));
}

void strategy_volume_claim_update(struct write *w, struct json *object, const struct json *old)
{
	if (w->subresource.n == 0)
		normalize_sources(w, object);
}
