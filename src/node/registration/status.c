/*
 * The wanted object is built whole, then compared member by member: that is simpler than recording
 * changes, and a node's status is small.
 */
#include "node/registration/status.h"

#include "api/api_limits.h"
#include "api/schema/names.h"
#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/json/quantity.h"
#include "base/system/version.h"
#include "base/time/timestamp.h"
#include "dra/availability/device_health.h"
#include "node/registration/health.h"

/* The Kubernetes release whose kubelet we implement. */
#define KUBELET_VERSION "v1.37.0+devplane."

#define HOLLOW_TEXT "hollow node: it only simulates pods, and runs no containers"

/* --- quantities ------------------------------------------------------------------------------ */

static struct str print_quantity(struct arena *a, struct quantity q)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(KIB);

	(void)quantity_print(q, &text);
	return arena_str(a, buf_str(&text));
}

static struct str bytes_text(struct arena *a, int64_t bytes)
{
	return print_quantity(a, quantity_of(bytes, QUANTITY_BINARY_SI));
}

static struct str milli_text(struct arena *a, int64_t milli)
{
	return print_quantity(a, quantity_of_milli(milli));
}

static struct str count_text(struct arena *a, int64_t n)
{
	return print_quantity(a, quantity_of(n, QUANTITY_DECIMAL_SI));
}

/* --- resources ------------------------------------------------------------------------------- */

/* Bytes of huge pages of one size, or of all when `size` is 0. */
static int64_t huge_bytes(const struct machine *m, int64_t size)
{
	int64_t sum = 0;

	for (size_t i = 0; i < m->nnuma; i++) {
		for (size_t j = 0; j < m->numa[i].nhuge; j++) {
			if (size == 0 || m->numa[i].huge_size[j] == size)
				sum += m->numa[i].huge_bytes[j];
		}
	}
	return sum;
}

int64_t node_status_cpu_milli(const struct node_status_input *in)
{
	return MAX((int64_t)in->machine->ncpus * 1000 - in->reserved_cpu_milli, 0);
}

int64_t node_status_memory(const struct node_status_input *in)
{
	return MAX(in->machine->memory_bytes - in->reserved_memory - huge_bytes(in->machine, 0), 0);
}

static void put_huge(struct arena *a, const struct machine *m, struct json *capacity,
		     struct json *allocatable)
{
	for (size_t i = 0; i < m->nnuma; i++) {
		for (size_t j = 0; j < m->numa[i].nhuge; j++) {
			int64_t size = m->numa[i].huge_size[j];
			char *name = arena_printf(a, "hugepages-%.*s",
						  STR_ARG(bytes_text(a, size)));
			struct str text = bytes_text(a, huge_bytes(m, size));

			json_put_str(a, capacity, name, text);
			json_put_str(a, allocatable, name, text);
		}
	}
}

/* Returns the names, joined by ','. */
static struct str put_extended(struct arena *a, const struct assign *assign, struct json *capacity,
			       struct json *allocatable)
{
	struct buf names = BUF_INIT(OBJECT_MAX);
	struct str at = STR_NULL, all;
	int64_t n, usable;

	while (assign && assign_next_resource(assign, &at, &n, &usable)) {
		char *name = arena_strdup(a, at);

		(void)buf_printf(&names, "%s%s", names.n > 0 ? "," : "", name);
		json_put_str(a, capacity, name, count_text(a, n));
		json_put_str(a, allocatable, name, count_text(a, usable));
	}
	all = arena_str(a, buf_str(&names));
	buf_release(&names);
	return all;
}

static void put_resources(struct arena *a, const struct node_status_input *in, struct json *node)
{
	struct json *status = json_need_object(a, node, "status");
	struct json *capacity = json_need_object(a, status, "capacity");
	struct json *allocatable = json_need_object(a, status, "allocatable");
	struct str extended, pods = count_text(a, in->max_pods);
	struct json *meta = json_need_object(a, node, "metadata");

	json_put_str(a, capacity, "cpu", count_text(a, (int64_t)in->machine->ncpus));
	json_put_str(a, allocatable, "cpu", milli_text(a, node_status_cpu_milli(in)));
	json_put_str(a, capacity, "memory", bytes_text(a, in->machine->memory_bytes));
	json_put_str(a, allocatable, "memory", bytes_text(a, node_status_memory(in)));
	json_put_str(a, capacity, "pods", pods);
	json_put_str(a, allocatable, "pods", pods);
	if (in->storage_bytes > 0) {
		struct str text = bytes_text(a, in->storage_bytes);

		json_put_str(a, capacity, "ephemeral-storage", text);
		json_put_str(a, allocatable, "ephemeral-storage", text);
	}
	put_huge(a, in->machine, capacity, allocatable);
	extended = put_extended(a, in->assign, capacity, allocatable);
	if (extended.n > 0)
		json_put_str(a, json_need_object(a, meta, "annotations"), NODE_STATUS_RESOURCES,
			     extended);
}

/* --- conditions ------------------------------------------------------------------------------ */

