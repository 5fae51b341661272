/*
 * One request at a time: first those of the registration, then patches. Each patch is computed from
 * the wanted and the known Node when it is sent. The known Node comes from replies and from a watch
 * of this one Node.
 *
 * A server may store something else than it was sent. If its reply differs in exactly the fields
 * that were sent, that difference is remembered and not sent again by itself; otherwise the
 * server's own watch event would make us write for ever. Other differences are not the server's
 * decision: a patch whose reply was lost may have been applied after all, after the next one was
 * computed.
 */
#include "node/registration/object.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "api/api_limits.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "base/time/backoff.h"
#include "client/api/client.h"
#include "client/events/recorder.h"
#include "client/informer/informer.h"
#include "net/loop/loop.h"
#include "node/registration/lease.h"
#include "node/registration/status.h"

enum {
	RETRY_FIRST_MS = 100,
	RETRY_MAX_MS = 7000,
	TIMEOUT_MS = 15000,
	STORAGE_MS = 10000, /* between checks */
	HEALTH_MS = 1000, /* from a change of health until the annotation is written */
	LEASE_S = 40,
	STATUS_MS = 5 * 60 * 1000,
	PODS_MAX = 110,
	STACK_BLOCK = 16 * 1024,
};

struct node_object {
	struct node_object_opts opts;
	char *name;
	char ip[INET6_ADDRSTRLEN];
	uint16_t port; /* of the kubelet's API; 0: not served */
	struct resource nodes;
	struct informers *informers;
	struct informer_handler handler;
	struct node_lease *lease;
	bool memory_pressure, disk_pressure;
	int64_t storage_bytes; /* of the file system of root_dir; 0: unknown */

	char *known; /* the server's Node, without managedFields; NULL: not known */
	uint64_t known_rv;
	char *uid;
	char *sent; /* the Node that the patch in flight should produce; or NULL */
	/* the Node that the patch was computed from: the watch may be faster than the reply */
	char *before;
	char *change; /* the patch; or NULL */
	char *left; /* the part of the patch that the server did not apply; or NULL */

	char *runtime_message, *runtime_name, *runtime_version;
	bool runtime_ready;

	struct client_request request;
	struct loop_task look;
	struct loop_timer again, beat, storage_timer, health_timer;
	struct backoff backoff;
	bool registered; /* the server has the Node */
	bool beat_due, health_due, failing;
};

static void look_soon(struct node_object *n)
{
	loop_defer(n->opts.loop, &n->look);
}

static struct node_status_input input(const struct node_object *n)
{
	const struct node_object_opts *o = &n->opts;

	return (struct node_status_input){
		.name = str_from(n->name),
		.ip = str_from(n->ip),
		.port = n->port,
		.labels = o->labels,
		.nlabels = o->nlabels,
		.taints = o->taints,
		.ntaints = o->ntaints,
		.machine = o->machine,
		.assign = o->assign,
		.health = o->health,
		.health_stays = !n->health_due,
		.max_pods = o->max_pods,
		.reserved_cpu_milli = o->reserved_cpu_milli,
		.reserved_memory = o->reserved_memory,
		.storage_bytes = n->storage_bytes,
		.memory_pressure = n->memory_pressure,
		.disk_pressure = n->disk_pressure,
		.hollow = o->hollow,
		.runtime_ready = n->runtime_ready,
		.runtime_message = str_from(n->runtime_message),
		.runtime_name = str_from(n->runtime_name),
		.runtime_version = str_from(n->runtime_version),
		.wall_ns = clock_wall(loop_clock(o->loop)),
	};
}

static char *object_print(const struct json *v)
{
	struct buf b = BUF_INIT(OBJECT_MAX);

	(void)json_print(&b, v, NULL);
	return buf_take(&b);
}

static struct json *object_tree_of(struct arena *a, const char *text)
{
	struct json *v = NULL;

	if (!text || json_parse(a, str_from(text), NULL, &v, NULL) < 0)
		return NULL;
	return v;
}

/* --- events ---------------------------------------------------------------------------------- */

static void object_tell(struct node_object *n, enum recorder_type type, const char *reason,
			const char *message)
{
	struct recorder_object about = { .api_version = STR("v1"),
					 .kind = STR("Node"),
					 .name = str_from(n->name),
					 .uid = str_from(n->uid) };

	if (n->opts.recorder)
		recorder_event(n->opts.recorder, &about, type, reason, str_from(message));
}

