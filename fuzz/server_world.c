/*
 * An ask is the first member of what its owner allocates, and is freed as such.
 */
#include "server_world.h"

#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/arena.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "base/report/log.h"
#include "base/system/file.h"
#include "net/loop/loop.h"
#include "net/net_limits.h"
#include "net/sim/sim.h"
#include "server/core/parts.h"
#include "server/engine/resource_walk.h"
#include "server/server.h"

enum {
	LANES = 2,
	START_MS = 120 * 1000,
	CALL_MS = 120 * 1000,
	PORT = 6443,
	OWN = WORLD_CONNS,
	NARROW = 16
};

struct line {
	struct http_client *client; /* or NULL */
	bool spent; /* the client accepts no further requests */
	enum world_form form;
	bool hold;
};

struct world {
	char dir[64];
	struct sim *sim;
	struct loop *lanes[LANES], *guest;
	struct log log;
	struct server *server;
	bool ready, stopped;
	struct line lines[WORLD_CONNS + 1]; /* the last one is the administrator's own */
	struct list asks;
	char carol[2048]; /* token */
	char padding[HTTP_HEADERS_MAX + 1];
};

static const struct {
	const char *group, *resource, *path;
} kinds[WORLD_KINDS] = {
	[WORLD_MAPS] = { "", "configmaps", "/api/v1/namespaces/fuzz/configmaps" },
	[WORLD_SECRETS] = { "", "secrets", "/api/v1/namespaces/fuzz/secrets" },
	[WORLD_PODS] = { "", "pods", "/api/v1/namespaces/fuzz/pods" },
	[WORLD_CLAIMS] = { "resource.k8s.io", "resourceclaims",
			   "/apis/resource.k8s.io/v1/namespaces/fuzz/resourceclaims" },
	[WORLD_LEASES] = { "coordination.k8s.io", "leases",
			   "/apis/coordination.k8s.io/v1/namespaces/fuzz/leases" },
	[WORLD_BINDINGS] = { "rbac.authorization.k8s.io", "rolebindings",
			     "/apis/rbac.authorization.k8s.io/v1/namespaces/fuzz/rolebindings" },
	[WORLD_CLASSES] = { "resource.k8s.io", "deviceclasses",
			    "/apis/resource.k8s.io/v1/deviceclasses" },
	[WORLD_DEFINITIONS] = { "apiextensions.k8s.io", "customresourcedefinitions",
				"/apis/apiextensions.k8s.io/v1/customresourcedefinitions" },
};

#define ROLE_ALICE                                                                                \
	"{\"metadata\":{\"name\":\"alice\"},\"rules\":[{\"apiGroups\":[\"\",\"resource.k8s.io\"," \
	"\"coordination.k8s.io\"],\"resources\":[\"configmaps\",\"secrets\",\"pods\",\"pods/"     \
	"status\","                                                                               \
	"\"resourceclaims\",\"resourceclaims/status\",\"leases\"],\"verbs\":[\"*\"]}]}"
#define ROLE_BOB                                                                                 \
	"{\"metadata\":{\"name\":\"bob\"},\"rules\":[{\"apiGroups\":[\"\",\"resource.k8s.io\"]," \
	"\"resources\":[\"configmaps\",\"pods\",\"resourceclaims\"],\"verbs\":[\"*\"]}]}"
#define BINDING(name, kind, subject)                                                            \
	"{\"metadata\":{\"name\":\"" name "\"},\"roleRef\":{\"apiGroup\":\"rbac.authorization." \
	"k8s.io\",\"kind\":\"Role\",\"name\":\"" kind "\"},\"subjects\":[" subject "]}"
#define SUBJECT(name) \
	"{\"kind\":\"User\",\"apiGroup\":\"rbac.authorization.k8s.io\",\"name\":\"" name "\"}"
#define ACCOUNT "{\"kind\":\"ServiceAccount\",\"name\":\"carol\",\"namespace\":\"fuzz\"}"
#define ROLES   "/apis/rbac.authorization.k8s.io/v1/namespaces/fuzz/roles"

