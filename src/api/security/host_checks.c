/*
 * Rules about what a pod shares with its node: namespaces, paths, ports, kernel settings.
 */
#include "api/security/checks.h"

static struct str arena_number(struct security_check *c, int64_t v)
{
	return str_from(arena_printf(c->a, "%lld", (long long)v));
}

void security_check_host_namespaces(struct security_check *c)
{
	static const char *const fields[] = { "hostNetwork", "hostPID", "hostIPC" };
	struct security_names set = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (json_true_at(c->spec, fields[i]))
			security_names_add(c, &set,
					   str_from(arena_printf(c->a, "%s=true", fields[i])));
	if (set.n)
		security_violate(c, "host namespaces", "%s", security_join(c, &set, ", "));
}

void security_check_host_path(struct security_check *c)
{
	struct security_names bad = { 0 };

	JSON_FOREACH (it, json_getz(c->spec, "volumes"))
		if (json_is(json_getz(it, "hostPath"), JSON_OBJECT))
			security_names_add(c, &bad, json_text_at(it, "name"));
	if (bad.n)
		security_violate(c, "hostPath volumes", "%s %s",
				 security_plural(bad.n, "volume", "volumes"),
				 security_quote(c, &bad));
}

static bool uses_host_port(struct security_check *c, const struct json *container,
			   struct security_names *ports)
{
	size_t before = ports->n;

	JSON_FOREACH (it, json_getz(container, "ports")) {
		int64_t port = json_i64_at(it, "hostPort", 0);

		if (port)
			security_names_add(c, ports, arena_number(c, port));
	}
	return ports->n > before;
}

void security_check_host_ports(struct security_check *c)
{
	struct security_names ports = { 0 };
	struct security_names bad = security_bad_containers(c, uses_host_port, &ports);

	security_names_sort(&ports);
	if (bad.n)
		security_violate(c, "hostPort", "%s %s %s %s", security_containers(c, &bad),
				 security_plural(bad.n, "uses", "use"),
				 security_plural(ports.n, "hostPort", "hostPorts"),
				 security_join(c, &ports, ", "));
}

static bool is_host_process(struct security_check *c UNUSED, const struct json *holder,
			    struct security_names *values UNUSED)
{
	return json_true_at(security_at(holder, "windowsOptions"), "hostProcess");
}

void security_check_host_process(struct security_check *c)
{
	struct security_names bad = security_bad_containers(c, is_host_process, NULL);
	bool pod = is_host_process(c, c->spec, NULL);

	if (pod || bad.n)
		security_violate(c, "hostProcess",
				 "%s must not set securityContext.windowsOptions.hostProcess=true",
				 security_setters(c, pod, &bad));
}

/* --- hosts of probes -------------------------------------------------------------- */

static void add_hosts(struct security_check *c, const struct json *handler,
		      struct security_names *hosts)
{
	struct str http = json_text_at(json_getz(handler, "httpGet"), "host");
	struct str tcp = json_text_at(json_getz(handler, "tcpSocket"), "host");

	if (http.n)
		security_names_add(c, hosts, http);
	if (tcp.n)
		security_names_add(c, hosts, tcp);
}

static bool names_a_host(struct security_check *c, const struct json *container,
			 struct security_names *hosts)
{
	const struct json *lifecycle = json_getz(container, "lifecycle");
	size_t before = hosts->n;

	add_hosts(c, json_getz(container, "livenessProbe"), hosts);
	add_hosts(c, json_getz(container, "readinessProbe"), hosts);
	add_hosts(c, json_getz(container, "startupProbe"), hosts);
	add_hosts(c, json_getz(lifecycle, "postStart"), hosts);
	add_hosts(c, json_getz(lifecycle, "preStop"), hosts);
	return hosts->n > before;
}

