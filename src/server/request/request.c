/*
 * The path. It is decoded as a whole and then split, as upstream does, so an escaped slash
 * separates like any other. Segments are numbered by hand: the forms differ in a prefix (/api/v1
 * or /apis/GROUP/VERSION), an optional "watch", and an optional namespace, and are the same after
 * that.
 */
#include "server/request/request.h"

#include "server/request/request_impl.h"

/* apis, group, version, watch, namespaces, ns, resource, name, subresource. */
enum { PARTS_MAX = 9 };

struct path {
	struct str parts[PARTS_MAX];
	size_t n;
	struct str rest; /* after the last part that fits */
	size_t hole; /* the first empty part, between two slashes; n: none */
};

static const char *const verb_names[REQUEST_VERBS] = {
	[REQUEST_NONE] = "",
	[REQUEST_GET] = "get",
	[REQUEST_LIST] = "list",
	[REQUEST_WATCH] = "watch",
	[REQUEST_CREATE] = "create",
	[REQUEST_UPDATE] = "update",
	[REQUEST_PATCH] = "patch",
	[REQUEST_DELETE] = "delete",
	[REQUEST_DELETE_COLLECTION] = "deletecollection",
};

const char *request_verb_name(enum request_verb verb)
{
	return verb_names[verb];
}

/* --- decoding --------------------------------------------------------------------- */

/* Names are used in keys, logs and replies, so a path that is not valid text is rejected early. */
static bool is_text(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c < 0x20 || c == 0x7f)
			return false;
	}
	return str_is_utf8(s);
}

static void cut_path(struct str path, struct path *ret_path)
{
	struct path p = { .hole = PARTS_MAX };
	struct str rest = path, part;

	while (rest.n && rest.p[0] == '/')
		rest = str_skip(rest, 1);
	while (rest.n && rest.p[rest.n - 1] == '/')
		rest.n--;
	while (rest.n && p.n < PARTS_MAX && str_split(&rest, '/', &part)) {
		if (part.n == 0)
			p.hole = MIN(p.hole, p.n);
		p.parts[p.n++] = part;
	}
	p.hole = MIN(p.hole, p.n);
	p.rest = rest;
	*ret_path = p;
}

/* --- path forms ------------------------------------------------------------------- */

static struct str part(const struct path *p, size_t i)
{
	return i < p->n ? p->parts[i] : STR_NULL;
}

/* Index of the first part after group and version; 0 if the path is not a resource's. */
static size_t take_version(struct request *r, const struct path *p)
{
	if (p->n >= 3 && str_eq(p->parts[0], STR("api"))) {
		r->version = p->parts[1];
		return 2;
	}
	if (p->n >= 4 && str_eq(p->parts[0], STR("apis"))) {
		r->group = p->parts[1];
		r->version = p->parts[2];
		return 3;
	}
	return 0;
}

/* A namespace is followed by a resource in it, or by one of its own subresources. */
static void take_resource(struct request *r, const struct path *p, size_t i)
{
	struct str inside = part(p, i + 2);

	if (str_eq(part(p, i), STR("namespaces")) && inside.n && !str_eq(inside, STR("status")) &&
	    !str_eq(inside, STR("finalize"))) {
		r->ns = part(p, i + 1);
		i += 2;
	}
	r->resource = part(p, i);
	r->name = part(p, i + 1);
	r->subresource = part(p, i + 2);
	r->rest = part(p, i + 3);
	if (r->rest.n)
		r->rest.n = (size_t)((p->rest.n ? p->rest.p + p->rest.n
						: p->parts[p->n - 1].p + p->parts[p->n - 1].n) -
				     r->rest.p);
	else
		r->rest = p->rest;
}

static enum request_verb verb_of(struct str method, bool named)
{
	if (str_eq(method, STR("GET")))
		return named ? REQUEST_GET : REQUEST_LIST;
	if (str_eq(method, STR("POST")))
		return REQUEST_CREATE;
	if (str_eq(method, STR("PUT")))
		return REQUEST_UPDATE;
	if (str_eq(method, STR("PATCH")))
		return REQUEST_PATCH;
	if (str_eq(method, STR("DELETE")))
		return named ? REQUEST_DELETE : REQUEST_DELETE_COLLECTION;
	return REQUEST_NONE;
}

static bool is_proxy(const struct request *r)
{
	return !r->group.n && r->name.n && str_eq(r->subresource, STR("proxy"));
}

/* Whether the subresource proxies its query to another server. If so, it is not parsed here. */
static bool request_connects(const struct request *r)
{
	static const char *const of_pods[] = { "log", "exec", "attach", "portforward" };

	if (r->group.n || !r->name.n)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(of_pods); i++)
		if (str_eqz(r->subresource, of_pods[i]) && str_eqz(r->resource, "pods"))
			return true;
	return is_proxy(r);
}

/* The text after that many parts of a path. */
static struct str tail_of(struct str path, size_t parts)
{
	size_t at = 0;

	while (at < path.n && path.p[at] == '/')
		at++;
	for (; at < path.n; at++)
		if (path.p[at] == '/' && --parts == 0)
			return str_skip(path, at);
	return STR_NULL;
}

static int parse_path(struct request *r, struct str method, struct str path, struct error *err)
{
	bool watch;
	struct path p;
	size_t at;

	cut_path(path, &p);
	at = take_version(r, &p);
	if (!at) {
		r->rest = path;
		return 0;
	}
	watch = str_eq(p.parts[at], STR("watch"));
	take_resource(r, &p, at + (watch ? 1 : 0));
	/* The path after a proxy is not checked here. */
	if (p.hole < (is_proxy(r) ? at + (r->ns.n ? 5 : 3) : p.n) || (watch && at + 1 == p.n))
		return error_set(err, ERR_NOT_FOUND, "no resource has this path");
	r->verb = verb_of(method, r->name.n > 0);
	if (str_eq(method, STR("HEAD")) && is_proxy(r))
		r->verb = REQUEST_GET;
	if (!watch)
		return 0;
	/* The deprecated form; upstream has it for collections and single objects. */
	if (r->subresource.n)
		return error_set(err, ERR_NOT_FOUND, "no resource has this path");
	r->verb = str_eq(method, STR("GET")) ? REQUEST_WATCH : REQUEST_NONE;
	r->watch = r->verb == REQUEST_WATCH;
	return 0;
}

int request_parse(struct request *r, struct arena *a, struct str method, struct str path,
		  struct str query, struct field_errors *errs, struct error *err)
{
	struct str text;
	int ret;

	*r = (struct request){ .revision = -1,
			       .timeout_s = -1,
			       .deadline_ms = -1,
			       .write.field_validation = WRITE_WARN };
	if (!request_unescape(a, path, false, &text) || !is_text(text))
		return error_set(err, ERR_BAD_REQUEST, "the path of the URL is malformed");
	ret = parse_path(r, method, text, err);
	if (ret < 0)
		return ret;
	if (request_connects(r)) {
		r->tail = tail_of(path, r->ns.n ? 7 : 5);
		return 0;
	}
	return request_parse_query(r, a, query, errs, err);
}
