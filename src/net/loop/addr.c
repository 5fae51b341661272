/*
 * One parser for every address that a flag, a kubeconfig or a registration
 * socket may name. Each form fills `sa` and `host`; the canonical text is made
 * from those alone, so it does not depend on how the address was written.
 *
 * IPv4 addresses inside IPv6 (::ffff:1.2.3.4, which is what a dual-stack
 * socket reports) become plain IPv4 ones: one peer has one text.
 */
#include "net/loop/addr.h"
#include "net/net_limits.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/un.h>

enum {
	UNIX_PATH_MAX = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1,
	HOST_MAX = NET_ADDRESS_MAX - (int)sizeof("[]:65535"),
};

static void set_inet_text(struct addr *a, bool v6)
{
	/* A host of this name must not read as a socket's path. */
	if (strcmp(a->host, "unix") == 0)
		(void)snprintf(a->text, sizeof(a->text), "tcp://unix:%u", (unsigned)a->port);
	else
		(void)snprintf(a->text, sizeof(a->text), "%s%.*s%s:%u", v6 ? "[" : "", HOST_MAX,
			       a->host, v6 ? "]" : "", (unsigned)a->port);
}

static void set_unix_text(struct addr *a)
{
	(void)snprintf(a->text, sizeof(a->text), "unix:%.*s", UNIX_PATH_MAX + 1, a->host);
}

static void set_ipv4(struct addr *a, struct in_addr ip, uint16_t port)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr = ip,
	};

	a->kind = ADDR_INET;
	a->len = sizeof(sin);
	a->port = port;
	memcpy(&a->sa, &sin, sizeof(sin));
	(void)inet_ntop(AF_INET, &ip, a->host, sizeof(a->host));
	set_inet_text(a, false);
}

static void set_ipv6(struct addr *a, const struct in6_addr *ip, uint32_t scope, uint16_t port)
{
	struct sockaddr_in6 sin = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(port),
		.sin6_addr = *ip,
		.sin6_scope_id = scope,
	};
	struct in_addr mapped;
	size_t n;

	if (IN6_IS_ADDR_V4MAPPED(ip)) {
		memcpy(&mapped, &ip->s6_addr[12], sizeof(mapped));
		set_ipv4(a, mapped, port);
		return;
	}
	a->kind = ADDR_INET;
	a->len = sizeof(sin);
	a->port = port;
	memcpy(&a->sa, &sin, sizeof(sin));
	(void)inet_ntop(AF_INET6, ip, a->host, sizeof(a->host));
	n = strlen(a->host);
	if (scope)
		(void)snprintf(a->host + n, sizeof(a->host) - n, "%%%u", (unsigned)scope);
	set_inet_text(a, true);
}

/* A NUL-terminated copy for the C library; false if it cannot be a host. */
static bool copy_host(char host[NET_ADDRESS_MAX], struct str s)
{
	if (s.n == 0 || s.n >= NET_ADDRESS_MAX || str_chr(s, '\0') >= 0)
		return false;
	str_put(host, s);
	host[s.n] = '\0';
	return true;
}

/* "fe80::1%eth0": the zone is an interface's name or number. */
static int parse_zone(const char *zone, uint32_t *ret_scope, struct error *err)
{
	uint64_t number;

	*ret_scope = if_nametoindex(zone);
	if (*ret_scope)
		return 0;
	if (!str_to_u64(str_from(zone), &number) || number == 0 || number > UINT32_MAX)
		return error_set(err, ERR_INVALID, "no network interface \"%s\"", zone);
	*ret_scope = (uint32_t)number;
	return 0;
}

static int parse_ipv6(struct addr *a, struct str s, uint16_t port, struct error *err)
{
	char host[NET_ADDRESS_MAX], *zone;
	struct in6_addr ip;
	uint32_t scope = 0;
	int r;

	if (!copy_host(host, s))
		return error_set(err, ERR_INVALID, "not an IPv6 address");
	zone = strchr(host, '%');
	if (zone)
		*zone++ = '\0';
	if (inet_pton(AF_INET6, host, &ip) != 1)
		return error_set(err, ERR_INVALID, "\"%s\" is not an IPv6 address", host);
	if (zone) {
		r = parse_zone(zone, &scope, err);
		if (r < 0)
			return r;
	}
	set_ipv6(a, &ip, scope, port);
	return 0;
}

static bool is_label(struct str s)
{
	if (s.n == 0 || s.n > 63 || s.p[0] == '-' || s.p[s.n - 1] == '-')
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (!str_is_alnum(s.p[i]) && s.p[i] != '-' && s.p[i] != '_')
			return false;
	return true;
}

/*
 * Labels of letters, digits, '-' and '_'. A last label of digits only is a
 * mistyped IPv4 address ("10.0.0.256"): no resolver should ever see it.
 */
