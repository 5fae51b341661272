/*
 * Specs of containers and sandboxes, built from pods.
 */
#include "node/container/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/system/file.h"
#include "deviceplugin.pb-c.h"

struct world {
	struct arena a;
	struct pod *pod;
	struct container_parts parts;
	struct container_spec spec;
	struct sandbox_parts sandbox_parts;
	struct sandbox_spec sandbox;
	struct error err;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	arena_init(&w->a, SIZE_MAX);
	w->parts.node_memory = 1000LL * 1024 * 1024;
	w->sandbox_parts.log_root = STR("/var/log/pods");
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	pod_unref(w->pod);
	arena_release(&w->a);
	free(w);
	return 0;
}

/* `spec` and `container` are members of those objects, without braces. */
static void set_pod(struct world *w, const char *spec, const char *container, const char *qos)
{
	char *text = arena_printf(
		&w->a,
		"{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"uid\":\"u\",\"labels\":{"
		"\"app\":\"x\"},"
		"\"annotations\":{\"note\":\"y\"}},\"spec\":{%s%s\"containers\":[{\"name\":\"c\","
		"\"image\":\"i:1\"%s%s}]},\"status\":{\"qosClass\":\"%s\"}}",
		spec, *spec ? "," : "", *container ? "," : "", container, qos);

	pod_unref(TAKE(w->pod));
	assert_int_equal(pod_parse(str_from(text), &w->pod, &w->err), 0);
}

static int make(struct world *w)
{
	w->spec = (struct container_spec){ 0 };
	return container_config_make(w->pod, pod_container(w->pod, STR("c"), NULL), &w->parts,
				     &w->a, &w->spec, &w->err);
}

static int make_with(struct world *w, const char *spec, const char *container)
{
	set_pod(w, spec, container, "Burstable");
	return make(w);
}

static void make_sandbox(struct world *w, const char *spec, const char *container)
{
	set_pod(w, spec, container, "Burstable");
	assert_int_equal(
		container_config_sandbox(w->pod, &w->sandbox_parts, &w->a, &w->sandbox, &w->err),
		0);
}

static struct str pair(const struct runtime_pairs *p, const char *key)
{
	for (size_t i = 0; i < p->n; i++) {
		if (str_eqz(p->v[i].key, key))
			return p->v[i].value;
	}
	return STR_NULL;
}

static void assert_str(struct str have, const char *want)
{
	char *z = str_dup(have);

	assert_string_equal(z, want);
	free(z);
}

static void assert_joined(struct world *w, const struct runtime_strs *s, const char *want)
{
	struct buf b = BUF_INIT(SIZE_MAX);

	(void)w;
	for (size_t i = 0; i < s->n; i++)
		(void)buf_printf(&b, "%s%.*s", i ? " " : "", STR_ARG(s->v[i]));
	assert_string_equal(b.p ? b.p : "", want);
	buf_release(&b);
}

/* --- containers ----------------------------------------------------------------------------- */

