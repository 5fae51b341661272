/*
 * schedule_load KUBECONFIG - makes bare nodes and pods for a scheduler, and counts by watch.
 *
 * Obeys commands (load.h):
 *
 *	nodes COUNT DEVICES	makes nodes, a ResourceSlice of so many devices each, the class
 *	claims COUNT		makes claims of one device each
 *	pods COUNT KIND		makes pods: "plain", or "claim" with one of the claims each;
 *				answers when a watch has shown all on a node: MS PER_SECOND
 *
 *	delete			deletes all pods and claims, and waits until the claims are
 *				gone: a claim controller must run
 *
 * Nothing runs: pods stay as the scheduler leaves them. Node objects have no agent behind them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "base/json/json.h"
#include "client/kubeconfig/kubeconfig.h"
#include "load.h"

enum { AT_ONCE = 64 }; /* requests under way */
enum { LOOK_MS = 20 };

struct maker {
	struct schedule_load *load;
	struct client_request request;
};

struct schedule_load {
	struct loop *loop;
	struct client *client;
	struct load_input input;
	struct load_watch watch;
	struct maker makers[AT_ONCE];
	/* The objects to create: body of the i-th of `total`. */
	void (*body)(struct schedule_load *l, size_t i, struct buf *out, const char **ret_path);
	void (*after)(struct schedule_load *l);
	size_t next, made, total;
	size_t devices; /* per node */
	size_t pods, bound; /* of this round */
	bool *seen; /* which of them are bound: a restarted watch shows them again */
	size_t claims, used; /* made; taken by pods */
	bool with_claims;
	int64_t begun_ns;
	size_t round;
	struct client_request request; /* of the deletion */
	struct loop_timer timer;
	int deleting; /* pods; then claims */
};

static void make_next(struct maker *m);

static void on_made(struct client_request *r, const struct client_answer *a UNUSED,
		    const struct error *err)
{
	struct maker *m = r->arg;
	struct schedule_load *l = m->load;

	if (err)
		load_die(err->msg);
	if (++l->made == l->total)
		l->after(l);
	else
		make_next(m);
}

static void make_next(struct maker *m)
{
	struct schedule_load *l = m->load;
	CLEANUP(buf_release) struct buf body = BUF_INIT(1 << 20);
	const char *path;

	if (l->next == l->total)
		return;
	l->body(l, l->next++, &body, &path);
	m->request = (struct client_request){ .method = STR("POST"),
					      .path = str_from(path),
					      .body = buf_str(&body),
					      .on_done = on_made,
					      .arg = m };
	client_send(l->client, &m->request);
}

static void make_all(struct schedule_load *l, size_t total)
{
	l->next = l->made = 0;
	l->total = total;
	for (size_t i = 0; i < AT_ONCE; i++) {
		l->makers[i].load = l;
		make_next(&l->makers[i]);
	}
}

static void answer_made(struct schedule_load *l)
{
	load_answer(&l->input, "%zu", l->total);
}

/* --- objects -------------------------------------------------------------------------------- */

static void slice_body(struct schedule_load *l, size_t i, struct buf *out)
{
	(void)buf_printf(out,
			 "{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":\"ResourceSlice\","
			 "\"metadata\":{\"name\":\"node-%zu-gpu.example.com\"},\"spec\":{"
			 "\"driver\":\"gpu.example.com\",\"nodeName\":\"node-%zu\",\"pool\":{"
			 "\"name\":\"node-%zu\",\"generation\":1,\"resourceSliceCount\":1},"
			 "\"devices\":[",
			 i, i, i);
	for (size_t d = 0; d < l->devices; d++)
		(void)buf_printf(out,
				 "%s{\"name\":\"gpu-%zu\",\"attributes\":{\"model\":{"
				 "\"string\":\"a100\"}}}",
				 d ? "," : "", d);
	(void)buf_addz(out, "]}}");
}

/* The class, then a node and its slice in turn. */
static void node_body(struct schedule_load *l, size_t i, struct buf *out, const char **ret_path)
{
	if (i == 0) {
		*ret_path = "/apis/resource.k8s.io/v1/deviceclasses";
		(void)buf_addz(out,
			       "{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":\"DeviceClass\","
			       "\"metadata\":{\"name\":\"gpu\"},\"spec\":{\"selectors\":[{\"cel\":{"
			       "\"expression\":\"device.driver == 'gpu.example.com'\"}}]}}");
		return;
	}
	i--;
	if (i % 2) {
		*ret_path = "/apis/resource.k8s.io/v1/resourceslices";
		slice_body(l, i / 2, out);
		return;
	}
	*ret_path = "/api/v1/nodes";
	(void)buf_printf(
		out,
		"{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"node-%zu\","
		"\"labels\":{\"kubernetes.io/hostname\":\"node-%zu\","
		"\"topology.kubernetes.io/zone\":\"zone-%zu\"}},\"status\":{\"allocatable\":{"
		"\"cpu\":\"32\",\"memory\":\"256Gi\",\"pods\":\"110\"},\"capacity\":{"
		"\"cpu\":\"32\",\"memory\":\"256Gi\",\"pods\":\"110\"},\"conditions\":[{"
		"\"type\":\"Ready\",\"status\":\"True\"}]}}",
		i / 2, i / 2, i / 2 % 3);
}

static void claim_body(struct schedule_load *l, size_t i, struct buf *out, const char **ret_path)
{
	*ret_path = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
	(void)buf_printf(
		out,
		"{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":\"ResourceClaim\","
		"\"metadata\":{\"name\":\"claim-%zu-%zu\"},\"spec\":{\"devices\":{\"requests\":[{"
		"\"name\":\"gpu\",\"exactly\":{\"deviceClassName\":\"gpu\"}}]}}}",
		l->round, i);
}

