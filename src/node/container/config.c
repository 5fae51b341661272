/*
 * The specs of containers and sandboxes, as kubelet's generateContainerConfig and
 * generatePodSandboxConfig build them. Larger parts have their own files.
 */
#include "node/container/config_impl.h"

#include <inttypes.h>

#include "api/schema/names.h"
#include "node/lifecycle/lifecycle.h"
#include "node/runtime/cri_log.h"
#include "node/sources/env.h"

enum {
	HOSTNAME_MAX_BYTES = 63,
	NODENAME_MAX_BYTES = 64, /* the kernel's limit */
	ANNOTATIONS_OURS = 9, /* at most this many are added to a container's */
};

/* --- trees to arrays ------------------------------------------------------------------------ */

struct runtime_strs config_strs(const struct json *array, struct arena *a)
{
	struct runtime_strs s = { .v = ARENA_ARRAY(a, struct str, json_count(array) + 1) };

	JSON_FOREACH (it, array) {
		if (json_is(it, JSON_STRING))
			s.v[s.n++] = json_str(it);
	}
	return s;
}

/* Adds or replaces one; there must be room for one more. */
static void pair_set(struct runtime_pairs *pairs, struct str key, struct str value)
{
	size_t i = 0;

	while (i < pairs->n && !str_eq(pairs->v[i].key, key))
		i++;
	pairs->v[i] = (struct runtime_pair){ key, value };
	pairs->n = MAX(pairs->n, i + 1);
}

/* Members with text values, with room for `more`. */
static struct runtime_pairs pairs_of(const struct json *object, size_t more, struct arena *a)
{
	struct runtime_pairs p = { .v = ARENA_ARRAY(a, struct runtime_pair,
						    json_count(object) + more + 1) };

	JSON_FOREACH (it, object) {
		if (json_is(it, JSON_STRING))
			p.v[p.n++] = (struct runtime_pair){ json_key(it), json_str(it) };
	}
	return p;
}

/* --- labels and annotations ----------------------------------------------------------------- */

static void put_pod_labels(const struct pod *pod, struct runtime_pairs *labels)
{
	pair_set(labels, STR(RUNTIME_LABEL_POD_NAME), pod->name);
	pair_set(labels, STR(RUNTIME_LABEL_POD_NAMESPACE), pod->ns);
	pair_set(labels, STR(RUNTIME_LABEL_POD_UID), pod->uid);
}

static struct str config_number(struct arena *a, int64_t v)
{
	return str_from(arena_printf(a, "%" PRId64, v));
}

static struct str as_json(const struct json *v, struct arena *a)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(SIZE_MAX);

	(void)json_print(&b, v, &(struct json_style){ .html = true });
	return arena_str(a, buf_str(&b));
}

static void put_optional_annotations(const struct pod *pod, const struct json *container,
				     struct arena *a, struct runtime_pairs *to)
{
	const struct json *hook = json_getz(json_getz(container, "lifecycle"), "preStop");
	const struct json *ports = json_getz(container, "ports");
	int64_t grace;

	if (json_i64(json_getz(pod->metadata, "deletionGracePeriodSeconds"), &grace))
		pair_set(to, STR(CRI_ANNOTATION_DELETION_GRACE), config_number(a, grace));
	if (json_i64(json_getz(pod->spec, "terminationGracePeriodSeconds"), &grace))
		pair_set(to, STR(CRI_ANNOTATION_TERMINATION_GRACE), config_number(a, grace));
	if (hook)
		pair_set(to, STR(CRI_ANNOTATION_PRE_STOP), as_json(hook, a));
	if (json_count(ports) > 0)
		pair_set(to, STR(CRI_ANNOTATION_PORTS), as_json(ports, a));
}

/* Ours replace a device plugin's under the same key. */
static void put_annotations(const struct pod *pod, const struct json *container,
			    const struct container_parts *parts, struct arena *a,
			    struct container_spec *io)
{
	struct runtime_pairs plugins = io->annotations;
	struct runtime_pairs to = { .v = ARENA_ARRAY(a, struct runtime_pair,
						     plugins.n + ANNOTATIONS_OURS) };

	for (size_t i = 0; i < plugins.n; i++)
		pair_set(&to, plugins.v[i].key, plugins.v[i].value);
	pair_set(&to, STR(CRI_ANNOTATION_HASH),
		 str_from(arena_printf(a, "%" PRIx32, lifecycle_container_hash(container))));
	pair_set(&to, STR(CRI_ANNOTATION_RESTARTS), config_number(a, io->attempt));
	pair_set(&to, STR(CRI_ANNOTATION_TERMINATION_PATH),
		 json_text_at(container, "terminationMessagePath"));
	pair_set(&to, STR(CRI_ANNOTATION_TERMINATION_POLICY),
		 json_text_at(container, "terminationMessagePolicy"));
	if (parts->plugin_devices.n > 0)
		pair_set(&to, STR(RUNTIME_PLUGIN_DEVICES), parts->plugin_devices);
	put_optional_annotations(pod, container, a, &to);
	io->annotations = to;
}