static void commands_are_expanded_and_names_kept(void **state)
{
	struct world *w = *state;
	struct runtime_pair env[] = { { STR("WHO"), STR("you") } };

	w->parts.env = (struct runtime_pairs){ env, 1 };
	w->parts.attempt = 3;
	w->parts.image_ref = STR("sha256:1");
	assert_int_equal(
		make_with(w, "\"terminationGracePeriodSeconds\":7",
			  "\"command\":[\"a\",\"$(WHO)\"],\"args\":[\"$$(WHO)\",\"$(NO)\"],"
			  "\"workingDir\":\"/w\",\"stdin\":true,\"tty\":true,"
			  "\"terminationMessagePath\":\"/t\","
			  "\"terminationMessagePolicy\":\"File\","
			  "\"ports\":[{\"containerPort\":80}],"
			  "\"lifecycle\":{\"preStop\":{\"exec\":{\"command\":[\"x\"]}}}"),
		0);
	assert_joined(w, &w->spec.command, "a you");
	assert_joined(w, &w->spec.args, "$(WHO) $(NO)");
	assert_str(w->spec.working_dir, "/w");
	assert_true(w->spec.is_stdin && w->spec.tty && !w->spec.stdin_once);
	assert_str(w->spec.log_path, "c/3.log");
	assert_str(w->spec.image, "sha256:1");
	assert_str(w->spec.user_image, "i:1");
	assert_int_equal(w->spec.labels.n, 4);
	assert_str(pair(&w->spec.labels, "io.kubernetes.pod.uid"), "u");
	assert_str(pair(&w->spec.labels, "io.kubernetes.container.name"), "c");
	assert_str(pair(&w->spec.annotations, "io.kubernetes.container.restartCount"), "3");
	assert_str(pair(&w->spec.annotations, "io.kubernetes.container.terminationMessagePath"),
		   "/t");
	assert_str(pair(&w->spec.annotations, "io.kubernetes.pod.terminationGracePeriod"), "7");
	assert_str(pair(&w->spec.annotations, "io.kubernetes.container.ports"),
		   "[{\"containerPort\":80}]");
	assert_str(pair(&w->spec.annotations, "io.kubernetes.container.preStopHandler"),
		   "{\"exec\":{\"command\":[\"x\"]}}");
	assert_true(pair(&w->spec.annotations, "io.kubernetes.container.hash").n > 0);
}

static void the_containers_security_context_goes_before_the_pods(void **state)
{
	struct world *w = *state;

	assert_int_equal(
		make_with(
			w,
			"\"securityContext\":{\"runAsUser\":1,\"runAsGroup\":2,\"fsGroup\":5,"
			"\"supplementalGroups\":[6,7],\"seccompProfile\":{\"type\":"
			"\"RuntimeDefault\"}},"
			"\"hostPID\":true,\"hostNetwork\":true",
			"\"securityContext\":{\"runAsUser\":3,\"allowPrivilegeEscalation\":false,"
			"\"readOnlyRootFilesystem\":true,\"capabilities\":{\"add\":[\"NET_ADMIN\"],"
			"\"drop\":[\"ALL\"]},\"appArmorProfile\":{\"type\":\"Localhost\","
			"\"localhostProfile\":\"prof\"}}"),
		0);
	assert_int_equal(w->spec.security.run_as_user, 3);
	assert_int_equal(w->spec.security.run_as_group, 2);
	assert_int_equal(w->spec.security.ngroups, 3);
	assert_int_equal(w->spec.security.groups[0], 5);
	assert_true(w->spec.security.no_new_privs && w->spec.security.readonly_rootfs);
	assert_false(w->spec.security.privileged);
	assert_joined(w, &w->spec.security.cap_add, "NET_ADMIN");
	assert_joined(w, &w->spec.security.cap_drop, "ALL");
	assert_str(w->spec.security.seccomp, "RuntimeDefault");
	assert_str(w->spec.security.apparmor, "prof");
	assert_int_equal(w->spec.security.network, RUNTIME_NS_NODE);
	assert_int_equal(w->spec.security.pid, RUNTIME_NS_NODE);
	assert_int_equal(w->spec.security.ipc, RUNTIME_NS_POD);
	assert_true(w->spec.security.masked_paths.n >= 12);
	assert_int_equal(w->spec.security.readonly_paths.n, 5);
}

