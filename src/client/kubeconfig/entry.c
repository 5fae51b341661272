/*
 * Clusters and users: a table of plain text members, then members that need more work. Every error
 * names the file and entry, and says what to write instead.
 */
#include "base/system/file.h"
#include "base/text/base64.h"
#include "client/kubeconfig/kubeconfig_impl.h"
#include "net/net_limits.h"

int kubeconfig_bad(const struct kubeconfig_entry *e, enum error_code code, struct error *err,
		   const char *text)
{
	return error_set(err, code, "%s: %s \"%.*s\": %s", e->file->name, e->what, STR_ARG(e->name),
			 text);
}

int kubeconfig_wrap(const struct kubeconfig_entry *e, int r, struct error *err)
{
	return error_wrap(err, r, "%s: %s \"%.*s\"", e->file->name, e->what, STR_ARG(e->name));
}

int kubeconfig_text(struct kubeconfig *k, const struct kubeconfig_entry *e, const char *member,
		    struct str *ret_text, struct error *err)
{
	const struct json *v = json_getz(e->fields, member);

	if (!v || v->type == JSON_NULL) {
		*ret_text = STR_NULL;
		return 0;
	}
	if (v->type != JSON_STRING) {
		(void)error_set(err, ERR_INVALID, "%s must be text: put it in quotes", member);
		return kubeconfig_wrap(e, -ERR_INVALID, err);
	}
	*ret_text = arena_str(&k->arena, json_str(v));
	return 0;
}

int kubeconfig_bool(const struct kubeconfig_entry *e, const char *member, bool *ret_value,
		    struct error *err)
{
	const struct json *v = json_getz(e->fields, member);

	*ret_value = false;
	if (!v || v->type == JSON_NULL || json_bool(v, ret_value))
		return 0;
	(void)error_set(err, ERR_INVALID, "%s must be true or false", member);
	return kubeconfig_wrap(e, -ERR_INVALID, err);
}

/* The path of a file; NULL if the member is absent. */
static int read_path(struct kubeconfig *k, const struct kubeconfig_entry *e, const char *member,
		     const char **ret_path, struct error *err)
{
	struct str text;
	int r = kubeconfig_text(k, e, member, &text, err);

	if (r < 0)
		return r;
	if (!text.n)
		*ret_path = NULL;
	else if (text.p[0] == '/')
		*ret_path = text.p;
	else
		*ret_path = arena_printf(&k->arena, "%s/%.*s", e->file->dir, STR_ARG(text));
	return 0;
}

int kubeconfig_read_file(struct kubeconfig *k, const char *path, struct str *ret_text,
			 struct error *err)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(PEM_FILE_MAX);
	int r = file_read(path, &b, err);

	if (r < 0)
		return r;
	*ret_text = arena_str(&k->arena, buf_str(&b));
	return 0;
}

/* Block scalars contain line breaks, which kubectl ignores. */
static int decode_data(struct kubeconfig *k, struct str text, struct str *ret_bytes,
		       struct error *err)
{
	CLEANUP(buf_release) struct buf packed = BUF_INIT(2 * PEM_FILE_MAX);
	CLEANUP(buf_release) struct buf out = BUF_INIT(PEM_FILE_MAX);
	int r;

	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] != '\n' && text.p[i] != '\r')
			(void)buf_addc(&packed, text.p[i]);
	if (packed.overflow)
		return error_set(err, ERR_TOO_LARGE, "it is larger than %zu bytes",
				 (size_t)PEM_FILE_MAX);
	r = base64_decode(&out, buf_str(&packed), BASE64_STD, err);
	if (r < 0)
		return r == -ERR_BAD_REQUEST ? error_set(err, ERR_INVALID, "it is not base64") : r;
	*ret_bytes = arena_str(&k->arena, buf_str(&out));
	return 0;
}

/* MEMBER-data, or the content of the file that MEMBER names. */
static int read_pem(struct kubeconfig *k, const struct kubeconfig_entry *e, const char *member,
		    struct str *ret_pem, const char **ret_path, struct error *err)
{
	const char *data_member = arena_printf(&k->arena, "%s-data", member);
	struct str data;
	int r;