/* Kubelet's events for changes of conditions. Ready is reported only when it changes. */
static const struct transition {
	const char *type, *off, *on;
	bool when_new;
} transitions[] = {
	{ "MemoryPressure", "NodeHasSufficientMemory", "NodeHasInsufficientMemory", true },
	{ "DiskPressure", "NodeHasNoDiskPressure", "NodeHasDiskPressure", true },
	{ "PIDPressure", "NodeHasSufficientPID", "NodeHasInsufficientPID", true },
	{ "Ready", "NodeNotReady", "NodeReady", false },
};

static void tell_transition(struct node_object *n, const struct transition *t,
			    const struct json *before, const struct json *now)
{
	const struct json *old = node_status_condition(before, str_from(t->type));
	const struct json *new = node_status_condition(now, str_from(t->type));
	const char *event;
	char message[512];

	if (!new || (!old && !t->when_new) ||
	    str_eq(json_text_at(old, "status"), json_text_at(new, "status")))
		return;
	event = str_eqz(json_text_at(new, "status"), "True") ? t->on : t->off;
	(void)snprintf(message, sizeof(message), "Node %s status is now: %s", n->name, event);
	object_tell(n, RECORDER_NORMAL, event, message);
}

static struct str boot_of(const struct json *node)
{
	return json_text_at(json_getz(json_getz(node, "status"), "nodeInfo"), "bootID");
}

static void tell_transitions(struct node_object *n, const struct json *before,
			     const struct json *now)
{
	struct str was = boot_of(before), is = boot_of(now);
	char message[512];

	for (size_t i = 0; i < ARRAY_SIZE(transitions); i++)
		tell_transition(n, &transitions[i], before, now);
	if (was.n == 0 || is.n == 0 || str_eq(was, is))
		return;
	(void)snprintf(message, sizeof(message), "Node %s has been rebooted, boot id: %.*s",
		       n->name, STR_ARG(is));
	object_tell(n, RECORDER_WARNING, "Rebooted", message);
}

static void tell_beginning(struct node_object *n)
{
	object_tell(n, RECORDER_NORMAL, "Starting", "Starting kubelet.");
	if (n->opts.hollow)
		object_tell(n, RECORDER_WARNING, "Hollow",
			    "This hollow node only simulates pods: it runs no containers.");
}

/* --- the known Node -------------------------------------------------------------------------- */

/* Stores the server's Node; ignores one that is older than the known one. */
static void learn(struct node_object *n, struct json *node)
{
	struct json *meta = json_getz(node, "metadata");
	struct str uid = json_text_at(meta, "uid");
	uint64_t rv = 0;

	(void)str_to_u64(json_text_at(meta, "resourceVersion"), &rv);
	if (!meta || (n->known && rv > 0 && rv < n->known_rv))
		return;
	(void)json_remove(meta, STR("managedFields"));
	free(n->known);
	n->known = object_print(node);
	n->known_rv = rv;
	if (!n->uid || !str_eqz(uid, n->uid)) {
		free(n->uid);
		n->uid = str_dup(uid);
		node_lease_set_owner(n->lease, uid);
	}
	if (n->opts.on_node)
		n->opts.on_node(n->opts.arg, node);
}

static void learn_cached(struct node_object *n, struct cached *o)
{
	struct json *tree;
	struct arena a;

	arena_init(&a, REQUEST_WORK_MAX);
	if (cached_tree(o, &a, &tree, NULL) == 0) {
		n->registered = true;
		learn(n, tree);
		look_soon(n);
	}
	arena_release(&a);
}

static void object_on_add(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	learn_cached(CONTAINER_OF(h, struct node_object, handler), o);
}

static void object_on_update(struct informer_handler *h, struct cached *old UNUSED,
			     struct cached *o)
{
	learn_cached(CONTAINER_OF(h, struct node_object, handler), o);
}

static void object_on_delete(struct informer_handler *h, struct cached *last UNUSED,
			     bool unknown UNUSED)
{
	struct node_object *n = CONTAINER_OF(h, struct node_object, handler);

	n->registered = false;
	free(n->known);
	n->known = NULL;
	n->known_rv = 0;
	if (n->opts.log)
		log_warn(n->opts.log,
			 "the Node object was deleted; restart the agent to create it again",
			 LOG_Z("node", n->name));
}

