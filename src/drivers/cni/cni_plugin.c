/*
 * A table describes the commands. prevResult is copied as text: it may have numbers and members
 * that we don't know, and must be printed unchanged.
 */
#include "drivers/cni/cni_plugin.h"

#include "base/core/limits.h"
#include "base/json/cursor.h"
#include "base/json/writer.h"
#include "base/text/print.h"
#include "drivers/drivers_limits.h"

enum { IFNAME_MAX = 15, UID_MAX = 128 };

#define NEWEST "1.1.0"

/* In ascending order. */
static const char *const versions[] = { "0.3.0", "0.3.1", "0.4.0", "1.0.0", NEWEST };

static const struct {
	const char *name;
	const char *since; /* version */
	bool container; /* requires a container ID and an interface name */
	bool netns; /* requires a network namespace */
} commands[CNI_COMMANDS] = {
	[CNI_ADD] = { "ADD", "0.3.0", true, true },
	[CNI_DEL] = { "DEL", "0.3.0", true, false },
	[CNI_CHECK] = { "CHECK", "0.4.0", true, true },
	[CNI_STATUS] = { "STATUS", "1.1.0", false, false },
	[CNI_GC] = { "GC", "1.1.0", false, false },
	[CNI_VERSION] = { "VERSION", "0.3.0", false, false },
};

const char *cni_command_name(enum cni_command command)
{
	return commands[command].name;
}

/* --- the environment ---------------------------------------------------------------------- */

/* One parse; the first error is kept. */
struct reader {
	struct arena *arena;
	const char *(*env)(void *arg, const char *name);
	void *arg;
	struct cni_request *request;
	int code;
	struct error *err;
};

static int cni_plugin_fail(struct reader *r, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);

static int cni_plugin_fail(struct reader *r, int code, const char *fmt, ...)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(4 * KIB);
	va_list ap;

	va_start(ap, fmt);
	(void)buf_vprintf(&text, fmt, ap);
	va_end(ap);
	r->code = code;
	return error_set(r->err, ERR_INVALID, "%s", text.p ? text.p : "");
}

/* libcni's rule for IDs and network names, which makes them safe as file names. */
static bool cni_plugin_is_name(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		bool alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
			     (c >= 'A' && c <= 'Z');

		if (!alnum && (i == 0 || (c != '_' && c != '.' && c != '-')))
			return false;
	}
	return s.n > 0;
}

static bool is_ifname(struct str s)
{
	if (s.n == 0 || s.n > IFNAME_MAX || str_eqz(s, ".") || str_eqz(s, ".."))
		return false;
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] <= ' ' || s.p[i] == '/' || s.p[i] == ':')
			return false;
	return true;
}

static int cni_plugin_get(struct reader *r, const char *name, bool needed, struct str *ret_value)
{
	struct str v = str_from(r->env(r->arg, name));

	if (!str_is_utf8(v))
		return cni_plugin_fail(r, CNI_INVALID_ENVIRONMENT, "%s: must be UTF-8", name);
	if (needed && v.n == 0)
		return cni_plugin_fail(r, CNI_INVALID_ENVIRONMENT, "%s: must be set for %s", name,
				       cni_command_name(r->request->command));
	*ret_value = v;
	return 0;
}

static int read_command(struct reader *r)
{
	const char *name = r->env(r->arg, "CNI_COMMAND");

	if (!name || !*name)
		return cni_plugin_fail(r, CNI_INVALID_ENVIRONMENT, "CNI_COMMAND: must be set");
	for (int i = 0; i < CNI_COMMANDS; i++)
		if (strcmp(name, commands[i].name) == 0) {
			r->request->command = (enum cni_command)i;
			return 0;
		}
	return cni_plugin_fail(r, CNI_INVALID_ENVIRONMENT, "CNI_COMMAND: unknown command \"%s\"",
			       str_is_utf8(str_from(name)) ? name : "?");
}

