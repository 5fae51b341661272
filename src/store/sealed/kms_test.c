/*
 * KMS plugins in a simulated world: the plugin and the server are two hosts, so a plugin that dies,
 * hangs, is ill or rotates its key is a setting, and half a minute passes at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <unistd.h>

#include "base/system/file.h"
#include "grpc/server.h"
#include "kms.pb-c.h"
#include "net/http/server.h"
#include "net/sim/sim.h"
#include "store/lmdb/lmdb_world.h"
#include "store/sealed/sealed_world.h"
#include "store/sealed/value.h"

#define CONFIG                                                                                  \
	SEALED_WORLD_HEAD SEALED_WORLD_RULE("secrets",                                          \
					    "{kms: {apiVersion: v2, name: plugin, timeout: 2s," \
					    " endpoint: 'unix:/run/kms.sock'}}, {identity: {}}")

/* --- the plugin --------------------------------------------------------------------------- */

/* It "encrypts" with one byte, which its key id begins with. */
struct kms_plugin {
	struct loop *loop;
	struct http_server *http; /* NULL: it does not run */
	struct grpc_server *grpc;
	struct addr at;
	const char *key_id, *healthz;
	bool hangs;
	unsigned encrypted, decrypted;
};

struct kms_world {
	struct sim *sim;
	struct loop *loop; /* of the server */
	struct kms_plugin plugin;
	struct lmdb_world *folder;
	char file[96];
	struct store *store;
	atomic_uint seal;
	const char *reported;
	struct error why;
	struct arena arena;
};

static const struct grpc_method methods[] = {
	{ .path = "/v2.KeyManagementService/Status",
	  .request = &kms__status_request__descriptor,
	  .response = &kms__status_response__descriptor },
	{ .path = "/v2.KeyManagementService/Encrypt",
	  .request = &kms__encrypt_request__descriptor,
	  .response = &kms__encrypt_response__descriptor },
	{ .path = "/v2.KeyManagementService/Decrypt",
	  .request = &kms__decrypt_request__descriptor,
	  .response = &kms__decrypt_response__descriptor },
};

static void on_status(struct grpc_call *c, const void *request UNUSED)
{
	struct kms_plugin *p = grpc_call_service(c);
	Kms__StatusResponse m = KMS__STATUS_RESPONSE__INIT;

	if (p->hangs)
		return;
	m.version = (char *)(uintptr_t) "v2";
	m.healthz = (char *)(uintptr_t)p->healthz;
	m.key_id = (char *)(uintptr_t)p->key_id;
	(void)grpc_call_reply(c, &m.base);
}

static void xor_with(char key, const ProtobufCBinaryData *in, uint8_t *out)
{
	for (size_t i = 0; i < in->len; i++)
		out[i] = in->data[i] ^ (uint8_t)key;
}

static void on_encrypt(struct grpc_call *c, const void *request)
{
	struct kms_plugin *p = grpc_call_service(c);
	const Kms__EncryptRequest *q = request;
	Kms__EncryptResponse m = KMS__ENCRYPT_RESPONSE__INIT;
	Kms__Annotation note = KMS__ANNOTATION__INIT, *notes = &note;
	uint8_t out[64];

	if (p->hangs)
		return;
	p->encrypted++;
	assert_int_equal(q->plaintext.len, 32);
	xor_with(p->key_id[0], &q->plaintext, out);
	m.ciphertext.data = out;
	m.ciphertext.len = q->plaintext.len;
	m.key_id = (char *)(uintptr_t)p->key_id;
	note.key = (char *)(uintptr_t) "example.com";
	note.value.data = (uint8_t *)(uintptr_t) "note";
	note.value.len = 4;
	m.annotations = &notes;
	m.n_annotations = 1;
	(void)grpc_call_reply(c, &m.base);
}

static void on_decrypt(struct grpc_call *c, const void *request)
{
	struct kms_plugin *p = grpc_call_service(c);
	const Kms__DecryptRequest *q = request;
	Kms__DecryptResponse m = KMS__DECRYPT_RESPONSE__INIT;
	uint8_t out[64];

	if (p->hangs)
		return;
	p->decrypted++;
	assert_int_equal(q->n_annotations, 1);
	assert_string_equal(q->annotations[0]->key, "example.com");
	assert_memory_equal(q->annotations[0]->value.data, "note", 4);
	xor_with(q->key_id[0], &q->ciphertext, out);
	m.plaintext.data = out;
	m.plaintext.len = q->ciphertext.len;
	(void)grpc_call_reply(c, &m.base);
}