static void watch(struct node_object *n)
{
	struct buf selector = BUF_INIT(KIB);
	struct informer_spec spec = { .resource = &n->nodes, .slim = true };

	(void)buf_printf(&selector, "metadata.name=%s", n->name);
	spec.field_selector = buf_str(&selector);
	n->handler = (struct informer_handler){ .on_add = object_on_add,
						.on_update = object_on_update,
						.on_delete = object_on_delete };
	informer_add_handler(informers_get(n->informers, &spec), &n->handler);
	informers_start(n->informers);
	buf_release(&selector);
}

/* --- failures -------------------------------------------------------------------------------- */

static void try_later(struct node_object *n, const char *what, const struct error *err)
{
	if (!n->failing && n->opts.log)
		log_warn(n->opts.log, what, LOG_Z("node", n->name), LOG_ERR(err));
	n->failing = true;
	loop_timer_start(&n->again, backoff_next(&n->backoff, loop_prng(n->opts.loop)));
}

static void succeeded(struct node_object *n)
{
	n->failing = false;
	backoff_reset(&n->backoff);
}

/* --- registration ---------------------------------------------------------------------------- */

static void registered(struct node_object *n, const struct client_answer *answer, bool made)
{
	struct json *tree;
	struct arena a;

	arena_init(&a, REQUEST_WORK_MAX);
	if (client_answer_tree(answer, &a, &tree, NULL) == 0) {
		succeeded(n);
		n->registered = true;
		learn(n, tree);
		if (n->opts.log)
			log_info(n->opts.log,
				 made ? "node registered" : "node was registered before",
				 LOG_Z("node", n->name), LOG_Z("address", n->ip));
		tell_beginning(n);
		if (made)
			tell_transitions(n, NULL, tree);
		watch(n);
		look_soon(n);
	}
	arena_release(&a);
}

static void on_got(struct client_request *r, const struct client_answer *answer,
		   const struct error *err)
{
	struct node_object *n = r->arg;

	if (err)
		try_later(n, "cannot read the Node object, will try again", err);
	else
		registered(n, answer, false);
}

static struct client_request request(struct node_object *n,
				     void (*on_done)(struct client_request *r,
						     const struct client_answer *answer,
						     const struct error *err))
{
	return (struct client_request){ .on_done = on_done, .arg = n, .timeout_ms = TIMEOUT_MS };
}

static void object_get(struct node_object *n)
{
	n->request = request(n, on_got);
	client_get(n->opts.client, &n->request, &n->nodes, STR_NULL, str_from(n->name));
}

static void object_on_created(struct client_request *r, const struct client_answer *answer,
			      const struct error *err)
{
	struct node_object *n = r->arg;

	if (!err)
		registered(n, answer, true);
	else if (err->code == ERR_ALREADY_EXISTS || err->code == ERR_FORBIDDEN)
		object_get(n);
	else
		try_later(n, "cannot register the node, will try again", err);
}

static void object_begin(struct node_object *n)
{
	struct node_status_input in = input(n);
	struct arena a;

	if (!n->opts.register_node) {
		object_get(n);
		return;
	}
	arena_init(&a, REQUEST_WORK_MAX);
	n->request = request(n, object_on_created);
	client_create(n->opts.client, &n->request, &n->nodes, STR_NULL,
		      node_status_make(&a, &in, NULL));
	arena_release(&a);
}

/* --- patches --------------------------------------------------------------------------------- */

static void patched(struct node_object *n, const struct client_answer *answer)
{
	struct json *tree, *sent, *left = NULL;
	struct arena a;

	arena_init(&a, REQUEST_WORK_MAX);
	sent = object_tree_of(&a, n->sent);
	tell_transitions(n, object_tree_of(&a, n->before), sent);
	if (client_answer_tree(answer, &a, &tree, NULL) == 0) {
		left = node_status_patch(&a, tree, sent);
		learn(n, tree);
	}
	free(n->left);
	n->left = left && json_equal(left, object_tree_of(&a, n->change)) ? object_print(left)
									  : NULL;
	arena_release(&a);
}

/* Spread over time, so that nodes that started together do not keep writing together. */
static int64_t beat_ms(struct node_object *n)
{
	int64_t ms = n->opts.status_period_ms;

	return ms / 2 + (int64_t)prng_below(loop_prng(n->opts.loop), (uint64_t)ms);
}

static void end_patch(struct node_object *n)
{
	free(n->sent);
	free(n->before);
	free(n->change);
	n->sent = n->before = n->change = NULL;
}

