/*
 * Reads profiles[]: plugins and their arguments. profile_new() checks whether a plugin exists,
 * since shared objects may add some.
 */
#include "scheduler/config/config_impl.h"

static const struct config_field plugin_fields[] = {
	{ "name", config_text, offsetof(struct config_plugin, name) },
	{ "weight", config_i32, offsetof(struct config_plugin, weight) },
	{ NULL, NULL, 0 },
};

static int read_plugin(struct config_reader *r, const struct json *v, const struct field_path *path,
		       void *to)
{
	struct field_path name = field_path_name(path, "name");
	struct config_plugin *p = to;
	int rc = config_object(r, v, path, plugin_fields, p);

	if (rc == 0 && p->name.n == 0)
		field_errors_required(&r->faults, &name, NULL);
	return rc;
}

static const struct config_field plugin_element = { "", read_plugin, 0 };

static int read_enabled(struct config_reader *r, const struct json *v,
			const struct field_path *path, void *to)
{
	struct config_set *s = to;

	return config_array(r, v, path, &plugin_element, sizeof(struct config_plugin),
			    (void **)&s->enabled, &s->nenabled);
}

static int read_disabled(struct config_reader *r, const struct json *v,
			 const struct field_path *path, void *to)
{
	struct config_set *s = to;

	return config_array(r, v, path, &plugin_element, sizeof(struct config_plugin),
			    (void **)&s->disabled, &s->ndisabled);
}

/* Plugins of upstream's past. */
static void check_removed(struct config_reader *r, const struct field_path *path, struct str name)
{
	static const char *const removed[] = { "AzureDiskLimits", "CinderLimits", "EBSLimits",
					       "GCEPDLimits" };

	for (size_t i = 0; i < ARRAY_SIZE(removed); i++) {
		if (str_eqz(name, removed[i]))
			field_errors_invalid(
				&r->faults, path, FIELD_STR(name),
				"was invalid in version \"v1\" (KubeSchedulerConfiguration is "
				"version \"kubescheduler.config.k8s.io/v1\")");
	}
}

static int read_set(struct config_reader *r, const struct json *v, const struct field_path *path,
		    void *to)
{
	static const struct config_field fields[] = {
		{ "enabled", read_enabled, 0 },
		{ "disabled", read_disabled, 0 },
		{ NULL, NULL, 0 },
	};
	struct field_path enabled = field_path_name(path, "enabled");
	struct config_set *s = to;
	int rc = config_object(r, v, path, fields, to);

	for (size_t i = 0; rc == 0 && i < s->nenabled; i++) {
		struct field_path at = field_path_index(&enabled, i);

		check_removed(r, &at, s->enabled[i].name);
	}
	return rc;
}

#define POINT(name, point)                                          \
	{                                                           \
		name, read_set,                                     \
			offsetof(struct config_profile, points) +   \
				(point) * sizeof(struct config_set) \
	}

/* Pod groups are not supported: their extension points are accepted without effect. */
static const struct config_field plugins_fields[] = {
	POINT("preEnqueue", POINT_PRE_ENQUEUE),
	POINT("queueSort", POINT_QUEUE_SORT),
	POINT("preFilter", POINT_PRE_FILTER),
	POINT("filter", POINT_FILTER),
	POINT("postFilter", POINT_POST_FILTER),
	POINT("preScore", POINT_PRE_SCORE),
	POINT("score", POINT_SCORE),
	POINT("reserve", POINT_RESERVE),
	POINT("permit", POINT_PERMIT),
	POINT("preBind", POINT_PRE_BIND),
	POINT("bind", POINT_BIND),
	POINT("postBind", POINT_POST_BIND),
	POINT("multiPoint", POINT_MULTI),
	{ "placementGenerate", config_ignored, 0 },
	{ "placementScore", config_ignored, 0 },
	{ "podGroupPostFilter", config_ignored, 0 },
	{ NULL, NULL, 0 },
};

static int read_plugins(struct config_reader *r, const struct json *v,
			const struct field_path *path, void *to)
{
	return config_object(r, v, path, plugins_fields, to);
}

static int read_args_object(struct config_reader *r, const struct json *v,
			    const struct field_path *path, void *to)
{
	if (!json_is(v, JSON_OBJECT)) {
		field_errors_invalid(&r->faults, path, FIELD_OMITTED, "must be an object");
		return 0;
	}
	*(const struct json **)to = v; /* the text's tree is in the arena */
	return 0;
}

/* If the arguments have a kind, it must be the one for the plugin's name. */
static int check_args_kind(struct config_reader *r, const struct config_plugin_args *a,
			   const struct field_path *path)
{
	CLEANUP(buf_release) struct buf at = BUF_INIT(256);
	struct str kind = json_text_at(a->args, "kind");

	if (!kind.p ||
	    (kind.n == a->name.n + 4 && str_starts(kind, a->name) && str_ends(kind, STR("Args"))))
		return 0;
	(void)field_path_print(path, &at);
	return error_set(r->err, ERR_INVALID,
			 "decoding .%.*s: args for plugin %.*s were not of type "
			 "%.*sArgs.kubescheduler.config.k8s.io, got %.*s",
			 STR_ARG(buf_str(&at)), STR_ARG(a->name), STR_ARG(a->name), STR_ARG(kind));
}

static int plugins_read_args(struct config_reader *r, const struct json *v,
			     const struct field_path *path, void *to)
{
	static const struct config_field fields[] = {
		{ "name", config_text, offsetof(struct config_plugin_args, name) },
		{ "args", read_args_object, offsetof(struct config_plugin_args, args) },
		{ NULL, NULL, 0 },
	};
	struct field_path name = field_path_name(path, "name");
	struct config_plugin_args *a = to;
	int rc = config_object(r, v, path, fields, a);

	if (rc < 0)
		return rc;
	if (a->name.n == 0)
		field_errors_required(&r->faults, &name, NULL);
	check_removed(r, path, a->name);
	return check_args_kind(r, a, path);
}

static int read_plugin_config(struct config_reader *r, const struct json *v,
			      const struct field_path *path, void *to)
{
	static const struct config_field element = { "", plugins_read_args, 0 };
	struct config_profile *p = to;
	int rc = config_array(r, v, path, &element, sizeof(*p->args), (void **)&p->args, &p->nargs);

	for (size_t i = 1; rc == 0 && i < p->nargs; i++) {
		struct field_path at = field_path_index(path, i);

		for (size_t k = 0; k < i; k++) {
			if (!str_eq(p->args[k].name, p->args[i].name))
				continue;
			field_errors_duplicate(&r->faults, &at, FIELD_STR(p->args[i].name));
			break;
		}
	}
	return rc;
}

static int read_profile(struct config_reader *r, const struct json *v,
			const struct field_path *path, void *to)
{
	static const struct config_field fields[] = {
		{ "schedulerName", config_text, offsetof(struct config_profile, name) },
		{ "percentageOfNodesToScore", config_i32,
		  offsetof(struct config_profile, percentage_of_nodes) },
		{ "plugins", read_plugins, 0 },
		{ "pluginConfig", read_plugin_config, 0 },
		{ NULL, NULL, 0 },
	};
	struct config_profile *p = to;

	p->percentage_of_nodes = INT32_MIN; /* not given */
	return config_object(r, v, path, fields, p);
}

int config_profiles(struct config_reader *r, const struct json *v, const struct field_path *path,
		    void *to UNUSED)
{
	static const struct config_field element = { "", read_profile, 0 };

	return config_array(r, v, path, &element, sizeof(struct config_profile),
			    (void **)&r->config->profiles, &r->config->nprofiles);
}