/* --- asking --------------------------------------------------------------------------------- */

static void on_head(struct http_stream *s)
{
	struct world_ask *k = s->data;

	k->status = s->in.status;
}

static void on_body(struct http_stream *s, struct str piece)
{
	struct world_ask *k = s->data;

	(void)buf_add_str(&k->got, piece);
	if (k->on_piece)
		k->on_piece(k);
	if (!k->held)
		http_stream_consume(s, piece.n);
}

static void on_end(struct http_stream *s)
{
	((struct world_ask *)s->data)->whole = true;
}

static void on_close(struct http_stream *s, const struct error *err UNUSED)
{
	struct world_ask *k = s->data;

	k->stream = NULL;
	list_remove(&k->link);
	k->on_over(k);
	buf_release(&k->got);
	free(k);
}

static const struct http_stream_ops ask_ops = {
	.on_head = on_head, .on_body = on_body, .on_end = on_end, .on_close = on_close
};

static void on_spent(void *arg, const struct error *err UNUSED)
{
	((struct line *)arg)->spent = true;
}

void world_choose(struct world *w, unsigned conn, enum world_form form)
{
	w->lines[conn].form = form;
}

void world_cut(struct world *w, unsigned conn)
{
	struct line *line = &w->lines[conn];

	http_client_free(TAKE(line->client));
	line->spent = false;
}

static void connect_line(struct world *w, unsigned conn)
{
	struct line *line = &w->lines[conn];
	struct http_client_opts opts = { .to = *server_address(w->server),
					 .protocol = line->form == WORLD_HTTP1 ? HTTP_PROTOCOL_1
									       : HTTP_PROTOCOL_2,
					 .config.window = line->form == WORLD_NARROW ? NARROW : 0,
					 .on_close = on_spent,
					 .arg = line };
	struct error err;

	world_cut(w, conn);
	require(http_client_new(w->guest, &opts, &line->client, &err) == 0);
}

static size_t add_fields(struct world *w, const struct world_request *r, struct http_field *f,
			 char *token, size_t size)
{
	static const char *const names[] = { "admin", "alice", "bob" };
	size_t n = 0;

	f[n++] = HTTP_FIELD("user-agent", STR("fuzz"));
	if (r->content_type)
		f[n++] = HTTP_FIELD("content-type", str_from(r->content_type));
	if (r->padding)
		f[n++] = HTTP_FIELD("x-padding",
				    str_of(w->padding, MIN(r->padding, HTTP_HEADERS_MAX)));
	if (r->user == WORLD_ANONYMOUS)
		return n;
	(void)snprintf(token, size, "Bearer %s",
		       r->user == WORLD_CAROL ? w->carol : names[r->user]);
	f[n++] = HTTP_FIELD("authorization", str_from(token));
	return n;
}

void world_send(struct world *w, unsigned conn, const struct world_request *r, struct world_ask *k)
{
	struct line *line = &w->lines[conn];
	struct http_field f[4];
	char token[sizeof(w->carol) + 8];
	struct http_request q = { .method = str_from(r->method),
				  .scheme = STR("http"),
				  .authority = STR("server"),
				  .target = str_from(r->target),
				  .fields = f,
				  .length = (int64_t)r->body.n,
				  .end = !r->body.p,
				  .ops = &ask_ops,
				  .data = k };
	struct error err;

	q.nfields = add_fields(w, r, f, token, sizeof(token));
	buf_init(&k->got, 64 * MIB);
	k->conn = conn;
	k->held = line->hold;
	list_push_back(&w->asks, &k->link);
	if (!line->client || line->spent ||
	    http_client_request(line->client, &q, &k->stream, &err) < 0) {
		connect_line(w, conn);
		require(http_client_request(line->client, &q, &k->stream, &err) == 0);
	}
	if (!r->body.p)
		return;
	(void)http_stream_send_copy(k->stream,
				    str_of(r->body.p, r->body.n - MIN(r->cut, r->body.n)));
	if (!r->cut)
		(void)http_stream_end(k->stream, NULL, 0);
}