const struct json *node_status_condition(const struct json *node, struct str type)
{
	return json_find(json_getz(json_getz(node, "status"), "conditions"), "type", type);
}

struct condition {
	const char *type, *reason;
	struct str message;
	bool status;
};

static void put_condition(struct arena *a, const struct node_status_input *in,
			  const struct json *known, const struct condition *c, struct json *list)
{
	const struct json *old = node_status_condition(known, str_from(c->type));
	struct str status = c->status ? STR("True") : STR("False"), now;
	struct str since = json_text_at(old, "lastTransitionTime");
	struct json *v = json_make_object(a);
	char text[TIMESTAMP_SIZE];

	now = arena_str(a, timestamp_print(in->wall_ns, TIMESTAMP_SECONDS, text));
	if (!str_eq(json_text_at(old, "status"), status) || since.n == 0)
		since = now;
	json_put_str(a, v, "type", str_from(c->type));
	json_put_str(a, v, "status", status);
	json_put_str(a, v, "lastHeartbeatTime", now);
	json_put_str(a, v, "lastTransitionTime", since);
	json_put_str(a, v, "reason", str_from(c->reason));
	json_put_str(a, v, "message", c->message);
	json_append(list, v);
}

static struct condition pressure(const char *type, bool status, const char *const reasons[2],
				 const char *const messages[2])
{
	return (struct condition){ type, reasons[status], str_from(messages[status]), status };
}

static void put_conditions(struct arena *a, const struct node_status_input *in,
			   const struct json *known, struct json *status)
{
	static const char *const memory[] = { "KubeletHasSufficientMemory",
					      "KubeletHasInsufficientMemory" },
				 *const memory_text[] = {
					 "kubelet has sufficient memory available",
					 "kubelet has insufficient memory available"
				 };
	static const char *const disk[] = { "KubeletHasNoDiskPressure", "KubeletHasDiskPressure" },
				 *const disk_text[] = { "kubelet has no disk pressure",
							"kubelet has disk pressure" };
	static const char *const pid[] = { "KubeletHasSufficientPID", "KubeletHasInsufficientPID" },
				 *const pid_text[] = { "kubelet has sufficient PID available",
						       "kubelet has insufficient PID available" };
	struct condition all[] = {
		pressure("MemoryPressure", in->memory_pressure, memory, memory_text),
		pressure("DiskPressure", in->disk_pressure, disk, disk_text),
		pressure("PIDPressure", in->pid_pressure, pid, pid_text),
		{ "Ready", "KubeletReady", STR("kubelet is posting ready status"), true },
	};
	struct json *list = json_need_array(a, status, "conditions");

	if (!in->runtime_ready)
		all[3] = (struct condition){ "Ready", "KubeletNotReady", in->runtime_message,
					     false };
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		put_condition(a, in, known, &all[i], list);
}

/* --- other fields ---------------------------------------------------------------------------- */

static void put_address(struct arena *a, struct json *list, const char *type, struct str address)
{
	struct json *v = json_make_object(a);

	json_put_str(a, v, "type", str_from(type));
	json_put_str(a, v, "address", address);
	json_append(list, v);
}

/* Made-up machines have no architecture: uses the program's. */
static struct str arch_of(const struct node_status_input *in)
{
	struct str platform = str_from(version_get()->platform);

	return in->machine->arch.n > 0 ? in->machine->arch : str_skip(platform, STR("linux/").n);
}

