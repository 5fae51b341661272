/*
 * Fields of a pod that we do not support, as rows: the field's path, and the value that we do
 * support. A field that is neither in these tables nor read anywhere else requires nothing from a
 * node.
 */
#include "node/container/config_impl.h"

struct row {
	const char *path; /* below the pod's spec or the container, names joined by dots */
	const char *fine; /* the value that we support; NULL: none */
};

static const struct row of_pod[] = {
	{ "os.name", "linux" },
	{ "hostUsers", "true" },
	{ "runtimeClassName", NULL },
	{ "resources", NULL },
	{ "securityContext.windowsOptions", NULL },
	{ "securityContext.seLinuxOptions", NULL },
	{ "securityContext.supplementalGroupsPolicy", "Merge" },
};

static const struct row of_container[] = {
	{ "volumeDevices", NULL },
	{ "lifecycle.stopSignal", NULL },
	{ "securityContext.windowsOptions", NULL },
	{ "securityContext.seLinuxOptions", NULL },
};

static const char *const safe_sysctls[] = {
	"kernel.shm_rmid_forced",
	"net.ipv4.ip_local_port_range",
	"net.ipv4.tcp_syncookies",
	"net.ipv4.ping_group_range",
	"net.ipv4.ip_unprivileged_port_start",
	"net.ipv4.ip_local_reserved_ports",
	"net.ipv4.tcp_keepalive_time",
	"net.ipv4.tcp_fin_timeout",
	"net.ipv4.tcp_keepalive_intvl",
	"net.ipv4.tcp_keepalive_probes",
	"net.ipv4.tcp_rmem",
	"net.ipv4.tcp_wmem",
	"net.ipv4.tcp_slow_start_after_idle",
	"net.ipv4.tcp_notsent_lowat",
};

static const struct json *at_path(const struct json *v, const char *path)
{
	struct str rest = str_from(path), name;

	while (v && str_split(&rest, '.', &name))
		v = json_get(v, name);
	return v;
}

/* An empty value counts as absent. */
static bool says_nothing(const struct json *v)
{
	return !v || json_is(v, JSON_NULL) || (json_is_container(v) && json_count(v) == 0) ||
	       (json_is(v, JSON_STRING) && json_str(v).n == 0);
}

static bool is_fine(const struct row *row, const struct json *v)
{
	bool b;

	if (says_nothing(v))
		return true;
	if (!row->fine)
		return false;
	if (json_bool(v, &b))
		return b == (strcmp(row->fine, "true") == 0);
	return str_eqz(json_str(v), row->fine);
}

static const struct row *config_check_fault(const struct row *rows, size_t n, const struct json *v)
{
	for (size_t i = 0; i < n; i++) {
		if (!is_fine(&rows[i], at_path(v, rows[i].path)))
			return &rows[i];
	}
	return NULL;
}

static int config_check_refuse(struct str container, const struct row *row, const struct json *v,
			       struct error *err)
{
	struct str value = json_str(v);
	const char *is = value.n > 0 ? " " : json_is(v, JSON_BOOL) ? " false" : "";

	if (container.n > 0)
		return error_set(err, ERR_UNIMPLEMENTED,
				 "container \"%.*s\": %s%s%.*s is not supported on this node",
				 STR_ARG(container), row->path, is, STR_ARG(value));
	return error_set(err, ERR_UNIMPLEMENTED, "spec.%s%s%.*s is not supported on this node",
			 row->path, is, STR_ARG(value));
}

static bool is_safe(struct str name)
{
	for (size_t i = 0; i < ARRAY_SIZE(safe_sysctls); i++) {
		if (str_eqz(name, safe_sysctls[i]))
			return true;
	}
	return false;
}

/* Sysctls of the host's namespace would change the host. Upstream's messages. */
static int check_sysctl(const struct pod *pod, struct str name, struct error *err)
{
	bool net = str_starts(name, STR("net."));

	if (!is_safe(name))
		return error_set(err, ERR_FORBIDDEN, "forbidden sysctl: \"%.*s\" not allowlisted",
				 STR_ARG(name));
	if ((net && pod_host_network(pod)) || (!net && json_true_at(pod->spec, "hostIPC")))
		return error_set(err, ERR_FORBIDDEN,
				 "forbidden sysctl: \"%.*s\" not allowed with host %s enabled",
				 STR_ARG(name), net ? "Net" : "IPC");
	return 0;
}

int container_config_check(const struct pod *pod, struct error *err)
{
	const struct row *row = config_check_fault(of_pod, ARRAY_SIZE(of_pod), pod->spec);
	struct pod_containers c = pod_containers(pod);

	if (row)
		return config_check_refuse(STR_NULL, row, at_path(pod->spec, row->path), err);
	while (pod_containers_next(&c)) {
		row = config_check_fault(of_container, ARRAY_SIZE(of_container), c.container);
		if (row)
			return config_check_refuse(c.name, row, at_path(c.container, row->path),
						   err);
	}
	JSON_FOREACH (it, at_path(pod->spec, "securityContext.sysctls")) {
		int r = check_sysctl(pod, json_text_at(it, "name"), err);

		if (r < 0)
			return r;
	}
	return 0;
}
