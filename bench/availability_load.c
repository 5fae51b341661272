/*
 * availability_load KUBECONFIG - slices and claims for the controller that says what is free, and
 * a watch that sees when it does.
 *
 * Devices can be shared; a claim takes 1Gi of one. Obeys commands (load.h):
 *
 *	slices COUNT DEVICES	makes slices of so many devices, each a pool of its own
 *	claims COUNT		makes claims, and gives each a device, by turns
 *	converge		answers when the watch has shown every slice with all of its
 *				claims: MS
 *	churn COUNT RATE	takes claims' devices away and gives them back, so many a second;
 *				answers when the watch has shown each: P50 P95 P99 MAX in ms from
 *				sending the change of the claim, and how often a slice's status
 *				was written
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/core/random.h"
#include "base/json/json.h"
#include "load.h"

enum { AT_ONCE = 64, TICK_MS = 5 };

#define GROUP  "/apis/resource.k8s.io/v1"
#define CLAIMS GROUP "/namespaces/default/resourceclaims"
#define DRIVER "gpu.example.com"

struct load;

struct maker {
	struct load *load;
	struct client_request request;
	size_t at;
	bool second; /* its allocation follows */
};

struct claim {
	size_t slice;
	bool held;
	int64_t changed_ns; /* 0: what was done is seen */
	struct client_request request;
	struct load *load;
};

struct shown {
	size_t expected, seen; /* claims */
	size_t changing;
};

struct load {
	struct loop *loop;
	struct client *client;
	struct load_input input;
	struct load_watch watch;
	struct prng prng;
	struct maker makers[AT_ONCE];
	void (*send)(struct load *l, struct maker *m);
	size_t next, made, total;
	size_t per_slice; /* devices */
	struct shown *slices;
	size_t nslices, waiting; /* slices that do not show what is expected */
	struct claim *claims;
	size_t nclaims;
	bool converging;
	int64_t begun_ns;
	/* A churn. */
	struct loop_timer timer;
	size_t changes, begun, over, writes;
	double rate;
	struct load_times times;
};

/* --- making ---------------------------------------------------------------------------------- */

static void make_next(struct maker *m)
{
	struct load *l = m->load;

	if (l->next == l->total)
		return;
	m->at = l->next++;
	m->second = false;
	l->send(l, m);
}

static void on_made(struct client_request *r, const struct client_answer *a UNUSED,
		    const struct error *err)
{
	struct maker *m = r->arg;
	struct load *l = m->load;

	if (err)
		load_die(err->msg);
	if (m->second)
		l->send(l, m);
	else if (++l->made == l->total)
		load_answer(&l->input, "%zu", l->total);
	else
		make_next(m);
}

static void make_all(struct load *l, size_t total, void (*send)(struct load *l, struct maker *m))
{
	l->send = send;
	l->next = l->made = 0;
	l->total = total;
	for (size_t i = 0; i < AT_ONCE; i++) {
		l->makers[i].load = l;
		make_next(&l->makers[i]);
	}
}

static void post(struct load *l, struct maker *m, struct str path, const struct buf *body)
{
	m->request = (struct client_request){ .method = STR("POST"),
					      .path = path,
					      .body = buf_str(body),
					      .on_done = on_made,
					      .arg = m };
	client_send(l->client, &m->request);
}

static void send_slice(struct load *l, struct maker *m)
{
	CLEANUP(buf_release) struct buf body = BUF_INIT(1 << 20);

	(void)buf_printf(&body,
			 "{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":\"ResourceSlice\","
			 "\"metadata\":{\"name\":\"slice-%zu\"},\"spec\":{\"driver\":\"" DRIVER
			 "\",\"nodeName\":\"node-%zu\",\"pool\":{\"name\":\"node-%zu\","
			 "\"generation\":1,\"resourceSliceCount\":1},\"devices\":[",
			 m->at, m->at, m->at);
	for (size_t d = 0; d < l->per_slice; d++)
		(void)buf_printf(&body,
				 "%s{\"name\":\"gpu-%zu\",\"allowMultipleAllocations\":true,"
				 "\"attributes\":{\"model\":{\"string\":\"a100\"}},\"capacity\":{"
				 "\"memory\":{\"value\":\"80Gi\"}}}",
				 d ? "," : "", d);
	(void)buf_addz(&body, "]}}");
	post(l, m, STR(GROUP "/resourceslices"), &body);
}

