/*
 * Claims are prepared and unprepared over gRPC in a simulated world: an API server that knows
 * two claims, a vendor that answers at once, later or not well, and crashes at any place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/system/file.h"
#include "client/testing/api_world.h"
#include "dra.pb-c.h"
#include "drivers/prepare/prepare_impl.h"
#include "grpc/channel.h"
#include "grpc/server.h"

struct test {
	struct api_world w;
	struct prepare *prepare;
	struct prepare_opts opts;
	struct driver_log log;
	struct grpc_server *services;
	struct http_server *http;
	struct grpc_channel *channel;
	char dir[64], cdi[80];
	/* The vendor. */
	int result;
	struct dp_claim *later[4]; /* claims whose answer is to come */
	unsigned nlater, prepares, unprepares;
	/* The last reply. */
	unsigned answers, claims;
	enum grpc_code code;
	char error[4][256];
	unsigned devices;
	bool drained, gone; /* gone: the API server knows no claim */
	const char *reserved; /* for whom, as JSON */
	size_t consumers; /* that the vendor saw last */
	const char *env; /* that he gives; NULL: no edits */
};

/* --- the world ---------------------------------------------------------------------------- */

static void answer_claim(struct api_world *w, struct http_stream *s, struct str body UNUSED)
{
	struct test *t = w->data;
	char text[1024];
	ptrdiff_t at = str_find(s->in.path, STR("/resourceclaims/"));
	struct str name = str_skip(s->in.path, (size_t)at + 16);

	if (at < 0 || t->gone) {
		api_world_reply(
			s, 404, "application/json",
			"{\"kind\":\"Status\",\"reason\":\"NotFound\",\"message\":\"gone\"}");
		return;
	}
	(void)snprintf(text, sizeof(text),
		       "{\"metadata\":{\"name\":\"%.*s\",\"uid\":\"uid-%.*s\"},\"status\":{"
		       "\"allocation\":{\"devices\":{\"results\":[{\"request\":\"r\","
		       "\"driver\":\"d\",\"pool\":\"p\",\"device\":\"x\"}]}},\"reservedFor\":%s}}",
		       STR_ARG(name), STR_ARG(name), t->reserved ? t->reserved : "null");
	api_world_reply(s, 200, "application/json", text);
}

static int vendor(struct test *t, struct dp_claim *c)
{
	if (t->result == DP_LATER)
		t->later[t->nlater++] = c;
	if (t->result < 0)
		return dp_claim_fail(c, "out of order");
	return t->result;
}

static int vendor_prepare(void *arg, struct dp_claim *c)
{
	struct test *t = arg;
	const char *env[] = { t->env, NULL };
	struct dp_edits e = { .size = sizeof(e), .env = env };

	t->prepares++;
	t->consumers = dp_claim_consumer_count(c);
	assert_int_equal(dp_claim_count(c), 1);
	if (t->env)
		assert_int_equal(dp_claim_edit(c, 0, &e), 0);
	return vendor(t, c);
}

static int vendor_unprepare(void *arg, struct dp_claim *c)
{
	struct test *t = arg;

	t->unprepares++;
	assert_int_equal(dp_claim_consumer_count(c), 0);
	assert_null(dp_claim_consumer(c, 0));
	assert_int_equal(dp_claim_count(c), 1);
	assert_string_equal(dp_claim_result(c, 0)->device, "x");
	return vendor(t, c);
}

static bool has_device(void *arg UNUSED, const char *pool, const char *device)
{
	return strcmp(pool, "p") == 0 && strcmp(device, "x") == 0;
}

static void on_log(void *arg UNUSED, uint32_t level UNUSED, const char *line UNUSED)
{
}

static void on_prepare(struct grpc_call *c, const void *request)
{
	prepare_call(((struct test *)grpc_call_service(c))->prepare, c, request);
}

static void on_unprepare(struct grpc_call *c, const void *request)
{
	unprepare_call(((struct test *)grpc_call_service(c))->prepare, c, request);
}