void world_hold(struct world *w, unsigned conn, bool hold)
{
	struct world_ask *k;

	w->lines[conn].hold = hold;
	LIST_FOREACH_SAFE (it, &w->asks) {
		k = LIST_ENTRY(it, struct world_ask, link);
		if (k->conn != conn)
			continue;
		k->held = hold;
		if (!hold && k->stream)
			http_stream_consume(k->stream, k->stream->unconsumed);
	}
}

struct call {
	struct world_ask ask;
	struct call_result {
		struct buf *answer;
		int status;
		bool over;
	} * result;
};

static void on_called(struct world_ask *k)
{
	struct call_result *r = ((struct call *)k)->result;

	r->status = k->whole ? k->status : 0;
	r->over = true;
	if (r->answer)
		(void)buf_add_str(r->answer, buf_str(&k->got));
}

static bool is_over(void *arg)
{
	return ((struct call_result *)arg)->over;
}

int world_call(struct world *w, const char *method, const char *target, const char *body,
	       struct buf *ret_answer)
{
	struct world_request r = { .method = method,
				   .target = target,
				   .content_type = "application/json",
				   .body = body ? str_from(body) : STR_NULL };
	struct call *k = XNEW(struct call);
	struct call_result result = { .answer = ret_answer };

	k->ask.on_over = on_called;
	k->result = &result;
	world_send(w, OWN, &r, &k->ask);
	require(sim_run_until(w->sim, is_over, &result, CALL_MS));
	return result.status;
}

/* --- users ---------------------------------------------------------------------------------- */

void world_admit_carol(struct world *w)
{
	CLEANUP(buf_release) struct buf answer = BUF_INIT(1 * MIB);
	struct json *tree = NULL;
	struct arena a;
	int status;

	status = world_call(w, "POST", WORLD_ACCOUNTS, "{\"metadata\":{\"name\":\"carol\"}}", NULL);
	require(status == 201 || status == 409);
	status = world_call(w, "POST", WORLD_ACCOUNTS "/carol/token",
			    "{\"spec\":{\"expirationSeconds\":86400}}", &answer);
	require(status == 201);
	arena_init(&a, SIZE_MAX);
	require(json_parse(&a, buf_str(&answer), NULL, &tree, NULL) == 0);
	(void)snprintf(w->carol, sizeof(w->carol), "%.*s",
		       STR_ARG(json_str(json_pointer(tree, STR("/status/token")))));
	arena_release(&a);
}

static void admit_users(struct world *w)
{
	const char *bindings = world_path(WORLD_BINDINGS);

	require(world_call(w, "POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"fuzz\"}}",
			   NULL) == 201);
	require(world_call(w, "POST", ROLES, ROLE_ALICE, NULL) == 201);
	require(world_call(w, "POST", ROLES, ROLE_BOB, NULL) == 201);
	require(world_call(w, "POST", bindings, BINDING("alice", "alice", SUBJECT("alice")),
			   NULL) == 201);
	require(world_call(w, "POST", bindings, WORLD_BIND_BOB, NULL) == 201);
	require(world_call(w, "POST", bindings, BINDING("carol", "bob", ACCOUNT), NULL) == 201);
	world_admit_carol(w);
	/* Pods need it, and there is no controller to make it. */
	require(world_call(w, "POST", WORLD_ACCOUNTS, "{\"metadata\":{\"name\":\"default\"}}",
			   NULL) == 201);
}

/* --- life ----------------------------------------------------------------------------------- */

static void on_ready(void *arg, const struct error *err)
{
	struct world *w = arg;

	require(!err);
	w->ready = true;
}

static bool is_set(void *arg)
{
	return *(bool *)arg;
}

static void set(void *arg)
{
	*(bool *)arg = true;
}

static int remove_one(const char *path, const struct stat *st UNUSED, int type UNUSED,
		      struct FTW *at UNUSED)
{
	return remove(path);
}