static void missing_settings_come_from_the_image_or_defaults(void **state)
{
	struct world *w = *state;

	w->parts.image_user = -1;
	w->parts.image_username = STR("worker");
	assert_int_equal(make_with(w, "", ""), 0);
	assert_int_equal(w->spec.security.run_as_user, -1);
	assert_int_equal(w->spec.security.run_as_group, -1);
	assert_str(w->spec.security.run_as_username, "worker");
	assert_str(w->spec.security.seccomp, "Unconfined");
	w->parts.seccomp_default = true;
	assert_int_equal(make_with(w, "", ""), 0);
	assert_str(w->spec.security.seccomp, "RuntimeDefault");
	assert_int_equal(make_with(w, "",
				   "\"securityContext\":{\"seccompProfile\":{\"type\":"
				   "\"Unconfined\"}}"),
			 0);
	assert_str(w->spec.security.seccomp, "Unconfined");
	assert_int_equal(w->spec.security.pid, RUNTIME_NS_CONTAINER);
	w->parts.image_user = 12;
	w->parts.image_username = STR_NULL;
	assert_int_equal(make_with(w, "\"shareProcessNamespace\":true",
				   "\"securityContext\":{\"procMount\":\"Unmasked\","
				   "\"seccompProfile\":{\"type\":\"Localhost\","
				   "\"localhostProfile\":\"a/b\"}}"),
			 0);
	assert_int_equal(w->spec.security.run_as_user, 12);
	assert_int_equal(w->spec.security.pid, RUNTIME_NS_POD);
	assert_int_equal(w->spec.security.masked_paths.n + w->spec.security.readonly_paths.n, 0);
	assert_str(w->spec.security.seccomp, "/var/lib/kubelet/seccomp/a/b");
}

static void root_is_refused_where_the_pod_forbids_it(void **state)
{
	static const char non_root[] = "\"securityContext\":{\"runAsNonRoot\":true}";
	struct world *w = *state;

	assert_int_equal(make_with(w, non_root, ""), -ERR_INVALID);
	assert_string_equal(w->err.msg, "container has runAsNonRoot and image will run as root "
					"(pod: \"p_n(u)\", container: c)");
	assert_int_equal(make_with(w, non_root, "\"securityContext\":{\"runAsUser\":0}"),
			 -ERR_INVALID);
	assert_string_equal(w->err.msg, "container's runAsUser breaks non-root policy "
					"(pod: \"p_n(u)\", container: c)");
	w->parts.image_user = -1;
	w->parts.image_username = STR("worker");
	assert_int_equal(make_with(w, non_root, ""), -ERR_INVALID);
	assert_string_equal(w->err.msg,
			    "container has runAsNonRoot and image has non-numeric user (worker), "
			    "cannot verify user is non-root (pod: \"p_n(u)\", container: c)");
	assert_int_equal(make_with(w, non_root, "\"securityContext\":{\"runAsUser\":9}"), 0);
	assert_int_equal(make_with(w, non_root, "\"securityContext\":{\"runAsNonRoot\":false}"), 0);
}

static void limits_are_what_upstream_computes(void **state)
{
	static const struct {
		const char *resources, *qos;
		int64_t shares, quota, memory, oom;
	} cases[] = {
		{ "{}", "BestEffort", 2, 0, 0, 1000 },
		{ "{\"requests\":{\"cpu\":\"100m\"}}", "Burstable", 102, 0, 0, 999 },
		{ "{\"requests\":{\"cpu\":\"1m\"}}", "Burstable", 2, 0, 0, 999 },
		{ "{\"limits\":{\"cpu\":\"1\"}}", "Burstable", 1024, 100000, 0, 999 },
		{ "{\"limits\":{\"cpu\":\"5m\"}}", "Burstable", 5, 1000, 0, 999 },
		{ "{\"requests\":{\"cpu\":\"9999\"}}", "Burstable", 262144, 0, 0, 999 },
		{ "{\"requests\":{\"memory\":\"100Mi\"},\"limits\":{\"memory\":\"200Mi\"}}",
		  "Burstable", 2, 0, 200LL << 20, 900 },
		{ "{\"requests\":{\"memory\":\"1000Mi\"}}", "Burstable", 2, 0, 0, 3 },
		{ "{\"limits\":{\"cpu\":\"2\",\"memory\":\"1Gi\"}}", "Guaranteed", 2048, 200000,
		  1LL << 30, -997 },
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		set_pod(w, "", arena_printf(&w->a, "\"resources\":%s", cases[i].resources),
			cases[i].qos);
		assert_int_equal(make(w), 0);
		assert_int_equal(w->spec.limits.cpu_shares, cases[i].shares);
		assert_int_equal(w->spec.limits.cpu_quota, cases[i].quota);
		assert_int_equal(w->spec.limits.cpu_period, 100000);
		assert_int_equal(w->spec.limits.memory_bytes, cases[i].memory);
		assert_int_equal(w->spec.limits.oom_score_adj, cases[i].oom);
	}
}