	*ret_path = NULL;
	r = kubeconfig_text(k, e, data_member, &data, err);
	if (r < 0)
		return r;
	if (data.n) {
		r = decode_data(k, data, ret_pem, err);
		return r < 0 ? kubeconfig_wrap(e, error_wrap(err, r, "%s", data_member), err) : 0;
	}
	r = read_path(k, e, member, ret_path, err);
	if (r < 0 || !*ret_path)
		return r;
	r = kubeconfig_read_file(k, *ret_path, ret_pem, err);
	return r < 0 ? kubeconfig_wrap(e, error_wrap(err, r, "%s", member), err) : 0;
}

/* --- clusters -------------------------------------------------------------------------- */

static int check_cluster(struct kubeconfig *k, const struct kubeconfig_entry *e, struct error *err)
{
	struct str proxy;
	int r = kubeconfig_text(k, e, "proxy-url", &proxy, err);

	if (r < 0)
		return r;
	if (proxy.n)
		return kubeconfig_bad(
			e, ERR_UNIMPLEMENTED, err,
			"proxy-url is not supported: name a server that can be reached "
			"without a proxy");
	if (!k->server.n)
		return kubeconfig_bad(e, ERR_INVALID, err,
				      "it has no server: add one such as https://host:6443");
	if (k->insecure && k->ca.n)
		return kubeconfig_bad(
			e, ERR_INVALID, err,
			"certificate-authority and insecure-skip-tls-verify exclude each "
			"other: remove one of them");
	return 0;
}

int kubeconfig_read_cluster(struct kubeconfig *k, const struct kubeconfig_entry *e,
			    struct error *err)
{
	int r = kubeconfig_text(k, e, "server", &k->server, err);

	if (r == 0)
		r = kubeconfig_text(k, e, "tls-server-name", &k->tls_server_name, err);
	if (r == 0)
		r = kubeconfig_bool(e, "insecure-skip-tls-verify", &k->insecure, err);
	if (r == 0)
		r = read_pem(k, e, "certificate-authority", &k->ca, &k->ca_file, err);
	return r < 0 ? r : check_cluster(k, e, err);
}

/* --- users ------------------------------------------------------------------------------ */

/* Unsupported members that would change who the user is. */
static const struct {
	const char *member, *text;
} refused[] = {
	{ "auth-provider", "auth-provider is not supported: use exec, a token, a tokenFile or a "
			   "client certificate" },
};

static bool is_said(const struct json *v)
{
	return v && v->type != JSON_NULL && !(v->type == JSON_STRING && v->n == 0) &&
	       !(json_is_container(v) && v->n == 0);
}

/* The strings of an array, in the config's arena. */
static int read_texts(struct kubeconfig *k, const struct kubeconfig_entry *e,
		      const struct json *list, const char *member, struct str *out,
		      struct error *err)
{
	size_t n = 0;

	JSON_FOREACH (it, list) {
		if (it->type != JSON_STRING) {
			(void)error_set(err, ERR_INVALID, "%s must be a list of texts", member);
			return kubeconfig_wrap(e, -ERR_INVALID, err);
		}
		out[n++] = arena_str(&k->arena, json_str(it));
	}
	return 0;
}

static int read_groups(struct kubeconfig *k, const struct kubeconfig_entry *e, struct error *err)
{
	const struct json *list = json_getz(e->fields, "as-groups");

	if (!is_said(list))
		return 0;
	if (list->type != JSON_ARRAY) {
		(void)error_set(err, ERR_INVALID, "as-groups must be a list of texts");
		return kubeconfig_wrap(e, -ERR_INVALID, err);
	}
	k->as_groups = ARENA_ARRAY(&k->arena, struct str, list->n);
	k->nas_groups = list->n;
	return read_texts(k, e, list, "as-groups", k->as_groups, err);
}