void security_check_host_probes(struct security_check *c)
{
	struct security_names hosts = { 0 };
	struct security_names bad = security_bad_containers(c, names_a_host, &hosts);

	security_names_sort(&bad);
	security_names_sort(&hosts);
	if (bad.n)
		security_violate(c, "probe or lifecycle host", "%s %s %s %s",
				 security_containers(c, &bad),
				 security_plural(bad.n, "uses", "use"),
				 security_plural(hosts.n, "probe or lifecycle host",
						 "probe or lifecycle hosts"),
				 security_quote(c, &hosts));
}

/* --- kernel settings -------------------------------------------------------------- */

static bool sysctl_is_safe(struct str name, int minor)
{
	static const struct {
		const char *name;
		int from;
	} safe[] = {
		{ "kernel.shm_rmid_forced", 0 },
		{ "net.ipv4.ip_local_port_range", 0 },
		{ "net.ipv4.tcp_syncookies", 0 },
		{ "net.ipv4.ping_group_range", 0 },
		{ "net.ipv4.ip_unprivileged_port_start", 0 },
		{ "net.ipv4.ip_local_reserved_ports", 27 },
		{ "net.ipv4.tcp_keepalive_time", 29 },
		{ "net.ipv4.tcp_fin_timeout", 29 },
		{ "net.ipv4.tcp_keepalive_intvl", 29 },
		{ "net.ipv4.tcp_keepalive_probes", 29 },
		{ "net.ipv4.tcp_rmem", 32 },
		{ "net.ipv4.tcp_wmem", 32 },
		{ "net.ipv4.tcp_slow_start_after_idle", 37 },
		{ "net.ipv4.tcp_notsent_lowat", 37 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(safe); i++)
		if (str_eqz(name, safe[i].name))
			return minor >= safe[i].from;
	return false;
}

void security_check_sysctls(struct security_check *c)
{
	struct security_names bad = { 0 };

	JSON_FOREACH (it, security_at(c->spec, "sysctls")) {
		struct str name = json_text_at(it, "name");

		if (!sysctl_is_safe(name, c->minor))
			security_names_add(c, &bad, name);
	}
	if (bad.n)
		security_violate(c, "forbidden sysctls", "%s", security_join(c, &bad, ", "));
}

/* --- volumes ---------------------------------------------------------------------- */

static bool has_any(const struct json *volume, const char *const *types, size_t n,
		    const char **ret_type)
{
	for (size_t i = 0; i < n; i++) {
		if (json_is(json_getz(volume, types[i]), JSON_OBJECT)) {
			*ret_type = types[i];
			return true;
		}
	}
	return false;
}

void security_check_volumes(struct security_check *c)
{
	static const char *const allowed[] = {
		"configMap", "csi",   "downwardAPI",           "emptyDir",
		"ephemeral", "image", "persistentVolumeClaim", "projected",
		"secret",
	};
	static const char *const known[] = {
		"hostPath",
		"gcePersistentDisk",
		"awsElasticBlockStore",
		"gitRepo",
		"nfs",
		"iscsi",
		"glusterfs",
		"rbd",
		"flexVolume",
		"cinder",
		"cephfs",
		"flocker",
		"fc",
		"azureFile",
		"vsphereVolume",
		"quobyte",
		"azureDisk",
		"photonPersistentDisk",
		"portworxVolume",
		"scaleIO",
		"storageos",
	};
	struct security_names bad = { 0 }, types = { 0 };

	JSON_FOREACH (it, json_getz(c->spec, "volumes")) {
		const char *type = "unknown";

		if (has_any(it, allowed, ARRAY_SIZE(allowed), &type))
			continue;
		(void)has_any(it, known, ARRAY_SIZE(known), &type);
		security_names_add(c, &bad, json_text_at(it, "name"));
		security_names_add(c, &types, str_from(type));
	}
	security_names_sort(&types);
	if (bad.n)
		security_violate(c, "restricted volume types", "%s %s %s %s %s",
				 security_plural(bad.n, "volume", "volumes"),
				 security_quote(c, &bad), security_plural(bad.n, "uses", "use"),
				 security_plural(types.n, "restricted volume type",
						 "restricted volume types"),
				 security_quote(c, &types));
}