static void pinned_cpus_have_no_quota_and_huge_pages_are_named(void **state)
{
	struct world *w = *state;

	w->parts.cpus = STR("2-3");
	set_pod(w, "",
		"\"resources\":{\"limits\":{\"cpu\":\"2\",\"memory\":\"1Gi\",\"hugepages-2Mi\":"
		"\"4Mi\","
		"\"hugepages-1Gi\":\"1Gi\"}}",
		"Guaranteed");
	assert_int_equal(make(w), 0);
	assert_int_equal(w->spec.limits.cpu_quota, -1);
	assert_str(w->spec.limits.cpus, "2-3");
	assert_int_equal(w->spec.limits.nhuge_pages, 2);
	assert_str(w->spec.limits.huge_pages[0].page_size, "2MB");
	assert_int_equal(w->spec.limits.huge_pages[0].bytes, 4 << 20);
	assert_str(w->spec.limits.huge_pages[1].page_size, "1GB");
}

static void node_critical_pods_and_sidecars_live_longer(void **state)
{
	struct world *w = *state;

	set_pod(w, "\"priorityClassName\":\"system-node-critical\"", "", "BestEffort");
	assert_int_equal(make(w), 0);
	assert_int_equal(w->spec.limits.oom_score_adj, -997);
	set_pod(w,
		"\"initContainers\":[{\"name\":\"s\",\"image\":\"i\",\"restartPolicy\":\"Always\","
		"\"resources\":{\"requests\":{\"memory\":\"10Mi\"}}}]",
		"\"resources\":{\"requests\":{\"memory\":\"500Mi\"}}", "Burstable");
	assert_int_equal(container_config_make(w->pod, pod_container(w->pod, STR("s"), NULL),
					       &w->parts, &w->a, &w->spec, NULL),
			 0);
	assert_int_equal(w->spec.limits.oom_score_adj, 500);
}

/* --- devices -------------------------------------------------------------------------------- */

static struct str packed_answer(struct world *w, const char *value)
{
	Deviceplugin__ContainerAllocateResponse m = DEVICEPLUGIN__CONTAINER_ALLOCATE_RESPONSE__INIT;
	Deviceplugin__Pair env = DEVICEPLUGIN__PAIR__INIT, shadowed = DEVICEPLUGIN__PAIR__INIT;
	Deviceplugin__Pair note = DEVICEPLUGIN__PAIR__INIT, ours = DEVICEPLUGIN__PAIR__INIT;
	Deviceplugin__Mount mount = DEVICEPLUGIN__MOUNT__INIT, *mounts = &mount;
	Deviceplugin__DeviceSpec device = DEVICEPLUGIN__DEVICE_SPEC__INIT, *devices = &device;
	Deviceplugin__CdiDevice cdi = DEVICEPLUGIN__CDI_DEVICE__INIT, *cdis = &cdi;
	Deviceplugin__Pair *envs[] = { &env, &shadowed }, *notes[] = { &note, &ours };
	uint8_t *out;

	env.key = (char *)"DEV";
	shadowed.key = (char *)"POD";
	note.key = (char *)"note";
	ours.key = (char *)"io.kubernetes.container.restartCount";
	env.value = shadowed.value = note.value = ours.value = (char *)value;
	mount.container_path = device.container_path = (char *)"/d";
	mount.host_path = device.host_path = (char *)value;
	mount.read_only = true;
	device.permissions = (char *)"rw";
	cdi.name = (char *)"v.com/gpu=0";
	m.envs = envs;
	m.n_envs = 2;
	m.annotations = notes;
	m.n_annotations = 2;
	m.mounts = &mounts;
	m.devices = &devices;
	m.cdi_devices = &cdis;
	m.n_mounts = m.n_devices = m.n_cdi_devices = 1;
	out = arena_alloc(&w->a, deviceplugin__container_allocate_response__get_packed_size(&m));
	return str_of(out, deviceplugin__container_allocate_response__pack(&m, out));
}