/* --- containers ----------------------------------------------------------------------------- */

static struct runtime_strs expanded(const struct json *array, const struct runtime_pairs *env,
				    struct arena *a)
{
	struct runtime_strs s = config_strs(array, a);

	for (size_t i = 0; i < s.n; i++)
		s.v[i] = env_expand(s.v[i], env, a);
	return s;
}

/* Names from plugins, then names from claims, each once. */
static int put_cdi(const struct container_parts *parts, const struct runtime_strs *plugins,
		   struct arena *a, struct container_spec *io, struct error *err)
{
	struct runtime_strs ids = { .v = ARENA_ARRAY(a, struct str,
						     plugins->n + parts->ncdi_ids + 1) };

	for (size_t i = 0; i < plugins->n + parts->ncdi_ids; i++) {
		struct str id = i < plugins->n ? plugins->v[i] : parts->cdi_ids[i - plugins->n];
		size_t at = 0;

		while (at < ids.n && !str_eq(ids.v[at], id))
			at++;
		if (at == ids.n)
			ids.v[ids.n++] = id;
	}
	if (!parts->runtime_does_cdi)
		return cdi_apply(&parts->cdi_dirs, ids.v, ids.n, a, io, err);
	io->cdi_devices = ids;
	return 0;
}

static void put_names(const struct pod *pod, const struct json *container,
		      const struct container_parts *parts, struct arena *a,
		      struct container_spec *io)
{
	io->name = json_text_at(container, "name");
	io->attempt = parts->attempt;
	io->image = parts->image_ref;
	io->user_image = json_text_at(container, "image");
	io->working_dir = json_text_at(container, "workingDir");
	io->log_path = str_from(arena_printf(a, "%.*s/%u.log", STR_ARG(io->name), parts->attempt));
	io->is_stdin = json_true_at(container, "stdin");
	io->stdin_once = json_true_at(container, "stdinOnce");
	io->tty = json_true_at(container, "tty");
	io->labels.v = ARENA_ARRAY(a, struct runtime_pair, 4);
	put_pod_labels(pod, &io->labels);
	pair_set(&io->labels, STR(RUNTIME_LABEL_CONTAINER_NAME), io->name);
}

int container_config_make(const struct pod *pod, const struct json *container,
			  const struct container_parts *parts, struct arena *a,
			  struct container_spec *ret_spec, struct error *err)
{
	struct container_spec spec = { 0 };
	struct runtime_strs cdi = { 0 };
	int r;

	if (json_text_at(container, "targetContainerName").n > 0)
		return error_set(
			err, ERR_UNIMPLEMENTED,
			"ephemeral container \"%.*s\": targetContainerName is not supported",
			STR_ARG(json_text_at(container, "name")));
	put_names(pod, container, parts, a, &spec);
	r = config_security(pod, container, parts, a, &spec.security, err);
	if (r == 0)
		r = config_answers(parts, a, &spec, &cdi, err);
	if (r < 0)
		return r;
	spec.command = expanded(json_getz(container, "command"), &spec.env, a);
	spec.args = expanded(json_getz(container, "args"), &spec.env, a);
	put_annotations(pod, container, parts, a, &spec);
	config_limits(pod, container, parts, a, &spec.limits);
	r = put_cdi(parts, &cdi, a, &spec, err);
	if (r < 0)
		return r;
	*ret_spec = spec;
	return 0;
}

/* --- the sandbox ---------------------------------------------------------------------------- */

static int check_label(const char *what, struct str s, struct error *err)
{
	const char *fault = s.n > 0 ? names_dns_label(s) : NULL;

	if (fault)
		return error_set(err, ERR_INVALID, "pod %s \"%.*s\" is not a valid DNS label: %s",
				 what, STR_ARG(s), fault);
	return 0;
}

/* Cut to the kernel's limit, and not after a dash or dot. */
static struct str cut_hostname(struct str s)
{
	if (s.n <= HOSTNAME_MAX_BYTES)
		return s;
	s.n = HOSTNAME_MAX_BYTES;
	while (s.n > 0 && (s.p[s.n - 1] == '-' || s.p[s.n - 1] == '.'))
		s.n--;
	return s;
}

