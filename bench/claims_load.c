/*
 * claims_load KUBECONFIG - what a network driver and the status of its claims have to do with: pods
 * and claims, a kubelet, a container runtime, cables that are pulled, and a watch.
 *
 * One watch of all claims shows when a change is visible to everybody. All are in one process, so
 * that one clock measures when something happened and when it was seen. Their own CPU use is part
 * of the figures. Obeys these commands (load.h); times are in ms, "P50 P99 MAX" each:
 *
 *	update VERB COUNT FLIGHT
 *			writes the status of all claims, by turns, with put or patch; "update
 *			RATE P50 P99 SENT ANSWERED": per second, and bytes of a body and its
 *			answer's
 *	driver ROOT	the driver's folder; "driver"
 *	claims GROUP DEVICE COUNT PARAMETERS
 *			makes pods with a claim for DEVICE0, DEVICE1, .. each and prepares
 *			those, one after the other; "claims" and until the driver has answered,
 *			and until status says so
 *	attach GROUP	gives all pods of the group their interfaces; as above
 *	detach GROUP	and takes them back
 *	cycle GROUP COUNT
 *			both by turns; "cycle" and the same of attaching, then of detaching
 *	carrier GROUP COUNT
 *			pulls cables and puts them back; "carrier" and how long the kernel took
 *			for that, and from there until status says so; of pulling, then of
 *			putting back
 *	address GROUP COUNT
 *			the same of addresses that come and go
 *	run GROUP COUNT FOLDER
 *			as cycle, by processes of the plugin in this folder
 *	pass NAMESPACE COUNT FOLDER
 *			runs the plugin for a pod without a claim, of this namespace; "pass" and
 *			its time
 *	patch GROUP COUNT
 *			writes status itself: "patch" and until that is answered, and until it
 *			is seen
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "claims_link.h"
#include "claims_node.h"
#include "claims_updates.h"
#include "drivers/nic/driver.h"
#include "load.h"
#include "node_driver.h"
#include "node_pods.h"

enum { PODS_MAX = 1000, GROUPS_MAX = 8, UID = 64, REASON = 64, KINDS = 2 };

#define ANY SIZE_MAX

#define CLAIMS "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"

struct pod {
	size_t number;
	char name[32], uid[UID], claim_uid[UID], container[UID];
	bool made; /* its claim is reserved */
	struct claims_link *link;
	/* The claim's status. */
	char reason[REASON]; /* of Ready */
	size_t ips;
	char device[64];
};

struct group {
	char *name;
	size_t first, count; /* pods */
};

struct load;

/* One thing that is done to a pod, and what is to be seen then. */
struct act {
	void (*start)(struct load *l, struct pod *p); /* `answered` follows, or was called */
	const char *reason; /* of Ready; NULL: nothing is to be seen */
	size_t ips; /* how many addresses more than in the beginning; ANY */
};

/* A command: `count` acts, on one pod after the other; of two kinds first the one on all. */
struct walk {
	const struct act *acts[KINDS];
	const struct group *group;
	size_t count, at;
	size_t pods; /* of the group: the first ones */
	bool once; /* there is but one kind */
	size_t ips; /* in the beginning */
	int64_t begun_ns, answered_ns, seen_ns; /* 0: not yet */
	bool from_answer; /* what is seen is measured from there */
	struct load_times answered[KINDS], seen[KINDS];
};

struct load {
	struct loop *loop;
	struct client *client;
	struct load_input input;
	struct load_watch watch;
	struct loop_task step;
	struct claims_node *node;
	struct pod pods[PODS_MAX];
	size_t npods;
	struct group groups[GROUPS_MAX];
	size_t ngroups;
	struct walk walk;
	struct client_request patch;
	const char *folder; /* of the plugin */
	const char *stranger_ns;
	size_t turn; /* to tell apart what was done before */
};

/* --- one thing after the other ---------------------------------------------------------- */

static size_t kind_now(const struct walk *w)
{
	return w->once ? 0 : w->at / w->pods % KINDS;
}

static struct pod *pod_now(struct load *l)
{
	const struct walk *w = &l->walk;

	return &l->pods[w->group->first + w->at % w->pods];
}

static bool is_seen(const struct walk *w, const struct pod *p)
{
	const struct act *a = w->acts[kind_now(w)];

	return a->reason && strcmp(p->reason, a->reason) == 0 &&
	       (a->ips == ANY || p->ips == w->ips + a->ips);
}

static void start_act(struct load *l)
{
	struct walk *w = &l->walk;
	struct pod *p = pod_now(l);

	w->answered_ns = w->seen_ns = 0;
	w->begun_ns = load_now_ns();
	w->acts[kind_now(w)]->start(l, p);
}