static void answers_of_plugins_merge_and_the_first_wins(void **state)
{
	struct world *w = *state;
	struct runtime_pair env[] = { { STR("POD"), STR("mine") } };
	struct str answers[] = { packed_answer(w, "one"), packed_answer(w, "two") };
	struct str claims[] = { STR("v.com/gpu=0"), STR("v.com/gpu=1") };

	w->parts.env = (struct runtime_pairs){ env, 1 };
	w->parts.answers = answers;
	w->parts.nanswers = 2;
	w->parts.cdi_ids = claims;
	w->parts.ncdi_ids = 2;
	w->parts.runtime_does_cdi = true;
	w->parts.plugin_devices = STR("{\"v.com/gpu\":[\"a\"]}");
	assert_int_equal(make_with(w, "", "\"args\":[\"$(DEV)\"]"), 0);
	assert_str(pair(&w->spec.annotations, RUNTIME_PLUGIN_DEVICES), "{\"v.com/gpu\":[\"a\"]}");
	assert_int_equal(w->spec.env.n, 2);
	assert_str(pair(&w->spec.env, "DEV"), "one");
	assert_str(pair(&w->spec.env, "POD"), "mine");
	assert_joined(w, &w->spec.args, "one");
	assert_int_equal(w->spec.nmounts, 1);
	assert_str(w->spec.mounts[0].host_path, "one");
	assert_int_equal(w->spec.ndevices, 1);
	assert_str(w->spec.devices[0].host_path, "one");
	assert_str(pair(&w->spec.annotations, "note"), "one");
	assert_str(pair(&w->spec.annotations, "io.kubernetes.container.restartCount"), "0");
	assert_joined(w, &w->spec.cdi_devices, "v.com/gpu=0 v.com/gpu=1");
}

static void a_garbled_answer_is_an_error(void **state)
{
	struct world *w = *state;
	struct str answers[] = { STR("\xff\xff\xff") };

	w->parts.answers = answers;
	w->parts.nanswers = 1;
	assert_int_equal(make_with(w, "", ""), -ERR_PROTOCOL);
	assert_non_null(strstr(w->err.msg, "device plugin"));
}

static void without_cdi_in_the_runtime_the_edits_are_made_here(void **state)
{
	struct world *w = *state;
	char dir[] = "/tmp/container_config_test.XXXXXX", path[64];
	const char *dirs[] = { dir };
	struct str claims[] = { STR("v.com/gpu=0") };
	int r;

	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/a.json", dir);
	w->parts.cdi_ids = claims;
	w->parts.ncdi_ids = 1;
	w->parts.cdi_dirs = (struct cdi_dirs){ dirs, 1 };
	assert_int_equal(make_with(w, "", ""), -ERR_NOT_FOUND);
	assert_int_equal(file_write_atomic(path,
					   STR("{\"cdiVersion\":\"0.6.0\",\"kind\":\"v.com/gpu\","
					       "\"devices\":[{\"name\":\"0\",\"containerEdits\":"
					       "{\"env\":[\"X=1\"]}}]}"),
					   0600, NULL),
			 0);
	r = make(w);
	(void)unlink(path);
	(void)rmdir(dir);
	assert_int_equal(r, 0);
	assert_str(pair(&w->spec.env, "X"), "1");
	assert_int_equal(w->spec.cdi_devices.n, 0);
}

/* --- sandboxes ------------------------------------------------------------------------------ */

