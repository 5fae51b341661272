/*
 * The only place where user names with a meaning are parsed.
 */
#include "server/core/user.h"

#include "api/schema/names.h"
#include "base/json/json.h"

struct user user_anonymous(void)
{
	static const struct str groups[] = { { "system:unauthenticated", 22 } };

	return (struct user){ .name = USER_ANONYMOUS,
			      .groups = groups,
			      .ngroups = ARRAY_SIZE(groups) };
}

bool user_in_group(const struct user *u, struct str group)
{
	for (size_t i = 0; i < u->ngroups; i++)
		if (str_eq(u->groups[i], group))
			return true;
	return false;
}

struct str user_extra(const struct user *u, struct str key)
{
	for (size_t i = 0; i < u->nextras; i++)
		if (str_eq(u->extras[i].key, key))
			return u->extras[i].nvalues == 1 ? u->extras[i].values[0] : STR_NULL;
	return STR_NULL;
}

bool user_service_account(const struct user *u, struct str *ret_ns, struct str *ret_name)
{
	static const struct str prefix = { "system:serviceaccount:", 22 };
	struct str rest;
	const char *colon;

	if (!str_starts(u->name, prefix))
		return false;
	rest = str_skip(u->name, prefix.n);
	colon = memchr(rest.p, ':', rest.n);
	if (!colon)
		return false;
	*ret_ns = str_of(rest.p, (size_t)(colon - rest.p));
	*ret_name = str_skip(rest, ret_ns->n + 1);
	/* If the parts are not valid names, it is an ordinary user name. */
	return !names_dns_label(*ret_ns) && !names_dns_subdomain(*ret_name);
}

struct str user_node(const struct user *u)
{
	static const struct str prefix = { "system:node:", 12 };

	if (!str_starts(u->name, prefix) || !user_in_group(u, STR("system:nodes")))
		return STR_NULL;
	return str_skip(u->name, prefix.n);
}

struct json *user_texts(struct arena *a, const struct str *v, size_t n)
{
	struct json *list = json_make_array(a);

	for (size_t i = 0; i < n; i++)
		json_append(list, json_make_str(a, v[i]));
	return list;
}

struct json *user_info(struct arena *a, const struct user *u)
{
	struct json *info = json_make_object(a), *extra;

	json_put_str(a, info, "username", u->name);
	if (u->uid.n)
		json_put_str(a, info, "uid", u->uid);
	if (u->ngroups)
		json_setz(info, "groups", user_texts(a, u->groups, u->ngroups));
	if (!u->nextras)
		return info;
	extra = json_make_object(a);
	for (size_t i = 0; i < u->nextras; i++)
		json_set(extra, u->extras[i].key,
			 user_texts(a, u->extras[i].values, u->extras[i].nvalues));
	json_setz(info, "extra", extra);
	return info;
}
