/*
 * One function per kind of source; all fill one list. Error messages are upstream's, because people
 * search for them.
 */
#include "node/volumes/payload.h"

#include "node/node_limits.h"
#include "node/sources/sources.h"

enum { MODE_DEFAULT = 0644, PATH_LONGEST = 4096, NAME_LONGEST = 255 };

/* --- the list ------------------------------------------------------------------------------- */

void volume_payload_init(struct volume_payload *p, struct arena *a)
{
	vec_init(&p->files, VOLUME_FILES_MAX);
	map_init(&p->by_path);
	p->arena = a;
	p->bytes = 0;
}

void volume_payload_release(struct volume_payload *p)
{
	vec_release(&p->files);
	map_release(&p->by_path);
}

/* Checks a path and drops empty and "." parts. */
static int clean_path(struct str path, struct arena *a, struct str *ret_path, struct error *err)
{
	struct str rest = path, part;
	char *out = arena_alloc(a, path.n + 1);
	size_t n = 0;

	if (path.n == 0)
		return error_set(err, ERR_INVALID, "invalid path: must not be empty: \"\"");
	if (path.p[0] == '/')
		return error_set(err, ERR_INVALID, "invalid path: must be relative path: %.*s",
				 STR_ARG(path));
	if (path.n > PATH_LONGEST)
		return error_set(err, ERR_INVALID,
				 "invalid path: must be less than or equal to %d characters",
				 PATH_LONGEST);
	while (str_split(&rest, '/', &part)) {
		if (part.n == 0 || str_eqz(part, "."))
			continue;
		if (str_eqz(part, ".."))
			return error_set(err, ERR_INVALID,
					 "invalid path: must not contain '..': %.*s",
					 STR_ARG(path));
		if (part.n > NAME_LONGEST || memchr(part.p, '\0', part.n))
			return error_set(err, ERR_INVALID,
					 "invalid path: filenames must be less than or equal to %d "
					 "characters",
					 NAME_LONGEST);
		if (n == 0 && str_starts(part, STR("..")))
			return error_set(err, ERR_INVALID,
					 "invalid path: must not start with '..': %.*s",
					 STR_ARG(path));
		if (n > 0)
			out[n++] = '/';
		str_put(out + n, part);
		n += part.n;
	}
	if (n == 0)
		return error_set(err, ERR_INVALID, "invalid path: must not be empty: \"%.*s\"",
				 STR_ARG(path));
	out[n] = '\0';
	*ret_path = str_of(out, n);
	return 0;
}

int volume_payload_add(struct volume_payload *p, const struct volume_file *f, struct error *err)
{
	struct volume_file *made = ARENA_NEW(p->arena, struct volume_file), *old;
	int r;

	*made = *f;
	r = clean_path(f->path, p->arena, &made->path, err);
	if (r < 0)
		return r;
	p->bytes += f->data.n;
	old = map_get(&p->by_path, made->path);
	if (old)
		*old = *made;
	else if (p->bytes > VOLUME_BYTES_MAX || !vec_push(&p->files, made))
		return error_set(err, ERR_TOO_LARGE, "the volume's files are too large");
	(void)map_put(&p->by_path, made->path, old ? old : made);
	return 0;
}

/* --- ConfigMaps and Secrets ----------------------------------------------------------------- */

/* Defaults for files that set nothing else. */
struct defaults {
	unsigned mode;
	int64_t user;
};

static struct defaults defaults_of(const struct json *source)
{
	return (struct defaults){
		.mode = (unsigned)json_i64_at(source, "defaultMode", MODE_DEFAULT) & 07777,
		.user = json_i64_at(source, "defaultUser", -1),
	};
}

struct object {
	const struct json *source; /* with items, optional */
	const struct json *text, *binary; /* data */
	struct str kind; /* "configmap", "secret" */
	struct defaults defaults;
};

static int object_value(struct volume_payload *p, const struct object *o, struct str key,
			bool *ret_found, struct str *ret_value, struct error *err)
{
	const struct json *v = json_get(o->text, key);

	*ret_found = v != NULL;
	if (!v)
		return env_binary(o->binary, key, p->arena, ret_found, ret_value, err);
	*ret_value = json_str(v);
	return 0;
}

static int payload_add_key(struct volume_payload *p, const struct object *o, struct str key,
			   const struct json *item, struct error *err)
{
	struct volume_file f = { .path = item ? json_text_at(item, "path") : key,
				 .mode = (unsigned)json_i64_at(item, "mode", o->defaults.mode) &
					 07777,
				 .user = json_i64_at(item, "user", o->defaults.user) };
	bool found;
	int r;

	r = object_value(p, o, key, &found, &f.data, err);
	if (r < 0)
		return r;
	if (found)
		return volume_payload_add(p, &f, err);
	if (json_true_at(o->source, "optional"))
		return 0;
	if (str_eqz(o->kind, "secret"))
		return error_set(err, ERR_NOT_FOUND, "references non-existent secret key: %.*s",
				 STR_ARG(key));
	return error_set(err, ERR_NOT_FOUND, "configmap references non-existent config key: %.*s",
			 STR_ARG(key));
}

static int add_keys(struct volume_payload *p, const struct object *o, const struct json *map,
		    struct error *err)
{
	int r = 0;

	JSON_FOREACH (it, map) {
		r = payload_add_key(p, o, json_key(it), NULL, err);
		if (r < 0)
			break;
	}
	return r;
}

