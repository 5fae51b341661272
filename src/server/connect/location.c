/*
 * As upstream's proxy transport: a URL belongs to the proxied server if it names no host, the
 * host that answered, or the host in the client's request, which the server knows from the
 * request. The host that answered is removed, because clients cannot reach it; the client's
 * stays.
 */
#include "server/connect/location.h"

#include "base/core/arena.h"

struct url {
	struct str site; /* "https://host:port", "//host", "https:" or empty */
	struct str host;
	struct str path; /* with query and fragment */
};

static bool is_scheme_char(char c, bool first)
{
	bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

	return letter || (!first && ((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.'));
}

/* The length of "https:" at the beginning; 0 if there is no scheme. */
static size_t scheme_length(struct str s)
{
	size_t n = 0;

	while (n < s.n && is_scheme_char(s.p[n], n == 0))
		n++;
	return n && n < s.n && s.p[n] == ':' ? n + 1 : 0;
}

static struct url location_split(struct str s)
{
	size_t n = scheme_length(s), host = n;

	if (str_starts(str_skip(s, n), STR("//"))) {
		host = n + 2;
		n = host;
		while (n < s.n && s.p[n] != '/' && s.p[n] != '?' && s.p[n] != '#')
			n++;
	}
	return (struct url){ .site = str_of(s.p, n),
			     .host = str_of(s.p + host, n - host),
			     .path = str_skip(s, n) };
}

struct str connect_location(struct arena *a, struct str location, const struct connect_place *at)
{
	struct url u = location_split(location);
	bool asked = u.host.n && str_eq(u.host, at->asked);

	if (u.host.n && !asked && !str_eq(u.host, at->backend))
		return location;
	if (!str_starts(u.path, STR("/")))
		return location;
	if (!asked)
		u.site = STR("");
	return str_from(arena_printf(a, "%.*s%.*s%.*s", STR_ARG(u.site),
				     STR_ARG(str_starts(u.path, at->proxy) ? STR("") : at->proxy),
				     STR_ARG(u.path)));
}
