/*
 * All faults are found before anything is read.
 */
#include "scheduler/plugins/fit_args.h"

#include "base/text/names.h"
#include "scheduler/framework/common.h"

static const struct {
	const char *name;
	resource_score_fn *score;
} strategies[] = {
	{ "LeastAllocated", resource_score_least },
	{ "MostAllocated", resource_score_most },
	{ "RequestedToCapacityRatio", resource_score_shaped },
};

static resource_score_fn *find_strategy(struct str name)
{
	for (size_t i = 0; i < ARRAY_SIZE(strategies); i++)
		if (str_eqz(name, strategies[i].name))
			return strategies[i].score;
	return NULL;
}

static void fit_args_check_names(const struct json *args, const char *field, bool groups,
				 struct field_errors *faults)
{
	struct field_path path = field_path_name(NULL, field);
	size_t i = 0;

	JSON_FOREACH (v, json_getz(args, field)) {
		struct field_path item = field_path_index(&path, i++);
		struct names_faults found = { .n = 0 };
		struct str name = json_str(v);

		if (groups && str_chr(name, '/') >= 0)
			field_errors_invalid(faults, &item, FIELD_STR(name),
					     "resource group name can't contain '/'");
		names_key_faults(name, &found);
		for (size_t k = 0; k < found.n; k++)
			field_errors_invalid(faults, &item, FIELD_STR(name), found.text[k]);
	}
}

static void check_strategy(const struct json *strategy, struct field_errors *faults)
{
	static const struct str supported[] = { REASON("LeastAllocated"), REASON("MostAllocated"),
						REASON("RequestedToCapacityRatio") };
	struct field_path path = field_path_name(NULL, "scoringStrategy");
	struct field_path type = field_path_name(&path, "type");
	struct field_path resources = field_path_name(&path, "resources");
	struct field_path ratio = field_path_name(&path, "requestedToCapacityRatio");
	struct field_path shape = field_path_name(&ratio, "shape");
	const struct json *given = json_getz(strategy, "requestedToCapacityRatio");
	struct str name = json_text_at(strategy, "type");

	if (!strategy)
		return;
	if (!find_strategy(name))
		field_errors_not_supported(faults, &type, FIELD_STR(name), supported,
					   ARRAY_SIZE(supported));
	resource_scores_check(json_getz(strategy, "resources"), &resources, faults);
	if (!str_eqz(name, "RequestedToCapacityRatio")) {
		if (given)
			field_errors_forbidden(
				faults, &ratio,
				"must be nil when type is not RequestedToCapacityRatio");
		return;
	}
	if (given)
		resource_shape_check(json_getz(given, "shape"), &shape, faults);
	else
		field_errors_required(faults, &ratio,
				      "must be specified when type is RequestedToCapacityRatio");
}

static int check_fields(const struct json *args, struct error *err)
{
	static const char *const fields[] = { "ignoredResources", "ignoredResourceGroups",
					      "scoringStrategy", NULL };
	static const char *const strategy[] = { "type", "resources", "requestedToCapacityRatio",
						NULL };
	static const char *const resource[] = { "name", "weight", NULL };
	static const char *const point[] = { "utilization", "score", NULL };
	const struct json *given = json_getz(args, "scoringStrategy");
	const struct json *ratio = json_getz(given, "requestedToCapacityRatio");
	int r = plugin_args_check(args, "NodeResourcesFitArgs", fields, err);

	if (r == 0)
		r = plugin_args_fields(given, "scoringStrategy", strategy, err);
	JSON_FOREACH (v, json_getz(given, "resources"))
		if (r == 0)
			r = plugin_args_fields(v, "scoringStrategy.resources", resource, err);
	JSON_FOREACH (v, json_getz(ratio, "shape"))
		if (r == 0)
			r = plugin_args_fields(v, "scoringStrategy.requestedToCapacityRatio.shape",
					       point, err);
	return r;
}

static int fit_args_keep(struct fit_args *s, const struct json *list, const struct json **ret_list,
			 struct error *err)
{
	struct json *copy;
	int r;

	if (json_count(list) == 0)
		return 0;
	r = json_copy(&s->arena, list, &copy, err);
	if (r == 0)
		*ret_list = copy;
	return r;
}

int fit_args_read(struct fit_args *s, struct amount_names *names, const struct json *args,
		  struct error *err)
{
	const struct json *strategy = json_getz(args, "scoringStrategy");
	struct field_errors faults;
	int r = check_fields(args, err);

	if (r < 0)
		return r;
	field_errors_init(&faults, &s->arena);
	fit_args_check_names(args, "ignoredResources", false, &faults);
	fit_args_check_names(args, "ignoredResourceGroups", true, &faults);
	check_strategy(strategy, &faults);
	r = plugin_args_verdict(&faults, err);
	if (r == 0)
		r = fit_args_keep(s, json_getz(args, "ignoredResources"), &s->ignored, err);
	if (r == 0)
		r = fit_args_keep(s, json_getz(args, "ignoredResourceGroups"), &s->ignored_groups,
				  err);
	if (r < 0)
		return r;
	resource_scores_read(&s->scores, &s->arena, names, json_getz(strategy, "resources"));
	s->scores.score = strategy ? find_strategy(json_text_at(strategy, "type"))
				   : resource_score_least;
	resource_shape_read(&s->scores, &s->arena,
			    json_getz(json_getz(strategy, "requestedToCapacityRatio"), "shape"));
	return 0;
}
