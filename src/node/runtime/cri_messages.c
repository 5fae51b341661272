/*
 * One function per message. Empty fields of a spec stay unset, so that the runtime's default
 * applies. Numbers for which 0 is a valid value (users, groups) are wrapped, as CRI requires.
 */
#include "node/runtime/cri_messages.h"

#define MESSAGE(a, type, init)                         \
	__extension__({                                \
		type *message_ = ARENA_NEW((a), type); \
		init(message_);                        \
		message_;                              \
	})

char *cri_text(struct arena *a, struct str s)
{
	return s.n > 0 ? arena_strdup(a, s) : (char *)protobuf_c_empty_string;
}

char **cri_texts(struct arena *a, const struct runtime_strs *strs)
{
	char **v = ARENA_ARRAY(a, char *, strs->n + 1);

	for (size_t i = 0; i < strs->n; i++)
		v[i] = cri_text(a, strs->v[i]);
	return v;
}

struct str cri_pair(Cri__Pair *const *pairs, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(pairs[i]->key, key) == 0)
			return str_from(pairs[i]->value);
	}
	return STR_NULL;
}

static Cri__Pair **pairs(struct arena *a, const struct runtime_pairs *from, size_t *ret_n)
{
	Cri__Pair **v = ARENA_ARRAY(a, Cri__Pair *, from->n + 1);

	for (size_t i = 0; i < from->n; i++) {
		v[i] = MESSAGE(a, Cri__Pair, cri__pair__init);
		v[i]->key = cri_text(a, from->v[i].key);
		v[i]->value = cri_text(a, from->v[i].value);
	}
	*ret_n = from->n;
	return v;
}

static Cri__Int64Value *cri_messages_number(struct arena *a, int64_t v)
{
	Cri__Int64Value *m;

	if (v < 0)
		return NULL;
	m = MESSAGE(a, Cri__Int64Value, cri__int64_value__init);
	m->value = v;
	return m;
}

/* --- security ------------------------------------------------------------------------------- */

static Cri__NamespaceOption *namespaces(struct arena *a, const struct runtime_security *s)
{
	Cri__NamespaceOption *m = MESSAGE(a, Cri__NamespaceOption, cri__namespace_option__init);

	m->network = (Cri__NamespaceMode)s->network;
	m->pid = (Cri__NamespaceMode)s->pid;
	m->ipc = (Cri__NamespaceMode)s->ipc;
	return m;
}

static Cri__SecurityProfile *profile(struct arena *a, struct str s)
{
	Cri__SecurityProfile *m;

	if (s.n == 0)
		return NULL;
	m = MESSAGE(a, Cri__SecurityProfile, cri__security_profile__init);
	if (str_eqz(s, "RuntimeDefault")) {
		m->profile_type = CRI__SECURITY_PROFILE__PROFILE_TYPE__RuntimeDefault;
	} else if (str_eqz(s, "Unconfined")) {
		m->profile_type = CRI__SECURITY_PROFILE__PROFILE_TYPE__Unconfined;
	} else {
		m->profile_type = CRI__SECURITY_PROFILE__PROFILE_TYPE__Localhost;
		m->localhost_ref = cri_text(a, s);
	}
	return m;
}

/* Profile names before SecurityProfile, for runtimes that know only these. */
static char *old_apparmor(struct arena *a, struct str s)
{
	if (s.n == 0)
		return (char *)protobuf_c_empty_string;
	if (str_eqz(s, "RuntimeDefault"))
		return cri_text(a, STR("runtime/default"));
	if (str_eqz(s, "Unconfined"))
		return cri_text(a, STR("unconfined"));
	return arena_printf(a, "localhost/%.*s", STR_ARG(s));
}

static int64_t *groups(struct arena *a, const struct runtime_security *s)
{
	int64_t *v = ARENA_ARRAY(a, int64_t, s->ngroups + 1);

	if (s->ngroups > 0)
		memcpy(v, s->groups, s->ngroups * sizeof(*v));
	return v;
}