/* "K8S_POD_NAME=a;K8S_POD_UID=b" */
static int cni_plugin_read_args(struct reader *r, struct str args)
{
	const struct {
		const char *key;
		struct str *to;
	} known[] = {
		{ "K8S_POD_UID", &r->request->pod_uid },
		{ "K8S_POD_NAME", &r->request->pod_name },
		{ "K8S_POD_NAMESPACE", &r->request->pod_namespace },
	};
	struct str pair;
	ptrdiff_t at;

	while (args.n > 0 && str_split(&args, ';', &pair)) {
		at = str_chr(pair, '=');
		if (at < 0)
			return cni_plugin_fail(r, CNI_INVALID_ENVIRONMENT,
					       "CNI_ARGS: \"%.*s\" is not KEY=VALUE",
					       STR_ARG(pair));
		for (size_t i = 0; i < ARRAY_SIZE(known); i++)
			if (str_eqz(str_of(pair.p, (size_t)at), known[i].key))
				*known[i].to = str_skip(pair, (size_t)at + 1);
	}
	if (r->request->pod_uid.n > 0 &&
	    (!cni_plugin_is_name(r->request->pod_uid) || r->request->pod_uid.n > UID_MAX))
		return cni_plugin_fail(r, CNI_INVALID_ENVIRONMENT,
				       "CNI_ARGS: K8S_POD_UID is not a UID: \"%.*s\"",
				       STR_ARG(r->request->pod_uid));
	return 0;
}

static int read_environment(struct reader *r)
{
	struct cni_request *q = r->request;
	bool container = commands[q->command].container, netns = commands[q->command].netns;
	struct str args = STR_NULL;
	int e;

	e = cni_plugin_get(r, "CNI_CONTAINERID", container, &q->container_id);
	if (e == 0)
		e = cni_plugin_get(r, "CNI_NETNS", netns, &q->netns);
	if (e == 0)
		e = cni_plugin_get(r, "CNI_IFNAME", container, &q->ifname);
	if (e == 0)
		e = cni_plugin_get(r, "CNI_PATH", false, &q->path);
	if (e == 0)
		e = cni_plugin_get(r, "CNI_ARGS", false, &args);
	if (e < 0)
		return e;
	if (container && !cni_plugin_is_name(q->container_id))
		return cni_plugin_fail(r, CNI_INVALID_ENVIRONMENT,
				       "CNI_CONTAINERID: \"%.*s\" is not a container ID",
				       STR_ARG(q->container_id));
	if (container && !is_ifname(q->ifname))
		return cni_plugin_fail(r, CNI_INVALID_ENVIRONMENT,
				       "CNI_IFNAME: \"%.*s\" is not an interface name",
				       STR_ARG(q->ifname));
	return cni_plugin_read_args(r, args);
}

/* --- the configuration -------------------------------------------------------------------- */

static int version_index(struct str version)
{
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
		if (str_eqz(version, versions[i]))
			return (int)i;
	return -1;
}

static int cni_plugin_check_version(struct reader *r)
{
	struct cni_request *q = r->request;
	const struct json *v = json_getz(q->config, "cniVersion");
	const char *since = commands[q->command].since;

	if (v && v->type != JSON_STRING)
		return cni_plugin_fail(r, CNI_DECODE, "cniVersion: must be text");
	if (version_index(json_str(v)) < 0)
		return cni_plugin_fail(
			r, CNI_INCOMPATIBLE,
			"cniVersion: \"%.*s\" is not supported; there are 0.3.0, 0.3.1, 0.4.0, "
			"1.0.0 and " NEWEST,
			STR_ARG(json_str(v)));
	q->version = json_str(v);
	if (version_index(q->version) < version_index(str_from(since)))
		return cni_plugin_fail(r, CNI_INCOMPATIBLE,
				       "cniVersion: \"%.*s\" does not support %s, which needs %s",
				       STR_ARG(q->version), cni_command_name(q->command), since);
	return 0;
}

/* The last member of that name, as in the parsed tree. */
static struct str raw_member(struct arena *a, struct str object, struct str name)
{
	struct json_cursor c = json_cursor_of(object);
	struct str key, raw, found = STR_NULL;
	enum json_cursor_type type;

	if (!json_cursor_enter(&c, '{'))
		return found;
	while (json_cursor_member(&c, &key, NULL) && json_cursor_value(&c, &raw, &type)) {
		key = json_cursor_text(
			key, str_chr(key, '\\') < 0 ? JSON_CURSOR_STRING : JSON_CURSOR_ESCAPED, a);
		if (str_eq(key, name))
			found = raw;
	}
	return found;
}

/* Must be a list: everything that is not in it is removed, so nothing else may count as empty. */
static int read_valid(struct reader *r)
{
	struct cni_request *q = r->request;
	const struct json *valid = json_getz(q->config, "cni.dev/valid-attachments");

	if (!valid)
		valid = json_getz(q->config, "cni.dev/attachments");
	if (!valid)
		return cni_plugin_fail(
			r, CNI_INVALID_CONFIG,
			"cni.dev/valid-attachments: is missing; for no attachments, set an "
			"empty list");
	q->valid = valid->type == JSON_NULL ? json_make_array(r->arena) : valid;
	if (q->valid->type != JSON_ARRAY)
		return cni_plugin_fail(r, CNI_INVALID_CONFIG,
				       "cni.dev/valid-attachments: must be a list");
	JSON_FOREACH (it, q->valid)
		if (!cni_plugin_is_name(json_text_at(it, "containerID")) ||
		    !is_ifname(json_text_at(it, "ifname")))
			return cni_plugin_fail(
				r, CNI_INVALID_CONFIG,
				"cni.dev/valid-attachments: must be a list of containerID and "
				"ifname");
	return 0;
}