static void print_times(struct buf *b, struct load_times *t)
{
	if (t->n)
		(void)buf_printf(b, "%.2f %.2f %.2f ", load_times_percentile(t, 50),
				 load_times_percentile(t, 99), load_times_percentile(t, 100));
}

static void finish(struct load *l)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(KIB);

	for (size_t i = 0; i < KINDS; i++) {
		print_times(&text, &l->walk.answered[i]);
		print_times(&text, &l->walk.seen[i]);
		free(l->walk.answered[i].v);
		free(l->walk.seen[i].v);
	}
	l->walk = (struct walk){ 0 };
	load_answer(&l->input, "%s", text.p);
}

static double ms_between(int64_t from_ns, int64_t to_ns)
{
	return (double)(to_ns - from_ns) / (double)CLOCK_MS;
}

/* Something was answered or seen: is that the end of the act? */
static void on_step(struct loop_task *t)
{
	struct load *l = CONTAINER_OF(t, struct load, step);
	struct walk *w = &l->walk;
	size_t kind;

	if (!w->group || !w->answered_ns || (w->acts[kind_now(w)]->reason && !w->seen_ns))
		return;
	kind = kind_now(w);
	load_times_add(&w->answered[kind], ms_between(w->begun_ns, w->answered_ns));
	if (w->seen_ns)
		load_times_add(
			&w->seen[kind],
			ms_between(w->from_answer ? w->answered_ns : w->begun_ns, w->seen_ns));
	if (++w->at == w->count)
		finish(l);
	else
		start_act(l);
}

static void next_step(struct load *l)
{
	loop_defer(l->loop, &l->step);
}

static void answered_at(struct load *l, int64_t ns)
{
	l->walk.answered_ns = ns;
	next_step(l);
}

static void on_answered(void *arg)
{
	answered_at(arg, load_now_ns());
}

static void begin(struct load *l, const struct group *g, const struct act *one,
		  const struct act *two)
{
	l->walk = (struct walk){
		.acts = { one, two }, .group = g, .count = g->count, .pods = g->count, .once = !two
	};
	l->folder = NULL;
	l->walk.ips = l->pods[g->first].ips;
}

static struct group *group_of(struct load *l, const char *name)
{
	for (size_t i = 0; i < l->ngroups; i++)
		if (strcmp(l->groups[i].name, name) == 0)
			return &l->groups[i];
	load_die("no such group");
}

/* --- acts ------------------------------------------------------------------------------- */

static struct claims_pod told(const struct pod *p)
{
	return (struct claims_pod){ .name = p->name,
				    .uid = p->uid,
				    .claim_uid = p->claim_uid,
				    .container = p->container,
				    .netns = claims_link_path(p->link) };
}

static void prepare(struct load *l, struct pod *p)
{
	struct claims_pod pod = told(p);

	claims_node_prepare(l->node, &pod);
}

static void attach(struct load *l, struct pod *p)
{
	struct claims_pod pod;

	(void)snprintf(p->container, sizeof(p->container), "sandbox-%zu-%zu", p->number, l->turn++);
	pod = told(p);
	if (l->folder)
		claims_node_run(l->node, &pod, false, l->folder);
	else
		claims_node_attach(l->node, &pod);
}

static void detach(struct load *l, struct pod *p)
{
	struct claims_pod pod = told(p);

	claims_link_forget(p->link);
	if (l->folder)
		claims_node_run(l->node, &pod, true, l->folder);
	else
		claims_node_detach(l->node, &pod);
}

static void pull(struct load *l, struct pod *p)
{
	answered_at(l, claims_link_carrier(p->link, false));
}

static void put_back(struct load *l, struct pod *p)
{
	answered_at(l, claims_link_carrier(p->link, true));
}

static void add_address(struct load *l, struct pod *p)
{
	answered_at(l, claims_link_address(p->link, true));
}

static void remove_address(struct load *l, struct pod *p)
{
	answered_at(l, claims_link_address(p->link, false));
}

/* A pod of its own that nobody has a claim for. */
static void pass(struct load *l, struct pod *p)
{
	struct claims_pod pod = { .name = "stranger",
				  .uid = "1d1b1e4a-0000-4000-8000-000000000001",
				  .container = p->container,
				  .netns = claims_link_path(p->link),
				  .ns = l->stranger_ns };

	claims_node_run(l->node, &pod, false, l->folder);
}

static void on_patched(struct client_request *r, const struct client_answer *a UNUSED,
		       const struct error *err)
{
	if (err)
		load_die(err->msg);
	on_answered(r->arg);
}