static const struct grpc_method methods[] = {
	{ "/v1.DRAPlugin/NodePrepareResources", GRPC_UNARY,
	  &dra__node_prepare_resources_request__descriptor,
	  &dra__node_prepare_resources_response__descriptor },
	{ "/v1.DRAPlugin/NodeUnprepareResources", GRPC_UNARY,
	  &dra__node_unprepare_resources_request__descriptor,
	  &dra__node_unprepare_resources_response__descriptor },
};

static const struct grpc_handler rows[] = {
	{ .method = &methods[0], .on_request = on_prepare },
	{ .method = &methods[1], .on_request = on_unprepare },
};

static void on_request(void *arg, struct http_stream *s, size_t lane UNUSED)
{
	grpc_server_handle(((struct test *)arg)->services, s);
}

static void serve(struct test *t)
{
	struct http_server_opts o = {
		.loops = &t->w.outside, .nloops = 1, .handler = on_request, .arg = t
	};
	struct grpc_channel_opts c = { 0 };

	assert_int_equal(addr_parse(&c.to, STR("127.0.0.1:99"), 0, NULL), 0);
	t->services = grpc_server_new(NULL);
	grpc_server_add(t->services, rows, ARRAY_SIZE(rows), t);
	t->http = http_server_new(&o);
	assert_int_equal(http_server_listen(t->http, &c.to, NULL, 0, NULL, NULL), 0);
	t->channel = grpc_channel_new(t->w.outside, &c);
}

static void begin(struct test *t)
{
	struct error err;

	if (prepare_new(&t->opts, &t->prepare, &err) < 0)
		fail_msg("%s", err.msg);
}

static int set_up(void **state)
{
	struct sim_opts o = { .seed = 3 };
	struct test *t = XNEW(struct test);

	(void)snprintf(t->dir, sizeof(t->dir), "/tmp/devplane-prepare.XXXXXX");
	assert_non_null(mkdtemp(t->dir));
	(void)snprintf(t->cdi, sizeof(t->cdi), "%s/cdi", t->dir);
	api_world_init(&t->w, &o, HTTP_PROTOCOL_ANY);
	t->w.handler = answer_claim;
	t->w.data = t;
	t->env = "A=1";
	t->log = (struct driver_log){ on_log, NULL };
	t->opts = (struct prepare_opts){ .loop = t->w.outside,
					 .client = t->w.client,
					 .driver = "d",
					 .dir = t->dir,
					 .cdi_dir = t->cdi,
					 .prepare = vendor_prepare,
					 .unprepare = vendor_unprepare,
					 .arg = t,
					 .has_device = has_device,
					 .log = &t->log };
	begin(t);
	serve(t);
	*state = t;
	return 0;
}

static void on_drained(void *arg)
{
	((struct test *)arg)->drained = true;
}

static bool is_drained(void *arg)
{
	return ((struct test *)arg)->drained;
}

static void remove_file(const struct test *t, const char *name)
{
	char path[160];

	(void)snprintf(path, sizeof(path), "%s/%s", t->dir, name);
	(void)unlink(path);
}

static int tear_down(void **state)
{
	struct test *t = *state;

	prepare_free(t->prepare);
	grpc_channel_free(t->channel);
	http_server_drain(t->http, 0, on_drained, t);
	assert_true(sim_run_until(t->w.sim, is_drained, t, 60000));
	http_server_free(t->http);
	grpc_server_free(t->services);
	api_world_release(&t->w);
	remove_file(t, "prepared.json");
	remove_file(t, "prepared.json.bad");
	remove_file(t, "serialize.lock");
	remove_file(t, "cdi/k8s.d-claim-uid-a.json");
	remove_file(t, "cdi/k8s.d-claim-uid-b.json");
	(void)rmdir(t->cdi);
	assert_int_equal(rmdir(t->dir), 0);
	free(t);
	return 0;
}

/* --- calls -------------------------------------------------------------------------------- */

static void note(char *to, const char *error)
{
	(void)snprintf(to, 256, "%s", error);
}

static void on_prepared(void *arg, struct grpc_call *c UNUSED, const struct grpc_status *st,
			const void *reply)
{
	const Dra__NodePrepareResourcesResponse *in = reply;
	struct test *t = arg;

	t->answers++;
	t->code = st->code;
	if (!in)
		return;
	t->claims = (unsigned)in->n_claims;
	t->devices = 0;
	for (size_t i = 0; i < in->n_claims; i++) {
		note(t->error[i], in->claims[i]->value->error);
		t->devices += (unsigned)in->claims[i]->value->n_devices;
	}
}