static int addr_check_name(struct str name, struct error *err)
{
	struct str rest = name, label = STR_NULL;
	uint64_t number;

	if (rest.n > 1 && rest.p[rest.n - 1] == '.')
		rest.n--;
	while (str_split(&rest, '.', &label))
		if (!is_label(label))
			return error_set(err, ERR_INVALID, "\"%.*s\" is not a host name",
					 STR_ARG(name));
	if (str_to_u64(label, &number))
		return error_set(err, ERR_INVALID, "\"%.*s\" is not an IPv4 address",
				 STR_ARG(name));
	return 0;
}

static int parse_name(struct addr *a, struct str host, uint16_t port, struct error *err)
{
	int r = addr_check_name(host, err);

	if (r < 0)
		return r;
	if (host.n > HOST_MAX)
		return error_set(err, ERR_INVALID, "the name is %zu bytes long, at most %d fit",
				 host.n, HOST_MAX);
	a->kind = ADDR_NAME;
	a->port = port;
	for (size_t i = 0; i < host.n; i++)
		a->host[i] = (char)(host.p[i] >= 'A' && host.p[i] <= 'Z' ? host.p[i] + 32
									 : host.p[i]);
	set_inet_text(a, false);
	return 0;
}

static int parse_host(struct addr *a, struct str host, uint16_t port, struct error *err)
{
	char text[NET_ADDRESS_MAX];
	struct in_addr ip;

	if (host.n == 0) {
		set_ipv6(a, &in6addr_any, 0, port);
		return 0;
	}
	if (str_chr(host, ':') >= 0)
		return parse_ipv6(a, host, port, err);
	if (copy_host(text, host) && inet_pton(AF_INET, text, &ip) == 1) {
		set_ipv4(a, ip, port);
		return 0;
	}
	return parse_name(a, host, port, err);
}

/*
 * Splits "host:port", "[v6]:port" and, if a default port makes it unambiguous, a host alone.
 * *ret_port has p == NULL if there is no port.
 */
static int split_port(struct str text, uint16_t default_port, struct str *ret_host,
		      struct str *ret_port, struct error *err)
{
	ptrdiff_t end = str_chr(text, ']'), colon = str_chr(text, ':');
	struct str rest;

	if (text.n && text.p[0] == '[') {
		if (end < 0)
			return error_set(err, ERR_INVALID, "\"[\" without \"]\"");
		*ret_host = str_of(text.p + 1, (size_t)end - 1);
		if (str_chr(*ret_host, ':') < 0)
			return error_set(err, ERR_INVALID, "only IPv6 addresses are bracketed");
		rest = str_skip(text, (size_t)end + 1);
		if (rest.n && rest.p[0] != ':')
			return error_set(err, ERR_INVALID, "a port must follow \"]\"");
		*ret_port = rest.n ? str_skip(rest, 1) : STR_NULL;
		return 0;
	}
	*ret_host = text;
	*ret_port = STR_NULL;
	if (colon < 0)
		return 0;
	if (str_chr(str_skip(text, (size_t)colon + 1), ':') >= 0) {
		if (default_port)
			return 0;
		return error_set(err, ERR_INVALID, "IPv6 addresses are written [address]:port");
	}
	*ret_host = str_of(text.p, (size_t)colon);
	*ret_port = str_skip(text, (size_t)colon + 1);
	return 0;
}

static int parse_inet(struct addr *a, struct str text, uint16_t default_port, struct error *err)
{
	uint64_t number = default_port;
	struct str host, port;
	int r;

	if (text.n == 0)
		return error_set(err, ERR_INVALID, "it is empty");
	if (text.p[0] == '/')
		return error_set(err, ERR_INVALID, "socket paths are written unix:/path");
	if (str_find(text, STR("://")) >= 0)
		return error_set(err, ERR_INVALID, "its scheme is not tcp, http, https or unix");
	r = split_port(text, default_port, &host, &port, err);
	if (r < 0)
		return r;
	if (!port.p && default_port == 0)
		return error_set(err, ERR_INVALID, "it has no port");
	if (port.p && (!str_to_u64(port, &number) || number > UINT16_MAX))
		return error_set(err, ERR_INVALID, "\"%.*s\" is not a port", STR_ARG(port));
	return parse_host(a, host, (uint16_t)number, err);
}

