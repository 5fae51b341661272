/*
 * Combines the securityContexts of pod and container: the container's field wins over the pod's, as
 * in upstream's DetermineEffectiveSecurityContext.
 */
#include <unistd.h>

#include "node/container/config_impl.h"

enum { USER_MAX = INT32_MAX };

static const char *const masked[] = {
	"/proc/asound",     "/proc/acpi",        "/proc/interrupts",
	"/proc/kcore",      "/proc/keys",        "/proc/latency_stats",
	"/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug",
	"/proc/scsi",       "/sys/firmware",     "/sys/devices/virtual/powercap",
};

static const char *const readonly[] = {
	"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger",
};

static const struct json *pod_context(const struct pod *pod)
{
	return json_getz(pod->spec, "securityContext");
}

static const struct json *effective(const struct pod *pod, const struct json *container,
				    const char *key)
{
	const struct json *own = json_getz(json_getz(container, "securityContext"), key);

	return own ? own : json_getz(pod_context(pod), key);
}

static int64_t config_security_id_of(const struct json *v)
{
	int64_t n;

	return json_i64(v, &n) && n >= 0 ? n : -1;
}

/* --- users ---------------------------------------------------------------------------------- */

/* The pod forbids root, so the user must be known and not root. Upstream's messages. */
static int check_non_root(const struct pod *pod, struct str container, int64_t user,
			  const struct container_parts *parts, struct error *err)
{
	int64_t image = parts->image_user;

	if (user == 0)
		return error_set(
			err, ERR_INVALID,
			"container's runAsUser breaks non-root policy (pod: \"%.*s_%.*s(%.*s)\", "
			"container: %.*s)",
			STR_ARG(pod->name), STR_ARG(pod->ns), STR_ARG(pod->uid),
			STR_ARG(container));
	if (user > 0)
		return 0;
	if (image < 0 && parts->image_username.n > 0)
		return error_set(
			err, ERR_INVALID,
			"container has runAsNonRoot and image has non-numeric user (%.*s), cannot "
			"verify user is non-root (pod: \"%.*s_%.*s(%.*s)\", container: %.*s)",
			STR_ARG(parts->image_username), STR_ARG(pod->name), STR_ARG(pod->ns),
			STR_ARG(pod->uid), STR_ARG(container));
	if (image == 0)
		return error_set(err, ERR_INVALID,
				 "container has runAsNonRoot and image will run as root (pod: "
				 "\"%.*s_%.*s(%.*s)\", container: %.*s)",
				 STR_ARG(pod->name), STR_ARG(pod->ns), STR_ARG(pod->uid),
				 STR_ARG(container));
	if (image > USER_MAX)
		return error_set(
			err, ERR_INVALID,
			"container has runAsNonRoot and image has an invalid user id (%lld). "
			"(Must be 1-(%d)): must be between 0 and %d, inclusive (pod: "
			"\"%.*s_%.*s(%.*s)\", container: %.*s)",
			(long long)image, USER_MAX, USER_MAX, STR_ARG(pod->name), STR_ARG(pod->ns),
			STR_ARG(pod->uid), STR_ARG(container));
	return 0;
}

static int put_user(const struct pod *pod, const struct json *container,
		    const struct container_parts *parts, struct runtime_security *s,
		    struct error *err)
{
	bool non_root = false;

	s->run_as_user = config_security_id_of(effective(pod, container, "runAsUser"));
	s->run_as_group = config_security_id_of(effective(pod, container, "runAsGroup"));
	(void)json_bool(effective(pod, container, "runAsNonRoot"), &non_root);
	if (non_root) {
		int r = check_non_root(pod, json_text_at(container, "name"), s->run_as_user, parts,
				       err);

		if (r < 0)
			return r;
	}
	if (s->run_as_user >= 0)
		return 0;
	/* CRI takes either a number or a name, depending on the image's user. */
	s->run_as_user = parts->image_user;
	s->run_as_username = parts->image_user < 0 ? parts->image_username : STR_NULL;
	return 0;
}

static void put_groups(const struct pod *pod, struct arena *a, struct runtime_security *s)
{
	const struct json *list = json_getz(pod_context(pod), "supplementalGroups");
	int64_t fs_group = config_security_id_of(json_getz(pod_context(pod), "fsGroup"));
	int64_t *v = ARENA_ARRAY(a, int64_t, json_count(list) + 1);

	if (fs_group >= 0)
		v[s->ngroups++] = fs_group;
	JSON_FOREACH (it, list) {
		if (config_security_id_of(it) >= 0)
			v[s->ngroups++] = config_security_id_of(it);
	}
	s->groups = v;
}

/* --- profiles ------------------------------------------------------------------------------- */

static int put_seccomp(const struct pod *pod, const struct json *container,
		       const struct container_parts *parts, struct arena *a,
		       struct runtime_security *s, struct error *err)
{
	const struct json *profile = effective(pod, container, "seccompProfile");
	struct str type = json_text_at(profile, "type");
	struct str file = json_text_at(profile, "localhostProfile");
	struct str root = parts->seccomp_root;

	s->seccomp = STR("Unconfined");
	if (str_eqz(type, "RuntimeDefault") || (type.n == 0 && parts->seccomp_default))
		s->seccomp = STR("RuntimeDefault");
	if (!str_eqz(type, "Localhost"))
		return 0;
	if (file.n == 0)
		return error_set(
			err, ERR_INVALID,
			"localhostProfile must be set if seccompProfile type is Localhost.");
	if (root.n == 0)
		root = STR("/var/lib/kubelet/seccomp");
	s->seccomp = str_from(arena_printf(a, "%.*s/%.*s", STR_ARG(root), STR_ARG(file)));
	return 0;
}