static void on_unprepared(void *arg, struct grpc_call *c UNUSED, const struct grpc_status *st,
			  const void *reply)
{
	const Dra__NodeUnprepareResourcesResponse *in = reply;
	struct test *t = arg;

	t->answers++;
	t->code = st->code;
	if (!in)
		return;
	t->claims = (unsigned)in->n_claims;
	for (size_t i = 0; i < in->n_claims; i++)
		note(t->error[i], in->claims[i]->value->error);
}

/* Claims are letters: "ab" are the claims a and b. The call is borrowed until its answer. */
static struct grpc_call *ask(struct test *t, bool unprepare, const char *names)
{
	Dra__NodeUnprepareResourcesRequest un = DRA__NODE_UNPREPARE_RESOURCES_REQUEST__INIT;
	Dra__NodePrepareResourcesRequest pre = DRA__NODE_PREPARE_RESOURCES_REQUEST__INIT;
	Dra__Claim claims[4], *list[4];
	char uid[4][8], name[4][2];
	size_t n = strlen(names);

	for (size_t i = 0; i < n; i++) {
		dra__claim__init(&claims[i]);
		(void)snprintf(uid[i], sizeof(uid[i]), "uid-%c", names[i]);
		(void)snprintf(name[i], sizeof(name[i]), "%c", names[i]);
		claims[i].namespace_ = (char *)(uintptr_t) "ns";
		claims[i].uid = uid[i];
		claims[i].name = name[i];
		list[i] = &claims[i];
	}
	un.claims = pre.claims = list;
	un.n_claims = pre.n_claims = n;
	return grpc_channel_unary(t->channel, &methods[unprepare], unprepare ? &un.base : &pre.base,
				  NULL, unprepare ? on_unprepared : on_prepared, t);
}

static void settle(struct test *t)
{
	sim_run_for(t->w.sim, 2000);
}

static void expect(struct test *t, bool unprepare, const char *names, const char *error)
{
	unsigned answers = t->answers;

	(void)ask(t, unprepare, names);
	settle(t);
	assert_int_equal(t->answers, answers + 1);
	assert_int_equal(t->code, GRPC_OK);
	assert_int_equal(t->claims, strlen(names));
	for (unsigned i = 0; i < t->claims; i++)
		assert_string_equal(t->error[i], error);
}

static bool file_has(const struct test *t, const char *name, const char *text)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	char path[160];

	(void)snprintf(path, sizeof(path), "%s/%s", t->dir, name);
	return file_read(path, &b, NULL) == 0 && strstr(b.p ? b.p : "", text) != NULL;
}

/* --- tests -------------------------------------------------------------------------------- */

static void preparing_twice_asks_the_vendor_once(void **state)
{
	struct test *t = *state;

	expect(t, false, "ab", "");
	assert_int_equal(t->devices, 2);
	assert_int_equal(t->prepares, 2);
	expect(t, false, "ab", "");
	assert_int_equal(t->devices, 2);
	assert_int_equal(t->prepares, 2);
	assert_int_equal(prepare_count(t->prepare), 2);
	expect(t, true, "a", "");
	assert_int_equal(t->unprepares, 1);
	expect(t, true, "ab", "");
	assert_int_equal(t->unprepares, 2);
	assert_int_equal(prepare_count(t->prepare), 0);
	assert_true(file_has(t, "prepared.json", "\"claims\":[]"));
}

static void a_claim_without_its_file_is_prepared_anew(void **state)
{
	struct test *t = *state;

	expect(t, false, "a", "");
	remove_file(t, "cdi/k8s.d-claim-uid-a.json");
	expect(t, false, "a", "");
	assert_int_equal(t->prepares, 2);
	assert_true(file_has(t, "cdi/k8s.d-claim-uid-a.json", "A=1"));
}