static const struct grpc_handler rows[] = {
	{ .method = &methods[0], .on_request = on_status },
	{ .method = &methods[1], .on_request = on_encrypt },
	{ .method = &methods[2], .on_request = on_decrypt },
};

static void plugin_handle(void *arg, struct http_stream *s, size_t lane UNUSED)
{
	grpc_server_handle(((struct kms_plugin *)arg)->grpc, s);
}

static void plugin_start(struct kms_world *w)
{
	struct kms_plugin *p = &w->plugin;
	struct http_server_opts opts = { .nloops = 1, .handler = plugin_handle, .arg = p };

	p->loop = sim_loop_new(w->sim, "plugin");
	opts.loops = &p->loop;
	p->http = http_server_new(&opts);
	assert_int_equal(http_server_listen(p->http, &p->at, NULL, 0, NULL, NULL), 0);
}

static void plugin_kill(struct kms_world *w)
{
	struct kms_plugin *p = &w->plugin;

	sim_loop_crash(p->loop, SIM_CRASH_PROCESS);
	sim_loop_bury(p->loop);
	http_server_free(TAKE(p->http));
	loop_free(TAKE(p->loop));
}

/* --- the server --------------------------------------------------------------------------- */

static void world_on_report(void *arg, const char *what, const struct error *err)
{
	struct kms_world *w = arg;

	w->reported = what;
	w->why = err ? *err : (struct error){ 0 };
}

static void store_start(struct kms_world *w)
{
	const struct store_sealed_opts opts = {
		.file = w->file, .reload = true, .report = world_on_report, .arg = w
	};
	struct sealed_store *sealed;
	struct store *inner;

	w->loop = sim_loop_new(w->sim, "server");
	assert_int_equal(store_sealed_new(w->loop, &opts, &sealed, NULL), 0);
	assert_int_equal(store_lmdb_open(w->loop, &w->folder->opts, &inner, NULL), 0);
	w->store = store_sealed_around(sealed, inner);
	store_note_seal(w->store, STR("core/secrets"), &w->seal);
}

static void on_flag(void *arg)
{
	*(bool *)arg = true;
}

static void store_stop(struct kms_world *w)
{
	bool closed = false;

	store_close(TAKE(w->store), on_flag, &closed);
	sim_run_for(w->sim, 1000);
	assert_true(closed);
	loop_free(TAKE(w->loop));
}

static struct kms_world *world_new(bool runs)
{
	struct kms_world *w = calloc(1, sizeof(*w));
	struct sim_opts so = { .seed = 1, .latency_min_us = 10, .latency_max_us = 200 };

	w->sim = sim_new(&so);
	w->folder = lmdb_world_new();
	w->folder->opts.inline_commit = true;
	(void)snprintf(w->file, sizeof(w->file), "%s/encryption.yaml", w->folder->root);
	assert_int_equal(file_write_atomic(w->file, STR(CONFIG), 0600, NULL), 0);
	arena_init(&w->arena, SIZE_MAX);
	w->plugin.key_id = "a-1";
	w->plugin.healthz = "ok";
	w->plugin.grpc = grpc_server_new(NULL);
	assert_int_equal(addr_parse(&w->plugin.at, STR("unix:/run/kms.sock"), 0, NULL), 0);
	grpc_server_add(w->plugin.grpc, rows, ARRAY_SIZE(rows), &w->plugin);
	if (runs)
		plugin_start(w);
	store_start(w);
	return w;
}

static void world_free(struct kms_world *w)
{
	if (w->store)
		store_stop(w);
	if (w->plugin.http)
		plugin_kill(w);
	sim_run_for(w->sim, 10);
	grpc_server_free(w->plugin.grpc);
	arena_release(&w->arena);
	lmdb_world_free(w->folder);
	sim_free(w->sim);
	free(w);
}

struct put {
	struct store_write write;
	bool done;
	struct error err;
};

static void on_put(struct store_write *w, const struct error *err)
{
	struct put *p = CONTAINER_OF(w, struct put, write);

	p->done = true;
	if (err)
		p->err = *err;
}

