/*
 * Documents are counted from 1 in the order of the file; errors name the number only if there are
 * several.
 */
#include "cli/connect/manifest.h"

#include <dirent.h>
#include <sys/stat.h>

#include "base/core/limits.h"
#include "base/json/json.h"
#include "base/system/file.h"
#include "base/yaml/yaml.h"

#define FILE_MAX (64UL * MIB) /* bytes of a file, which limits its content */

struct reader {
	struct manifest *manifest;
	struct arena *arena;
	const char *file; /* as the user calls it */
};

static void manifest_add(struct reader *r, struct manifest_item item)
{
	if (!item.where)
		item.where = r->file;
	(void)vec_push(&r->manifest->items, item);
}

static void add_error(struct reader *r, const char *where, const struct error *err)
{
	manifest_add(r, (struct manifest_item){ .err = *err, .where = where });
}

const char *manifest_name(struct arena *a, const struct json *tree)
{
	struct str kind = arena_lower(a, json_text_at(tree, "kind"));
	struct str name = json_text_at(json_getz(tree, "metadata"), "name");

	if (kind.n == 0)
		return name.n == 0 ? "an object without kind and name" : arena_strdup(a, name);
	return arena_printf(a, "%.*s/%.*s", STR_ARG(kind), STR_ARG(name));
}

/* --- one object ------------------------------------------------------------------------------ */

static void manifest_add_object(struct reader *r, struct json *tree, const char *where)
{
	const char *missing = NULL;
	struct error err;

	if (!json_is(tree, JSON_OBJECT))
		missing = "this is not an object";
	else if (json_text_at(tree, "apiVersion").n == 0)
		missing = "apiVersion is not set";
	else if (json_text_at(tree, "kind").n == 0)
		missing = "kind is not set";
	else if (json_text_at(json_getz(tree, "metadata"), "name").n == 0)
		missing = "metadata.name is not set";
	if (!missing) {
		manifest_add(r, (struct manifest_item){ .tree = tree, .where = where });
		return;
	}
	(void)error_set(
		&err, ERR_BAD_REQUEST, "%s",
		json_is(tree, JSON_OBJECT)
			? arena_printf(r->arena, "%s: %s", manifest_name(r->arena, tree), missing)
			: missing);
	add_error(r, where, &err);
}

static void add_document(struct reader *r, struct json *tree, const char *where)
{
	struct json *items = json_getz(tree, "items");
	size_t n = 0;

	if (!str_ends(json_text_at(tree, "kind"), STR("List")) || !json_is(items, JSON_ARRAY)) {
		manifest_add_object(r, tree, where);
		return;
	}
	JSON_FOREACH (item, items)
		manifest_add_object(r, item, arena_printf(r->arena, "%s, item %zu", where, ++n));
}

/* --- files ----------------------------------------------------------------------------------- */

static void read_yaml(struct reader *r, struct str text)
{
	CLEANUP(yaml_reader_free) struct yaml_reader *y = yaml_reader_new(text, NULL);
	struct json *tree, *first = NULL;
	struct error err;
	size_t n = 0;
	int ret;

	while ((ret = yaml_reader_next(y, r->arena, &tree, &err)) > 0) {
		if (++n == 1) {
			first = tree;
			continue;
		}
		if (n == 2)
			add_document(r, first, arena_printf(r->arena, "%s, document 1", r->file));
		add_document(r, tree, arena_printf(r->arena, "%s, document %zu", r->file, n));
	}
	if (n == 1)
		add_document(r, first,
			     ret < 0 ? arena_printf(r->arena, "%s, document 1", r->file) : r->file);
	if (ret < 0)
		add_error(r, arena_printf(r->arena, "%s, document %zu", r->file, n + 1), &err);
}

static void read_json(struct reader *r, struct str text)
{
	struct json *tree;
	struct error err;

	if (json_parse(r->arena, text, NULL, &tree, &err) < 0)
		add_error(r, r->file, &err);
	else
		add_document(r, tree, r->file);
}

static void read_file(struct reader *r, const char *path)
{
	struct buf *content = ARENA_NEW(r->arena, struct buf);
	struct error err;

	r->file = strcmp(path, "-") == 0 ? "standard input" : path;
	buf_init(content, FILE_MAX);
	/* JSON trees point into the text. */
	arena_hold(r->arena, (void (*)(void *))buf_release, content);
	if (file_read(path, content, &err) < 0)
		add_error(r, r->file, &err);
	else if (yaml_is_json(buf_str(content)))
		read_json(r, buf_str(content));
	else
		read_yaml(r, buf_str(content));
}

static int is_manifest(const struct dirent *e)
{
	struct str name = str_from(e->d_name);

	return str_ends(name, STR(".yaml")) || str_ends(name, STR(".yml")) ||
	       str_ends(name, STR(".json"));
}

static void read_folder(struct reader *r, const char *path)
{
	struct dirent **v = NULL;
	size_t n_path = strlen(path);
	struct error err;
	int n = scandir(path, &v, is_manifest, alphasort);

	r->file = path;
	while (n_path > 1 && path[n_path - 1] == '/')
		n_path--;
	if (n <= 0) {
		(void)error_set(&err, ERR_NOT_FOUND,
				"this folder has no .yaml, .yml or .json file that can be read");
		add_error(r, path, &err);
	}
	for (int i = 0; i < n; i++) {
		read_file(r, arena_printf(r->arena, "%.*s/%s", (int)n_path, path, v[i]->d_name));
		free(v[i]);
	}
	free(v);
}

void manifest_read(struct manifest *m, struct arena *a, const struct flag_list *files)
{
	struct reader r = { .manifest = m, .arena = a };
	struct stat st;

	vec_init(&m->items, SIZE_MAX / sizeof(struct manifest_item));
	for (size_t i = 0; i < files->n; i++) {
		if (stat(files->v[i], &st) == 0 && S_ISDIR(st.st_mode))
			read_folder(&r, files->v[i]);
		else
			read_file(&r, files->v[i]);
	}
}

void manifest_release(struct manifest *m)
{
	vec_release(&m->items);
}