static void a_sandbox_bears_labels_ports_and_its_folder_of_logs(void **state)
{
	struct world *w = *state;

	w->sandbox_parts.cgroup_root = STR("/dp");
	make_sandbox(w,
		     "\"securityContext\":{\"runAsUser\":4,\"sysctls\":[{\"name\":\"a\",\"value\":"
		     "\"1\"}]}",
		     "\"ports\":[{\"containerPort\":80,\"hostPort\":8080,\"protocol\":\"UDP\"},"
		     "{\"containerPort\":81}],\"securityContext\":{\"privileged\":true}");
	assert_str(w->sandbox.log_dir, "/var/log/pods/n_p_u");
	assert_str(w->sandbox.cgroup_parent, "/dp/podu");
	assert_str(w->sandbox.hostname, "p");
	assert_int_equal(w->sandbox.labels.n, 4);
	assert_str(pair(&w->sandbox.labels, "app"), "x");
	assert_str(pair(&w->sandbox.labels, "io.kubernetes.pod.namespace"), "n");
	assert_str(pair(&w->sandbox.annotations, "note"), "y");
	assert_int_equal(w->sandbox.nports, 2);
	assert_int_equal(w->sandbox.ports[0].host_port, 8080);
	assert_int_equal(w->sandbox.ports[0].protocol, 1);
	assert_str(pair(&w->sandbox.sysctls, "a"), "1");
	assert_true(w->sandbox.security.privileged);
	assert_int_equal(w->sandbox.security.run_as_user, 4);
	assert_int_equal(w->sandbox.security.run_as_group, -1);
	assert_str(w->sandbox.security.seccomp, "RuntimeDefault");
}

static void hostnames_follow_the_pod(void **state)
{
	struct world *w = *state;

	w->sandbox_parts.cluster_domain = STR("cluster.local");
	make_sandbox(w, "\"hostname\":\"h\",\"subdomain\":\"s\"", "");
	assert_str(w->sandbox.hostname, "h");
	make_sandbox(w, "\"hostname\":\"h\",\"subdomain\":\"s\",\"setHostnameAsFQDN\":true", "");
	assert_str(w->sandbox.hostname, "h.s.n.svc.cluster.local");
	make_sandbox(w, "\"hostNetwork\":true", "");
	assert_str(w->sandbox.hostname, "");
	set_pod(w,
		"\"setHostnameAsFQDN\":true,\"hostname\":\"h\",\"subdomain\":"
		"\"s123456789012345678901234567890123456789012345678901234567890\"",
		"", "");
	assert_int_equal(
		container_config_sandbox(w->pod, &w->sandbox_parts, &w->a, &w->sandbox, &w->err),
		-ERR_INVALID);
	assert_non_null(strstr(w->err.msg, "is too long (64 characters is the max"));
}

static void dns_follows_the_policy(void **state)
{
	struct world *w = *state;
	struct str cluster[] = { STR("10.0.0.10") };

	container_config_resolv(STR("# x\nnameserver 1.1.1.1\nnameserver 2.2.2.2\nsearch old\n"
				    "search a.example. .\noptions ndots:2 edns0\noptions ndots:3"),
				&w->a, &w->sandbox_parts);
	make_sandbox(w, "\"dnsPolicy\":\"ClusterFirst\"", "");
	assert_joined(w, &w->sandbox.dns_servers, "1.1.1.1 2.2.2.2");
	assert_joined(w, &w->sandbox.dns_searches, "a.example");
	assert_joined(w, &w->sandbox.dns_options, "ndots:3 edns0");
	w->sandbox_parts.cluster_dns = (struct runtime_strs){ cluster, 1 };
	w->sandbox_parts.cluster_domain = STR("c.l");
	make_sandbox(w, "\"dnsPolicy\":\"ClusterFirst\"", "");
	assert_joined(w, &w->sandbox.dns_servers, "10.0.0.10");
	assert_joined(w, &w->sandbox.dns_searches, "n.svc.c.l svc.c.l c.l a.example");
	assert_joined(w, &w->sandbox.dns_options, "ndots:5");
	make_sandbox(w, "\"dnsPolicy\":\"ClusterFirst\",\"hostNetwork\":true", "");
	assert_joined(w, &w->sandbox.dns_servers, "1.1.1.1 2.2.2.2");
	make_sandbox(w, "\"dnsPolicy\":\"ClusterFirstWithHostNet\",\"hostNetwork\":true", "");
	assert_joined(w, &w->sandbox.dns_servers, "10.0.0.10");
	make_sandbox(
		w,
		"\"dnsPolicy\":\"None\",\"dnsConfig\":{\"nameservers\":[\"9.9.9.9\",\"8.8.8.8\","
		"\"7.7.7.7\",\"6.6.6.6\"],\"searches\":[\"z\"],\"options\":[{\"name\":\"ndots\","
		"\"value\":\"1\"},{\"name\":\"rotate\"}]}",
		"");
	assert_joined(w, &w->sandbox.dns_servers, "9.9.9.9 8.8.8.8 7.7.7.7");
	assert_joined(w, &w->sandbox.dns_searches, "z");
	assert_joined(w, &w->sandbox.dns_options, "ndots:1 rotate");
}