static void on_patched(struct client_request *r, const struct client_answer *answer,
		       const struct error *err)
{
	struct node_object *n = r->arg;

	if (err) {
		n->health_due = true;
		end_patch(n);
		try_later(n, "cannot write the node's status, will try again", err);
		return;
	}
	succeeded(n);
	patched(n, answer);
	end_patch(n);
	loop_timer_start(&n->beat, n->beat_due ? n->opts.status_period_ms : beat_ms(n));
	n->beat_due = false;
	look_soon(n);
}

static void object_write_status(struct node_object *n)
{
	struct resource_name name = { STR_NULL, str_from(n->name), STR("status") };
	struct node_status_input in = input(n);
	struct json *known, *wanted, *change;
	char block[STACK_BLOCK] UNZEROED;
	struct arena a;

	arena_init_in(&a, REQUEST_WORK_MAX, block, sizeof(block));
	known = object_tree_of(&a, n->known);
	wanted = node_status_make(&a, &in, known);
	n->health_due = false;
	change = node_status_patch(&a, known, wanted);
	if (change && n->left && json_equal(change, object_tree_of(&a, n->left)))
		change = NULL;
	if (change || n->beat_due) {
		n->sent = object_print(wanted);
		n->before = xstrdup(n->known);
		n->change = change ? object_print(change) : NULL;
		n->request = request(n, on_patched);
		client_patch(n->opts.client, &n->request, &n->nodes, name, CLIENT_PATCH_STRATEGIC,
			     node_status_beat(&a, change, wanted));
	}
	arena_release(&a);
}

static void object_on_look(struct loop_task *t)
{
	struct node_object *n = CONTAINER_OF(t, struct node_object, look);

	if (client_busy(&n->request) || loop_timer_running(&n->again))
		return;
	if (!n->uid)
		object_begin(n);
	else if (n->registered)
		object_write_status(n);
}

/* --- timers ---------------------------------------------------------------------------------- */

static void object_on_again(struct loop_timer *t)
{
	look_soon(CONTAINER_OF(t, struct node_object, again));
}

static void on_beat(struct loop_timer *t)
{
	struct node_object *n = CONTAINER_OF(t, struct node_object, beat);

	n->beat_due = n->health_due = true;
	look_soon(n);
}

static void object_on_health(struct loop_timer *t)
{
	struct node_object *n = CONTAINER_OF(t, struct node_object, health_timer);

	n->health_due = true;
	look_soon(n);
}

static void look_at_storage(struct node_object *n)
{
	struct statvfs fs;

	if (n->opts.root_dir && statvfs(n->opts.root_dir, &fs) == 0)
		n->storage_bytes = (int64_t)(fs.f_blocks * fs.f_frsize);
}

/* A file system may grow. */
static void on_storage(struct loop_timer *t)
{
	struct node_object *n = CONTAINER_OF(t, struct node_object, storage_timer);
	int64_t before = n->storage_bytes;

	look_at_storage(n);
	loop_timer_start(t, STORAGE_MS);
	if (before != n->storage_bytes)
		look_soon(n);
}

/* --- life ------------------------------------------------------------------------------------ */

/* The source address of packets to other hosts; nothing is sent. */
static void find_ip(struct node_object *n)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9) };
	socklen_t size = sizeof(to);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)snprintf(n->ip, sizeof(n->ip), "127.0.0.1");
	(void)inet_pton(AF_INET, "192.0.2.1", &to.sin_addr);
	if (fd < 0)
		return;
	if (connect(fd, (struct sockaddr *)&to, size) == 0 &&
	    getsockname(fd, (struct sockaddr *)&to, &size) == 0)
		(void)inet_ntop(AF_INET, &to.sin_addr, n->ip, sizeof(n->ip));
	(void)close(fd);
}

static int set_ip(struct node_object *n, struct error *err)
{
	const char *text = n->opts.node_ip;
	struct in6_addr any;

	if (!text || !*text) {
		find_ip(n);
		return 0;
	}
	if (inet_pton(AF_INET, text, &any) != 1 && inet_pton(AF_INET6, text, &any) != 1)
		return error_set(err, ERR_INVALID, "\"%s\" is not an IP address", text);
	(void)snprintf(n->ip, sizeof(n->ip), "%s", text);
	return 0;
}

static void fill_defaults(struct node_object_opts *o)
{
	if (o->max_pods <= 0)
		o->max_pods = PODS_MAX;
	if (o->lease_duration_s <= 0)
		o->lease_duration_s = LEASE_S;
	if (o->status_period_ms <= 0)
		o->status_period_ms = STATUS_MS;
}

