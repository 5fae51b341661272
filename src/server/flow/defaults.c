/*
 * One batch of writes. If everything is in place, nothing is written.
 */
#include "server/flow/defaults.h"

#include "api/codec/decode.h"
#include "api/defaults/defaults.h"
#include "api/schema/schema.h"
#include "base/core/clock.h"
#include "base/json/json.h"
#include "base/report/log.h"
#include "base/time/timestamp.h"
#include "server/core/ensure.h"
#include "server/core/parts.h"

#define AUTOUPDATE "apf.kubernetes.io/autoupdate-spec"
#define MANAGER    STR("api-priority-and-fairness-config-producer-v1")
#define CONSUMER   STR("api-priority-and-fairness-config-consumer-v1")

const struct schema_kind *flow_kind(enum flow_kind kind)
{
	return schema_find_resource(STR("flowcontrol.apiserver.k8s.io"), STR("v1"),
				    kind == FLOW_LEVEL ? STR("prioritylevelconfigurations")
						       : STR("flowschemas"));
}

struct json *flow_default_tree(struct arena *a, enum flow_kind kind, const struct flow_default *d)
{
	const struct schema_kind *k = flow_kind(kind);
	struct json *tree = json_make_object(a), *meta = json_make_object(a);
	struct json *notes = json_make_object(a), *spec = NULL;

	json_put_str(a, tree, "apiVersion", k->api_version);
	json_put_str(a, tree, "kind", k->kind);
	json_setz(tree, "metadata", meta);
	json_put_str(a, meta, "name", str_from(d->name));
	json_setz(meta, "annotations", notes);
	json_put_str(a, notes, AUTOUPDATE, STR("true"));
	(void)json_parse(a, str_from(d->spec), NULL, &spec, NULL);
	json_setz(tree, "spec", spec);
	return tree;
}

/* --- the status of schemas -------------------------------------------------------- */

static struct json *defaults_condition_of(struct arena *a, struct str level, bool found,
					  int64_t now_ns)
{
	struct json *c = json_make_object(a);
	char *text, stamp[TIMESTAMP_SIZE];

	text = arena_printf(
		a,
		"This FlowSchema references the PriorityLevelConfiguration object named "
		"\"%.*s\" %s",
		STR_ARG(level), found ? "and it exists" : "but there is no such object");
	json_put_str(a, c, "type", STR("Dangling"));
	json_put_str(a, c, "status", found ? STR("False") : STR("True"));
	json_put_str(a, c, "lastTransitionTime",
		     arena_str(a, timestamp_print(now_ns, TIMESTAMP_SECONDS, stamp)));
	json_put_str(a, c, "reason", found ? STR("Found") : STR("NotFound"));
	json_put_str(a, c, "message", str_from(text));
	return c;
}

/* --- writing the defaults --------------------------------------------------------- */

/* If someone turned a suggestion's updates off, or changed it by hand, it stays as it is. */
static bool may_update(const struct json *there, const struct flow_default *d)
{
	const struct json *meta = json_getz(there, "metadata");
	struct str given = json_text_at(json_getz(meta, "annotations"), AUTOUPDATE);

	if (d->mandatory || str_eqz(given, "true"))
		return true;
	return !str_eqz(given, "false") && json_i64_at(meta, "generation", 1) == 1;
}

/*
 * The default's spec with the defaults of its kind, as it would be stored. If someone set values
 * in `exempt` of the level of that name, they are kept.
 */
static struct json *wanted_spec(struct arena *a, const struct schema_kind *k, enum flow_kind kind,
				const struct flow_default *d, const struct json *there)
{
	struct json *tree = flow_default_tree(a, kind, d), *spec, *kept = NULL;
	const struct json *exempt = json_getz(json_getz(there, "spec"), "exempt");

	(void)decode_fit(a, tree, k->type, NULL, NULL);
	defaults_fill(a, tree, k->type, 0);
	spec = json_getz(tree, "spec");
	if (exempt && json_getz(spec, "exempt") && json_copy(a, exempt, &kept, NULL) == 0)
		json_setz(spec, "exempt", kept);
	return spec;
}

/* A merge patch from `there` to `wanted`; removes extra members. */
static struct json *replacing(struct arena *a, const struct json *there, const struct json *wanted)
{
	struct json *patch = NULL;

