/*
 * Checks a cluster through its API server: readiness, clocks, and nodes. The server's time is
 * taken from an object created in a dry run.
 */
#include <stdlib.h>

#include "api/schema/tree.h"
#include "base/core/clock.h"
#include "base/json/json.h"
#include "base/time/timestamp.h"
#include "cli/connect/kube.h"
#include "cli/doctor/doctor.h"
#include "net/loop/loop.h"

enum {
	CLOCKS_APART = 5, /* seconds */
	WAIT_MS = 5000,
};

/* --- the server ------------------------------------------------------------------------------ */

struct answer {
	struct loop *loop;
	struct arena *arena;
	struct str body;
	struct error err;
	bool done;
};

static void cluster_on_done(struct client_request *r, const struct client_answer *a,
			    const struct error *err)
{
	struct answer *w = r->arg;

	w->done = true;
	w->body = arena_str(w->arena, a->body);
	if (err)
		w->err = *err;
	loop_stop(w->loop);
}

static void cluster_ask(struct kube *k, struct client_request *r, struct answer *w)
{
	*w = (struct answer){ .loop = k->loop, .arena = k->arena };
	r->on_done = cluster_on_done;
	r->arg = w;
	r->no_retry = true;
	client_send(k->client, r);
	while (!w->done)
		loop_run(k->loop);
}

int doctor_fetch(struct kube *k, const char *path, struct str *ret_text, struct json **ret_tree,
		 struct error *err)
{
	struct client_request r = { .path = str_from(path),
				    .accept = ret_tree ? STR("application/json")
						       : STR("text/plain") };
	struct answer w;

	cluster_ask(k, &r, &w);
	if (w.err.code != ERR_OK)
		return error_copy(err, &w.err);
	if (ret_text)
		*ret_text = w.body;
	return ret_tree ? json_parse(k->arena, w.body, NULL, ret_tree, err) : 0;
}

int doctor_fetch_any(struct kube *k, const char *path, const char *query, struct str *ret_text,
		     struct error *err)
{
	struct client_request r = { .path = str_from(path),
				    .query = str_from(query),
				    .accept = STR("text/plain, application/json"),
				    .timeout_ms = WAIT_MS };
	struct answer w;

	cluster_ask(k, &r, &w);
	*ret_text = w.body;
	return w.err.code == ERR_OK ? 0 : error_copy(err, &w.err);
}

static bool check_server(struct doctor *d, struct kube *k)
{
	struct client_request r = { .path = STR("/readyz"), .accept = STR("text/plain") };
	struct answer w;

	cluster_ask(k, &r, &w);
	if (w.err.code == ERR_OK) {
		doctor_say(d, DOCTOR_OK, "server", NULL, "%.*s is ready",
			   STR_ARG(k->config.server));
		return true;
	}
	doctor_say(d, DOCTOR_FAIL, "server",
		   d->folder ? "see `devplane status`"
			     : "check that it runs, and that the kubeconfig is for this server",
		   "%.*s is not ready: %s", STR_ARG(k->config.server), w.err.msg);
	return false;
}

static void check_clock(struct doctor *d, struct kube *k)
{
	struct client_request r = {
		.method = STR("POST"),
		.path = STR("/api/v1/namespaces/default/configmaps"),
		.query = STR("dryRun=All"),
		.body = STR("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{"
			    "\"generateName\":\"clock-\"}}"),
	};
	int64_t here = clock_wall(clock_system()), there, apart;
	struct json *tree = NULL;
	struct answer w;

	cluster_ask(k, &r, &w);
	(void)json_parse(k->arena, w.body, NULL, &tree, NULL);
	if (w.err.code != ERR_OK ||
	    timestamp_parse(json_text_at(json_getz(tree, "metadata"), "creationTimestamp"), &there,
			    NULL) < 0)
		return;
	apart = llabs(there - here) / CLOCK_SEC;
	if (apart > CLOCKS_APART)
		doctor_say(d, DOCTOR_FAIL, "clock", "run a time service on both machines",
			   "the server's clock is %lld s %s this machine's", (long long)apart,
			   there > here ? "ahead of" : "behind");
	else
		doctor_say(d, DOCTOR_OK, "clock", NULL, "agrees with the server's");
}

/* --- nodes ----------------------------------------------------------------------------------- */

static void check_nodes(struct doctor *d, struct kube *k)
{
	struct resource nodes = resource_builtin("", "v1", "nodes");
	struct kube_query q = { .resource = &nodes };
	struct json *list;
	struct error err;
	size_t n = 0, ready = 0;
	struct str first = STR_NULL;

	if (kube_read(k, &q, &list, &err) < 0) {
		doctor_say(d, DOCTOR_WARN, "nodes", NULL, "%s", err.msg);
		return;
	}
	JSON_FOREACH (it, json_getz(list, "items")) {
		n++;
		if (tree_condition_is_true(it, STR("Ready")))
			ready++;
		else if (first.n == 0)
			first = json_text_at(json_getz(it, "metadata"), "name");
	}
	if (n == 0)
		doctor_say(d, DOCTOR_WARN, "nodes", "start one: devplane node, or devplane up",
			   "no nodes: pods stay pending");
	else if (ready < n)
		doctor_say(
			d, DOCTOR_FAIL, "nodes",
			arena_printf(d->arena, "see `devplane describe node %.*s`", STR_ARG(first)),
			"%zu of %zu are Ready; %.*s is not", ready, n, STR_ARG(first));
	else
		doctor_say(d, DOCTOR_OK, "nodes", NULL, "%zu, all Ready", n);
}

void doctor_check_cluster(struct doctor *d, const struct kube_options *o)
{
	struct kube k;
	struct error err;

	if (kube_open(&k, d->cli, o, &err) < 0) {
		doctor_say(d, DOCTOR_FAIL, "kubeconfig", NULL, "%s", err.msg);
	} else if (check_server(d, &k)) {
		check_clock(d, &k);
		check_nodes(d, &k);
		doctor_check_devices(d, &k);
		if (d->install)
			doctor_check_install(d, &k);
	}
	kube_close(&k);
}
