/*
 * Each kind is a row of members, with the names of the query's parameters. As upstream prints
 * them: false and empty values are left out, except for a command.
 */
#include "server/request/connect_options.h"

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/json/json.h"
#include "net/net_limits.h"
#include "server/request/connect_query.h"
#include "server/request/request.h"

enum member_type {
	MEMBER_TEXT,
	MEMBER_BOOL,
	MEMBER_TEXTS,
	MEMBER_PORTS,
};

enum { MEMBERS_MAX = 6 };

struct member {
	const char *name; /* NULL: end of the table */
	enum member_type type;
};

static const struct options {
	const char *kind;
	struct member members[MEMBERS_MAX];
} kinds[] = {
	{ "PodExecOptions",
	  { { "stdin", MEMBER_BOOL },
	    { "stdout", MEMBER_BOOL },
	    { "stderr", MEMBER_BOOL },
	    { "tty", MEMBER_BOOL },
	    { "container", MEMBER_TEXT },
	    { "command", MEMBER_TEXTS } } },
	{ "PodAttachOptions",
	  { { "stdin", MEMBER_BOOL },
	    { "stdout", MEMBER_BOOL },
	    { "stderr", MEMBER_BOOL },
	    { "tty", MEMBER_BOOL },
	    { "container", MEMBER_TEXT } } },
	{ "PodPortForwardOptions", { { "ports", MEMBER_PORTS } } },
	{ "PodProxyOptions", { { "path", MEMBER_TEXT } } },
	{ "NodeProxyOptions", { { "path", MEMBER_TEXT } } },
	{ "ServiceProxyOptions", { { "path", MEMBER_TEXT } } },
};

static const struct options *options_of(struct str kind)
{
	const struct options *o = kinds;

	while (o < kinds + ARRAY_SIZE(kinds) && !str_eqz(kind, o->kind))
		o++;
	return o < kinds + ARRAY_SIZE(kinds) ? o : NULL;
}

static const struct member *member_of(const struct options *o, struct str name)
{
	for (const struct member *m = o->members; m < o->members + MEMBERS_MAX && m->name; m++)
		if (str_eqz(name, m->name))
			return m;
	return NULL;
}

/* --- reading ---------------------------------------------------------------------- */

static int read_port(struct arena *a, struct json *options, const char *name, struct str text,
		     struct error *err)
{
	int64_t port;
	int r = request_read_i64(text, &port, err);

	if (r == 0)
		json_append(json_need_array(a, options, name), json_make_i64(a, (int32_t)port));
	return r;
}

/* `again`: the parameter is repeated, which counts only for lists. */
static int read_member(struct arena *a, struct json *options, const struct member *m,
		       struct str text, bool again, struct error *err)
{
	if (m->type == MEMBER_PORTS)
		return read_port(a, options, m->name, text, err);
	if (m->type == MEMBER_TEXTS)
		json_append(json_need_array(a, options, m->name),
			    json_make_str(a, arena_str(a, text)));
	else if (m->type == MEMBER_BOOL && !again && request_read_bool(text))
		json_put_bool(a, options, m->name, true);
	else if (m->type == MEMBER_TEXT && !again && text.n)
		json_put_str(a, options, m->name, arena_str(a, text));
	return 0;
}

static int read_query(struct arena *a, const struct options *o, struct str query,
		      struct json *options, struct error *err)
{
	bool seen[MEMBERS_MAX] = { 0 };
	struct str name, value;
	int r = 0;

	while (r == 0 && request_param(&query, a, &name, &value)) {
		const struct member *m = member_of(o, name);

		if (!m)
			continue;
		r = read_member(a, options, m, value, seen[m - o->members], err);
		seen[m - o->members] = true;
	}
	return r;
}

int connect_options_read(struct arena *a, struct str kind, struct str query, struct str tail,
			 struct json **ret_options, struct error *err)
{
	const struct options *o = options_of(kind);
	struct json *options = json_make_object(a);
	struct str path;
	int r = 0;

	if (!o)
		return error_set(err, ERR_BAD_REQUEST, "nobody knows options of kind \"%.*s\"",
				 STR_ARG(kind));
	json_put_str(a, options, "kind", str_from(o->kind));
	json_put_str(a, options, "apiVersion", STR("v1"));
	if (!member_of(o, STR("path")))
		r = read_query(a, o, query, options, err);
	else if (!request_unescape(a, tail, false, &path))
		r = error_set(err, ERR_BAD_REQUEST, "the path cannot be read");
	else if (path.n)
		json_put_str(a, options, "path", path);
	if (r == 0 && member_of(o, STR("command")) && !json_getz(options, "command"))
		json_setz(options, "command", json_make_null(a));
	if (r == 0)
		*ret_options = options;
	return r;
}

