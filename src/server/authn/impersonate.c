/*
 * Impersonate-* headers. The caller needs a right for each part: the user, every group, every
 * value of every extra field, the uid. Groups that follow from the name are implied and need no
 * right.
 */
#include "server/authn/authn.h"

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "net/http/http.h"
#include "net/net_limits.h"
#include "server/authz/authz.h"
#include "server/request/request.h"

#define EXTRA_PREFIX   STR("impersonate-extra-")
#define GROUP_FIELD    STR("impersonate-group")
#define AUTHENTICATION STR("authentication.k8s.io")

/* --- reading ----------------------------------------------------------------------------- */

static struct user_extra *extra_of(struct user_extra *extras, size_t *n, struct str key,
				   struct arena *a)
{
	for (size_t i = 0; i < *n; i++)
		if (str_eq(extras[i].key, key))
			return &extras[i];
	extras[*n].key = key;
	extras[*n].values = ARENA_ARRAY(a, struct str, HTTP_HEADER_COUNT_MAX);
	return &extras[(*n)++];
}

static void read_extras(const struct http_fields *fields, struct arena *a, struct user *u)
{
	struct user_extra *extras = NULL, *e;
	size_t n = 0;

	for (size_t i = 0; i < fields->n; i++) {
		const struct http_field *f = &fields->v[i];
		struct str name, text;

		if (!str_starts(f->name, EXTRA_PREFIX))
			continue;
		if (!extras)
			extras = ARENA_ARRAY(a, struct user_extra, fields->n);
		name = str_skip(f->name, EXTRA_PREFIX.n);
		/* The name stays as it is if an escape is malformed. Names are lower case here. */
		if (request_unescape(a, name, false, &text))
			name = arena_str(a, text);
		e = extra_of(extras, &n, name, a);
		if (e->nvalues < HTTP_HEADER_COUNT_MAX)
			((struct str *)e->values)[e->nvalues++] = f->value;
	}
	u->extras = extras;
	u->nextras = n;
}

static void read_groups(const struct http_fields *fields, struct arena *a, struct user *u)
{
	struct str *groups = ARENA_ARRAY(a, struct str, fields->n + 3);
	size_t n = 0;

	for (size_t i = 0; i < fields->n; i++)
		if (str_eq(fields->v[i].name, GROUP_FIELD))
			groups[n++] = fields->v[i].value;
	u->groups = groups;
	u->ngroups = n;
}

static void add_implied(struct user *u, struct str group)
{
	((struct str *)u->groups)[u->ngroups++] = group;
	u->nimplied++;
}

static void imply_groups(struct user *u, struct arena *a)
{
	struct str ns, name;

	if (!u->ngroups && user_service_account(u, &ns, &name)) {
		add_implied(u, USER_SERVICE_ACCOUNTS);
		add_implied(u,
			    str_from(arena_printf(a, "system:serviceaccounts:%.*s", STR_ARG(ns))));
	}
	if (user_in_group(u, USER_UNAUTHENTICATED))
		return;
	if (str_eq(u->name, USER_ANONYMOUS))
		add_implied(u, USER_UNAUTHENTICATED);
	else if (!user_in_group(u, USER_AUTHENTICATED))
		add_implied(u, USER_AUTHENTICATED);
}

/* A list as Go's %#v prints it. */
static void impersonate_show(struct buf *out, const struct str *v, size_t n)
{
	(void)buf_addz(out, n ? "[]string{" : "[]string(nil)");
	for (size_t i = 0; i < n; i++)
		(void)buf_printf(out, "%s\"%.*s\"", i ? ", " : "", STR_ARG(v[i]));
	(void)buf_addz(out, n ? "}" : "");
}

