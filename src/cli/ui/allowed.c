/*
 * Paths are compared as they are sent. One with an escape, an empty segment or a dot segment could
 * mean another path to the API server than to us, so it is rejected; no name needs one.
 */
#include "cli/ui/allowed.h"

#include "base/core/compiler.h"

enum { SEGMENTS_MAX = 8 };

struct path {
	struct str v[SEGMENTS_MAX];
	size_t n;
};

/* Groups of which everything may be read: devices, and what devplane publishes about them. */
static const char *const groups[] = { "resource.k8s.io", "devplane.dev" };

/* The resources of the core group that may be read, without their subresources. */
static const char *const resources[] = { "pods", "nodes", "events", "namespaces" };

static const char *const reviews[][3] = {
	{ "authentication.k8s.io", "v1", "selfsubjectreviews" },
	{ "authorization.k8s.io", "v1", "selfsubjectaccessreviews" },
	{ "authorization.k8s.io", "v1", "selfsubjectrulesreviews" },
};

static bool is_plain(struct str segment)
{
	if (!segment.n || str_eqz(segment, ".") || str_eqz(segment, ".."))
		return false;
	for (size_t i = 0; i < segment.n; i++)
		if (!str_is_alnum(segment.p[i]) && !str_is_one_of(segment.p[i], "-._:"))
			return false;
	return true;
}

static bool split(struct str path, struct path *ret_path)
{
	struct str rest = str_skip(path, 1), segment;

	ret_path->n = 0;
	if (!str_starts(path, STR("/")) || str_ends(path, STR("/")))
		return false;
	while (str_split(&rest, '/', &segment)) {
		if (ret_path->n == SEGMENTS_MAX || !is_plain(segment))
			return false;
		ret_path->v[ret_path->n++] = segment;
	}
	return true;
}

static bool is_one_of(struct str s, const char *const *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_eqz(s, v[i]))
			return true;
	return false;
}

/* /api, /api/v1, /api/v1/RESOURCE[/NAME], /api/v1/namespaces/NAMESPACE/RESOURCE[/NAME] */
static bool is_of_core(const struct path *p)
{
	size_t at = 2;

	if (p->n < 3)
		return p->n == 1 || str_eqz(p->v[1], "v1");
	if (p->n > 4 && str_eqz(p->v[2], "namespaces"))
		at = 4;
	return str_eqz(p->v[1], "v1") && p->n <= at + 2 &&
	       is_one_of(p->v[at], resources, ARRAY_SIZE(resources));
}

static bool is_read(const struct path *p)
{
	if (p->n == 1 && str_eqz(p->v[0], "version"))
		return true;
	if (p->n > 0 && str_eqz(p->v[0], "api"))
		return is_of_core(p);
	return p->n > 0 && str_eqz(p->v[0], "apis") &&
	       (p->n == 1 || is_one_of(p->v[1], groups, ARRAY_SIZE(groups)));
}

static bool is_review(const struct path *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(reviews); i++)
		if (p->n == 4 && str_eqz(p->v[0], "apis") && str_eqz(p->v[1], reviews[i][0]) &&
		    str_eqz(p->v[2], reviews[i][1]) && str_eqz(p->v[3], reviews[i][2]))
			return true;
	return false;
}

int allowed_check(struct str method, struct str path, struct error *err)
{
	struct path p;
	bool read, review;

	if (!split(path, &p))
		return error_set(err, ERR_BAD_REQUEST,
				 "the path must have neither escapes nor empty segments");
	read = is_read(&p);
	review = is_review(&p);
	if (!read && !review)
		return error_set(err, ERR_NOT_FOUND,
				 "the device page does not need this path, so \"devplane ui\" does "
				 "not forward it; ask the API server itself");
	if ((read && str_eqz(method, "GET")) || (review && str_eqz(method, "POST")))
		return 0;
	return error_set(err, ERR_METHOD_NOT_ALLOWED,
			 "the device page only reads; ask the API server itself");
}

bool allowed_is_watch(struct str query)
{
	struct str name;

	while (str_split(&query, '&', &name))
		if (str_eqz(name, "watch=true") || str_eqz(name, "watch=1"))
			return true;
	return false;
}
