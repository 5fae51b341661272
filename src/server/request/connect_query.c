/*
 * Each parameter is a row: its name here, its name at the kubelet, its type. Rows are ordered by
 * the names at the kubelet, which is the order in which upstream sends them. For repeated
 * parameters the first one counts, except for lists.
 */
#include "server/request/connect_query.h"

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/text/print.h"
#include "base/time/timestamp.h"
#include "net/net_limits.h"
#include "server/request/request.h"

enum param_type {
	PARAM_TEXT,
	PARAM_BOOL,
	PARAM_NUMBER,
	PARAM_TIME,
	PARAM_TEXTS, /* each sent as its own parameter */
	PARAM_PORTS, /* sent as one parameter, joined by commas */
};

enum { PARAMS_MAX = 10 };

struct param {
	const char *name;
	const char *kubelet; /* NULL: not sent */
	enum param_type type;
};

static const struct param log_params[] = {
	{ "container", NULL, PARAM_TEXT },
	{ "insecureSkipTLSVerifyBackend", NULL, PARAM_BOOL },
	{ "stream", NULL, PARAM_TEXT },
	{ "follow", "follow", PARAM_BOOL },
	{ "limitBytes", "limitBytes", PARAM_NUMBER },
	{ "previous", "previous", PARAM_BOOL },
	{ "sinceSeconds", "sinceSeconds", PARAM_NUMBER },
	{ "sinceTime", "sinceTime", PARAM_TIME },
	{ "tailLines", "tailLines", PARAM_NUMBER },
	{ "timestamps", "timestamps", PARAM_BOOL },
};
/* Rows of the above. */
enum { LOG_SKIP_VERIFY = 1, LOG_STREAM, LOG_LIMIT = 4, LOG_SECONDS = 6, LOG_TIME, LOG_TAIL };

static const struct param exec_params[] = {
	{ "container", NULL, PARAM_TEXT },  { "command", "command", PARAM_TEXTS },
	{ "stderr", "error", PARAM_BOOL },  { "stdin", "input", PARAM_BOOL },
	{ "stdout", "output", PARAM_BOOL }, { "tty", "tty", PARAM_BOOL },
};

static const struct param attach_params[] = {
	{ "container", NULL, PARAM_TEXT }, { "stderr", "error", PARAM_BOOL },
	{ "stdin", "input", PARAM_BOOL },  { "stdout", "output", PARAM_BOOL },
	{ "tty", "tty", PARAM_BOOL },
};

static const struct param forward_params[] = {
	{ "ports", "port", PARAM_PORTS },
};

struct options {
	const char *subresource;
	const struct param *params;
	size_t n;
	const char *yes; /* the kubelet's text for true */
};

static const struct options options[] = {
	{ "log", log_params, ARRAY_SIZE(log_params), "true" },
	{ "exec", exec_params, ARRAY_SIZE(exec_params), "1" },
	{ "attach", attach_params, ARRAY_SIZE(attach_params), "1" },
	{ "portforward", forward_params, ARRAY_SIZE(forward_params), "1" },
};

struct value {
	bool given, on;
	int64_t number;
	struct str text;
	struct buf list; /* for PARAM_TEXTS and PARAM_PORTS: the text to send */
};

struct reading {
	const struct options *of;
	struct value values[PARAMS_MAX];
	struct arena *arena;
};

/* --- text ------------------------------------------------------------------------- */

void connect_escape(struct buf *out, struct str s, bool form)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
			     (c >= 'a' && c <= 'z') || c == '-' || c == '_' || c == '.' || c == '~';

		if (plain)
			(void)buf_addc(out, (char)c);
		else if (form && c == ' ')
			(void)buf_addc(out, '+');
		else
			(void)buf_printf(out, "%%%02X", c);
	}
}

static void send(struct buf *out, const char *name, struct str value)
{
	if (out->n)
		(void)buf_addc(out, '&');
	(void)buf_printf(out, "%s=", name);
	connect_escape(out, value, true);
}

/* --- reading ---------------------------------------------------------------------- */

/* Sent in whole seconds. */
static int connect_query_read_time(struct reading *r, struct value *v, struct str text,
				   struct error *err)
{
	CLEANUP(buf_release) struct buf quoted = BUF_INIT(4 * text.n + 16);
	char printed[TIMESTAMP_SIZE];
	int64_t ns;

	if (!text.n || str_eqz(text, "null")) {
		v->given = false;
		return 0;
	}
	if (timestamp_parse(text, &ns, NULL) < 0) {
		(void)print_quoted(&quoted, text);
		return error_set(err, ERR_BAD_REQUEST,
				 "parsing time %.*s as \"2006-01-02T15:04:05Z07:00\": cannot parse "
				 "it",
				 STR_ARG(buf_str(&quoted)));
	}
	v->text = arena_str(r->arena, timestamp_print(ns, TIMESTAMP_SECONDS, printed));
	return 0;
}

