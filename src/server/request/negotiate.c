/*
 * Accept headers are parsed clause by clause. A clause is considered as a whole: media type, and
 * the `as`, `g` and `v` that request another kind of object. A clause that cannot be served is
 * skipped, so a client that prefers protobuf and accepts JSON gets JSON. Among clauses of equal q
 * the first wins, except that one with an explicit type precedes a wildcard, as upstream sorts
 * them.
 */
#include "server/request/negotiate.h"

/* Limit for parsed clauses; real clients send up to five. */
enum { CLAUSES_MAX = 32 };

struct clause {
	struct str type, subtype;
	struct str as, group, version;
	bool converts; /* one of the three is present */
	bool pretty;
	bool refused; /* has a parameter that cannot be served */
	int q; /* in thousandths */
};

/* --- parsing ---------------------------------------------------------------------- */

/* The text before `sep`; *rest is the text after it. */
static struct str negotiate_take(struct str *rest, char sep)
{
	struct str piece;

	if (!str_split(rest, sep, &piece))
		return STR_NULL;
	return str_trim(piece);
}

/* "0.8" in thousandths; 0 if it is not a number. */
static int quality(struct str value)
{
	int q = 0, scale = 0; /* scale: of the last digit; 0 before the point */

	for (size_t i = 0; i < value.n; i++) {
		char c = value.p[i];

		if (c == '.' && !scale)
			scale = 1000;
		else if (c < '0' || c > '9')
			return 0;
		else if (scale)
			q += (c - '0') * (scale /= 10);
		else
			q = MIN(q * 10 + (c - '0') * 1000, 1000000);
	}
	return q;
}

static void read_param(struct clause *c, struct str name, struct str value)
{
	if (str_eq(name, STR("q"))) {
		c->q = quality(value);
	} else if (str_eq(name, STR("as"))) {
		c->as = value;
		c->converts = true;
	} else if (str_eq(name, STR("g"))) {
		c->group = value;
		c->converts = true;
	} else if (str_eq(name, STR("v"))) {
		c->version = value;
		c->converts = true;
	} else if (str_eq(name, STR("stream"))) {
		c->refused = value.n && !str_eq(value, STR("watch"));
	} else if (str_eq(name, STR("pretty"))) {
		c->pretty = str_eq(value, STR("1"));
	}
}

static bool read_clause(struct str text, struct clause *ret_clause)
{
	struct clause c = { .q = 1000 };
	struct str media = negotiate_take(&text, ';'), param, name;

	c.type = negotiate_take(&media, '/');
	c.subtype = negotiate_take(&media, '/');
	if (!c.subtype.n && str_eq(c.type, STR("*")))
		c.subtype = STR("*");
	if (!c.type.n || !c.subtype.n || media.n)
		return false;
	while (text.p && str_split(&text, ';', &param)) {
		name = negotiate_take(&param, '=');
		read_param(&c, name, str_trim(param));
	}
	*ret_clause = c;
	return true;
}

/* --- checking --------------------------------------------------------------------- */

/* kubectl 1.27 to 1.29 request v2beta1. */
static bool read_discovery(const struct clause *c, struct accept *a)
{
	if (!str_eq(c->group, STR("apidiscovery.k8s.io")) ||
	    !str_eq(c->as, STR("APIGroupDiscoveryList")))
		return false;
	a->as = ACCEPT_DISCOVERY_V2;
	a->as_version = str_eq(c->version, STR("v2")) ? STR("v2") : STR("v2beta1");
	return str_eq(c->version, a->as_version);
}

static bool read_form(const struct clause *c, struct accept *a)
{
	bool meta = str_eq(c->group, STR("meta.k8s.io")) &&
		    (str_eq(c->version, STR("v1")) || str_eq(c->version, STR("v1beta1")));

	a->as = ACCEPT_OBJECT;
	a->as_version = STR("v1");
	if (!c->converts)
		return true;
	a->as_version = str_eq(c->version, STR("v1")) ? STR("v1") : STR("v1beta1");
	if (meta && str_eq(c->as, STR("Table")))
		a->as = ACCEPT_TABLE;
	else if (meta && str_eq(c->as, STR("PartialObjectMetadata")))
		a->as = ACCEPT_PARTIAL;
	else if (meta && str_eq(c->as, STR("PartialObjectMetadataList")))
		a->as = ACCEPT_PARTIAL_LIST;
	else
		return read_discovery(c, a);
	return true;
}

static bool is_any(struct str s)
{
	return str_eq(s, STR("*"));
}

/* Whether the requested form can be encoded in protobuf. */
static bool has_protobuf(unsigned forms, enum accept_as as)
{
	if (as == ACCEPT_OBJECT)
		return forms & ACCEPT_OBJECT_AS_PROTOBUF;
	return as == ACCEPT_PARTIAL || as == ACCEPT_PARTIAL_LIST;
}