/* The status that the driver would write. */
static void patch(struct load *l, struct pod *p)
{
	CLEANUP(buf_release) struct buf body = BUF_INIT(4 * KIB), path = BUF_INIT(KIB);
	bool first = kind_now(&l->walk) == 0;

	(void)buf_printf(&path, CLAIMS "/%s/status", p->name);
	(void)buf_printf(
		&body,
		"{\"status\":{\"devices\":[{\"driver\":\"" NIC_DRIVER_NAME
		"\",\"pool\":\"n1\",\"device\":\"%s\",\"conditions\":[{\"type\":\"Ready\","
		"\"status\":\"%s\",\"reason\":\"Patched%d\",\"message\":\"net1 is in pod %s\","
		"\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}],\"networkData\":{"
		"\"interfaceName\":\"net1\",\"ips\":[\"198.18.0.2/24\"],"
		"\"hardwareAddress\":\"02:00:00:00:00:05\"}}]}}",
		p->device, first ? "True" : "False", first ? 1 : 2, p->name);
	l->patch = (struct client_request){ .method = STR("PATCH"),
					    .path = buf_str(&path),
					    .body = buf_str(&body),
					    .content_type = STR("application/merge-patch+json"),
					    .on_done = on_patched,
					    .arg = l };
	client_send(l->client, &l->patch);
}

static const struct act act_prepare = { prepare, "Prepared", ANY };
static const struct act act_attach = { attach, "Attached", ANY };
static const struct act act_detach = { detach, "Detached", ANY };
static const struct act act_pull = { pull, "LinkDown", ANY };
static const struct act act_put_back = { put_back, "Attached", ANY };
static const struct act act_add_address = { add_address, "Attached", 1 };
static const struct act act_remove_address = { remove_address, "Attached", 0 };
static const struct act act_pass = { pass, NULL, ANY };
static const struct act act_patch[KINDS] = { { patch, "Patched1", ANY },
					     { patch, "Patched2", ANY } };

/* --- what is seen ----------------------------------------------------------------------- */

static struct pod *pod_of(struct load *l, struct str claim)
{
	size_t before = strlen(NODE_DRIVER_CLAIM);
	uint64_t at;

	if (!str_starts(claim, STR(NODE_DRIVER_CLAIM)) || !str_to_u64(str_skip(claim, before), &at))
		return NULL;
	return at < l->npods ? &l->pods[at] : NULL;
}

static void copy(char *to, size_t size, struct str from)
{
	(void)snprintf(to, size, "%.*s", STR_ARG(from));
}

static void see_entry(struct pod *p, const struct json *entry)
{
	const struct json *ready = json_at(json_getz(entry, "conditions"), 0);

	copy(p->reason, sizeof(p->reason), json_text_at(ready, "reason"));
	p->ips = json_count(json_getz(json_getz(entry, "networkData"), "ips"));
}

static void on_claim(void *arg, const struct json *claim)
{
	const struct json *meta = json_getz(claim, "metadata"),
			  *status = json_getz(claim, "status");
	const struct json *user = json_at(json_getz(status, "reservedFor"), 0);
	const struct json *results = json_pointer(status, STR("/allocation/devices/results"));
	struct load *l = arg;
	struct walk *w = &l->walk;
	struct pod *p = pod_of(l, json_text_at(meta, "name"));

	if (!p || !user)
		return;
	copy(p->claim_uid, sizeof(p->claim_uid), json_text_at(meta, "uid"));
	copy(p->uid, sizeof(p->uid), json_text_at(user, "uid"));
	copy(p->device, sizeof(p->device), json_text_at(json_at(results, 0), "device"));
	p->made = true;
	see_entry(p, json_at(json_getz(status, "devices"), 0));
	if (w->group && w->begun_ns && !w->seen_ns && p == pod_now(l) && is_seen(w, p))
		w->seen_ns = load_now_ns();
}

/* Pods are prepared when all are made. */
static void begin_when_made(struct load *l)
{
	const struct group *g = l->walk.group;

	if (!g || l->walk.begun_ns)
		return;
	for (size_t i = 0; i < g->count; i++)
		if (!l->pods[g->first + i].made)
			return;
	start_act(l);
}

static void on_piece(void *arg)
{
	begin_when_made(arg);
	next_step(arg);
}

/* --- commands --------------------------------------------------------------------------- */

static void on_updated(void *arg, struct claims_updates_result *r)
{
	struct load *l = arg;

	load_answer(&l->input, "%.0f %.2f %.2f %zu %zu", (double)r->ms.n / r->s,
		    load_times_percentile(&r->ms, 50), load_times_percentile(&r->ms, 99), r->sent,
		    r->answered);
}

static void obey_update(void *arg, char **words)
{
	struct load *l = arg;
	struct claims_updates_opts o = { .client = l->client,
					 .put = strcmp(words[1], "put") == 0,
					 .count = load_number(words[2]),
					 .flight = load_number(words[3]),
					 .on_done = on_updated,
					 .arg = l };

	claims_updates_run(&o);
}