/* Writes secret ns/`name` and returns 0 or -ERR_*, with the error's text in w->why. */
static int put(struct kms_world *w, const char *name, const char *value)
{
	struct bytes *b = bytes_copy(str_from(value));
	struct put p = { .write = { .key = { STR("core/secrets"), STR("ns"), str_from(name) },
				    .value = b,
				    .done = on_put } };

	store_write(w->store, &p.write);
	sim_run_for(w->sim, 100);
	assert_true(p.done);
	bytes_unref(b);
	w->why = p.err;
	return -(int)p.err.code;
}

struct got {
	struct kms_world *w;
	bool done;
	int result;
	char text[256];
	uint32_t seal; /* of the first */
};

static void on_got(void *arg, const struct store_range_result *r, const struct error *err)
{
	struct got *g = arg;
	size_t n = 0;

	g->done = true;
	g->result = err ? -(int)err->code : 0;
	if (err)
		g->w->why = *err;
	for (size_t i = 0; !err && i < r->n; i++)
		n += (size_t)snprintf(g->text + n, sizeof(g->text) - n, "%.*s=%.*s ",
				      STR_ARG(r->items[i].key.name), (int)r->items[i].value.n,
				      r->items[i].value.p);
	g->seal = err || !r->n ? 0 : r->items[0].seal;
}

static struct got get(struct kms_world *w, int64_t ms)
{
	const struct store_range range = { .resource = STR("core/secrets") };
	struct got g = { .w = w };

	store_range(w->store, &range, &w->arena, on_got, &g);
	sim_run_for(w->sim, ms);
	assert_true(g.done);
	return g;
}

/* --- cases -------------------------------------------------------------------------------- */

static void a_data_key_is_decrypted_once_after_a_restart(void **state UNUSED)
{
	struct kms_world *w = world_new(true);

	assert_string_equal(get(w, 500).text, ""); /* waits for the plugin's first answer */
	assert_int_equal(put(w, "a", "one"), 0);
	assert_int_equal(put(w, "b", "two"), 0);
	assert_string_equal(get(w, 100).text, "a=one b=two ");
	assert_int_equal(w->plugin.encrypted, 1);
	assert_int_equal(w->plugin.decrypted, 0);
	store_stop(w);
	store_start(w);
	assert_string_equal(get(w, 500).text, "a=one b=two ");
	assert_int_equal(w->plugin.encrypted, 2);
	assert_int_equal(w->plugin.decrypted, 1);
	world_free(w);
}

static void a_dead_plugin_stops_writes_after_a_while_but_not_reads(void **state UNUSED)
{
	struct kms_world *w = world_new(true);

	(void)get(w, 500);
	assert_int_equal(put(w, "a", "one"), 0);
	plugin_kill(w);
	sim_run_for(w->sim, 12 * 1000);
	assert_string_equal(w->reported, "a KMS plugin fails");
	assert_int_equal(put(w, "b", "two"), 0);
	sim_run_for(w->sim, 40 * 1000);
	assert_int_equal(put(w, "c", "three"), -ERR_UNAVAILABLE);
	assert_non_null(strstr(w->why.msg, "core/secrets ns/c"));
	assert_non_null(strstr(w->why.msg, "KMS plugin \"plugin\": Status"));
	assert_string_equal(get(w, 100).text, "a=one b=two ");
	assert_int_equal(store_health(w->store, NULL), 0);
	plugin_start(w);
	sim_run_for(w->sim, 5 * 1000);
	assert_string_equal(w->reported, "the KMS plugin works again");
	assert_int_equal(put(w, "c", "three"), 0);
	world_free(w);
}

static void a_hanging_plugin_is_a_failing_one(void **state UNUSED)
{
	struct kms_world *w = world_new(true);

	(void)get(w, 500);
	assert_int_equal(put(w, "a", "one"), 0);
	store_stop(w);
	w->plugin.hangs = true;
	store_start(w);
	/* Status, then Decrypt, have two seconds each. */
	assert_int_equal(get(w, 5000).result, -ERR_UNAVAILABLE);
	assert_non_null(strstr(w->why.msg, "core/secrets ns/a: KMS plugin \"plugin\": Decrypt"));
	assert_int_equal(put(w, "b", "two"), -ERR_UNAVAILABLE);
	if (!strstr(w->why.msg, "deadline"))
		fail_msg("%s", w->why.msg);
	w->plugin.hangs = false;
	sim_run_for(w->sim, 5000);
	assert_string_equal(get(w, 500).text, "a=one ");
	assert_int_equal(put(w, "b", "two"), 0);
	world_free(w);
}

