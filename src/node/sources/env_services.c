/*
 * The variables by which containers find Services: NAME_SERVICE_HOST, NAME_SERVICE_PORT, and the
 * forms of Docker links. The names are exactly upstream's.
 */
#include "node/sources/env_impl.h"
#include "node/sources/sources.h"

/* As upstream: '-' becomes '_', letters become upper-case. */
static struct str variable_name(struct arena *a, struct str s)
{
	char *out = arena_strdup(a, s);

	for (size_t i = 0; i < s.n; i++) {
		if (out[i] == '-')
			out[i] = '_';
		else if (out[i] >= 'a' && out[i] <= 'z')
			out[i] = (char)(out[i] - 'a' + 'A');
	}
	return str_of(out, s.n);
}

struct service {
	struct env_table *out;
	struct str prefix, ip;
	struct str host; /* the address as in URLs */
};

static void set(struct service *s, const char *name, struct str value)
{
	env_table_set(s->out, str_from(name), value);
}

#define PRINT(a, ...) str_from(arena_printf((a), __VA_ARGS__))

static void add_link(struct service *s, const struct json *port, bool first)
{
	struct arena *a = s->out->arena;
	struct str protocol = json_text_at(port, "protocol"), upper, lower, url, number;
	int64_t n = json_i64_at(port, "port", 0);
	const char *prefix;

	if (protocol.n == 0)
		protocol = STR("TCP");
	upper = variable_name(a, protocol);
	lower = arena_lower(a, protocol);
	number = PRINT(a, "%lld", (long long)n);
	url = PRINT(a, "%.*s://%.*s:%s", STR_ARG(lower), STR_ARG(s->host), number.p);
	prefix = arena_printf(a, "%.*s_PORT_%s_%.*s", STR_ARG(s->prefix), number.p, STR_ARG(upper));
	if (first)
		set(s, arena_printf(a, "%.*s_PORT", STR_ARG(s->prefix)), url);
	set(s, prefix, url);
	set(s, arena_printf(a, "%s_PROTO", prefix), lower);
	set(s, arena_printf(a, "%s_PORT", prefix), number);
	set(s, arena_printf(a, "%s_ADDR", prefix), s->ip);
}

static void add_named_port(struct service *s, const struct json *port)
{
	struct arena *a = s->out->arena;
	struct str name = json_text_at(port, "name");

	if (name.n == 0)
		return;
	set(s,
	    arena_printf(a, "%.*s_SERVICE_PORT_%.*s", STR_ARG(s->prefix),
			 STR_ARG(variable_name(a, name))),
	    PRINT(a, "%lld", (long long)json_i64_at(port, "port", 0)));
}

static void add_service(const struct json *tree, struct env_table *out)
{
	const struct json *spec = json_getz(tree, "spec");
	const struct json *ports = json_getz(spec, "ports");
	struct arena *a = out->arena;
	struct service s = { .out = out, .ip = json_text_at(spec, "clusterIP") };

	if (s.ip.n == 0 || str_eqz(s.ip, "None") || json_count(ports) == 0)
		return;
	s.prefix = variable_name(a, json_text_at(json_getz(tree, "metadata"), "name"));
	s.host = str_chr(s.ip, ':') >= 0 ? PRINT(a, "[%.*s]", STR_ARG(s.ip)) : s.ip;
	set(&s, arena_printf(a, "%.*s_SERVICE_HOST", STR_ARG(s.prefix)), s.ip);
	set(&s, arena_printf(a, "%.*s_SERVICE_PORT", STR_ARG(s.prefix)),
	    PRINT(a, "%lld", (long long)json_i64_at(json_first(ports), "port", 0)));
	JSON_FOREACH (it, ports)
		add_named_port(&s, it);
	JSON_FOREACH (it, ports)
		add_link(&s, it, it == json_first(ports));
}

void env_services(const struct pod *pod, const struct sources *sources, struct env_table *out)
{
	struct json **v = NULL;
	bool links = true;
	size_t n;

	if (!sources)
		return;
	(void)json_bool(json_getz(pod->spec, "enableServiceLinks"), &links);
	n = sources_services(sources, pod->ns, links, out->arena, &v);
	for (size_t i = 0; i < n; i++)
		add_service(v[i], out);
}