/* The annotation is older than the field and means the same. */
static struct str annotated_apparmor(const struct pod *pod, const struct json *container,
				     struct arena *a)
{
	struct str key = str_from(
		arena_printf(a, "container.apparmor.security.beta.kubernetes.io/%.*s",
			     STR_ARG(json_text_at(container, "name"))));
	struct str v = json_str(json_get(json_getz(pod->metadata, "annotations"), key));

	if (str_eqz(v, "runtime/default"))
		return STR("RuntimeDefault");
	if (str_eqz(v, "unconfined"))
		return STR("Unconfined");
	return str_starts(v, STR("localhost/")) ? str_skip(v, strlen("localhost/")) : STR_NULL;
}

static int read_apparmor(const struct json *profile, struct runtime_security *s, struct error *err)
{
	s->apparmor = json_text_at(profile, "type");
	if (!str_eqz(s->apparmor, "Localhost"))
		return 0;
	s->apparmor = json_text_at(profile, "localhostProfile");
	if (s->apparmor.n == 0)
		return error_set(err, ERR_INVALID, "missing localhost apparmor profile name");
	return 0;
}

static int put_apparmor(const struct pod *pod, const struct json *container, struct arena *a,
			struct runtime_security *s, struct error *err)
{
	const struct json *own = json_getz(json_getz(container, "securityContext"),
					   "appArmorProfile");

	if (own)
		return read_apparmor(own, s, err);
	s->apparmor = annotated_apparmor(pod, container, a);
	if (s->apparmor.n > 0)
		return 0;
	return read_apparmor(json_getz(pod_context(pod), "appArmorProfile"), s, err);
}

/* --- paths ---------------------------------------------------------------------------------- */

/* CPU temperatures leak information about neighbours. Only some machines have these folders. */
static size_t thermal_paths(struct str *v, size_t max, struct arena *a)
{
	size_t n = 0;

	for (size_t cpu = 0; cpu < max; cpu++) {
		char *path = arena_printf(a, "/sys/devices/system/cpu/cpu%zu/thermal_throttle",
					  cpu);

		if (access(path, F_OK) == 0)
			v[n++] = str_from(path);
	}
	return n;
}

static void put_paths(const struct json *proc_mount, struct arena *a, struct runtime_security *s)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	size_t ncpus = cpus > 0 ? (size_t)cpus : 0;

	if (str_eqz(json_str(proc_mount), "Unmasked"))
		return;
	s->masked_paths.v = ARENA_ARRAY(a, struct str, ARRAY_SIZE(masked) + ncpus);
	for (size_t i = 0; i < ARRAY_SIZE(masked); i++)
		s->masked_paths.v[s->masked_paths.n++] = str_from(masked[i]);
	s->masked_paths.n += thermal_paths(s->masked_paths.v + s->masked_paths.n, ncpus, a);
	s->readonly_paths.v = ARENA_ARRAY(a, struct str, ARRAY_SIZE(readonly));
	for (size_t i = 0; i < ARRAY_SIZE(readonly); i++)
		s->readonly_paths.v[s->readonly_paths.n++] = str_from(readonly[i]);
}

/* --- both contexts -------------------------------------------------------------------------- */

static void put_namespaces(const struct pod *pod, struct runtime_security *s)
{
	s->network = pod_host_network(pod) ? RUNTIME_NS_NODE : RUNTIME_NS_POD;
	s->ipc = json_true_at(pod->spec, "hostIPC") ? RUNTIME_NS_NODE : RUNTIME_NS_POD;
	if (json_true_at(pod->spec, "hostPID"))
		s->pid = RUNTIME_NS_NODE;
	else if (json_true_at(pod->spec, "shareProcessNamespace"))
		s->pid = RUNTIME_NS_POD;
	else
		s->pid = RUNTIME_NS_CONTAINER;
}

int config_security(const struct pod *pod, const struct json *container,
		    const struct container_parts *parts, struct arena *a,
		    struct runtime_security *ret, struct error *err)
{
	const struct json *own = json_getz(container, "securityContext");
	const struct json *caps = json_getz(own, "capabilities");
	struct runtime_security s = { 0 };
	bool escalate = true;
	int r;

	r = put_user(pod, container, parts, &s, err);
	if (r == 0)
		r = put_seccomp(pod, container, parts, a, &s, err);
	if (r == 0)
		r = put_apparmor(pod, container, a, &s, err);
	if (r < 0)
		return r;
	put_groups(pod, a, &s);
	s.privileged = json_true_at(own, "privileged");
	s.readonly_rootfs = json_true_at(own, "readOnlyRootFilesystem");
	(void)json_bool(json_getz(own, "allowPrivilegeEscalation"), &escalate);
	s.no_new_privs = !escalate;
	s.cap_add = config_strs(json_getz(caps, "add"), a);
	s.cap_drop = config_strs(json_getz(caps, "drop"), a);
	put_paths(json_getz(own, "procMount"), a, &s);
	put_namespaces(pod, &s);
	*ret = s;
	return 0;
}

void config_sandbox_security(const struct pod *pod, struct arena *a, struct runtime_security *ret)
{
	struct pod_containers c = pod_containers(pod);
	struct runtime_security s = { .seccomp = STR("RuntimeDefault") };

	s.run_as_user = config_security_id_of(json_getz(pod_context(pod), "runAsUser"));
	s.run_as_group = config_security_id_of(json_getz(pod_context(pod), "runAsGroup"));
	put_groups(pod, a, &s);
	put_namespaces(pod, &s);
	while (pod_containers_next(&c))
		s.privileged |= json_true_at(json_getz(c.container, "securityContext"),
					     "privileged");
	*ret = s;
}
