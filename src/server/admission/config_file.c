/*
 * A file that a section names is relative to the folder of the configuration.
 */
#include "server/admission/config_file.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/json/json.h"
#include "base/system/file.h"
#include "base/yaml/yaml.h"

/* Upstream's plugins that have a configuration, as far as there is something to configure. */
static const struct str configurable[] = { STR("EventRateLimit"), STR("PodSecurity") };

/* --- checking ----------------------------------------------------------------------- */

static void refuse_type(struct field_errors *errs, const struct field_path *at, const char *must)
{
	field_errors_add(errs, FIELD_TYPE_INVALID, at, FIELD_OMITTED, str_from(must));
}

void admission_config_object(struct field_errors *errs, const struct field_path *at,
			     const struct json *object, const char *const *known, size_t n)
{
	if (object && !json_is(object, JSON_OBJECT))
		refuse_type(errs, at, "must be an object");
	JSON_FOREACH (it, object) {
		struct field_path member = { at, json_key(it), 0, FIELD_PATH_NAME };
		bool found = false;

		for (size_t i = 0; i < n && !found; i++)
			found = str_eqz(json_key(it), known[i]);
		if (!found)
			field_errors_forbidden(errs, &member, "unknown field");
	}
}

struct str admission_config_text(struct field_errors *errs, const struct field_path *at,
				 const struct json *text)
{
	if (text && !json_is(text, JSON_STRING))
		refuse_type(errs, at, "must be a string");
	return json_str(text);
}

const struct json *admission_config_list(struct field_errors *errs, const struct field_path *at,
					 const struct json *list)
{
	if (list && !json_is(list, JSON_ARRAY))
		refuse_type(errs, at, "must be a list");
	return json_is(list, JSON_ARRAY) ? list : NULL;
}

int admission_config_verdict(const struct field_errors *errs, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(4 * KIB);

	if (!field_errors_any(errs))
		return 0;
	(void)field_errors_aggregate(errs, &text);
	return error_set(err, ERR_INVALID, "%.*s", STR_ARG(buf_str(&text)));
}

static int check_head(const struct json *tree, struct error *err)
{
	struct str version = json_text_at(tree, "apiVersion");

	if (str_eqz(json_text_at(tree, "kind"), "AdmissionConfiguration") &&
	    (str_eqz(version, "apiserver.config.k8s.io/v1") ||
	     str_eqz(version, "apiserver.config.k8s.io/v1alpha1") ||
	     str_eqz(version, "apiserver.k8s.io/v1alpha1")))
		return 0;
	return error_set(err, ERR_INVALID,
			 "expected an AdmissionConfiguration of apiserver.config.k8s.io/v1");
}

static void check_plugin(struct field_errors *errs, const struct field_path *at,
			 const struct json *plugin)
{
	static const char *const known[] = { "name", "path", "configuration" };
	struct field_path name_at = field_path_name(at, "name");
	struct field_path path_at = field_path_name(at, "path");
	struct str name;

	admission_config_object(errs, at, plugin, known, ARRAY_SIZE(known));
	name = admission_config_text(errs, &name_at, json_getz(plugin, "name"));
	(void)admission_config_text(errs, &path_at, json_getz(plugin, "path"));
	for (size_t i = 0; i < ARRAY_SIZE(configurable); i++)
		if (str_eq(name, configurable[i]))
			return;
	field_errors_not_supported(errs, &name_at, FIELD_STR(name), configurable,
				   ARRAY_SIZE(configurable));
}

static int check_tree(const struct json *tree, struct arena *a, struct error *err)
{
	static const char *const known[] = { "apiVersion", "kind", "plugins" };
	struct field_path plugins_at = field_path_name(NULL, "plugins");
	struct field_errors errs;
	size_t i = 0;
	int r = check_head(tree, err);

	if (r < 0)
		return r;
	field_errors_init(&errs, a);
	admission_config_object(&errs, NULL, tree, known, ARRAY_SIZE(known));
	JSON_FOREACH (it, admission_config_list(&errs, &plugins_at, json_getz(tree, "plugins"))) {
		struct field_path at = field_path_index(&plugins_at, i++);

		check_plugin(&errs, &at, it);
	}
	return admission_config_verdict(&errs, err);
}

/* --- reading ------------------------------------------------------------------------ */

static int read_tree(const char *path, struct arena *a, struct json **ret_tree, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);
	int r = file_read(path, &text, err);

	if (r < 0)
		return r;
	r = yaml_parse(a, buf_str(&text), NULL, ret_tree, err);
	return r < 0 ? error_wrap(err, r, "%s", path) : 0;
}

static const char *beside(const char *path, struct str name, struct arena *a)
{
	const char *slash = strrchr(path, '/');

	if (!slash || str_starts(name, STR("/")))
		return arena_strdup(a, name);
	return arena_printf(a, "%.*s%.*s", (int)(slash + 1 - path), path, STR_ARG(name));
}

int admission_config_section(const char *path, const char *plugin, struct arena *a,
			     struct json **ret_section, struct error *err)
{
	struct json *tree = NULL, *row;
	struct str file;
	int r = read_tree(path, a, &tree, err);

	if (r < 0)
		return r;
	r = check_tree(tree, a, err);
	if (r < 0)
		return error_wrap(err, r, "%s", path);
	row = json_find(json_getz(tree, "plugins"), "name", str_from(plugin));
	file = json_text_at(row, "path");
	*ret_section = json_getz(row, "configuration");
	if (file.n && !*ret_section)
		r = read_tree(beside(path, file, a), a, ret_section, err);
	return r;
}