static Cri__Capability *capabilities(struct arena *a, const struct runtime_security *s)
{
	Cri__Capability *m;

	if (s->cap_add.n + s->cap_drop.n == 0)
		return NULL;
	m = MESSAGE(a, Cri__Capability, cri__capability__init);
	m->add_capabilities = cri_texts(a, &s->cap_add);
	m->n_add_capabilities = s->cap_add.n;
	m->drop_capabilities = cri_texts(a, &s->cap_drop);
	m->n_drop_capabilities = s->cap_drop.n;
	return m;
}

static Cri__LinuxContainerSecurityContext *security(struct arena *a,
						    const struct runtime_security *s)
{
	Cri__LinuxContainerSecurityContext *m = MESSAGE(
		a, Cri__LinuxContainerSecurityContext, cri__linux_container_security_context__init);

	m->capabilities = capabilities(a, s);
	m->privileged = s->privileged;
	m->namespace_options = namespaces(a, s);
	m->run_as_user = cri_messages_number(a, s->run_as_user);
	m->run_as_group = cri_messages_number(a, s->run_as_group);
	m->run_as_username = cri_text(a, s->run_as_username);
	m->readonly_rootfs = s->readonly_rootfs;
	m->supplemental_groups = groups(a, s);
	m->n_supplemental_groups = s->ngroups;
	m->no_new_privs = s->no_new_privs;
	m->masked_paths = cri_texts(a, &s->masked_paths);
	m->n_masked_paths = s->masked_paths.n;
	m->readonly_paths = cri_texts(a, &s->readonly_paths);
	m->n_readonly_paths = s->readonly_paths.n;
	m->seccomp = profile(a, s->seccomp);
	m->apparmor = profile(a, s->apparmor);
	m->apparmor_profile = old_apparmor(a, s->apparmor);
	return m;
}

/* --- sandboxes ------------------------------------------------------------------------------ */

static Cri__LinuxPodSandboxConfig *sandbox_linux(struct arena *a, const struct sandbox_spec *spec)
{
	Cri__LinuxPodSandboxConfig *m = MESSAGE(a, Cri__LinuxPodSandboxConfig,
						cri__linux_pod_sandbox_config__init);
	Cri__LinuxSandboxSecurityContext *s = MESSAGE(a, Cri__LinuxSandboxSecurityContext,
						      cri__linux_sandbox_security_context__init);

	m->cgroup_parent = cri_text(a, spec->cgroup_parent);
	m->security_context = s;
	m->sysctls = pairs(a, &spec->sysctls, &m->n_sysctls);
	s->namespace_options = namespaces(a, &spec->security);
	s->run_as_user = cri_messages_number(a, spec->security.run_as_user);
	s->run_as_group = cri_messages_number(a, spec->security.run_as_group);
	s->readonly_rootfs = spec->security.readonly_rootfs;
	s->supplemental_groups = groups(a, &spec->security);
	s->n_supplemental_groups = spec->security.ngroups;
	s->privileged = spec->security.privileged;
	s->seccomp = profile(a, spec->security.seccomp);
	return m;
}

static Cri__PortMapping **ports(struct arena *a, const struct sandbox_spec *spec)
{
	Cri__PortMapping **v = ARENA_ARRAY(a, Cri__PortMapping *, spec->nports + 1);

	for (size_t i = 0; i < spec->nports; i++) {
		v[i] = MESSAGE(a, Cri__PortMapping, cri__port_mapping__init);
		v[i]->protocol = (Cri__Protocol)spec->ports[i].protocol;
		v[i]->container_port = spec->ports[i].container_port;
		v[i]->host_port = spec->ports[i].host_port;
		v[i]->host_ip = cri_text(a, spec->ports[i].host_ip);
	}
	return v;
}

