/*
 * PodTopologySpreadArgs: defaultingType System uses built-in constraints, List uses the given ones.
 */
#include "base/report/field_errors.h"
#include "base/text/names.h"
#include "scheduler/topology/spread.h"

static const struct str actions[] = { REASON("DoNotSchedule"), REASON("ScheduleAnyway") };
static const struct str types[] = { REASON("System"), REASON("List") };

static void spread_args_check_key(struct str key, const struct field_path *path,
				  struct field_errors *faults)
{
	struct names_faults found = { .n = 0 };

	if (key.n == 0) {
		field_errors_required(faults, path, "can not be empty");
		return;
	}
	names_key_faults(key, &found);
	for (size_t i = 0; i < found.n; i++)
		field_errors_invalid(faults, path, FIELD_STR(key), found.text[i]);
}

static void check_action(struct str action, const struct field_path *path,
			 struct field_errors *faults)
{
	if (action.n == 0)
		field_errors_required(faults, path, "can not be empty");
	else if (!str_eq(action, actions[0]) && !str_eq(action, actions[1]))
		field_errors_not_supported(faults, path, FIELD_STR(action), actions,
					   ARRAY_SIZE(actions));
}

static bool repeats(const struct json *list, const struct json *v)
{
	JSON_FOREACH (other, list) {
		if (other == v)
			return false;
		if (str_eq(json_text_at(other, "topologyKey"), json_text_at(v, "topologyKey")) &&
		    str_eq(json_text_at(other, "whenUnsatisfiable"),
			   json_text_at(v, "whenUnsatisfiable")))
			return true;
	}
	return false;
}

static void check_constraint(struct spread_args *s, const struct json *list, const struct json *v,
			     const struct field_path *path, struct field_errors *faults)
{
	struct field_path skew = field_path_name(path, "maxSkew");
	struct field_path key = field_path_name(path, "topologyKey");
	struct field_path action = field_path_name(path, "whenUnsatisfiable");
	struct field_path selector = field_path_name(path, "labelSelector");

	if (json_i64_at(v, "maxSkew", 0) <= 0)
		field_errors_invalid(faults, &skew, FIELD_I64(json_i64_at(v, "maxSkew", 0)),
				     "not in valid range (0, inf)");
	spread_args_check_key(json_text_at(v, "topologyKey"), &key, faults);
	check_action(json_text_at(v, "whenUnsatisfiable"), &action, faults);
	if (json_is(json_getz(v, "labelSelector"), JSON_OBJECT))
		field_errors_forbidden(
			faults, &selector,
			"constraint must not define a selector, as they deduced for each pod");
	if (repeats(list, v))
		field_errors_duplicate(
			faults, path,
			FIELD_STR(str_from(arena_printf(
				&s->arena, "{%.*s, %.*s}", STR_ARG(json_text_at(v, "topologyKey")),
				STR_ARG(json_text_at(v, "whenUnsatisfiable"))))));
}

static int spread_args_check(struct spread_args *s, struct str type, const struct json *list,
			     struct error *err)
{
	static const char *const fields[] = {
		"maxSkew",          "topologyKey",    "whenUnsatisfiable",
		"labelSelector",    "minDomains",     "nodeAffinityPolicy",
		"nodeTaintsPolicy", "matchLabelKeys", NULL
	};
	struct field_path path = field_path_name(NULL, "defaultConstraints");
	struct field_path where = field_path_name(NULL, "defaultingType");
	struct field_errors faults;
	size_t i = 0;

	field_errors_init(&faults, &s->arena);
	if (!str_eq(type, types[0]) && !str_eq(type, types[1]))
		field_errors_not_supported(&faults, &where, FIELD_STR(type), types,
					   ARRAY_SIZE(types));
	else if (str_eq(type, types[0]) && json_count(list) > 0)
		field_errors_invalid(&faults, &where, FIELD_STR(type),
				     "when .defaultConstraints are not empty");
	JSON_FOREACH (v, list) {
		struct field_path item = field_path_index(&path, i++);
		int r = plugin_args_fields(v, "defaultConstraints", fields, err);

		if (r < 0)
			return r;
		check_constraint(s, list, v, &item, &faults);
	}
	return plugin_args_verdict(&faults, err);
}

static void use_system(struct spread_args *s)
{
	s->system = true;
	s->ndefaults = 2;
	s->defaults = ARENA_ARRAY(&s->arena, struct spread_constraint, 2);
	for (size_t i = 0; i < 2; i++)
		s->defaults[i] = (struct spread_constraint){
			.max_skew = i == 0 ? 3 : 5,
			.min_domains = 1,
			.topology_key = i == 0 ? LABEL_HOSTNAME : LABEL_ZONE,
			.schedule_anyway = true,
			.honor_affinity = true,
		};
}

int spread_args_read(struct spread_args *s, const struct json *args, struct error *err)
{
	static const char *const fields[] = { "defaultConstraints", "defaultingType", NULL };
	const struct json *list = json_getz(args, "defaultConstraints");
	struct str type = json_text_at(args, "defaultingType");
	int r = plugin_args_check(args, "PodTopologySpreadArgs", fields, err);

	if (type.n == 0)
		type = types[0];
	if (r == 0)
		r = spread_args_check(s, type, list, err);
	if (r < 0)
		return r;
	if (str_eq(type, types[0])) {
		use_system(s);
		return 0;
	}
	s->defaults = ARENA_ARRAY(&s->arena, struct spread_constraint, json_count(list));
	JSON_FOREACH (v, list)
		s->defaults[s->ndefaults++] = (struct spread_constraint){
			.max_skew = (int32_t)json_i64_at(v, "maxSkew", 1),
			.min_domains = (int32_t)json_i64_at(v, "minDomains", 1),
			.topology_key = arena_str(&s->arena, json_text_at(v, "topologyKey")),
			.schedule_anyway = str_eq(json_text_at(v, "whenUnsatisfiable"), actions[1]),
			.honor_affinity = !str_eqz(json_text_at(v, "nodeAffinityPolicy"), "Ignore"),
			.honor_taints = str_eqz(json_text_at(v, "nodeTaintsPolicy"), "Honor"),
		};
	return 0;
}