/* In memory where that can be: the store asks for every commit to be durable. */
static void make_folder(struct world *w)
{
	char path[96];
	struct error err;

	(void)snprintf(w->dir, sizeof(w->dir), "%s/devplane-fuzz.XXXXXX",
		       access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	require(mkdtemp(w->dir) != NULL);
	(void)snprintf(path, sizeof(path), "%s/tokens", w->dir);
	require(file_write_atomic(path,
				  STR("admin,admin,1,system:masters\nalice,alice,2\nbob,bob,3\n"),
				  0600, &err) == 0);
}

static void start_server(struct world *w)
{
	char tokens[96];
	struct server_opts opts = { .data_dir = w->dir,
				    .bind_address = "127.0.0.1",
				    .secure_port = PORT,
				    .token_auth_file = tokens,
				    .event_ttl_ms = 3600 * 1000,
				    .request_timeout_ms = 60 * 1000,
				    .min_request_timeout_ms = 1800 * 1000,
				    .watch_cache_bytes = 256 * KIB,
				    .history_ms = 60 * 1000,
				    .simulated = true,
				    .loops = w->lanes,
				    .nloops = LANES,
				    .log = &w->log,
				    .on_ready = on_ready,
				    .arg = w };
	struct error err;

	(void)snprintf(tokens, sizeof(tokens), "%s/tokens", w->dir);
	gates_init(&opts.gates);
	require(server_new(&opts, &w->server, &err) == 0);
	w->server->opts.token_auth_file = NULL; /* it has been read */
	require(sim_run_until(w->sim, is_set, &w->ready, START_MS));
}

struct world *world_new(void)
{
	struct world *w = XNEW(struct world);
	struct sim_opts opts = { .seed = 1 };

	list_init(&w->asks);
	memset(w->padding, 'x', sizeof(w->padding) - 1);
	log_child(&w->log, log_null(), NULL, 0);
	make_folder(w);
	w->sim = sim_new(&opts);
	for (size_t i = 0; i < LANES; i++)
		w->lanes[i] = sim_loop_new(w->sim, "server");
	w->guest = sim_loop_new(w->sim, "guest");
	start_server(w);
	admit_users(w);
	return w;
}

void world_free(struct world *w)
{
	for (unsigned i = 0; i <= OWN; i++)
		world_cut(w, i);
	server_stop(w->server, 1000, set, &w->stopped);
	require(sim_run_until(w->sim, is_set, &w->stopped, START_MS));
	server_free(w->server);
	sim_run_for(w->sim, 10);
	loop_free(w->guest);
	for (size_t i = LANES; i-- > 0;)
		loop_free(w->lanes[i]);
	sim_free(w->sim);
	(void)nftw(w->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	free(w);
}

/* --- looking -------------------------------------------------------------------------------- */

const char *world_path(enum world_kind kind)
{
	return kinds[kind].path;
}

void world_run(struct world *w, int64_t ms)
{
	sim_run_for(w->sim, ms);
}

struct list *world_asks(struct world *w)
{
	return &w->asks;
}

struct sim *world_sim(struct world *w)
{
	return w->sim;
}

struct server *world_server(struct world *w)
{
	return w->server;
}

static struct resource *find(struct world *w, enum world_kind kind)
{
	return state_resource(w->server->state,
			      schema_find_resource(str_from(kinds[kind].group), STR("v1"),
						   str_from(kinds[kind].resource)));
}

size_t world_count(struct world *w, enum world_kind kind)
{
	return resource_count(find(w, kind));
}

struct str world_uid(struct world *w, enum world_kind kind, const char *name, char *buf,
		     size_t size)
{
	struct str ns = kind < WORLD_CLASSES ? STR("fuzz") : STR_NULL;
	const struct object *o = resource_get(find(w, kind), ns, str_from(name));
	struct json *tree = NULL;
	struct arena a;

	if (!o)
		return STR_NULL;
	arena_init(&a, SIZE_MAX);
	require(object_tree(o, &a, &tree, NULL) == 0);
	(void)snprintf(buf, size, "%.*s",
		       STR_ARG(json_str(json_pointer(tree, STR("/metadata/uid")))));
	arena_release(&a);
	return str_from(buf);
}