static int read_port(struct value *v, struct str text, struct error *err)
{
	int64_t port;
	int r = request_read_i64(text, &port, err);

	if (r < 0)
		return r;
	(void)buf_printf(&v->list, "%s%lld", v->list.n ? "," : "", (long long)(int32_t)port);
	return 0;
}

static int read_value(struct reading *r, const struct param *p, struct value *v, struct str text,
		      struct error *err)
{
	bool first = !v->given;

	v->given = true;
	if (p->type == PARAM_TEXTS) {
		send(&v->list, p->kubelet, text);
		return 0;
	}
	if (p->type == PARAM_PORTS)
		return read_port(v, text, err);
	if (!first)
		return 0;
	if (p->type == PARAM_NUMBER)
		return request_read_i64(text, &v->number, err);
	if (p->type == PARAM_TIME)
		return connect_query_read_time(r, v, text, err);
	if (p->type == PARAM_BOOL)
		v->on = request_read_bool(text);
	else
		v->text = arena_str(r->arena, text);
	return 0;
}

static int connect_query_read_all(struct reading *r, struct str query, struct error *err)
{
	struct str name, value;
	int ret = 0;

	while (ret == 0 && request_param(&query, r->arena, &name, &value))
		for (size_t i = 0; i < r->of->n && ret == 0; i++)
			if (str_eqz(name, r->of->params[i].name))
				ret = read_value(r, &r->of->params[i], &r->values[i], value, err);
	return ret;
}

/* --- checking --------------------------------------------------------------------- */

static void check_least(const struct reading *r, size_t row, int64_t least, const char *detail,
			struct field_errors *errs)
{
	struct field_path path = field_path_name(NULL, r->of->params[row].name);
	const struct value *v = &r->values[row];

	if (v->given && v->number < least)
		field_errors_invalid(errs, &path, FIELD_I64(v->number), detail);
}

static void check_log(const struct reading *r, struct field_errors *errs)
{
	struct field_path stream = field_path_name(NULL, "stream"),
			  none = field_path_name(NULL, "");

	check_least(r, LOG_TAIL, 0, "must be greater than or equal to 0", errs);
	check_least(r, LOG_LIMIT, 1, "must be greater than 0", errs);
	if (r->values[LOG_SECONDS].given && r->values[LOG_TIME].given)
		field_errors_forbidden(
			errs, &none,
			"at most one of `sinceTime` or `sinceSeconds` may be specified");
	else
		check_least(r, LOG_SECONDS, 1, "must be greater than 0", errs);
	/* As upstream with the feature gate PodLogsQuerySplitStreams off. */
	if (r->values[LOG_STREAM].given)
		field_errors_forbidden(errs, &stream, "may not be specified");
}

/* --- the kubelet's ---------------------------------------------------------------- */

static void send_value(const struct reading *r, const struct param *p, const struct value *v,
		       struct buf *out)
{
	char digits[24];

	switch (p->type) {
	case PARAM_BOOL:
		if (v->on)
			send(out, p->kubelet, str_from(r->of->yes));
		break;
	case PARAM_NUMBER:
		(void)snprintf(digits, sizeof(digits), "%lld", (long long)v->number);
		send(out, p->kubelet, str_from(digits));
		break;
	case PARAM_TEXTS:
		(void)buf_addz(out, out->n ? "&" : "");
		(void)buf_add_str(out, buf_str(&v->list));
		break;
	case PARAM_PORTS:
		send(out, p->kubelet, buf_str(&v->list));
		break;
	default:
		send(out, p->kubelet, v->text);
		break;
	}
}

static struct str print_all(const struct reading *r)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(4 * HTTP_TARGET_MAX);

	for (size_t i = 0; i < r->of->n; i++)
		if (r->of->params[i].kubelet && r->values[i].given)
			send_value(r, &r->of->params[i], &r->values[i], &out);
	return arena_str(r->arena, buf_str(&out));
}

int connect_query_parse(struct str subresource, struct str query, struct arena *a,
			struct connect_query *ret_query, struct field_errors *errs,
			struct error *err)
{
	struct reading r = { .of = options, .arena = a };
	bool log;
	int ret;

	while (!str_eqz(subresource, r.of->subresource))
		r.of++;
	for (size_t i = 0; i < PARAMS_MAX; i++)
		buf_init(&r.values[i].list, 4 * HTTP_TARGET_MAX);
	log = r.of == options;
	ret = connect_query_read_all(&r, query, err);
	if (ret == 0 && log)
		check_log(&r, errs);
	if (ret == 0 && field_errors_any(errs))
		ret = error_set(err, ERR_INVALID, "%s", "");
	if (ret == 0)
		*ret_query = (struct connect_query){ .container = r.values[0].text,
						     .kubelet = print_all(&r),
						     .skip_verify = log &&
								    r.values[LOG_SKIP_VERIFY].on };
	for (size_t i = 0; i < PARAMS_MAX; i++)
		buf_release(&r.values[i].list);
	return ret;
}