static void a_vendor_may_answer_later_and_others_go_on(void **state)
{
	struct test *t = *state;
	unsigned answers = t->answers;

	t->result = DP_LATER;
	(void)ask(t, false, "a");
	settle(t);
	assert_int_equal(t->nlater, 1);
	assert_false(prepare_idle(t->prepare));
	assert_true(prepare_owed(t->prepare));
	(void)ask(t, false, "a");
	(void)ask(t, true, "a");
	settle(t);
	assert_int_equal(t->answers, answers);
	assert_int_equal(t->prepares, 1);
	t->result = 0;
	expect(t, false, "b", "");
	dp_claim_done(t->later[0], 0);
	settle(t);
	/* The second prepare finds it done, then comes the unprepare. */
	assert_int_equal(t->answers, answers + 4);
	assert_int_equal(t->prepares, 2);
	assert_int_equal(t->unprepares, 1);
	assert_true(prepare_idle(t->prepare));
	assert_false(prepare_owed(t->prepare));
	assert_int_equal(prepare_count(t->prepare), 1);
}

static void a_vendor_that_fails_is_told_of_the_unprepare(void **state)
{
	struct test *t = *state;

	t->result = -1;
	expect(t, false, "a", "out of order");
	assert_true(file_has(t, "prepared.json", "\"prepared\":false"));
	expect(t, true, "a", "out of order");
	assert_int_equal(t->unprepares, 1);
	t->result = 0;
	expect(t, true, "a", "");
	assert_int_equal(t->unprepares, 2);
	expect(t, true, "a", "");
	assert_int_equal(t->unprepares, 2);
}

static void a_claim_twice_in_one_call_is_refused(void **state)
{
	struct test *t = *state;

	(void)ask(t, false, "aa");
	settle(t);
	assert_int_equal(t->claims, 2);
	assert_string_equal(t->error[0], "");
	assert_string_equal(t->error[1], "the claim is there twice");
	expect(t, false, "", "");
}

/* Between the vendor and the end of the call. */
static void a_claim_that_was_begun_before_a_crash_is_unprepared_after_it(void **state)
{
	struct test *t = *state;

	t->result = DP_LATER;
	(void)ask(t, false, "a");
	settle(t);
	assert_int_equal(t->nlater, 1);
	/* The process ends here; the next one has only the file. */
	prepare_free(t->prepare);
	begin(t);
	settle(t);
	assert_int_equal(t->code, GRPC_UNAVAILABLE);
	t->result = 0;
	t->gone = true;
	expect(t, true, "a", "");
	assert_int_equal(t->unprepares, 1);
	expect(t, false, "a", "retrieve claim ns/a: gone");
}

static void a_claim_is_prepared_again_after_a_reboot(void **state)
{
	struct test *t = *state;
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);
	char path[160];
	char *boot;

	expect(t, false, "a", "");
	(void)snprintf(path, sizeof(path), "%s/prepared.json", t->dir);
	assert_int_equal(file_read(path, &text, NULL), 0);
	boot = strstr(text.p, "\"bootID\":\"");
	assert_non_null(boot);
	boot[10] = boot[10] == '0' ? '1' : '0';
	assert_int_equal(file_write_atomic(path, buf_str(&text), 0600, NULL), 0);
	prepare_free(t->prepare);
	begin(t);
	expect(t, false, "a", "");
	assert_int_equal(t->prepares, 2);
}

