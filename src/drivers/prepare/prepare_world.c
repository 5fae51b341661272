/* The vendor counts its calls, and answers as the test says: at once, later or not well. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include "drivers/prepare/prepare_world.h"

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/system/file.h"
#include "dra.pb-c.h"

/* --- the world ---------------------------------------------------------------------------- */

static void answer_claim(struct api_world *w, struct http_stream *s, struct str body UNUSED)
{
	struct prepare_world *t = w->data;
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

static int vendor(struct prepare_world *t, struct dp_claim *c)
{
	if (t->result == DP_LATER)
		t->later[t->nlater++] = c;
	if (t->result < 0)
		return dp_claim_fail(c, "out of order");
	return t->result;
}

static int vendor_prepare(void *arg, struct dp_claim *c)
{
	struct prepare_world *t = arg;
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
	struct prepare_world *t = arg;

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
	prepare_call(((struct prepare_world *)grpc_call_service(c))->prepare, c, request);
}

static void on_unprepare(struct grpc_call *c, const void *request)
{
	unprepare_call(((struct prepare_world *)grpc_call_service(c))->prepare, c, request);
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
	grpc_server_handle(((struct prepare_world *)arg)->services, s);
}

static void serve(struct prepare_world *t)
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

void prepare_world_begin(struct prepare_world *t)
{
	struct error err;

	if (prepare_new(&t->opts, &t->prepare, &err) < 0)
		fail_msg("%s", err.msg);
}

int prepare_world_setup(void **state)
{
	struct sim_opts o = { .seed = 3 };
	struct prepare_world *t = XNEW(struct prepare_world);

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
	prepare_world_begin(t);
	serve(t);
	*state = t;
	return 0;
}

static void on_drained(void *arg)
{
	((struct prepare_world *)arg)->drained = true;
}

static bool is_drained(void *arg)
{
	return ((struct prepare_world *)arg)->drained;
}

void prepare_world_remove(const struct prepare_world *t, const char *name)
{
	char path[160];

	(void)snprintf(path, sizeof(path), "%s/%s", t->dir, name);
	(void)unlink(path);
}

int prepare_world_teardown(void **state)
{
	struct prepare_world *t = *state;

	prepare_free(t->prepare);
	grpc_channel_free(t->channel);
	http_server_drain(t->http, 0, on_drained, t);
	assert_true(sim_run_until(t->w.sim, is_drained, t, 60000));
	http_server_free(t->http);
	grpc_server_free(t->services);
	api_world_release(&t->w);
	prepare_world_remove(t, "prepared.json");
	prepare_world_remove(t, "prepared.json.bad");
	prepare_world_remove(t, "serialize.lock");
	prepare_world_remove(t, "cdi/k8s.d-claim-uid-a.json");
	prepare_world_remove(t, "cdi/k8s.d-claim-uid-b.json");
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
	struct prepare_world *t = arg;

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
	struct prepare_world *t = arg;

	t->answers++;
	t->code = st->code;
	if (!in)
		return;
	t->claims = (unsigned)in->n_claims;
	for (size_t i = 0; i < in->n_claims; i++)
		note(t->error[i], in->claims[i]->value->error);
}

struct grpc_call *prepare_world_ask(struct prepare_world *t, bool unprepare, const char *names)
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

void prepare_world_settle(struct prepare_world *t)
{
	sim_run_for(t->w.sim, 2000);
}

void prepare_world_expect(struct prepare_world *t, bool unprepare, const char *names,
			  const char *error)
{
	unsigned answers = t->answers;

	(void)prepare_world_ask(t, unprepare, names);
	prepare_world_settle(t);
	assert_int_equal(t->answers, answers + 1);
	assert_int_equal(t->code, GRPC_OK);
	assert_int_equal(t->claims, strlen(names));
	for (unsigned i = 0; i < t->claims; i++)
		assert_string_equal(t->error[i], error);
}

bool prepare_world_file_has(const struct prepare_world *t, const char *name, const char *text)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	char path[160];

	(void)snprintf(path, sizeof(path), "%s/%s", t->dir, name);
	return file_read(path, &b, NULL) == 0 && strstr(b.p ? b.p : "", text) != NULL;
}