static int parse_unix(struct addr *a, struct str path, struct error *err)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	bool abstract;

	/* "unix:///path" is a URL with an empty authority; no other one is possible. */
	if (str_starts(path, STR("//"))) {
		path = str_skip(path, 2);
		if (path.n == 0 || path.p[0] != '/')
			return error_set(err, ERR_INVALID,
					 "the path after unix:// must be absolute");
		/* More slashes mean the same, but would change the URL in our canonical text. */
		while (str_starts(path, STR("//")))
			path = str_skip(path, 1);
	}
	abstract = path.n && path.p[0] == '@';
	if (path.n == (abstract ? 1 : 0))
		return error_set(err, ERR_INVALID, "the socket's path is empty");
	if (path.n > UNIX_PATH_MAX)
		return error_set(err, ERR_INVALID, "the path is %zu bytes long, at most %d fit",
				 path.n, UNIX_PATH_MAX);
	if (str_chr(path, '\0') >= 0)
		return error_set(err, ERR_INVALID, "the path contains a NUL");

	a->kind = ADDR_UNIX;
	str_put(sun.sun_path, path);
	if (abstract)
		sun.sun_path[0] = '\0';
	memcpy(&a->sa, &sun, sizeof(sun));
	/* An abstract name is as long as the address says; a path ends with a NUL. */
	a->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + path.n + !abstract);
	str_put(a->host, path);
	set_unix_text(a);
	return 0;
}

static struct str drop_scheme(struct str text)
{
	static const struct str schemes[] = { { "tcp://", 6 },
					      { "http://", 7 },
					      { "https://", 8 } };

	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (str_starts(text, schemes[i]))
			return str_skip(text, schemes[i].n);
	return text;
}

int addr_parse(struct addr *ret_addr, struct str text, uint16_t default_port, struct error *err)
{
	struct addr a = { 0 };
	int r;

	if (text.n >= 5 && str_ieq(str_of(text.p, 5), STR("unix:")))
		r = parse_unix(&a, str_skip(text, 5), err);
	else
		r = parse_inet(&a, drop_scheme(text), default_port, err);
	if (r < 0)
		return error_wrap(err, r, "address \"%.*s\"", (int)MIN(text.n, NET_ADDRESS_MAX),
				  text.p ? text.p : "");
	*ret_addr = a;
	return 0;
}

static void from_unix(struct addr *a, const struct sockaddr *sa, socklen_t len)
{
	const char *path = (const char *)sa + offsetof(struct sockaddr_un, sun_path);
	size_t n = len - offsetof(struct sockaddr_un, sun_path);
	bool abstract = n && path[0] == '\0';

	a->kind = ADDR_UNIX;
	a->len = len;
	memcpy(&a->sa, sa, len);
	if (!abstract)
		n = strnlen(path, n);
	memcpy(a->host, path, n);
	if (abstract)
		a->host[0] = '@';
	/* Abstract names may hold any byte, even NUL. */
	for (size_t i = 1; abstract && i < n; i++)
		if (a->host[i] < 0x20 || a->host[i] > 0x7e)
			a->host[i] = '?';
	set_unix_text(a);
}

void addr_from_sockaddr(struct addr *ret_addr, const struct sockaddr *sa, socklen_t len)
{
	sa_family_t family = len >= sizeof(family) ? sa->sa_family : AF_UNSPEC;
	struct sockaddr_in6 v6;
	struct sockaddr_in v4;

	*ret_addr = (struct addr){ .kind = ADDR_NAME };
	if (family == AF_INET && len >= sizeof(v4)) {
		memcpy(&v4, sa, sizeof(v4));
		set_ipv4(ret_addr, v4.sin_addr, ntohs(v4.sin_port));
	} else if (family == AF_INET6 && len >= sizeof(v6)) {
		memcpy(&v6, sa, sizeof(v6));
		set_ipv6(ret_addr, &v6.sin6_addr, v6.sin6_scope_id, ntohs(v6.sin6_port));
	} else if (family == AF_UNIX) {
		from_unix(ret_addr, sa, MIN(len, (socklen_t)sizeof(struct sockaddr_un)));
	}
}

static bool is_global_v4(uint32_t ip)
{
	return ip != 0 && ip != UINT32_MAX && ip >> 24 != 127 && ip >> 28 != 14 &&
	       ip >> 16 != 0xa9fe;
}

bool addr_is_global(const struct addr *a)
{
	const struct in6_addr *v6 = &((const struct sockaddr_in6 *)&a->sa)->sin6_addr;

	if (a->kind == ADDR_NAME)
		return a->host[0] && strcmp(a->host, "localhost") != 0 &&
		       strcmp(a->host, "localhost.") != 0;
	if (a->kind != ADDR_INET)
		return false;
	if (a->sa.ss_family == AF_INET)
		return is_global_v4(ntohl(((const struct sockaddr_in *)&a->sa)->sin_addr.s_addr));
	return !IN6_IS_ADDR_UNSPECIFIED(v6) && !IN6_IS_ADDR_LOOPBACK(v6) &&
	       !IN6_IS_ADDR_MULTICAST(v6) && !IN6_IS_ADDR_LINKLOCAL(v6);
}

static bool is_global(const struct addr_rule *r UNUSED, const struct addr *a)
{
	return addr_is_global(a);
}

const struct addr_rule addr_rule_global = { is_global };

bool addr_allows(const struct addr *to, const struct addr *a)
{
	return !to->rule || to->rule->allows(to->rule, a);
}