static void allocation(struct load *l, size_t claim, struct buf *out)
{
	size_t device = claim % (l->nslices * l->per_slice);

	(void)buf_printf(out,
			 "{\"devices\":{\"results\":[{\"request\":\"gpu\",\"driver\":\"" DRIVER
			 "\",\"pool\":\"node-%zu\",\"device\":\"gpu-%zu\","
			 "\"shareID\":\"%08zx-0000-4000-8000-000000000000\",\"consumedCapacity\":{"
			 "\"memory\":\"1Gi\"}}]}}",
			 device / l->per_slice, device % l->per_slice, claim);
}

static void patch_claim(struct load *l, size_t i, bool held, struct client_request *r)
{
	CLEANUP(buf_release) struct buf body = BUF_INIT(4096), path = BUF_INIT(256);

	(void)buf_printf(&path, CLAIMS "/claim-%zu/status", i);
	(void)buf_addz(&body, "{\"status\":{\"allocation\":");
	if (held)
		allocation(l, i, &body);
	else
		(void)buf_addz(&body, "null");
	(void)buf_addz(&body, "}}");
	r->method = STR("PATCH");
	r->path = buf_str(&path);
	r->body = buf_str(&body);
	r->content_type = STR("application/merge-patch+json");
	client_send(l->client, r);
}

static void send_claim(struct load *l, struct maker *m)
{
	CLEANUP(buf_release) struct buf body = BUF_INIT(4096);

	if (m->second) {
		m->second = false;
		m->request = (struct client_request){ .on_done = on_made, .arg = m };
		patch_claim(l, m->at, true, &m->request);
		return;
	}
	m->second = true;
	(void)buf_printf(
		&body,
		"{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":\"ResourceClaim\","
		"\"metadata\":{\"name\":\"claim-%zu\"},\"spec\":{\"devices\":{\"requests\":[{"
		"\"name\":\"gpu\",\"exactly\":{\"deviceClassName\":\"gpu\",\"capacity\":{"
		"\"requests\":{\"memory\":\"1Gi\"}}}}]}}}",
		m->at);
	post(l, m, STR(CLAIMS), &body);
}

/* --- what is seen ---------------------------------------------------------------------------- */

static void seen(struct load *l, struct claim *c)
{
	load_times_add(&l->times, load_since_ms(c->changed_ns));
	c->changed_ns = 0;
	l->slices[c->slice].changing--;
	if (++l->over < l->changes)
		return;
	load_answer(&l->input, "%.1f %.1f %.1f %.1f %zu", load_times_percentile(&l->times, 50),
		    load_times_percentile(&l->times, 95), load_times_percentile(&l->times, 99),
		    load_times_percentile(&l->times, 100), l->writes);
	free(l->times.v);
	l->times = (struct load_times){ 0 };
	l->changes = 0;
}

/* Each claim of the slice that changed and is now shown as it was left. */
static void look_for_changes(struct load *l, size_t slice, const struct json *devices)
{
	size_t all = l->nslices * l->per_slice;

	for (size_t d = 0; d < l->per_slice && l->slices[slice].changing > 0; d++) {
		const struct json *held = json_getz(json_at(devices, d), "allocations");

		for (size_t i = slice * l->per_slice + d; i < l->nclaims; i += all) {
			struct claim *c = &l->claims[i];
			char name[32];

			if (c->changed_ns == 0)
				continue;
			(void)snprintf(name, sizeof(name), "claim-%zu", i);
			if ((json_find(held, "claimName", str_from(name)) != NULL) == c->held)
				seen(l, c);
		}
	}
}

static size_t count_claims(const struct json *devices)
{
	size_t n = 0;

	JSON_FOREACH (d, devices)
		n += json_count(json_getz(d, "allocations"));
	return n;
}

static void check_converged(struct load *l)
{
	if (l->converging && l->waiting == 0) {
		l->converging = false;
		load_answer(&l->input, "%.0f", load_since_ms(l->begun_ns));
	}
}