static void a_disk_that_cannot_be_written_is_an_error_and_nothing_is_lost(void **state)
{
	struct test *t = *state;
	char path[160];

	expect(t, false, "a", "");
	/* A folder in the file's place: it cannot be replaced. */
	(void)snprintf(path, sizeof(path), "%s/prepared.json", t->dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	(void)ask(t, false, "b");
	settle(t);
	assert_true(strlen(t->error[0]) > 0);
	assert_int_equal(t->prepares, 1);
	(void)ask(t, true, "a");
	settle(t);
	assert_true(strlen(t->error[0]) > 0);
	assert_int_equal(rmdir(path), 0);
	expect(t, true, "a", "");
	expect(t, false, "b", "");
	assert_int_equal(t->prepares, 2);
}

/* --- calls that end early ----------------------------------------------------------------- */

/*
 * The kubelet's connection was lost, and the driver reads its prepare after the unprepare that
 * came by the next connection: nobody would ever undo that prepare.
 */
static void a_prepare_whose_caller_has_gone_never_reaches_the_vendor(void **state)
{
	struct test *t = *state;
	struct grpc_call *call;

	expect(t, true, "a", "");
	sim_pause(t->w.loop, 1000); /* the claim is not read before the caller has gone */
	call = ask(t, false, "a");
	sim_run_for(t->w.sim, 100);
	assert_false(prepare_idle(t->prepare));
	grpc_call_cancel(call);
	settle(t);
	assert_int_equal(t->code, GRPC_CANCELLED);
	assert_true(prepare_idle(t->prepare));
	assert_int_equal(t->prepares, 0);
	assert_int_equal(prepare_count(t->prepare), 0);
	/* A caller that still wants it asks again. */
	expect(t, false, "a", "");
	assert_int_equal(t->prepares, 1);
}

static void an_unprepare_whose_caller_has_gone_while_it_waited_is_dropped(void **state)
{
	struct test *t = *state;
	struct grpc_call *call;

	t->result = DP_LATER;
	(void)ask(t, false, "a");
	settle(t);
	call = ask(t, true, "a");
	settle(t);
	grpc_call_cancel(call);
	settle(t);
	t->result = 0;
	dp_claim_done(t->later[0], 0);
	settle(t);
	assert_true(prepare_idle(t->prepare));
	assert_int_equal(t->unprepares, 0);
	assert_int_equal(prepare_count(t->prepare), 1);
	expect(t, true, "a", "");
	assert_int_equal(t->unprepares, 1);
}

/* The vendor knows of the claim already, so its end is waited for. */
static void a_prepare_whose_caller_goes_while_the_vendor_works_is_finished(void **state)
{
	struct test *t = *state;
	struct grpc_call *call;

	t->result = DP_LATER;
	call = ask(t, false, "a");
	settle(t);
	grpc_call_cancel(call);
	settle(t);
	t->result = 0;
	dp_claim_done(t->later[0], 0);
	settle(t);
	assert_int_equal(prepare_count(t->prepare), 1);
	expect(t, false, "a", "");
	assert_int_equal(t->prepares, 1);
}

/* --- asked again -------------------------------------------------------------------------- */

#define POD(name) "{\"resource\":\"pods\",\"name\":\"" name "\",\"uid\":\"uid-" name "\"}"

static int set_up_again(void **state)
{
	struct test *t;

	(void)set_up(state);
	t = *state;
	prepare_free(t->prepare);
	t->opts.again = true;
	begin(t);
	return 0;
}

static void a_vendor_who_wants_it_is_asked_again_with_the_claim_as_it_is(void **state)
{
	struct test *t = *state;

	t->reserved = "[" POD("q") "]";
	expect(t, false, "a", "");
	assert_int_equal(t->consumers, 1);
	t->reserved = "[" POD("q") "," POD("r") "]";
	t->env = "B=2";
	expect(t, false, "a", "");
	assert_int_equal(t->prepares, 2);
	assert_int_equal(t->consumers, 2);
	assert_int_equal(t->devices, 1);
	assert_true(file_has(t, "cdi/k8s.d-claim-uid-a.json", "B=2"));
	assert_false(file_has(t, "cdi/k8s.d-claim-uid-a.json", "A=1"));
	/* No edits any more: no file, and the file of claims knows it. */
	t->env = NULL;
	expect(t, false, "a", "");
	assert_false(file_has(t, "cdi/k8s.d-claim-uid-a.json", ""));
	assert_true(file_has(t, "prepared.json", "\"ownFile\":false"));
	assert_int_equal(prepare_count(t->prepare), 1);
	expect(t, true, "a", "");
	assert_int_equal(prepare_count(t->prepare), 0);
}

static void a_prepared_claim_stays_so_if_a_repeat_fails(void **state)
{
	struct test *t = *state;

	expect(t, false, "a", "");
	t->result = -1;
	t->env = "B=2";
	expect(t, false, "a", "out of order");
	assert_int_equal(t->prepares, 2);
	assert_int_equal(prepare_count(t->prepare), 1);
	assert_true(file_has(t, "cdi/k8s.d-claim-uid-a.json", "A=1"));
	assert_true(file_has(t, "prepared.json", "\"prepared\":true"));
	t->gone = true;
	expect(t, false, "a", "retrieve claim ns/a: gone");
	assert_int_equal(prepare_count(t->prepare), 1);
	t->result = 0;
	expect(t, true, "a", "");
	assert_int_equal(t->unprepares, 1);
	assert_int_equal(prepare_count(t->prepare), 0);
}

static void a_vendor_may_answer_again_later(void **state)
{
	struct test *t = *state;
	unsigned answers;

	expect(t, false, "a", "");
	answers = t->answers;
	t->result = DP_LATER;
	t->env = "B=2";
	(void)ask(t, false, "a");
	(void)ask(t, true, "a");
	settle(t);
	assert_int_equal(t->answers, answers);
	t->result = 0;
	dp_claim_done(t->later[0], 0);
	settle(t);
	assert_int_equal(t->answers, answers + 2);
	assert_int_equal(t->unprepares, 1);
	assert_int_equal(prepare_count(t->prepare), 0);
	/* The process ends while he is thinking: what was prepared still is. */
	expect(t, false, "b", "");
	t->result = DP_LATER;
	(void)ask(t, false, "b");
	settle(t);
	prepare_free(t->prepare);
	begin(t);
	assert_int_equal(prepare_count(t->prepare), 1);
}

static void collect(void *arg, const struct dp_claim *c)
{
	struct buf *names = arg;

	(void)buf_addz(names, dp_claim_name(c));
	assert_string_equal(dp_claim_result(c, 0)->device, "x");
}

static void claims_that_are_prepared_are_known_after_a_restart(void **state)
{
	CLEANUP(buf_release) struct buf names = BUF_INIT(KIB);
	struct test *t = *state;

	expect(t, false, "a", "");
	t->result = -1;
	expect(t, false, "b", "out of order");
	prepare_free(t->prepare);
	begin(t);
	prepare_each(t->prepare, collect, &names);
	assert_string_equal(names.p, "a");
}

/* --- two instances ------------------------------------------------------------------------ */

static void a_claim_that_another_instance_unprepared_is_forgotten(void **state)
{
	struct prepare *first, *second;
	struct test *t = *state;

	prepare_free(t->prepare);
	t->opts.shared = true;
	begin(t);
	second = t->prepare;
	begin(t);
	first = t->prepare;
	expect(t, false, "a", "");
	t->prepare = second;
	expect(t, true, "a", "");
	t->prepare = first;
	expect(t, false, "b", "");
	assert_null(map_get(&first->claims, STR("uid-a")));
	assert_int_equal(first->claims.n, 1);
	expect(t, false, "a", "");
	assert_int_equal(t->prepares, 3);
	prepare_free(second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(preparing_twice_asks_the_vendor_once, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_claim_without_its_file_is_prepared_anew, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_vendor_may_answer_later_and_others_go_on, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_vendor_that_fails_is_told_of_the_unprepare,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_claim_twice_in_one_call_is_refused, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			a_claim_that_was_begun_before_a_crash_is_unprepared_after_it, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(a_claim_is_prepared_again_after_a_reboot, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			a_disk_that_cannot_be_written_is_an_error_and_nothing_is_lost, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			a_prepare_whose_caller_has_gone_never_reaches_the_vendor, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			an_unprepare_whose_caller_has_gone_while_it_waited_is_dropped, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			a_prepare_whose_caller_goes_while_the_vendor_works_is_finished, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			a_vendor_who_wants_it_is_asked_again_with_the_claim_as_it_is, set_up_again,
			tear_down),
		cmocka_unit_test_setup_teardown(a_prepared_claim_stays_so_if_a_repeat_fails,
						set_up_again, tear_down),
		cmocka_unit_test_setup_teardown(a_vendor_may_answer_again_later, set_up_again,
						tear_down),
		cmocka_unit_test_setup_teardown(claims_that_are_prepared_are_known_after_a_restart,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_claim_that_another_instance_unprepared_is_forgotten, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("drivers/prepare", tests, NULL, NULL);
}