/* Flattens a map of lists into pairs. */
static int read_extra(struct kubeconfig *k, const struct kubeconfig_entry *e, struct error *err)
{
	const struct json *map = json_getz(e->fields, "as-user-extra");
	struct str *values;
	size_t n = 0;
	int r;

	JSON_FOREACH (it, map)
		n += it->type == JSON_ARRAY ? it->n : 0;
	if (!is_said(map) || n == 0)
		return 0;
	k->as_extra = ARENA_ARRAY(&k->arena, struct kubeconfig_extra, n);
	JSON_FOREACH (it, map) {
		if (it->type != JSON_ARRAY)
			continue;
		values = ARENA_ARRAY(&k->arena, struct str, it->n);
		r = read_texts(k, e, it, "as-user-extra", values, err);
		if (r < 0)
			return r;
		for (size_t i = 0; i < it->n; i++)
			k->as_extra[k->nas_extra++] = (struct kubeconfig_extra){
				.key = arena_str(&k->arena, json_key(it)), .value = values[i]
			};
	}
	return 0;
}

/* As kubectl: without a user to impersonate, the other impersonation members are ignored. */
static int read_impersonation(struct kubeconfig *k, const struct kubeconfig_entry *e,
			      struct error *err)
{
	int r = kubeconfig_text(k, e, "as", &k->as, err);

	if (r == 0)
		r = kubeconfig_text(k, e, "as-uid", &k->as_uid, err);
	if (r == 0)
		r = read_groups(k, e, err);
	return r < 0 ? r : read_extra(k, e, err);
}

static int check_user(const struct kubeconfig *k, const struct kubeconfig_entry *e,
		      struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		if (is_said(json_getz(e->fields, refused[i].member)))
			return kubeconfig_bad(e, ERR_UNIMPLEMENTED, err, refused[i].text);
	if (k->cert.n && !k->key.n)
		return kubeconfig_bad(e, ERR_INVALID, err,
				      "client-certificate needs its key: add client-key or "
				      "client-key-data");
	if (k->key.n && !k->cert.n)
		return kubeconfig_bad(e, ERR_INVALID, err,
				      "client-key needs its certificate: add client-certificate or "
				      "client-certificate-data");
	if (k->username.n && (k->token.n || k->token_file))
		return kubeconfig_bad(
			e, ERR_INVALID, err,
			"a token and a username exclude each other: remove one of them");
	return 0;
}

/* The token file wins while it can be read; otherwise the inline token is used. */
static int read_token(struct kubeconfig *k, const struct kubeconfig_entry *e, struct error *err)
{
	struct str text;
	int r = kubeconfig_text(k, e, "token", &k->token, err);

	if (r == 0)
		r = read_path(k, e, "tokenFile", &k->token_file, err);
	if (r < 0 || !k->token_file)
		return r;
	r = kubeconfig_read_file(k, k->token_file, &text, err);
	if (r < 0)
		return k->token.n ? 0 : kubeconfig_wrap(e, error_wrap(err, r, "tokenFile"), err);
	while (text.n && strchr(" \t\r\n", text.p[text.n - 1]))
		text.n--;
	if (text.n)
		k->token = text;
	return k->token.n ? 0 : kubeconfig_bad(e, ERR_INVALID, err, "tokenFile is empty");
}

int kubeconfig_read_user(struct kubeconfig *k, const struct kubeconfig_entry *e, struct error *err)
{
	int r = read_pem(k, e, "client-certificate", &k->cert, &k->cert_file, err);

	if (r == 0)
		r = read_pem(k, e, "client-key", &k->key, &k->key_file, err);
	if (r == 0)
		r = read_token(k, e, err);
	if (r == 0)
		r = kubeconfig_text(k, e, "username", &k->username, err);
	if (r == 0)
		r = kubeconfig_text(k, e, "password", &k->password, err);
	if (r == 0)
		r = read_impersonation(k, e, err);
	if (r == 0)
		r = check_user(k, e, err);
	return r < 0 ? r : kubeconfig_read_exec(k, e, err);
}
