/*
 * URLs. The query is parsed on demand.
 */
#include "cel/core/url.h"

#include "cel/lib/libraries.h"

static struct cel_value url_make(struct cel_eval *ev, const struct cel_value *args)
{
	struct cel_url *url = cel_alloc(ev, sizeof(*url));
	struct error err;
	int r;

	if (!url)
		return cel_too_large();
	r = cel_url_parse(ev->scratch, args[0].s, url, &err);
	if (r == -ERR_TOO_LARGE)
		return cel_too_large();
	if (r < 0)
		return cel_errorf(ev, "URL parse error during conversion from string: %s", err.msg);
	return (struct cel_value){ .kind = CEL_URL, .url = url };
}

static struct cel_value url_is(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_BOOL_V(cel_url_check(args[0].s, NULL) == 0);
}

static struct cel_value url_scheme(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_STRING_V(args[0].url->scheme);
}

static struct cel_value url_host(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_STRING_V(args[0].url->host);
}

static struct cel_value url_hostname(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_STRING_V(cel_url_hostname(args[0].url));
}

static struct cel_value url_port(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_STRING_V(cel_url_port(args[0].url));
}

static struct cel_value url_path(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_STRING_V(args[0].url->path);
}

/* --- queries ------------------------------------------------------------------------ */

struct entry {
	struct str key, value;
	struct entry *next; /* with the same key */
	struct entry *last; /* of the first one: the end of that chain */
	size_t count; /* of the first one */
	bool first;
};

static struct str unescaped(struct cel_eval *ev, struct str s)
{
	char *text = cel_alloc(ev, s.n + 1);
	size_t n = 0;

	if (!text || cel_url_unescape(s, CEL_URL_QUERY, text, &n, NULL) < 0)
		return STR_NULL;
	return str_of(text, n);
}

/*
 * Returns false for entries that Go ignores: empty ones, and those with semicolons or invalid
 * escapes.
 */
static bool read_entry(struct cel_eval *ev, struct str piece, struct entry *e)
{
	ptrdiff_t equals = str_chr(piece, '=');
	struct str key = equals < 0 ? piece : str_of(piece.p, (size_t)equals);
	struct str value = equals < 0 ? STR("") : str_skip(piece, (size_t)equals + 1);

	if (piece.n == 0 || str_chr(piece, ';') >= 0)
		return false;
	*e = (struct entry){ .key = unescaped(ev, key), .value = unescaped(ev, value) };
	return e->key.p && e->value.p;
}

/*
 * Links the entry to those with the same key. The search is linear: a query has few keys, and costs
 * are bounded.
 */
static void chain(struct entry *entries, size_t n)
{
	struct entry *e = &entries[n];

	for (size_t i = 0; i < n; i++) {
		if (!entries[i].first || !str_eq(entries[i].key, e->key))
			continue;
		entries[i].last->next = e;
		entries[i].last = e;
		entries[i].count++;
		return;
	}
	e->first = true;
	e->last = e;
	e->count = 1;
}

static struct cel_value values_of(struct cel_eval *ev, const struct entry *first)
{
	struct cel_value *items = cel_alloc(ev, first->count * sizeof(*items));
	size_t n = 0;

	if (!items)
		return cel_too_large();
	for (const struct entry *e = first; e; e = e->next)
		items[n++] = CEL_STRING_V(e->value);
	return cel_list(ev, items, n);
}

static struct cel_value url_query(struct cel_eval *ev, const struct cel_value *args)
{
	struct str rest = args[0].url->query, piece;
	struct cel_value *pairs;
	struct entry *entries;
	size_t most = 1, n = 0, npairs = 0;

	for (size_t i = 0; i < rest.n; i++)
		most += rest.p[i] == '&';
	entries = cel_alloc(ev, most * sizeof(*entries));
	pairs = cel_alloc(ev, 2 * most * sizeof(*pairs));
	if (!entries || !pairs)
		return cel_too_large();
	while (str_split(&rest, '&', &piece)) {
		if (read_entry(ev, piece, &entries[n]))
			chain(entries, n++);
	}
	for (size_t i = 0; i < n; i++) {
		if (!entries[i].first)
			continue;
		pairs[2 * npairs] = CEL_STRING_V(entries[i].key);
		pairs[2 * npairs + 1] = values_of(ev, &entries[i]);
		npairs++;
	}
	return cel_map(ev, pairs, npairs);
}

static const struct cel_type query_type = {
	.kind = CEL_TYPE_MAP,
	.name = STR("map"),
	.params = { &cel_string, &cel_list_string },
};

static const struct cel_overload overloads[] = {
	{ "getEscapedPath", "url_get_escaped_path", &cel_string, { &cel_url }, 1, true, url_path },
	{ "getHost", "url_get_host", &cel_string, { &cel_url }, 1, true, url_host },
	{ "getHostname", "url_get_hostname", &cel_string, { &cel_url }, 1, true, url_hostname },
	{ "getPort", "url_get_port", &cel_string, { &cel_url }, 1, true, url_port },
	{ "getQuery", "url_get_query", &query_type, { &cel_url }, 1, true, url_query },
	{ "getScheme", "url_get_scheme", &cel_string, { &cel_url }, 1, true, url_scheme },
	{ "isURL", "is_url_string", &cel_bool, { &cel_string }, 1, false, url_is },
	{ "url", "string_to_url", &cel_url, { &cel_string }, 1, false, url_make },
};

const struct cel_library cel_lib_url = {
	.name = "kubernetes.urls",
	.overloads = overloads,
	.n = ARRAY_SIZE(overloads),
};