	(void)json_copy(a, wanted, &patch, NULL);
	JSON_FOREACH (it, there) {
		struct json *in = json_get(patch, json_key(it));

		if (!in)
			json_set(patch, json_key(it), json_make_null(a));
		else if (json_is(it, JSON_OBJECT) && json_is(in, JSON_OBJECT))
			json_set(patch, json_key(it), replacing(a, it, in));
	}
	return patch;
}

static struct str level_of(const struct json *schema)
{
	return json_text_at(json_getz(json_getz(schema, "spec"), "priorityLevelConfiguration"),
			    "name");
}

static struct json *defaults_status_of(struct arena *a, struct str level, bool found,
				       int64_t now_ns)
{
	struct json *status = json_make_object(a), *list = json_make_array(a);

	json_append(list, defaults_condition_of(a, level, found, now_ns));
	json_setz(status, "conditions", list);
	return status;
}

static void create_one(struct ensure *e, const struct server *s, enum flow_kind kind,
		       const struct flow_default *d)
{
	struct arena *a = ensure_arena(e);
	struct json *tree = flow_default_tree(a, kind, d);

	json_setz(tree, "status",
		  kind == FLOW_SCHEMA
			  ? defaults_status_of(a, level_of(tree), true, clock_wall(s->clock))
			  : json_make_object(a));
	ensure_create_status(e, flow_kind(kind), tree, MANAGER);
}

static void ensure_one(struct ensure *e, const struct server *s, enum flow_kind kind,
		       const struct flow_default *d)
{
	const struct schema_kind *k = flow_kind(kind);
	struct arena *a = ensure_arena(e);
	struct json *there = ensure_tree(e, k, STR(""), str_from(d->name)), *wanted, *patch;

	if (!there) {
		create_one(e, s, kind, d);
		return;
	}
	wanted = wanted_spec(a, k, kind, d, there);
	if (!may_update(there, d) || json_equal(json_getz(there, "spec"), wanted))
		return;
	patch = json_make_object(a);
	json_setz(patch, "spec", replacing(a, json_getz(there, "spec"), wanted));
	ensure_patch(e, k, there, patch, MANAGER);
}

/* Sets the condition whether a schema's level exists, unless it is set already. */
static void ensure_status(struct ensure *e, const struct server *s, struct str name,
			  const struct json *known_levels)
{
	const struct schema_kind *k = flow_kind(FLOW_SCHEMA);
	struct arena *a = ensure_arena(e);
	struct json *there = ensure_tree(e, k, STR(""), name), *patch;
	struct str level = level_of(there);
	bool found = json_has_text(known_levels, level);
	const struct json *old;

	old = json_find(json_getz(json_getz(there, "status"), "conditions"), "type",
			STR("Dangling"));
	if (!there || (old && str_eqz(json_text_at(old, "status"), found ? "False" : "True")))
		return;
	patch = json_make_object(a);
	json_setz(patch, "status", defaults_status_of(a, level, found, clock_wall(s->clock)));
	ensure_patch_status(e, k, there, patch, CONSUMER);
}

static void defaults_on_done(void *arg, const struct error *err, bool outrun UNUSED)
{
	struct server *s = arg;

	if (err && !atomic_load(&s->stopping))
		log_warn(s->opts.log, "cannot write the default flow control objects",
			 LOG_ERR(err));
}

static void ensure_kind(struct ensure *e, const struct server *s, enum flow_kind kind)
{
	size_t n;
	const struct flow_default *v = flow_defaults(kind, &n);

	for (size_t i = 0; i < n; i++)
		ensure_one(e, s, kind, &v[i]);
}

void flow_defaults_ensure(struct server *s)
{
	struct ensure *e = ensure_new(s, defaults_on_done, s);
	const struct json *names, *known;

	ensure_kind(e, s, FLOW_LEVEL);
	ensure_kind(e, s, FLOW_SCHEMA);
	names = ensure_names(e, flow_kind(FLOW_SCHEMA), STR(""));
	known = ensure_names(e, flow_kind(FLOW_LEVEL), STR(""));
	JSON_FOREACH (it, names)
		ensure_status(e, s, json_str(it), known);
	ensure_end(e);
}