static int read_results(struct reader *r, struct str input)
{
	struct cni_request *q = r->request;
	const struct json *prev = json_getz(q->config, "prevResult");

	if (prev && prev->type != JSON_NULL) {
		if (prev->type != JSON_OBJECT)
			return cni_plugin_fail(r, CNI_INVALID_CONFIG,
					       "prevResult: must be an object");
		q->prev_result = prev;
		q->prev_text = raw_member(r->arena, input, STR("prevResult"));
	}
	return q->command == CNI_GC ? read_valid(r) : 0;
}

static int read_where(struct reader *r)
{
	struct cni_request *q = r->request;
	const struct json *driver = json_getz(q->config, "driver");
	const struct json *root = json_getz(q->config, "rootDir");
	struct str path = json_str(root);

	q->driver = driver ? json_str(driver) : STR(CNI_DRIVER_DEFAULT);
	if (!cni_plugin_is_name(q->driver))
		return cni_plugin_fail(
			r, CNI_INVALID_CONFIG,
			"driver: must be a driver's name, such as " CNI_DRIVER_DEFAULT);
	q->root_dir = root ? path : STR(CNI_ROOT_DEFAULT);
	if (!str_starts(q->root_dir, STR("/")) || memchr(q->root_dir.p, 0, q->root_dir.n))
		return cni_plugin_fail(r, CNI_INVALID_CONFIG,
				       "rootDir: must be the kubelet's folder, an absolute path");
	return 0;
}

static int read_config(struct reader *r, struct str input)
{
	struct json *config;
	struct error why;
	int e;

	if (json_parse(r->arena, input, &(struct json_options){ .size_max = CNI_INPUT_MAX },
		       &config, &why) < 0)
		return cni_plugin_fail(r, CNI_DECODE, "the configuration cannot be read: %s",
				       why.msg);
	if (config->type != JSON_OBJECT)
		return cni_plugin_fail(r, CNI_DECODE, "the configuration must be an object");
	r->request->config = config;
	e = cni_plugin_check_version(r);
	r->request->network = json_text_at(config, "name");
	if (e == 0 && !cni_plugin_is_name(r->request->network))
		e = cni_plugin_fail(r, CNI_INVALID_CONFIG, "name: must be a network's name");
	if (e == 0)
		e = read_where(r);
	return e < 0 ? e : read_results(r, input);
}

/* VERSION works without a configuration; with one, the reply has its version. */
static void read_asked_version(struct reader *r, struct str input)
{
	struct json *v;

	if (json_parse(r->arena, input, &(struct json_options){ .size_max = CNI_INPUT_MAX }, &v,
		       NULL) == 0 &&
	    version_index(json_text_at(v, "cniVersion")) >= 0)
		r->request->version = json_text_at(v, "cniVersion");
}

int cni_request_read(struct arena *a, const char *(*env)(void *arg, const char *name), void *arg,
		     struct str input, struct cni_request *ret_request, int *ret_code,
		     struct error *err)
{
	struct reader r = {
		.arena = a, .env = env, .arg = arg, .request = ret_request, .err = err
	};
	int e;

	*ret_request = (struct cni_request){ .version = STR(NEWEST) };
	e = read_command(&r);
	if (e == 0 && ret_request->command == CNI_VERSION) {
		read_asked_version(&r, input);
		return 0;
	}
	if (e == 0)
		e = read_environment(&r);
	if (e == 0)
		e = read_config(&r, input);
	if (e < 0)
		*ret_code = r.code;
	return e;
}

/* --- what we print ------------------------------------------------------------------------ */

static void cni_plugin_begin(struct json_writer *w, struct buf *out, struct str version)
{
	json_writer_init(w, out, NULL);
	json_writer_begin_object(w);
	json_writer_keyz(w, "cniVersion");
	json_writer_str(w, version.n > 0 ? version : STR(NEWEST));
}

static void cni_plugin_end(struct json_writer *w, struct buf *out)
{
	json_writer_end_object(w);
	(void)json_writer_finish(w);
	(void)buf_addc(out, '\n');
}