static Cri__DNSConfig *dns(struct arena *a, const struct sandbox_spec *spec)
{
	Cri__DNSConfig *m = MESSAGE(a, Cri__DNSConfig, cri__dnsconfig__init);

	m->servers = cri_texts(a, &spec->dns_servers);
	m->n_servers = spec->dns_servers.n;
	m->searches = cri_texts(a, &spec->dns_searches);
	m->n_searches = spec->dns_searches.n;
	m->options = cri_texts(a, &spec->dns_options);
	m->n_options = spec->dns_options.n;
	return m;
}

Cri__PodSandboxConfig *cri_sandbox_config(struct arena *a, const struct sandbox_spec *spec)
{
	Cri__PodSandboxConfig *m = MESSAGE(a, Cri__PodSandboxConfig, cri__pod_sandbox_config__init);

	m->metadata = MESSAGE(a, Cri__PodSandboxMetadata, cri__pod_sandbox_metadata__init);
	m->metadata->name = cri_text(a, spec->name);
	m->metadata->uid = cri_text(a, spec->uid);
	m->metadata->namespace_ = cri_text(a, spec->ns);
	m->metadata->attempt = spec->attempt;
	m->hostname = cri_text(a, spec->hostname);
	m->log_directory = cri_text(a, spec->log_dir);
	m->dns_config = dns(a, spec);
	m->port_mappings = ports(a, spec);
	m->n_port_mappings = spec->nports;
	m->labels = pairs(a, &spec->labels, &m->n_labels);
	m->annotations = pairs(a, &spec->annotations, &m->n_annotations);
	m->linux_config = sandbox_linux(a, spec);
	return m;
}

/* --- containers ----------------------------------------------------------------------------- */

Cri__LinuxContainerResources *cri_resources(struct arena *a, const struct runtime_limits *l)
{
	Cri__LinuxContainerResources *m = MESSAGE(a, Cri__LinuxContainerResources,
						  cri__linux_container_resources__init);

	m->cpu_period = l->cpu_period;
	m->cpu_quota = l->cpu_quota;
	m->cpu_shares = l->cpu_shares;
	m->memory_limit_in_bytes = l->memory_bytes;
	m->oom_score_adj = l->oom_score_adj;
	m->cpuset_cpus = cri_text(a, l->cpus);
	m->cpuset_mems = cri_text(a, l->mems);
	m->hugepage_limits = ARENA_ARRAY(a, Cri__HugepageLimit *, l->nhuge_pages + 1);
	m->n_hugepage_limits = l->nhuge_pages;
	for (size_t i = 0; i < l->nhuge_pages; i++) {
		m->hugepage_limits[i] = MESSAGE(a, Cri__HugepageLimit, cri__hugepage_limit__init);
		m->hugepage_limits[i]->page_size = cri_text(a, l->huge_pages[i].page_size);
		m->hugepage_limits[i]->limit = (uint64_t)l->huge_pages[i].bytes;
	}
	return m;
}

static void put_env(struct arena *a, const struct container_spec *spec, Cri__ContainerConfig *m)
{
	m->envs = ARENA_ARRAY(a, Cri__KeyValue *, spec->env.n + 1);
	m->n_envs = spec->env.n;
	for (size_t i = 0; i < spec->env.n; i++) {
		m->envs[i] = MESSAGE(a, Cri__KeyValue, cri__key_value__init);
		m->envs[i]->key = cri_text(a, spec->env.v[i].key);
		m->envs[i]->value = cri_text(a, spec->env.v[i].value);
	}
}