int container_config_hostname(const struct pod *pod, struct str cluster_domain, struct arena *a,
			      struct str *ret_host, struct str *ret_domain, struct error *err)
{
	struct str override = json_text_at(pod->spec, "hostnameOverride");
	struct str host = json_text_at(pod->spec, "hostname");
	struct str subdomain = json_text_at(pod->spec, "subdomain");
	int r;

	*ret_domain = STR_NULL;
	if (override.n > 0) {
		*ret_host = cut_hostname(override);
		return 0;
	}
	r = check_label("Hostname", host, err);
	if (r == 0)
		r = check_label("Subdomain", subdomain, err);
	if (r < 0)
		return r;
	*ret_host = cut_hostname(host.n > 0 ? host : pod->name);
	if (subdomain.n > 0)
		*ret_domain = str_from(arena_printf(a, "%.*s.%.*s.svc.%.*s", STR_ARG(subdomain),
						    STR_ARG(pod->ns), STR_ARG(cluster_domain)));
	return 0;
}

static int put_hostname(const struct pod *pod, const struct sandbox_parts *parts, struct arena *a,
			struct sandbox_spec *io, struct error *err)
{
	struct str domain;
	int r;

	if (pod_host_network(pod))
		return 0;
	r = container_config_hostname(pod, parts->cluster_domain, a, &io->hostname, &domain, err);
	if (r < 0 || domain.n == 0 || !json_true_at(pod->spec, "setHostnameAsFQDN"))
		return r;
	io->hostname = str_from(
		arena_printf(a, "%.*s.%.*s", STR_ARG(io->hostname), STR_ARG(domain)));
	if (io->hostname.n > NODENAME_MAX_BYTES)
		return error_set(
			err, ERR_INVALID,
			"failed to construct FQDN from pod hostname and cluster domain, FQDN "
			"%.*s is too long (%d characters is the max, %zu characters requested)",
			STR_ARG(io->hostname), NODENAME_MAX_BYTES, io->hostname.n);
	return 0;
}

static int protocol_of(struct str s)
{
	return str_eqz(s, "UDP") ? 1 : str_eqz(s, "SCTP") ? 2 : 0;
}

static void put_ports(const struct pod *pod, struct arena *a, struct sandbox_spec *io)
{
	struct runtime_port *v;
	size_t n = 0;

	JSON_FOREACH (c, json_getz(pod->spec, "containers"))
		n += json_count(json_getz(c, "ports"));
	v = ARENA_ARRAY(a, struct runtime_port, n + 1);
	n = 0;
	JSON_FOREACH (c, json_getz(pod->spec, "containers")) {
		JSON_FOREACH (p, json_getz(c, "ports"))
			v[n++] = (struct runtime_port){
				.container_port = (int32_t)json_i64_at(p, "containerPort", 0),
				.host_port = (int32_t)json_i64_at(p, "hostPort", 0),
				.protocol = protocol_of(json_text_at(p, "protocol")),
				.host_ip = json_text_at(p, "hostIP"),
			};
	}
	io->ports = v;
	io->nports = n;
}

static void put_sysctls(const struct pod *pod, struct arena *a, struct sandbox_spec *io)
{
	const struct json *list = json_getz(json_getz(pod->spec, "securityContext"), "sysctls");

	io->sysctls.v = ARENA_ARRAY(a, struct runtime_pair, json_count(list) + 1);
	JSON_FOREACH (it, list)
		pair_set(&io->sysctls, json_text_at(it, "name"), json_text_at(it, "value"));
}

int container_config_sandbox(const struct pod *pod, const struct sandbox_parts *parts,
			     struct arena *a, struct sandbox_spec *ret_spec, struct error *err)
{
	struct sandbox_spec spec = {
		.uid = pod->uid, .ns = pod->ns, .name = pod->name, .attempt = parts->attempt
	};
	int r = put_hostname(pod, parts, a, &spec, err);

	if (r < 0)
		return r;
	spec.log_dir = str_from(arena_printf(a, "%.*s/%.*s_%.*s_%.*s", STR_ARG(parts->log_root),
					     STR_ARG(pod->ns), STR_ARG(pod->name),
					     STR_ARG(pod->uid)));
	if (parts->cgroup_root.n > 0)
		spec.cgroup_parent = str_from(arena_printf(
			a, "%.*s/pod%.*s", STR_ARG(parts->cgroup_root), STR_ARG(pod->uid)));
	spec.labels = pairs_of(json_getz(pod->metadata, "labels"), 3, a);
	put_pod_labels(pod, &spec.labels);
	spec.annotations = pairs_of(json_getz(pod->metadata, "annotations"), 0, a);
	put_ports(pod, a, &spec);
	put_sysctls(pod, a, &spec);
	config_sandbox_security(pod, a, &spec.security);
	config_dns(pod, parts, a, &spec);
	*ret_spec = spec;
	return 0;
}