static void obey_driver(void *arg, char **words)
{
	struct load *l = arg;

	l->node = claims_node_new(l->loop, words[1], on_answered, l);
	load_watch_start(&l->watch, l->client);
	load_answer(&l->input, "%s", "");
}

static struct group *add_group(struct load *l, const char *name, size_t count)
{
	struct group *g = &l->groups[l->ngroups++];

	if (l->ngroups > GROUPS_MAX || l->npods + count > PODS_MAX || !count)
		load_die("too many pods, or none");
	*g = (struct group){ xstrdup(name), l->npods, count };
	for (; l->npods < g->first + count; l->npods++) {
		struct pod *p = &l->pods[l->npods];

		p->number = l->npods;
		(void)snprintf(p->name, sizeof(p->name), NODE_DRIVER_CLAIM "%zu", l->npods);
		p->link = claims_link_new();
	}
	return g;
}

static void obey_claims(void *arg, char **words)
{
	struct load *l = arg;
	struct group *g = add_group(l, words[1], load_number(words[3]));
	struct node_pods_devices *d = XNEW(struct node_pods_devices);
	struct node_pods_opts o = { .client = l->client,
				    .first = g->first,
				    .count = g->count,
				    .node = "n1",
				    .per_claim = 1,
				    .devices = d };

	*d = (struct node_pods_devices){ NIC_DRIVER_NAME, "n1", xstrdup(words[2]),
					 xstrdup(words[4]) };
	begin(l, g, &act_prepare, NULL);
	node_pods_make(&o);
}

static void walk_group(struct load *l, char **words, const struct act *one, const struct act *two)
{
	begin(l, group_of(l, words[1]), one, two);
	if (!two)
		return;
	/* As often the one as the other. */
	l->walk.count = load_number(words[2]);
	l->walk.pods = MIN(l->walk.pods, l->walk.count / KINDS);
	if (!l->walk.pods || l->walk.count % (l->walk.pods * KINDS))
		load_die("not a multiple of all pods, twice");
}

static void obey_attach(void *arg, char **words)
{
	walk_group(arg, words, &act_attach, NULL);
	start_act(arg);
}

static void obey_detach(void *arg, char **words)
{
	walk_group(arg, words, &act_detach, NULL);
	start_act(arg);
}

static void obey_cycle(void *arg, char **words)
{
	walk_group(arg, words, &act_attach, &act_detach);
	start_act(arg);
}

static void obey_run(void *arg, char **words)
{
	struct load *l = arg;

	walk_group(l, words, &act_attach, &act_detach);
	l->folder = xstrdup(words[3]);
	start_act(l);
}

static void obey_carrier(void *arg, char **words)
{
	struct load *l = arg;

	walk_group(l, words, &act_pull, &act_put_back);
	l->walk.from_answer = true;
	start_act(l);
}

static void obey_address(void *arg, char **words)
{
	struct load *l = arg;

	walk_group(l, words, &act_add_address, &act_remove_address);
	l->walk.from_answer = true;
	start_act(l);
}

static void obey_pass(void *arg, char **words)
{
	struct load *l = arg;

	l->stranger_ns = xstrdup(words[1]);
	l->folder = xstrdup(words[3]);
	l->walk = (struct walk){ .acts = { &act_pass },
				 .group = &l->groups[0],
				 .count = load_number(words[2]),
				 .pods = 1,
				 .once = true };
	start_act(l);
}

static void obey_patch(void *arg, char **words)
{
	walk_group(arg, words, &act_patch[0], &act_patch[1]);
	start_act(arg);
}

static const struct load_command commands[] = {
	{ "update", 4, obey_update },   { "driver", 2, obey_driver },
	{ "claims", 5, obey_claims },   { "attach", 2, obey_attach },
	{ "detach", 2, obey_detach },   { "cycle", 3, obey_cycle },
	{ "carrier", 3, obey_carrier }, { "address", 3, obey_address },
	{ "run", 4, obey_run },         { "pass", 4, obey_pass },
	{ "patch", 3, obey_patch },     { NULL },
};

int main(int argc, char **argv)
{
	struct load *l = XNEW(struct load);

	if (argc != 2)
		load_die("usage: claims_load KUBECONFIG");
	load_connect(argv[1], "claims-load", &l->loop, &l->client);
	l->watch = (struct load_watch){
		.path = CLAIMS, .on_object = on_claim, .on_piece = on_piece, .arg = l
	};
	loop_task_init(&l->step, on_step);
	load_input_start(&l->input, l->loop, commands, l);
	loop_run(l->loop);
	return 0;
}