static int refuse_nameless(const struct user *u, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(2 * HTTP_HEADERS_MAX);

	(void)buf_printf(&text, "requested &user.DefaultInfo{Name:\"\", UID:\"%.*s\", Groups:",
			 STR_ARG(u->uid));
	impersonate_show(&text, u->groups, u->ngroups);
	(void)buf_printf(&text, ", Extra:map[string][]string%s", u->nextras ? "{" : "(nil)");
	for (size_t i = 0; i < u->nextras; i++) {
		(void)buf_printf(&text, "%s\"%.*s\":", i ? ", " : "", STR_ARG(u->extras[i].key));
		impersonate_show(&text, u->extras[i].values, u->extras[i].nvalues);
	}
	(void)buf_addz(&text, u->nextras ? "}}" : "}");
	return error_set(err, ERR_BAD_REQUEST, "%.*s without impersonating a user name",
			 STR_ARG(buf_str(&text)));
}

/* Nearly no request has such a header, and checking each name once is enough to see that. */
static bool asks(const struct http_fields *fields)
{
	for (size_t i = 0; i < fields->n; i++)
		if (str_starts(fields->v[i].name, STR("impersonate-")))
			return true;
	return false;
}

int authn_impersonated(const struct http_fields *fields, struct arena *a, struct user *ret_user,
		       struct error *err)
{
	struct user u = { 0 };

	if (!asks(fields)) {
		*ret_user = u;
		return 0;
	}
	u.name = http_fields_get(fields, STR("impersonate-user"));
	u.uid = http_fields_get(fields, STR("impersonate-uid"));
	read_groups(fields, a, &u);
	read_extras(fields, a, &u);
	if (!u.name.n) {
		if (u.ngroups || u.nextras || u.uid.n)
			return refuse_nameless(&u, err);
		*ret_user = (struct user){ 0 };
		return 0;
	}
	imply_groups(&u, a);
	u.authenticated = !str_eq(u.name, USER_ANONYMOUS);
	*ret_user = u;
	return 0;
}

/* --- required rights ------------------------------------------------------------------------ */

static size_t count_checks(const struct user *wanted)
{
	size_t n = 2 + wanted->ngroups;

	for (size_t i = 0; i < wanted->nextras; i++)
		n += wanted->extras[i].nvalues;
	return n;
}

/* Users, unlike service accounts, have no API version. */
static struct authz_query impersonate_check(struct str group, struct str version,
					    struct str resource, struct str name)
{
	return (struct authz_query){ .verb = STR("impersonate"),
				     .group = group,
				     .version = version,
				     .resource = resource,
				     .name = name };
}

static size_t check_extras(const struct user *wanted, struct authz_query *q)
{
	size_t n = 0;

	for (size_t i = 0; i < wanted->nextras; i++) {
		const struct user_extra *e = &wanted->extras[i];

		for (size_t j = 0; j < e->nvalues; j++) {
			q[n] = impersonate_check(AUTHENTICATION, STR("v1"), STR("userextras"),
						 e->values[j]);
			q[n++].subresource = e->key;
		}
	}
	return n;
}

size_t authn_impersonation_checks(const struct user *wanted, struct arena *a,
				  struct authz_query **ret_queries)
{
	struct authz_query *q = ARENA_ARRAY(a, struct authz_query, count_checks(wanted));
	struct str ns, name;
	size_t n = 0;

	if (user_service_account(wanted, &ns, &name)) {
		q[n] = impersonate_check(STR(""), STR(""), STR("serviceaccounts"), name);
		q[n++].ns = ns;
	} else {
		q[n++] = impersonate_check(STR(""), STR(""), STR("users"), wanted->name);
	}
	for (size_t i = 0; i + wanted->nimplied < wanted->ngroups; i++)
		q[n++] = impersonate_check(STR(""), STR(""), STR("groups"), wanted->groups[i]);
	n += check_extras(wanted, q + n);
	if (wanted->uid.n)
		q[n++] = impersonate_check(AUTHENTICATION, STR("v1"), STR("uids"), wanted->uid);
	*ret_queries = q;
	return n;
}