static void on_slice(void *arg, const struct json *object)
{
	struct load *l = arg;
	struct str name = json_text_at(json_getz(object, "metadata"), "name");
	const struct json *status = json_getz(object, "status");
	const struct json *devices = json_getz(status, "devices");
	uint64_t at;
	struct shown *s;
	bool before, after;

	if (!str_to_u64(str_skip(name, STR("slice-").n), &at) || at >= l->nslices || !status)
		return;
	s = &l->slices[at];
	if (l->changes > 0) {
		l->writes++;
		look_for_changes(l, at, devices);
		return;
	}
	before = s->seen == s->expected;
	s->seen = count_claims(devices);
	after = s->seen == s->expected;
	l->waiting += before;
	l->waiting -= after;
	check_converged(l);
}

/* --- a churn --------------------------------------------------------------------------------- */

static void on_changed(struct client_request *r UNUSED, const struct client_answer *a UNUSED,
		       const struct error *err)
{
	if (err)
		load_die(err->msg);
}

static void change_one(struct load *l)
{
	size_t i = prng_below(&l->prng, l->nclaims);
	struct claim *c;

	while (l->claims[i].changed_ns != 0 || client_busy(&l->claims[i].request))
		i = (i + 1) % l->nclaims;
	c = &l->claims[i];
	c->held = !c->held;
	c->changed_ns = load_now_ns();
	l->slices[c->slice].changing++;
	l->begun++;
	c->request = (struct client_request){ .on_done = on_changed, .arg = l };
	patch_claim(l, i, c->held, &c->request);
}

static void on_tick(struct loop_timer *t)
{
	struct load *l = CONTAINER_OF(t, struct load, timer);
	double due = load_since_ms(l->begun_ns) * l->rate / 1000;

	while (l->begun < l->changes && (double)l->begun < due)
		change_one(l);
	if (l->begun < l->changes)
		loop_timer_start(t, TICK_MS);
}

/* --- commands -------------------------------------------------------------------------------- */

static void run_slices(void *arg, char **words)
{
	struct load *l = arg;

	l->nslices = load_number(words[1]);
	l->per_slice = load_number(words[2]);
	l->slices = xcalloc(l->nslices, sizeof(*l->slices));
	make_all(l, l->nslices, send_slice);
}

static void run_claims(void *arg, char **words)
{
	struct load *l = arg;

	l->nclaims = load_number(words[1]);
	l->claims = xcalloc(l->nclaims, sizeof(*l->claims));
	for (size_t i = 0; i < l->nclaims; i++) {
		struct claim *c = &l->claims[i];

		c->slice = i % (l->nslices * l->per_slice) / l->per_slice;
		c->held = true;
		l->slices[c->slice].expected++;
	}
	l->waiting = 0;
	for (size_t i = 0; i < l->nslices; i++)
		l->waiting += l->slices[i].seen != l->slices[i].expected;
	make_all(l, l->nclaims, send_claim);
}

static void run_converge(void *arg, char **words UNUSED)
{
	struct load *l = arg;

	l->begun_ns = load_now_ns();
	l->converging = true;
	check_converged(l);
}

static void run_churn(void *arg, char **words)
{
	struct load *l = arg;

	l->changes = load_number(words[1]);
	l->rate = (double)load_number(words[2]);
	l->begun = l->over = l->writes = 0;
	l->begun_ns = load_now_ns();
	loop_timer_start(&l->timer, TICK_MS);
}

static const struct load_command commands[] = {
	{ "slices", 3, run_slices },
	{ "claims", 2, run_claims },
	{ "converge", 1, run_converge },
	{ "churn", 3, run_churn },
	{ NULL },
};

int main(int argc, char **argv)
{
	struct load *l = XNEW(struct load);

	if (argc != 2)
		load_die("usage: availability_load KUBECONFIG");
	load_connect(argv[1], "bench", &l->loop, &l->client);
	prng_init(&l->prng, 1);
	loop_timer_init(&l->timer, l->loop, on_tick);
	l->watch.path = GROUP "/resourceslices";
	l->watch.on_object = on_slice;
	l->watch.arg = l;
	load_watch_start(&l->watch, l->client);
	load_input_start(&l->input, l->loop, commands, l);
	loop_run(l->loop);
	return 0;
}