static void pod_body(struct schedule_load *l, size_t i, struct buf *out, const char **ret_path)
{
	*ret_path = "/api/v1/namespaces/default/pods";
	(void)buf_printf(
		out,
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"pod-%zu-%zu\","
		"\"labels\":{\"app\":\"bench\"}},\"spec\":{\"containers\":[{\"name\":\"c\","
		"\"image\":\"registry.k8s.io/pause:3.10\",\"resources\":{\"requests\":{"
		"\"cpu\":\"100m\",\"memory\":\"200Mi\"}",
		l->round, i);
	if (l->with_claims)
		(void)buf_printf(out,
				 ",\"claims\":[{\"name\":\"gpu\"}]}}],\"resourceClaims\":[{"
				 "\"name\":\"gpu\",\"resourceClaimName\":\"claim-%zu-%zu\"}]}}",
				 l->round, i);
	else
		(void)buf_addz(out, "}}]}}");
}

/* --- counting ------------------------------------------------------------------------------- */

static void on_pod(void *arg, const struct json *event)
{
	struct schedule_load *l = arg;
	const struct json *spec = json_getz(event, "spec");
	struct str name = json_str(json_getz(json_getz(event, "metadata"), "name"));
	char prefix[32];
	uint64_t i;
	double ms;

	(void)snprintf(prefix, sizeof(prefix), "pod-%zu-", l->round);
	if (json_str(json_getz(spec, "nodeName")).n == 0 || l->pods == 0 ||
	    !str_starts(name, str_from(prefix)))
		return;
	if (!str_to_u64(str_skip(name, strlen(prefix)), &i) || i >= l->pods || l->seen[i])
		return;
	l->seen[i] = true;
	if (++l->bound < l->pods)
		return;
	ms = load_since_ms(l->begun_ns);
	load_answer(&l->input, "%.0f %.0f", ms, (double)l->pods * 1000 / ms);
	l->pods = 0;
}

static void nothing(struct schedule_load *l UNUSED)
{
}

/* --- commands ------------------------------------------------------------------------------- */

static void run_nodes(void *arg, char **words)
{
	struct schedule_load *l = arg;

	l->devices = load_number(words[2]);
	l->body = node_body;
	l->after = answer_made;
	make_all(l, 1 + 2 * load_number(words[1]));
}

static void run_claims(void *arg, char **words)
{
	struct schedule_load *l = arg;

	l->round++;
	l->body = claim_body;
	l->after = answer_made;
	make_all(l, load_number(words[1]));
}

static void run_pods(void *arg, char **words)
{
	struct schedule_load *l = arg;

	l->with_claims = strcmp(words[2], "claim") == 0;
	if (!l->with_claims)
		l->round++;
	l->pods = load_number(words[1]);
	l->bound = 0;
	free(l->seen);
	l->seen = xcalloc(l->pods, sizeof(*l->seen));
	l->body = pod_body;
	l->after = nothing;
	l->begun_ns = load_now_ns();
	make_all(l, l->pods);
}

static void on_deleted(struct client_request *r, const struct client_answer *a,
		       const struct error *err);

/* Asks whether a claim is left. */
static void look(struct loop_timer *t)
{
	struct schedule_load *l = CONTAINER_OF(t, struct schedule_load, timer);

	l->request = (struct client_request){
		.path = STR("/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"),
		.query = STR("limit=1"),
		.on_done = on_deleted,
		.arg = l
	};
	client_send(l->client, &l->request);
}

static void on_deleted(struct client_request *r, const struct client_answer *a,
		       const struct error *err)
{
	struct schedule_load *l = r->arg;

	if (err)
		load_die(err->msg);
	if (l->deleting == 0 && str_find(a->body, STR("\"items\":[]")) >= 0) {
		load_answer(&l->input, NULL);
		return;
	}
	if (l->deleting == 0) {
		loop_timer_start(&l->timer, LOOK_MS);
		return;
	}
	l->request = (struct client_request){ .method = STR("DELETE"),
					      .path = STR(
						      "/apis/resource.k8s.io/v1/namespaces/default/"
						      "resourceclaims"),
					      .on_done = on_deleted,
					      .arg = l };
	l->deleting = 0;
	client_send(l->client, &l->request);
}

static void run_delete(void *arg, char **words UNUSED)
{
	struct schedule_load *l = arg;

	loop_timer_init(&l->timer, l->loop, look);
	l->deleting = 1;
	l->request = (struct client_request){ .method = STR("DELETE"),
					      .path = STR("/api/v1/namespaces/default/pods"),
					      .query = STR("gracePeriodSeconds=0"),
					      .on_done = on_deleted,
					      .arg = l };
	client_send(l->client, &l->request);
}

static const struct load_command commands[] = {
	{ "nodes", 3, run_nodes },
	{ "claims", 2, run_claims },
	{ "pods", 3, run_pods },
	{ "delete", 1, run_delete },
	{ NULL },
};

int main(int argc, char **argv)
{
	static struct schedule_load l;

	if (argc != 2)
		load_die("usage: schedule_load KUBECONFIG");
	load_connect(argv[1], "bench", &l.loop, &l.client);
	l.watch.path = "/api/v1/pods";
	l.watch.on_object = on_pod;
	l.watch.arg = &l;
	l.watch.again = true;
	load_watch_start(&l.watch, l.client);
	load_input_start(&l.input, l.loop, commands, &l);
	loop_run(l.loop);
	return 0;
}