static void put_mounts(struct arena *a, const struct container_spec *spec, Cri__ContainerConfig *m)
{
	m->mounts = ARENA_ARRAY(a, Cri__Mount *, spec->nmounts + 1);
	m->n_mounts = spec->nmounts;
	for (size_t i = 0; i < spec->nmounts; i++) {
		Cri__Mount *to = MESSAGE(a, Cri__Mount, cri__mount__init);

		to->container_path = cri_text(a, spec->mounts[i].container_path);
		to->host_path = cri_text(a, spec->mounts[i].host_path);
		to->readonly = spec->mounts[i].readonly;
		to->propagation = (Cri__MountPropagation)spec->mounts[i].propagation;
		m->mounts[i] = to;
	}
}

static void cri_messages_put_devices(struct arena *a, const struct container_spec *spec,
				     Cri__ContainerConfig *m)
{
	m->devices = ARENA_ARRAY(a, Cri__Device *, spec->ndevices + 1);
	m->n_devices = spec->ndevices;
	for (size_t i = 0; i < spec->ndevices; i++) {
		m->devices[i] = MESSAGE(a, Cri__Device, cri__device__init);
		m->devices[i]->container_path = cri_text(a, spec->devices[i].container_path);
		m->devices[i]->host_path = cri_text(a, spec->devices[i].host_path);
		m->devices[i]->permissions = cri_text(a, spec->devices[i].permissions);
	}
	m->cdi_devices = ARENA_ARRAY(a, Cri__CDIDevice *, spec->cdi_devices.n + 1);
	m->n_cdi_devices = spec->cdi_devices.n;
	for (size_t i = 0; i < spec->cdi_devices.n; i++) {
		m->cdi_devices[i] = MESSAGE(a, Cri__CDIDevice, cri__cdidevice__init);
		m->cdi_devices[i]->name = cri_text(a, spec->cdi_devices.v[i]);
	}
}

Cri__ImageSpec *cri_image_spec(struct arena *a, struct str image)
{
	Cri__ImageSpec *m = MESSAGE(a, Cri__ImageSpec, cri__image_spec__init);

	m->image = cri_text(a, image);
	return m;
}

Cri__ContainerConfig *cri_container_config(struct arena *a, const struct container_spec *spec)
{
	Cri__ContainerConfig *m = MESSAGE(a, Cri__ContainerConfig, cri__container_config__init);

	m->metadata = MESSAGE(a, Cri__ContainerMetadata, cri__container_metadata__init);
	m->metadata->name = cri_text(a, spec->name);
	m->metadata->attempt = spec->attempt;
	m->image = cri_image_spec(a, spec->image);
	m->image->user_specified_image = cri_text(a, spec->user_image);
	m->command = cri_texts(a, &spec->command);
	m->n_command = spec->command.n;
	m->args = cri_texts(a, &spec->args);
	m->n_args = spec->args.n;
	m->working_dir = cri_text(a, spec->working_dir);
	put_env(a, spec, m);
	put_mounts(a, spec, m);
	cri_messages_put_devices(a, spec, m);
	m->labels = pairs(a, &spec->labels, &m->n_labels);
	m->annotations = pairs(a, &spec->annotations, &m->n_annotations);
	m->log_path = cri_text(a, spec->log_path);
	m->is_stdin = spec->is_stdin;
	m->stdin_once = spec->stdin_once;
	m->tty = spec->tty;
	m->linux_config = MESSAGE(a, Cri__LinuxContainerConfig, cri__linux_container_config__init);
	m->linux_config->resources = cri_resources(a, &spec->limits);
	m->linux_config->security_context = security(a, &spec->security);
	return m;
}

Cri__AuthConfig *cri_auth(struct arena *a, const struct runtime_auth *auth)
{
	Cri__AuthConfig *m;

	if (!auth)
		return NULL;
	m = MESSAGE(a, Cri__AuthConfig, cri__auth_config__init);
	m->username = cri_text(a, auth->username);
	m->password = cri_text(a, auth->password);
	m->auth = cri_text(a, auth->auth);
	m->server_address = cri_text(a, auth->server_address);
	m->identity_token = cri_text(a, auth->identity_token);
	m->registry_token = cri_text(a, auth->registry_token);
	return m;
}
