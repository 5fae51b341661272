/*
 * The containers' resolv.conf: the cluster's servers, the node's, or none, then the pod's
 * additions. Limits are upstream's; entries beyond them are left out.
 */
#include "node/container/config_impl.h"

enum { SERVERS_MAX = 3, SEARCHES_MAX = 32, SEARCH_CHARS_MAX = 2048, SEARCH_MAX = 253 };

/* Room for the largest possible list. */
static struct runtime_strs room(size_t n, struct arena *a)
{
	return (struct runtime_strs){ .v = ARENA_ARRAY(a, struct str, n + 1) };
}

static void add_new(struct runtime_strs *to, struct str s)
{
	for (size_t i = 0; i < to->n; i++) {
		if (str_eq(to->v[i], s))
			return;
	}
	to->v[to->n++] = s;
}

static void config_dns_add_all(struct runtime_strs *to, const struct runtime_strs *from)
{
	for (size_t i = 0; i < from->n; i++)
		add_new(to, from->v[i]);
}

static struct str option_name(struct str option)
{
	ptrdiff_t colon = str_chr(option, ':');

	return colon < 0 ? option : str_of(option.p, (size_t)colon);
}

/* Replaces an option of the same name. */
static void set_option(struct runtime_strs *to, struct str option)
{
	for (size_t i = 0; i < to->n; i++) {
		if (str_eq(option_name(to->v[i]), option_name(option))) {
			to->v[i] = option;
			return;
		}
	}
	to->v[to->n++] = option;
}

/* --- resolv.conf ---------------------------------------------------------------------------- */

static bool next_word(struct str *rest, struct str *ret_word)
{
	size_t from = 0, to;

	while (from < rest->n && memchr(" \t\r", rest->p[from], 3))
		from++;
	to = from;
	while (to < rest->n && !memchr(" \t\r", rest->p[to], 3))
		to++;
	*ret_word = str_of(rest->p + from, to - from);
	*rest = str_skip(*rest, to);
	return to > from;
}

static void read_line(struct str line, struct sandbox_parts *parts)
{
	struct str word, first;

	if (!next_word(&line, &first) || first.p[0] == '#')
		return;
	if (str_eqz(first, "nameserver") && next_word(&line, &word))
		parts->dns_servers.v[parts->dns_servers.n++] = word;
	if (str_eqz(first, "search"))
		parts->dns_searches.n = 0; /* the last line wins */
	while (str_eqz(first, "search") && next_word(&line, &word)) {
		if (word.n > 1 && word.p[word.n - 1] == '.')
			word.n--;
		if (!str_eqz(word, "."))
			parts->dns_searches.v[parts->dns_searches.n++] = word;
	}
	while (str_eqz(first, "options") && next_word(&line, &word))
		set_option(&parts->dns_options, word);
}

void container_config_resolv(struct str text, struct arena *a, struct sandbox_parts *parts)
{
	struct str line;

	/* A line has at most half as many words as bytes. */
	parts->dns_servers = room(text.n / 2, a);
	parts->dns_searches = room(text.n / 2, a);
	parts->dns_options = room(text.n / 2, a);
	while (text.p && str_split(&text, '\n', &line))
		read_line(line, parts);
}

/* --- a pod's DNS ---------------------------------------------------------------------------- */

static void cluster_dns(const struct pod *pod, const struct sandbox_parts *parts, struct arena *a,
			struct sandbox_spec *io)
{
	struct str domain = parts->cluster_domain;

	config_dns_add_all(&io->dns_servers, &parts->cluster_dns);
	if (domain.n > 0) {
		add_new(&io->dns_searches,
			str_from(arena_printf(a, "%.*s.svc.%.*s", STR_ARG(pod->ns),
					      STR_ARG(domain))));
		add_new(&io->dns_searches, str_from(arena_printf(a, "svc.%.*s", STR_ARG(domain))));
		add_new(&io->dns_searches, domain);
	}
	config_dns_add_all(&io->dns_searches, &parts->dns_searches);
	set_option(&io->dns_options, STR("ndots:5"));
}

static void host_dns(const struct sandbox_parts *parts, struct sandbox_spec *io)
{
	config_dns_add_all(&io->dns_servers, &parts->dns_servers);
	config_dns_add_all(&io->dns_searches, &parts->dns_searches);
	config_dns_add_all(&io->dns_options, &parts->dns_options);
}

static void pod_dns(const struct json *config, struct arena *a, struct sandbox_spec *io)
{
	JSON_FOREACH (it, json_getz(config, "nameservers"))
		add_new(&io->dns_servers, json_str(it));
	JSON_FOREACH (it, json_getz(config, "searches"))
		add_new(&io->dns_searches, json_str(it));
	JSON_FOREACH (it, json_getz(config, "options")) {
		struct str name = json_text_at(it, "name"), value = json_text_at(it, "value");

		if (value.n > 0)
			name = str_from(
				arena_printf(a, "%.*s:%.*s", STR_ARG(name), STR_ARG(value)));
		set_option(&io->dns_options, name);
	}
}

static void config_dns_cut(struct sandbox_spec *io)
{
	struct runtime_strs *s = &io->dns_searches;
	size_t kept = 0, chars = 0;

	io->dns_servers.n = MIN(io->dns_servers.n, SERVERS_MAX);
	s->n = MIN(s->n, SEARCHES_MAX);
	for (size_t i = 0; i < s->n; i++) {
		if (s->v[i].n > SEARCH_MAX)
			continue;
		chars += s->v[i].n + (kept > 0);
		if (chars > SEARCH_CHARS_MAX)
			break;
		s->v[kept++] = s->v[i];
	}
	s->n = kept;
}

void config_dns(const struct pod *pod, const struct sandbox_parts *parts, struct arena *a,
		struct sandbox_spec *io)
{
	const struct json *config = json_getz(pod->spec, "dnsConfig");
	struct str policy = json_text_at(pod->spec, "dnsPolicy");
	bool host = str_eqz(policy, "Default") ||
		    (pod_host_network(pod) && !str_eqz(policy, "ClusterFirstWithHostNet"));

	io->dns_servers = room(parts->cluster_dns.n + parts->dns_servers.n +
				       json_count(json_getz(config, "nameservers")),
			       a);
	io->dns_searches = room(
		3 + parts->dns_searches.n + json_count(json_getz(config, "searches")), a);
	io->dns_options = room(1 + parts->dns_options.n + json_count(json_getz(config, "options")),
			       a);
	if (str_eqz(policy, "None"))
		;
	else if (host || parts->cluster_dns.n == 0)
		host_dns(parts, io);
	else
		cluster_dns(pod, parts, a, io);
	pod_dns(config, a, io);
	config_dns_cut(io);
}