void cni_print_result(struct buf *out, const struct cni_request *r)
{
	struct json_writer w;

	if (r->command != CNI_ADD)
		return;
	if (r->prev_text.n > 0) {
		(void)buf_add_str(out, r->prev_text);
		(void)buf_addc(out, '\n');
		return;
	}
	cni_plugin_begin(&w, out, r->version);
	json_writer_keyz(&w, "interfaces");
	json_writer_begin_array(&w);
	json_writer_end_array(&w);
	json_writer_keyz(&w, "ips");
	json_writer_begin_array(&w);
	json_writer_end_array(&w);
	cni_plugin_end(&w, out);
}

void cni_print_versions(struct buf *out, struct str version)
{
	struct json_writer w;

	cni_plugin_begin(&w, out, version);
	json_writer_keyz(&w, "supportedVersions");
	json_writer_begin_array(&w);
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
		json_writer_strz(&w, versions[i]);
	json_writer_end_array(&w);
	cni_plugin_end(&w, out);
}

static void print_words(struct json_writer *w, const char *key, const char *words)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(CNI_OUTPUT_MAX);

	(void)print_json(&text, str_from(words));
	json_writer_keyz(w, key);
	json_writer_raw(w, buf_str(&text));
}

void cni_print_error(struct buf *out, struct str version, int code, const char *message,
		     const char *details)
{
	struct json_writer w;

	cni_plugin_begin(&w, out, version);
	json_writer_keyz(&w, "code");
	json_writer_i64(&w, code);
	print_words(&w, "msg", message);
	if (details)
		print_words(&w, "details", details);
	cni_plugin_end(&w, out);
}

/* --- what others print -------------------------------------------------------------------- */

static enum error_code code_of(int64_t cni_code)
{
	switch (cni_code) {
	case CNI_TRY_AGAIN:
	case CNI_NOT_AVAILABLE:
		return ERR_UNAVAILABLE;
	case CNI_INCOMPATIBLE:
	case CNI_UNSUPPORTED_FIELD:
	case CNI_DECODE:
	case CNI_INVALID_CONFIG:
		return ERR_INVALID;
	default:
		return ERR_INTERNAL;
	}
}

/* Appends the text as one line for an error message, cut to what an error holds. */
static void cni_plugin_add_line(struct buf *line, struct str text)
{
	text = str_of(text.p, MIN(text.n, sizeof(((struct error *)NULL)->msg)));
	(void)print_utf8(line, text);
	for (size_t i = 0; i < line->n; i++)
		if ((unsigned char)line->p[i] < ' ')
			line->p[i] = ' ';
	while (line->n > 0 && line->p[line->n - 1] == ' ')
		line->p[--line->n] = 0;
}

static int fail_in_words(struct str text, const char *else_, struct error *err)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT(4 * KIB);

	cni_plugin_add_line(&line, text);
	return error_set(err, ERR_INTERNAL, "%s", line.n > 0 ? line.p : else_);
}

int cni_error_read(struct arena *a, struct str output, const char *else_, struct error *err)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT(4 * KIB);
	struct json_options o = { .size_max = CNI_OUTPUT_MAX };
	struct str msg, details;
	struct json *v;

	if (json_parse(a, output, &o, &v, NULL) < 0 || !json_text_at(v, "msg").p)
		return fail_in_words(output, else_, err);
	msg = json_text_at(v, "msg");
	details = json_text_at(v, "details");
	if (msg.n == 0 && details.n == 0)
		msg = str_from(else_);
	cni_plugin_add_line(&line, msg);
	if (details.n > 0) {
		(void)buf_addz(&line, line.n > 0 ? "; " : "");
		cni_plugin_add_line(&line, details);
	}
	return error_set(err, code_of(json_i64_at(v, "code", 0)), "%s",
			 line.n > 0 ? line.p : else_);
}

int cni_result_read(struct arena *a, struct str output, struct json **ret_result, struct error *err)
{
	struct json_options o = { .size_max = CNI_OUTPUT_MAX };
	struct error why;
	struct json *v;

	if (json_parse(a, output, &o, &v, &why) < 0)
		return error_set(err, ERR_PROTOCOL, "its result cannot be read: %s", why.msg);
	if (v->type != JSON_OBJECT)
		return error_set(err, ERR_PROTOCOL, "its result is not an object");
	*ret_result = v;
	return 0;
}

struct str cni_result_interface(const struct json *result)
{
	JSON_FOREACH (it, json_getz(result, "interfaces"))
		if (json_text_at(it, "sandbox").n > 0 && is_ifname(json_text_at(it, "name")))
			return json_text_at(it, "name");
	return STR_NULL;
}
