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
static const char *const configurable[] = { "PodSecurity" };

static int read_tree(const char *path, struct arena *a, struct json **ret_tree, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);
	int r = file_read(path, &text, err);

	if (r == 0)
		r = yaml_parse(a, arena_str(a, buf_str(&text)), NULL, ret_tree, err);
	return r < 0 ? error_wrap(err, r, "%s", path) : 0;
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

static int check_names(const struct json *plugins, struct error *err)
{
	JSON_FOREACH (it, plugins) {
		struct str name = json_text_at(it, "name");
		bool found = false;

		for (size_t i = 0; i < ARRAY_SIZE(configurable); i++)
			found = found || str_eqz(name, configurable[i]);
		if (!found)
			return error_set(err, ERR_INVALID,
					 "plugin \"%.*s\" has no configuration here: remove its "
					 "section; only PodSecurity has one",
					 STR_ARG(name));
	}
	return 0;
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

	if (r == 0)
		r = check_head(tree, err);
	if (r == 0)
		r = check_names(json_getz(tree, "plugins"), err);
	if (r < 0)
		return r;
	row = json_find(json_getz(tree, "plugins"), "name", str_from(plugin));
	file = json_text_at(row, "path");
	*ret_section = json_getz(row, "configuration");
	if (file.n && !*ret_section)
		r = read_tree(beside(path, file, a), a, ret_section, err);
	return r;
}