bool connect_options_given(struct arena *a, struct str query, const char *name)
{
	struct str key, value;
	bool found = false;

	while (!found && request_param(&query, a, &key, &value))
		found = str_eqz(key, name);
	return found;
}

/* --- changed options -------------------------------------------------------------- */

static bool is_list_of(const struct json *v, enum json_type type)
{
	if (!json_is(v, JSON_ARRAY))
		return false;
	JSON_FOREACH (it, v)
		if (it->type != type)
			return false;
	return true;
}

static bool is_list_of_ports(const struct json *v)
{
	if (!json_is(v, JSON_ARRAY))
		return false;
	JSON_FOREACH (it, v) {
		int64_t port;

		if (!json_i64(it, &port) || port < INT32_MIN || port > INT32_MAX)
			return false;
	}
	return true;
}

static bool is_of_type(const struct json *v, enum member_type type)
{
	bool ignored;

	switch (type) {
	case MEMBER_BOOL:
		return json_bool(v, &ignored);
	case MEMBER_TEXTS:
		return is_list_of(v, JSON_STRING);
	case MEMBER_PORTS:
		return is_list_of_ports(v);
	default:
		return json_is(v, JSON_STRING);
	}
}

int connect_options_fit(struct json *options, struct error *err)
{
	const struct options *o = options_of(json_text_at(options, "kind"));

	if (!o)
		return error_set(err, ERR_BAD_REQUEST, "the object is of no kind any more");
	JSON_FOREACH_SAFE (it, options) {
		const struct member *m = member_of(o, json_key(it));
		struct str key = json_key(it);

		if (str_eqz(key, "kind") || str_eqz(key, "apiVersion"))
			continue;
		if (!m) {
			(void)json_unlink(options, it);
			continue;
		}
		if (it->type != JSON_NULL && !is_of_type(it, m->type))
			return error_set(err, ERR_BAD_REQUEST, "%s.%s is of another type", o->kind,
					 m->name);
	}
	return 0;
}

/* --- sending ---------------------------------------------------------------------- */

static void add_param(struct buf *out, const char *name, struct str value)
{
	(void)buf_printf(out, "%s%s=", out->n ? "&" : "", name);
	connect_escape(out, value, true);
}

static void connect_options_add_number(struct buf *out, const char *name, const struct json *v)
{
	int64_t number = 0;

	(void)json_i64(v, &number);
	(void)buf_printf(out, "%s%s=%lld", out->n ? "&" : "", name, (long long)number);
}

static void add_member(struct buf *out, const struct member *m, const struct json *v)
{
	bool on = false;

	switch (m->type) {
	case MEMBER_BOOL:
		if (json_bool(v, &on) && on)
			add_param(out, m->name, STR("true"));
		break;
	case MEMBER_TEXTS:
		JSON_FOREACH (it, v)
			add_param(out, m->name, json_str(it));
		break;
	case MEMBER_PORTS:
		JSON_FOREACH (it, v)
			connect_options_add_number(out, m->name, it);
		break;
	default:
		add_param(out, m->name, json_str(v));
		break;
	}
}

/* A text that does not fit into a target must not be sent in part. */
static int connect_options_finish(struct arena *a, struct buf *out, struct str *ret_text,
				  struct error *err)
{
	if (out->n > HTTP_TARGET_MAX)
		return error_set(err, ERR_TOO_LARGE, "the options take more than %lu KiB",
				 HTTP_TARGET_MAX / KIB);
	*ret_text = arena_str(a, buf_str(out));
	return 0;
}

int connect_options_query(struct arena *a, const struct json *options, struct str *ret_query,
			  struct error *err)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(4 * HTTP_TARGET_MAX);
	const struct options *o = options_of(json_text_at(options, "kind"));

	for (const struct member *m = o->members; m < o->members + MEMBERS_MAX && m->name; m++)
		if (json_getz(options, m->name))
			add_member(&out, m, json_getz(options, m->name));
	return connect_options_finish(a, &out, ret_query, err);
}

int connect_options_path(struct arena *a, const struct json *options, struct str *ret_path,
			 struct error *err)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(4 * HTTP_TARGET_MAX);
	struct str path = json_text_at(options, "path"), part;

	if (str_starts(path, STR("/")))
		path = str_skip(path, 1);
	(void)buf_addc(&out, '/');
	for (bool first = true; str_split(&path, '/', &part); first = false) {
		(void)buf_addz(&out, first ? "" : "/");
		connect_escape(&out, part, false);
	}
	return connect_options_finish(a, &out, ret_path, err);
}