static void a_missing_plugin_does_not_stop_reads_of_clear_values(void **state UNUSED)
{
	struct kms_world *w = world_new(false);

	assert_int_equal(get(w, 3000).result, 0);
	assert_int_equal(put(w, "a", "one"), -ERR_UNAVAILABLE);
	assert_int_equal(atomic_load(&w->seal), STORE_SEAL_UNKNOWN);
	world_free(w);
}

static void an_ill_plugin_says_why(void **state UNUSED)
{
	struct kms_world *w = world_new(true);

	w->plugin.healthz = "the vault is sealed";
	(void)get(w, 3000);
	assert_int_equal(put(w, "a", "one"), -ERR_UNAVAILABLE);
	assert_non_null(strstr(w->why.msg, "the vault is sealed"));
	world_free(w);
}

static void a_new_key_id_makes_a_new_data_key(void **state UNUSED)
{
	struct kms_world *w = world_new(true);
	unsigned before;

	(void)get(w, 500);
	assert_int_equal(put(w, "a", "one"), 0);
	before = atomic_load(&w->seal);
	assert_int_equal(get(w, 100).seal, before);
	w->plugin.key_id = "b-2";
	sim_run_for(w->sim, 11 * 1000);
	assert_int_equal(w->plugin.encrypted, 2);
	assert_int_not_equal(atomic_load(&w->seal), before);
	assert_int_equal(get(w, 100).seal, before);
	assert_int_equal(put(w, "b", "two"), 0);
	store_stop(w);
	store_start(w);
	assert_string_equal(get(w, 500).text, "a=one b=two ");
	assert_int_equal(w->plugin.decrypted, 2);
	assert_int_equal(get(w, 100).seal, before);
	world_free(w);
}

static void a_reload_waits_for_its_plugin(void **state UNUSED)
{
	struct kms_world *w = world_new(false);

	store_stop(w);
	assert_int_equal(file_write_atomic(w->file,
					   STR(SEALED_WORLD_HEAD SEALED_WORLD_RULE(
						   "secrets", "{identity: {}}")),
					   0600, NULL),
			 0);
	store_start(w);
	assert_int_equal(put(w, "a", "one"), 0);
	assert_int_equal(file_write_atomic(w->file, STR(CONFIG), 0600, NULL), 0);
	sim_run_for(w->sim, 15 * 1000);
	assert_non_null(strstr(w->reported, "the old one stays"));
	assert_non_null(strstr(w->why.msg, "KMS plugin \"plugin\": Status"));
	assert_int_equal(put(w, "b", "two"), 0);
	assert_int_equal(atomic_load(&w->seal), 0);
	plugin_start(w);
	sim_run_for(w->sim, 5 * 1000);
	assert_string_equal(w->reported, "the encryption configuration was reloaded");
	assert_int_not_equal(atomic_load(&w->seal), 0);
	assert_int_equal(put(w, "c", "three"), 0);
	assert_string_equal(get(w, 500).text, "a=one b=two c=three ");
	world_free(w);
}

static void a_store_closes_while_its_plugin_hangs(void **state UNUSED)
{
	const struct store_range range = { .resource = STR("core/secrets") };
	struct kms_world *w = world_new(true);
	struct got g = { .w = w };

	w->plugin.hangs = true;
	store_range(w->store, &range, &w->arena, on_got, &g);
	store_stop(w);
	assert_true(g.done);
	assert_int_equal(g.result, -ERR_CANCELED);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_data_key_is_decrypted_once_after_a_restart),
		cmocka_unit_test(a_dead_plugin_stops_writes_after_a_while_but_not_reads),
		cmocka_unit_test(a_hanging_plugin_is_a_failing_one),
		cmocka_unit_test(a_missing_plugin_does_not_stop_reads_of_clear_values),
		cmocka_unit_test(an_ill_plugin_says_why),
		cmocka_unit_test(a_new_key_id_makes_a_new_data_key),
		cmocka_unit_test(a_reload_waits_for_its_plugin),
		cmocka_unit_test(a_store_closes_while_its_plugin_hangs),
	};

	return cmocka_run_group_tests_name("store/sealed/kms", tests, NULL, NULL);
}