static int payload_add_object(struct volume_payload *p, const struct object *o, struct error *err)
{
	const struct json *items = json_getz(o->source, "items");
	int r = 0;

	if (json_count(items) == 0) {
		r = add_keys(p, o, o->text, err);
		return r < 0 ? r : add_keys(p, o, o->binary, err);
	}
	JSON_FOREACH (it, items) {
		r = payload_add_key(p, o, json_text_at(it, "key"), it, err);
		if (r < 0)
			break;
	}
	return r;
}

static int add_config_map(const struct volume_context *c, const struct json *source,
			  struct defaults defaults, struct volume_payload *p, struct error *err)
{
	struct object o = { .source = source, .kind = STR("configmap"), .defaults = defaults };
	struct str name = json_text_at(source, "name");
	const struct json *tree;

	tree = sources_config_map(c->env->sources, c->pod->ns, name, p->arena);
	if (!tree && !json_true_at(source, "optional"))
		return error_set(err, ERR_NOT_FOUND, "configmap \"%.*s\" not found", STR_ARG(name));
	o.text = json_getz(tree, "data");
	o.binary = json_getz(tree, "binaryData");
	return payload_add_object(p, &o, err);
}

static int add_secret(const struct volume_context *c, const struct json *source, struct str name,
		      struct defaults defaults, struct volume_payload *p, struct error *err)
{
	struct object o = { .source = source, .kind = STR("secret"), .defaults = defaults };
	const struct json *tree;

	tree = sources_secret(c->env->sources, c->pod->ns, name, p->arena);
	if (!tree && !json_true_at(source, "optional"))
		return error_set(err, ERR_NOT_FOUND, "secret \"%.*s\" not found", STR_ARG(name));
	o.binary = json_getz(tree, "data");
	return payload_add_object(p, &o, err);
}

/* --- fields and tokens ---------------------------------------------------------------------- */

static int add_field(const struct volume_context *c, const struct json *item,
		     struct defaults defaults, struct volume_payload *p, struct error *err)
{
	const struct json *field = json_getz(item, "fieldRef");
	const struct json *resource = json_getz(item, "resourceFieldRef");
	struct volume_file f = { .path = json_text_at(item, "path"),
				 .mode = (unsigned)json_i64_at(item, "mode", defaults.mode) & 07777,
				 .user = json_i64_at(item, "user", defaults.user) };
	int r = 0;

	if (field)
		r = env_field(c->pod, json_text_at(field, "fieldPath"), c->env, p->arena, &f.data,
			      err);
	else if (resource)
		r = env_resource(c->pod, NULL, resource, c->env, p->arena, &f.data, err);
	return r < 0 ? r : volume_payload_add(p, &f, err);
}

static int add_downward(const struct volume_context *c, const struct json *source,
			struct defaults defaults, struct volume_payload *p, struct error *err)
{
	int r = 0;

	JSON_FOREACH (it, json_getz(source, "items")) {
		r = add_field(c, it, defaults, p, err);
		if (r < 0)
			break;
	}
	return r;
}

/* Only its user may read a token: the pod's single user, or the group of fsGroup. */
static int add_token(const struct volume_context *c, const struct json *source,
		     struct defaults defaults, struct volume_payload *p, struct error *err)
{
	struct volume_file f = { .path = json_text_at(source, "path"),
				 .mode = defaults.mode,
				 .user = c->fs_user };
	int r;

	if (defaults.user >= 0)
		f.user = defaults.user;
	f.user = json_i64_at(source, "user", f.user);
	if (f.user >= 0 || c->fs_group >= 0)
		f.mode = 0600;
	r = c->token(c->arg, source, &f.data, err);
	return r < 0 ? r : volume_payload_add(p, &f, err);
}

/* --- projected ------------------------------------------------------------------------------ */

static int add_projection(const struct volume_context *c, const struct json *projection,
			  struct defaults defaults, struct volume_payload *p, struct error *err)
{
	const struct json *s;

	if ((s = json_getz(projection, "secret")))
		return add_secret(c, s, json_text_at(s, "name"), defaults, p, err);
	if ((s = json_getz(projection, "configMap")))
		return add_config_map(c, s, defaults, p, err);
	if ((s = json_getz(projection, "downwardAPI")))
		return add_downward(c, s, defaults, p, err);
	if ((s = json_getz(projection, "serviceAccountToken")))
		return add_token(c, s, defaults, p, err);
	s = json_first(projection);
	if (!s)
		return 0;
	return error_set(err, ERR_UNIMPLEMENTED,
			 "projected sources of type %.*s are not supported by this node",
			 STR_ARG(json_key(s)));
}

static int add_projected(const struct volume_context *c, const struct json *source,
			 struct volume_payload *p, struct error *err)
{
	int r = 0;

	JSON_FOREACH (it, json_getz(source, "sources")) {
		r = add_projection(c, it, defaults_of(source), p, err);
		if (r < 0)
			break;
	}
	return r;
}

int volume_payload_make(const struct volume_context *c, const struct json *volume,
			struct volume_payload *p, struct error *err)
{
	const struct json *s;

	if ((s = json_getz(volume, "configMap")))
		return add_config_map(c, s, defaults_of(s), p, err);
	if ((s = json_getz(volume, "secret")))
		return add_secret(c, s, json_text_at(s, "secretName"), defaults_of(s), p, err);
	if ((s = json_getz(volume, "downwardAPI")))
		return add_downward(c, s, defaults_of(s), p, err);
	return add_projected(c, json_getz(volume, "projected"), p, err);
}
