/*
 * A parameter that is unknown, repeated or empty is an error: a mistake must not be answered as if
 * something else had been asked.
 */
#include "web/explain/query.h"

#include "base/json/writer.h"
#include "base/text/base64.h"
#include "net/net_limits.h"
#include "web/web_limits.h"

enum { NAME_MAX_BYTES = 253, ARGS_MAX = 10 };

/* --- the query ------------------------------------------------------------------------------ */

static bool explain_is_name(struct str s)
{
	if (!s.n || s.n > NAME_MAX_BYTES || !str_is_alnum(s.p[0]))
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (!str_is_alnum(s.p[i]) && !str_is_one_of(s.p[i], "-."))
			return false;
	return true;
}

static int explain_take(struct str *field, struct str key, struct str value, struct error *err)
{
	if (field->p)
		return error_set(err, ERR_BAD_REQUEST, "%.*s is given twice", STR_ARG(key));
	if (!explain_is_name(value))
		return error_set(err, ERR_BAD_REQUEST, "%.*s: \"%.*s\" is not a valid name",
				 STR_ARG(key), (int)MIN(value.n, (size_t)100), value.p);
	*field = value;
	return 0;
}

static int explain_take_cluster(struct explain_query *q, struct str value, struct error *err)
{
	if (str_to_u64(value, &q->cluster))
		return 0;
	return error_set(err, ERR_BAD_REQUEST,
			 "cluster must be the number in a path that /ui/clusters lists");
}

int explain_query_read(struct str query, struct explain_query *q, struct error *err)
{
	struct str pod = STR_NULL, claim = STR_NULL, key, value;
	int r = 0;

	*q = (struct explain_query){ .pod = false };
	while (r == 0 && str_split(&query, '&', &value)) {
		(void)str_split(&value, '=', &key);
		if (str_eqz(key, "namespace"))
			r = explain_take(&q->ns, key, value, err);
		else if (str_eqz(key, "pod"))
			r = explain_take(&pod, key, value, err);
		else if (str_eqz(key, "claim"))
			r = explain_take(&claim, key, value, err);
		else if (str_eqz(key, "node"))
			r = explain_take(&q->node, key, value, err);
		else if (str_eqz(key, "cluster"))
			r = explain_take_cluster(q, value, err);
		else
			r = error_set(
				err, ERR_BAD_REQUEST,
				"unknown parameter: use namespace, pod, claim, node, cluster");
	}
	if (r < 0)
		return r;
	q->pod = pod.p != NULL;
	q->name = pod.p ? pod : claim;
	if (!q->ns.p || !pod.p == !claim.p)
		return error_set(err, ERR_BAD_REQUEST,
				 "name a namespace, and in it a pod or a claim");
	return 0;
}

struct str explain_query_path(const struct explain_query *q, struct arena *a)
{
	return str_from(arena_printf(
		a, "%s/namespaces/%.*s/%s/%.*s", q->pod ? "/api/v1" : "/apis/resource.k8s.io/v1",
		STR_ARG(q->ns), q->pod ? "pods" : "resourceclaims", STR_ARG(q->name)));
}

struct str explain_query_print(const struct explain_query *q, struct arena *a)
{
	return str_from(arena_printf(a, "namespace=%.*s&%s=%.*s%s%.*s", STR_ARG(q->ns),
				     q->pod ? "pod" : "claim", STR_ARG(q->name),
				     q->node.n ? "&node=" : "", STR_ARG(q->node)));
}

/* --- the command ---------------------------------------------------------------------------- */

const char *const *explain_query_argv(const struct explain_query *q,
				      const struct explain_access *to, struct arena *a)
{
	const char **v = ARENA_ARRAY(a, const char *, ARGS_MAX);
	size_t n = 0;

	v[n++] = "/proc/self/exe";
	v[n++] = "explain-fit";
	v[n++] = arena_printf(a, "%s/%.*s", q->pod ? "pod" : "claim", STR_ARG(q->name));
	v[n++] = arena_printf(a, "--namespace=%.*s", STR_ARG(q->ns));
	v[n++] = "--output=json";
	v[n++] = arena_printf(a, "--max-objects=%d", EXPLAIN_OBJECTS);
	if (q->node.n)
		v[n++] = arena_printf(a, "--node=%.*s", STR_ARG(q->node));
	if (to->kubeconfig)
		v[n++] = arena_printf(a, "--kubeconfig=%s", to->kubeconfig);
	if (to->context.n)
		v[n++] = arena_printf(a, "--context=%.*s", STR_ARG(to->context));
	v[n] = NULL;
	return v;
}

static void config_begin(struct json_writer *w, const char *list, const char *what)
{
	json_writer_keyz(w, list);
	json_writer_begin_array(w);
	json_writer_begin_object(w);
	json_writer_keyz(w, "name");
	json_writer_strz(w, "page");
	json_writer_keyz(w, what);
	json_writer_begin_object(w);
}

static void config_end(struct json_writer *w)
{
	json_writer_end_object(w);
	json_writer_end_object(w);
	json_writer_end_array(w);
}

static void config_put(struct json_writer *w, const char *key, struct str text)
{
	if (!text.n)
		return;
	json_writer_keyz(w, key);
	json_writer_str(w, text);
}

static void config_cluster(struct json_writer *w, const struct explain_server *to)
{
	CLEANUP(buf_release) struct buf ca = BUF_INIT(base64_encoded_size(PEM_FILE_MAX));

	(void)base64_encode(&ca, to->ca, BASE64_STD);
	config_begin(w, "clusters", "cluster");
	config_put(w, "server", to->url);
	config_put(w, "tls-server-name", to->tls_server_name);
	config_put(w, "certificate-authority-data", buf_str(&ca));
	if (to->insecure) {
		json_writer_keyz(w, "insecure-skip-tls-verify");
		json_writer_bool(w, true);
	}
	config_end(w);
}

struct str explain_query_kubeconfig(const struct explain_server *to, struct arena *a)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(2 * PEM_FILE_MAX + 2 * JWT_MAX);
	struct json_writer w;

	json_writer_init(&w, &text, NULL);
	json_writer_begin_object(&w);
	config_put(&w, "apiVersion", STR("v1"));
	config_put(&w, "kind", STR("Config"));
	config_put(&w, "current-context", STR("page"));
	config_cluster(&w, to);
	config_begin(&w, "users", "user");
	config_put(&w, "token", to->token);
	config_end(&w);
	config_begin(&w, "contexts", "context");
	config_put(&w, "cluster", STR("page"));
	config_put(&w, "user", STR("page"));
	config_end(&w);
	json_writer_end_object(&w);
	return json_writer_finish(&w) < 0 ? STR_NULL : arena_str(a, buf_str(&text));
}