/* Whether the clause can be served; sets what it requests. */
static bool serves(const struct clause *c, unsigned forms, struct accept *a)
{
	if (c->refused || !read_form(c, a) || !(forms & (1U << a->as)))
		return false;
	a->pretty = c->pretty;
	a->format = ACCEPT_JSON;
	if (is_any(c->type))
		return is_any(c->subtype);
	if (!str_ieq(c->type, STR("application")))
		return false;
	if (is_any(c->subtype) || str_ieq(c->subtype, STR("json")))
		return true;
	a->format = ACCEPT_YAML;
	if (str_ieq(c->subtype, STR("yaml")))
		return true;
	a->format = ACCEPT_PROTOBUF;
	return str_ieq(c->subtype, STR("vnd.kubernetes.protobuf")) && has_protobuf(forms, a->as);
}

/* Number of wildcards: fewer are better. */
static int wildness(const struct clause *c)
{
	return is_any(c->type) ? 2 : is_any(c->subtype) ? 1 : 0;
}

static bool is_better(const struct clause *c, const struct clause *than)
{
	if (c->q != than->q)
		return c->q > than->q;
	return wildness(c) < wildness(than);
}

static bool negotiate_pick(unsigned forms, struct str header, struct accept *ret_accept)
{
	struct clause best, c;
	struct accept a = { 0 };
	struct str text;
	bool found = false;

	for (int i = 0; i < CLAUSES_MAX && str_split(&header, ',', &text); i++) {
		if (!read_clause(str_trim(text), &c) || !serves(&c, forms, &a))
			continue;
		if (found && !is_better(&c, &best))
			continue;
		best = c;
		found = true;
		*ret_accept = a;
	}
	return found;
}

static bool accepts_gzip(struct str encodings)
{
	struct str piece;

	while (str_split(&encodings, ',', &piece)) {
		struct str name = negotiate_take(&piece, ';');

		if (str_ieq(name, STR("gzip")) && !str_eq(str_trim(piece), STR("q=0")))
			return true;
	}
	return false;
}

/* Whether the client is a tool for people, which gets indented output. */
static bool is_human(struct str agent)
{
	return str_starts(agent, STR("curl")) || str_starts(agent, STR("Wget")) ||
	       str_starts(agent, STR("Mozilla/5.0"));
}

/* --- the verbs -------------------------------------------------------------------- */

/* A Status is never converted: the first clause without a conversion decides. */
static enum accept_format failure_format(struct str accept)
{
	struct accept failure = { .format = ACCEPT_JSON };

	(void)negotiate_pick(1U << ACCEPT_OBJECT | ACCEPT_OBJECT_AS_PROTOBUF, accept, &failure);
	return failure.format;
}

int negotiate_accept(unsigned forms, struct str accept, struct str accept_encoding,
		     struct str user_agent, struct accept *ret_accept, struct error *err)
{
	struct accept a = { .as_version = STR("v1") };
	bool found = !accept.n || negotiate_pick(forms, accept, &a);

	a.failure_format = a.format;
	if (!found || a.as != ACCEPT_OBJECT || !(forms & ACCEPT_OBJECT_AS_PROTOBUF))
		a.failure_format = failure_format(accept);
	a.pretty = a.pretty || is_human(user_agent);
	a.gzip = accepts_gzip(accept_encoding);
	*ret_accept = a;
	if (found)
		return 0;
	return error_set(err, ERR_NOT_ACCEPTABLE,
			 "only the following media types are accepted: application/json, "
			 "application/yaml, application/vnd.kubernetes.protobuf");
}

struct str negotiate_media_type(enum accept_format format)
{
	static const struct str types[] = {
		[ACCEPT_JSON] = { "application/json", 16 },
		[ACCEPT_YAML] = { "application/yaml", 16 },
		[ACCEPT_PROTOBUF] = { "application/vnd.kubernetes.protobuf", 35 },
	};

	return types[format];
}

static int unsupported(struct error *err, const char *types)
{
	return error_set(err, ERR_UNSUPPORTED_MEDIA_TYPE,
			 "the body of the request was in an unknown format - accepted media types "
			 "include: %s",
			 types);
}

/* Without its parameters. */
static struct str media_type(struct str content_type)
{
	return negotiate_take(&content_type, ';');
}

int negotiate_body(struct str content_type, enum decode_format *ret_format, struct error *err)
{
	struct str type = media_type(content_type);

	if (!type.n || str_ieq(type, STR("application/json")))
		*ret_format = DECODE_JSON;
	else if (str_ieq(type, STR("application/yaml")))
		*ret_format = DECODE_YAML;
	else if (str_ieq(type, STR("application/vnd.kubernetes.protobuf")))
		*ret_format = DECODE_PROTOBUF;
	else
		return unsupported(err, "application/json, application/yaml, "
					"application/vnd.kubernetes.protobuf");
	return 0;
}

int negotiate_patch(struct str content_type, enum patch_type *ret_type, struct error *err)
{
	static const struct {
		const char *name;
		enum patch_type type;
	} types[] = {
		{ "application/json-patch+json", PATCH_JSON },
		{ "application/merge-patch+json", PATCH_MERGE },
		{ "application/strategic-merge-patch+json", PATCH_STRATEGIC },
		{ "application/apply-patch+yaml", PATCH_APPLY },
	};
	struct str type = media_type(content_type);

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (!str_ieq(type, str_from(types[i].name)))
			continue;
		*ret_type = types[i].type;
		return 0;
	}
	return unsupported(err, "application/json-patch+json, application/merge-patch+json, "
				"application/strategic-merge-patch+json, "
				"application/apply-patch+yaml");
}