static struct node_object *object_make(const struct node_object_opts *opts)
{
	struct node_object *n = XNEW(struct node_object);

	n->opts = *opts;
	fill_defaults(&n->opts);
	n->name = xstrdup(opts->name);
	n->nodes = resource_builtin("", "v1", "nodes");
	n->runtime_message = xstrdup("container runtime status check may not have completed yet");
	n->runtime_name = xstrdup("");
	n->runtime_version = xstrdup("");
	n->backoff = (struct backoff){
		.initial_ms = RETRY_FIRST_MS, .max_ms = RETRY_MAX_MS, .factor = 2, .jitter = 0.2
	};
	loop_task_init(&n->look, object_on_look);
	loop_timer_init(&n->again, opts->loop, object_on_again);
	loop_timer_init(&n->beat, opts->loop, on_beat);
	loop_timer_init(&n->storage_timer, opts->loop, on_storage);
	loop_timer_init(&n->health_timer, opts->loop, object_on_health);
	n->health_due = true;
	n->informers = informers_new(opts->client, NULL);
	n->lease = node_lease_new(&(struct node_lease_opts){ .loop = opts->loop,
							     .client = opts->client,
							     .name = n->name,
							     .duration_s = n->opts.lease_duration_s,
							     .log = opts->log });
	return n;
}

int node_object_new(const struct node_object_opts *opts, struct node_object **ret_node,
		    struct error *err)
{
	CLEANUP(node_object_free) struct node_object *n = object_make(opts);
	struct node_status_input in = input(n);
	int r;

	r = node_status_check(&in, err);
	if (r == 0)
		r = set_ip(n, err);
	if (r < 0)
		return r;
	if (n->opts.root_dir) {
		look_at_storage(n);
		loop_timer_start(&n->storage_timer, STORAGE_MS);
	}
	look_soon(n);
	*ret_node = TAKE(n);
	return 0;
}

void node_object_free(struct node_object *n)
{
	if (!n)
		return;
	client_cancel(&n->request);
	node_lease_free(n->lease);
	informer_remove_handler(&n->handler);
	informers_free(n->informers);
	loop_task_cancel(&n->look);
	loop_timer_stop(&n->again);
	loop_timer_stop(&n->beat);
	loop_timer_stop(&n->storage_timer);
	loop_timer_stop(&n->health_timer);
	free(n->name);
	free(n->known);
	free(n->uid);
	end_patch(n);
	free(n->left);
	free(n->runtime_message);
	free(n->runtime_name);
	free(n->runtime_version);
	free(n);
}

void node_object_touch(struct node_object *n)
{
	look_soon(n);
}

void node_object_touch_health(struct node_object *n)
{
	if (!loop_timer_running(&n->health_timer))
		loop_timer_start(&n->health_timer, HEALTH_MS);
}

static void object_replace(char **text, struct str with)
{
	free(*text);
	*text = str_dup(with);
}

void node_object_set_runtime(struct node_object *n, bool ready, struct str message, struct str name,
			     struct str version)
{
	n->runtime_ready = ready;
	object_replace(&n->runtime_message,
		       message.n > 0 ? message : STR("container runtime is down"));
	object_replace(&n->runtime_name, name);
	object_replace(&n->runtime_version, version);
	look_soon(n);
}

void node_object_set_machine(struct node_object *n, const struct machine *m)
{
	n->opts.machine = m;
	look_soon(n);
}

void node_object_set_pressure(struct node_object *n, bool memory, bool disk)
{
	if (n->memory_pressure == memory && n->disk_pressure == disk)
		return;
	n->memory_pressure = memory;
	n->disk_pressure = disk;
	look_soon(n);
}

void node_object_warn(struct node_object *n, const char *reason, const char *message)
{
	object_tell(n, RECORDER_WARNING, reason, message);
}

void node_object_set_port(struct node_object *n, uint16_t port)
{
	n->port = port;
	look_soon(n);
}

bool node_object_registered(const struct node_object *n)
{
	return n->registered;
}

struct str node_object_ip(const struct node_object *n)
{
	return str_from(n->ip);
}

int64_t node_object_cpu_milli(const struct node_object *n)
{
	struct node_status_input in = input(n);

	return node_status_cpu_milli(&in);
}

int64_t node_object_memory(const struct node_object *n)
{
	struct node_status_input in = input(n);

	return node_status_memory(&in);
}