static void put_info(struct arena *a, const struct node_status_input *in, struct json *status)
{
	struct json *info = json_need_object(a, status, "nodeInfo");
	const struct machine *m = in->machine;
	struct str version = in->runtime_version.n > 0 ? in->runtime_version : STR("Unknown");
	char *runtime = arena_printf(a, "%.*s://%.*s", STR_ARG(in->runtime_name), STR_ARG(version));
	const struct {
		const char *key;
		struct str value;
	} rows[] = {
		{ "machineID", m->machine_id },
		{ "systemUUID", m->system_uuid },
		{ "bootID", m->boot_id },
		{ "kernelVersion", m->kernel },
		{ "osImage", in->hollow ? STR("hollow (" HOLLOW_TEXT ")") : m->os_image },
		{ "containerRuntimeVersion", in->runtime_name.n > 0 ? str_from(runtime) : STR("") },
		{ "kubeletVersion",
		  str_from(arena_printf(a, KUBELET_VERSION "%s", version_get()->version)) },
		{ "kubeProxyVersion", STR("") },
		{ "operatingSystem", STR("linux") },
		{ "architecture", arch_of(in) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		json_put_str(a, info, rows[i].key, rows[i].value);
	if (m->swap_bytes > 0)
		json_put_i64(a, json_need_object(a, info, "swap"), "capacity", m->swap_bytes);
}

static void split_label(const char *text, struct str *ret_key, struct str *ret_value)
{
	struct str all = str_from(text);
	ptrdiff_t eq = str_chr(all, '=');

	*ret_key = eq < 0 ? all : str_of(all.p, (size_t)eq);
	*ret_value = eq < 0 ? STR("") : str_skip(all, (size_t)eq + 1);
}

static void put_metadata(struct arena *a, const struct node_status_input *in, struct json *node)
{
	struct json *meta = json_need_object(a, node, "metadata");
	struct json *labels = json_need_object(a, meta, "labels");
	struct str key, value;

	json_put_str(a, meta, "name", in->name);
	json_put_str(a, labels, "kubernetes.io/hostname", in->name);
	json_put_str(a, labels, "kubernetes.io/os", STR("linux"));
	json_put_str(a, labels, "kubernetes.io/arch", arch_of(in));
	json_put_str(a, labels, "beta.kubernetes.io/os", STR("linux"));
	json_put_str(a, labels, "beta.kubernetes.io/arch", arch_of(in));
	for (size_t i = 0; i < in->nlabels; i++) {
		split_label(in->labels[i], &key, &value);
		json_set(labels, key, json_make_str(a, value));
	}
	if (!in->hollow)
		return;
	json_put_str(a, labels, NODE_STATUS_RUNTIME_LABEL, STR("hollow"));
	json_put_str(a, json_need_object(a, meta, "annotations"), NODE_STATUS_HOLLOW,
		     STR(HOLLOW_TEXT));
}

/* "key=value:Effect" or "key:Effect". */
static bool split_taint(const char *text, struct str *ret_key, struct str *ret_value,
			struct str *ret_effect)
{
	struct str all = str_from(text), head;
	ptrdiff_t colon = -1, eq;

	for (size_t i = 0; i < all.n; i++)
		colon = all.p[i] == ':' ? (ptrdiff_t)i : colon;
	if (colon < 0)
		return false;
	head = str_of(all.p, (size_t)colon);
	*ret_effect = str_skip(all, (size_t)colon + 1);
	eq = str_chr(head, '=');
	*ret_key = eq < 0 ? head : str_of(head.p, (size_t)eq);
	*ret_value = eq < 0 ? STR("") : str_skip(head, (size_t)eq + 1);
	return ret_key->n > 0 &&
	       (str_eqz(*ret_effect, "NoSchedule") || str_eqz(*ret_effect, "PreferNoSchedule") ||
		str_eqz(*ret_effect, "NoExecute"));
}

static void put_taints(struct arena *a, const struct node_status_input *in, struct json *node)
{
	struct str key, value, effect;

	for (size_t i = 0; i < in->ntaints; i++) {
		struct json *taint = json_make_object(a);

		if (!split_taint(in->taints[i], &key, &value, &effect))
			continue;
		json_put_str(a, taint, "key", key);
		if (value.n > 0)
			json_put_str(a, taint, "value", value);
		json_put_str(a, taint, "effect", effect);
		json_append(json_need_array(a, json_need_object(a, node, "spec"), "taints"), taint);
	}
}

int node_status_check(const struct node_status_input *in, struct error *err)
{
	struct str key, value, effect;

	for (size_t i = 0; i < in->nlabels; i++) {
		split_label(in->labels[i], &key, &value);
		if (names_qualified(key) || names_label_value(value))
			return error_set(err, ERR_INVALID, "\"%s\" is not a label: KEY=VALUE",
					 in->labels[i]);
	}
	for (size_t i = 0; i < in->ntaints; i++) {
		if (!split_taint(in->taints[i], &key, &value, &effect))
			return error_set(err, ERR_INVALID,
					 "\"%s\" is not a taint: KEY=VALUE:EFFECT, where EFFECT is "
					 "NoSchedule, PreferNoSchedule or NoExecute",
					 in->taints[i]);
	}
	return 0;
}

static void put_health(struct arena *a, const struct node_status_input *in,
		       const struct json *known, struct json *node)
{
	struct json *meta = json_need_object(a, node, "metadata");
	struct str before = json_text_at(json_getz(json_getz(known, "metadata"), "annotations"),
					 DEVICE_HEALTH_ANNOTATION);
	struct str text = before;

	if (!in->health || !in->health_stays)
		text = node_health_annotation(a, in->health, before, in->wall_ns);
	if (text.n > 0)
		json_put_str(a, json_need_object(a, meta, "annotations"), DEVICE_HEALTH_ANNOTATION,
			     text);
}

struct json *node_status_make(struct arena *a, const struct node_status_input *in,
			      const struct json *known)
{
	struct json *node = json_make_object(a), *status;

	json_put_str(a, node, "apiVersion", STR("v1"));
	json_put_str(a, node, "kind", STR("Node"));
	put_metadata(a, in, node);
	put_taints(a, in, node);
	status = json_need_object(a, node, "status");
	put_resources(a, in, node);
	put_health(a, in, known, node);
	put_conditions(a, in, known, status);
	put_address(a, json_need_array(a, status, "addresses"), "InternalIP", in->ip);
	put_address(a, json_need_array(a, status, "addresses"), "Hostname", in->name);
	put_info(a, in, status);
	if (in->port > 0)
		json_put_i64(a,
			     json_need_object(a, json_need_object(a, status, "daemonEndpoints"),
					      "kubeletEndpoint"),
			     "Port", in->port);
	return node;
}