/* --- unsupported features ------------------------------------------------------------------- */

static void unsupported_settings_are_named(void **state)
{
	static const struct {
		const char *spec, *container, *says;
		int code;
	} cases[] = {
		{ "\"os\":{\"name\":\"windows\"}", "", "spec.os.name windows", ERR_UNIMPLEMENTED },
		{ "\"hostUsers\":false", "", "spec.hostUsers false", ERR_UNIMPLEMENTED },
		{ "\"runtimeClassName\":\"kata\"", "", "spec.runtimeClassName kata",
		  ERR_UNIMPLEMENTED },
		{ "\"resources\":{\"limits\":{\"cpu\":\"1\"}}", "", "spec.resources",
		  ERR_UNIMPLEMENTED },
		{ "\"securityContext\":{\"seLinuxOptions\":{\"type\":\"t\"}}", "", "seLinuxOptions",
		  ERR_UNIMPLEMENTED },
		{ "\"securityContext\":{\"supplementalGroupsPolicy\":\"Strict\"}", "",
		  "supplementalGroupsPolicy Strict", ERR_UNIMPLEMENTED },
		{ "", "\"volumeDevices\":[{\"name\":\"v\",\"devicePath\":\"/d\"}]",
		  "container \"c\": volumeDevices", ERR_UNIMPLEMENTED },
		{ "", "\"lifecycle\":{\"stopSignal\":\"SIGINT\"}", "lifecycle.stopSignal SIGINT",
		  ERR_UNIMPLEMENTED },
		{ "\"securityContext\":{\"sysctls\":[{\"name\":\"kernel.msgmax\",\"value\":\"1\"}]"
		  "}",
		  "", "forbidden sysctl: \"kernel.msgmax\" not allowlisted", ERR_FORBIDDEN },
		{ "\"hostNetwork\":true,\"securityContext\":{\"sysctls\":[{\"name\":"
		  "\"net.ipv4.tcp_syncookies\",\"value\":\"1\"}]}",
		  "", "not allowed with host Net enabled", ERR_FORBIDDEN },
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		set_pod(w, cases[i].spec, cases[i].container, "");
		assert_int_equal(container_config_check(w->pod, &w->err), -cases[i].code);
		if (!strstr(w->err.msg, cases[i].says))
			fail_msg("\"%s\" does not say \"%s\"", w->err.msg, cases[i].says);
	}
	set_pod(w,
		"\"os\":{\"name\":\"linux\"},\"hostUsers\":true,\"securityContext\":"
		"{\"supplementalGroupsPolicy\":\"Merge\",\"sysctls\":[]}",
		"", "");
	assert_int_equal(container_config_check(w->pod, &w->err), 0);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(commands_are_expanded_and_names_kept),
		CASE(the_containers_security_context_goes_before_the_pods),
		CASE(missing_settings_come_from_the_image_or_defaults),
		CASE(root_is_refused_where_the_pod_forbids_it),
		CASE(limits_are_what_upstream_computes),
		CASE(pinned_cpus_have_no_quota_and_huge_pages_are_named),
		CASE(node_critical_pods_and_sidecars_live_longer),
		CASE(answers_of_plugins_merge_and_the_first_wins),
		CASE(a_garbled_answer_is_an_error),
		CASE(without_cdi_in_the_runtime_the_edits_are_made_here),
		CASE(a_sandbox_bears_labels_ports_and_its_folder_of_logs),
		CASE(hostnames_follow_the_pod),
		CASE(dns_follows_the_policy),
		CASE(unsupported_settings_are_named),
	};

	return cmocka_run_group_tests_name("node/container_config", tests, NULL, NULL);
}
