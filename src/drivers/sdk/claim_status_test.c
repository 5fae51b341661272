/*
 * The writer against a server with one claim, in a simulated world: others write the same claim,
 * the server refuses, forgets and hangs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/api_limits.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "base/report/metrics.h"
#include "client/testing/api_world.h"
#include "drivers/drivers_limits.h"
#include "drivers/sdk/claim_status.h"

struct test {
	struct api_world w;
	struct claim_status *status;
	struct driver_log log;
	struct metrics *metrics;
	/* The claim, and how the server treats it. */
	char *devices; /* heap: the list */
	const char *results, *uid;
	unsigned version;
	bool gone, silent; /* silent: requests are not answered */
	int refusal; /* HTTP status of all patches; 0: none */
	const char *refusal_words;
	unsigned race; /* so many patches find that somebody was faster */
	unsigned reads, patches, written;
	char body[4096]; /* of the last patch */
	unsigned warnings, errors;
	bool ended;
};

#define RESULT(driver, device) \
	"{\"driver\":\"" driver "\",\"pool\":\"p\",\"device\":\"" device "\"}"
#define FOREIGN "{\"driver\":\"e\",\"pool\":\"p\",\"device\":\"x\",\"data\":{\"n\":1.0}}"

/* --- the server --------------------------------------------------------------------------- */

static void refuse(struct http_stream *s, int status, const char *reason, const char *words)
{
	char text[512];

	(void)snprintf(text, sizeof(text),
		       "{\"kind\":\"Status\",\"reason\":\"%s\",\"message\":\"%s\"}", reason, words);
	api_world_reply(s, status, "application/json", text);
}

static void print_claim(const struct test *t, struct buf *b)
{
	(void)buf_printf(
		b,
		"{\"metadata\":{\"name\":\"c\",\"uid\":\"%s\",\"resourceVersion\":\"%u\"},"
		"\"status\":{\"allocation\":{\"devices\":{\"results\":%s}},\"devices\":%s}}",
		t->uid, t->version, t->results, t->devices);
}

static void show(struct test *t, struct http_stream *s)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);

	print_claim(t, &b);
	api_world_reply(s, 200, "application/json", b.p);
}

static void set_devices(struct test *t, struct str text)
{
	free(t->devices);
	t->devices = str_dup(text);
	t->version++;
}

static void take_patch(struct test *t, struct http_stream *s, struct str body)
{
	ptrdiff_t at = str_find(body, STR("\"devices\":"));
	const struct json *meta;
	struct json *tree;
	struct arena a;
	char version[16];

	(void)snprintf(version, sizeof(version), "%u", t->version);
	arena_init(&a, MIB);
	assert_int_equal(json_parse(&a, body, NULL, &tree, NULL), 0);
	meta = json_getz(tree, "metadata");
	if (!str_eqz(json_text_at(meta, "resourceVersion"), version) ||
	    !str_eqz(json_text_at(meta, "uid"), t->uid)) {
		refuse(s, 409, "Conflict", "the object has been modified");
	} else {
		/* Byte for byte: "..devices":LIST}} */
		set_devices(t, str_of(body.p + at + 10, body.n - (size_t)at - 12));
		t->written++;
		show(t, s);
	}
	arena_release(&a);
}

static void answer(struct api_world *w, struct http_stream *s, struct str body)
{
	struct test *t = w->data;
	bool get = str_eqz(s->in.method, "GET");

	t->reads += get;
	t->patches += !get;
	assert_true(str_eqz(s->in.path, get ? "/apis/resource.k8s.io/v1/namespaces/ns/"
					      "resourceclaims/c"
					    : "/apis/resource.k8s.io/v1/namespaces/ns/"
					      "resourceclaims/c/status"));
	if (!get) {
		assert_true(str_eqz(http_fields_get(&s->in.fields, STR("content-type")),
				    "application/merge-patch+json"));
		(void)snprintf(t->body, sizeof(t->body), "%.*s", STR_ARG(body));
	}
	if (t->silent)
		return;
	if (t->gone) {
		refuse(s, 404, "NotFound", "gone");
	} else if (get) {
		show(t, s);
	} else if (t->refusal) {
		refuse(s, t->refusal, t->refusal == 403 ? "Forbidden" : "Invalid",
		       t->refusal_words);
	} else {
		t->version += t->race > 0;
		t->race -= t->race > 0;
		take_patch(t, s, body);
	}
}

static void on_log(void *arg, uint32_t level, const char *line UNUSED)
{
	struct test *t = arg;

	t->warnings += level == DP_LOG_WARN;
	t->errors += level == DP_LOG_ERROR;
}

/* --- the driver --------------------------------------------------------------------------- */

static int set_up(void **state)
{
	struct sim_opts o = { .seed = 5 };
	struct test *t = XNEW(struct test);
	struct claim_status_opts opts = { .driver = "d" };

	api_world_init(&t->w, &o, HTTP_PROTOCOL_ANY);
	t->w.handler = answer;
	t->w.data = t;
	t->uid = "u";
	t->version = 7;
	t->devices = xstrdup("[" FOREIGN "]");
	t->results = "[" RESULT("e", "x") "," RESULT("d", "x") "," RESULT("d", "y") "]";
	t->log = (struct driver_log){ on_log, t };
	t->metrics = metrics_new();
	opts.client = t->w.client;
	opts.log = &t->log;
	opts.metrics = t->metrics;
	t->status = claim_status_new(&opts);
	*state = t;
	return 0;
}

static int tear_down(void **state)
{
	struct test *t = *state;

	claim_status_free(t->status);
	api_world_release(&t->w);
	metrics_free(t->metrics);
	free(t->devices);
	free(t);
	return 0;
}

static struct claim_status_id claim(void)
{
	return (struct claim_status_id){ STR("ns"), STR("c"), STR("u") };
}

static void set(struct test *t, const char *device, uint32_t status, const char *message)
{
	struct dp_condition c = { .size = sizeof(c),
				  .status = status,
				  .type = "Ready",
				  .reason = "Because",
				  .message = message };
	struct dp_device_status s = {
		.size = sizeof(s), .device = device, .conditions = &c, .nconditions = 1
	};
	struct status_entry *e;

	assert_int_equal(status_entry_new(&s, "d", "p", &e, NULL), 0);
	claim_status_set(t->status, claim(), e);
}

static bool is_settled(void *arg)
{
	return claim_status_waiting(((struct test *)arg)->status) == 0;
}

static void settle(struct test *t)
{
	assert_true(sim_run_until(t->w.sim, is_settled, t, 120000));
}

static void set_settled(struct test *t, const char *device, uint32_t status, const char *message)
{
	set(t, device, status, message);
	settle(t);
}

static bool has(const struct test *t, const char *text)
{
	return strstr(t->devices, text) != NULL;
}

static uint64_t counted(struct test *t, const char *line)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);
	const char *at;

	(void)metrics_print(t->metrics, &text);
	at = strstr(text.p, line);
	return at ? strtoull(at + strlen(line), NULL, 10) : 0;
}

/* As somebody else has read it. */
static void tell_seen(struct test *t)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);

	print_claim(t, &b);
	claim_status_seen(t->status, claim(), buf_str(&b));
}

/* --- tests -------------------------------------------------------------------------------- */

static void a_first_word_is_two_requests_and_a_change_is_one(void **state)
{
	struct test *t = *state;

	set_settled(t, "x", DP_FALSE, "a");
	assert_int_equal(t->reads, 1);
	assert_int_equal(t->patches, 1);
	assert_true(has(t, FOREIGN ","));
	assert_true(has(t, "\"status\":\"False\",\"reason\":\"Because\",\"message\":\"a\""));
	assert_non_null(strstr(t->body, "{\"metadata\":{\"resourceVersion\":\"7\",\"uid\":\"u\"}"));
	set_settled(t, "x", DP_FALSE, "b");
	assert_int_equal(t->reads, 1);
	assert_int_equal(t->patches, 2);
	assert_true(has(t, "\"message\":\"b\""));
	assert_false(has(t, "\"message\":\"a\""));
	assert_int_equal(counted(t, "devplane_driver_status_writes_total{result=\"success\"} "), 2);
}

static void a_status_that_the_server_has_is_not_written(void **state)
{
	struct test *t = *state;

	set_settled(t, "x", DP_TRUE, "a");
	set_settled(t, "x", DP_TRUE, "a");
	assert_int_equal(t->patches, 1);
	assert_int_equal(t->reads, 1);
}

static void a_transition_has_its_own_time(void **state)
{
	struct test *t = *state;
	char first[32], *at;

	set_settled(t, "x", DP_TRUE, "a");
	at = strstr(t->devices, "\"lastTransitionTime\":\"2024-");
	assert_non_null(at);
	(void)snprintf(first, sizeof(first), "%.20s", at + 22);
	sim_run_for(t->w.sim, 5000);
	set_settled(t, "x", DP_TRUE, "b");
	assert_true(has(t, first));
	set_settled(t, "x", DP_FALSE, "b");
	assert_false(has(t, first));
	assert_true(has(t, "\"lastTransitionTime\":\"2024-"));
}

static void of_many_words_the_last_one_counts(void **state)
{
	struct test *t = *state;
	char text[8];

	for (int i = 0; i < 100; i++) {
		(void)snprintf(text, sizeof(text), "%d", i);
		set(t, "x", DP_TRUE, text);
		if (i % 10 == 0)
			sim_run_for(t->w.sim, 1);
	}
	settle(t);
	assert_true(has(t, "\"message\":\"99\""));
	assert_in_range(t->patches, 1, 12);
	assert_int_equal(t->reads, 1);
}

/* While the first is under way. */
static void a_word_that_comes_during_a_write_is_written_after_it(void **state)
{
	struct test *t = *state;

	set(t, "x", DP_TRUE, "a");
	while (t->patches == 0)
		sim_run_for(t->w.sim, 1);
	set(t, "x", DP_FALSE, "b");
	set_settled(t, "y", DP_TRUE, "c");
	assert_true(has(t, "\"message\":\"b\""));
	assert_true(has(t, "\"message\":\"c\""));
	assert_false(has(t, "\"message\":\"a\""));
	assert_int_equal(t->reads, 1);
	assert_int_equal(t->patches, 2);
}

static void somebody_who_was_faster_is_merged_with(void **state)
{
	struct test *t = *state;

	set_settled(t, "x", DP_TRUE, "a");
	set_devices(t,
		    STR("[{\"driver\":\"e\",\"pool\":\"p\",\"device\":\"x\",\"data\":{\"n\":2}}]"));
	set_settled(t, "x", DP_TRUE, "b");
	assert_true(has(t, "\"data\":{\"n\":2}"));
	assert_true(has(t, "\"message\":\"b\""));
	assert_int_equal(t->reads, 2);
	assert_int_equal(t->patches, 3);
	assert_int_equal(counted(t, "devplane_driver_status_writes_total{result=\"conflict\"} "),
			 1);
}

static void many_conflicts_are_waited_off_and_end(void **state)
{
	struct test *t = *state;

	t->race = 12;
	set_settled(t, "x", DP_TRUE, "a");
	assert_int_equal(t->written, 1);
	assert_int_equal(t->patches, 13);
	assert_true(has(t, "\"message\":\"a\""));
}

static void a_claim_that_is_gone_is_forgotten(void **state)
{
	struct test *t = *state;

	set_settled(t, "x", DP_TRUE, "a");
	t->gone = true;
	set_settled(t, "x", DP_TRUE, "b");
	assert_int_equal(t->patches, 2);
	assert_int_equal(t->warnings, 0);
	set_settled(t, "x", DP_TRUE, "c");
	assert_int_equal(t->reads, 2);
	assert_int_equal(t->patches, 2);
}

static void another_claim_of_the_same_name_is_not_written(void **state)
{
	struct test *t = *state;

	set_settled(t, "x", DP_TRUE, "a");
	t->uid = "v";
	set_devices(t, STR("null"));
	set_settled(t, "x", DP_TRUE, "b");
	assert_int_equal(t->written, 1);
	assert_string_equal(t->devices, "null");
	assert_int_equal(t->warnings, 0);
}

static void a_device_that_the_claim_does_not_have_is_not_written(void **state)
{
	struct test *t = *state;

	set(t, "z", DP_TRUE, "z");
	set_settled(t, "y", DP_TRUE, "y");
	assert_int_equal(t->patches, 1);
	assert_true(has(t, "\"message\":\"y\""));
	assert_false(has(t, "\"message\":\"z\""));
	/* Deallocated: the server has dropped the entries, too. */
	t->results = "null";
	set_devices(t, STR("null"));
	set_settled(t, "y", DP_FALSE, "n");
	assert_int_equal(t->written, 1);
	assert_string_equal(t->devices, "null");
}

static void a_refusal_is_told_once_and_permission_may_come(void **state)
{
	struct test *t = *state;
	unsigned tries;

	t->refusal = 422;
	t->refusal_words = "not allowed";
	set(t, "x", DP_TRUE, "a");
	sim_run_for(t->w.sim, 60000);
	tries = t->patches;
	assert_in_range(tries, 4, 12);
	assert_int_equal(t->warnings, 1);
	/* The same word is no reason to hurry; others are, but not each of them. */
	set(t, "x", DP_TRUE, "a");
	sim_run_for(t->w.sim, 10);
	assert_int_equal(t->patches, tries);
	for (int i = 0; i < 400; i++) {
		set(t, "x", DP_TRUE, i % 2 ? "b" : "c");
		sim_run_for(t->w.sim, 10);
	}
	assert_in_range(t->patches, tries + 3, tries + 5);
	t->refusal = 403;
	t->refusal_words = "not at all";
	sim_run_for(t->w.sim, 60000);
	assert_int_equal(t->warnings, 2);
	t->refusal = 0;
	settle(t);
	assert_true(has(t, "\"message\":\"b\""));
	assert_int_equal(t->written, 1);
	assert_int_equal(counted(t, "devplane_driver_status_writes_total{result=\"success\"} "), 1);
	assert_true(counted(t, "devplane_driver_status_writes_total{result=\"failure\"} ") >= 5);
}

static void a_corrected_word_is_not_waited_with(void **state)
{
	struct test *t = *state;

	t->refusal = 422;
	t->refusal_words = "not this";
	set(t, "x", DP_TRUE, "a");
	sim_run_for(t->w.sim, 60000);
	t->refusal = 0;
	set(t, "x", DP_TRUE, "b");
	assert_true(sim_run_until(t->w.sim, is_settled, t, 1000));
	assert_true(has(t, "\"message\":\"b\""));
	/* Nor is what is to go. */
	t->refusal = 422;
	set(t, "x", DP_TRUE, "c");
	sim_run_for(t->w.sim, 60000);
	t->refusal = 0;
	claim_status_clear(t->status, claim());
	assert_true(sim_run_until(t->w.sim, is_settled, t, 1000));
	assert_string_equal(t->devices, "[" FOREIGN "]");
}

/* As a pod can do that takes its own link down and up as fast as it can. */
static void flood(struct test *t, int words)
{
	char text[16];

	for (int i = 0; i < words; i++) {
		(void)snprintf(text, sizeof(text), "%d", i);
		set(t, "x", i % 2, text);
		sim_run_for(t->w.sim, 1);
	}
}

static void a_flood_is_slowed_down_and_its_last_word_counts(void **state)
{
	struct test *t = *state;

	/* At first each is written; then there are so many in a second. */
	flood(t, 100);
	assert_in_range(t->patches, 20, 22);
	flood(t, 4900);
	assert_in_range(t->patches, 65, 71);
	assert_int_equal(t->reads, 1);
	set_settled(t, "x", DP_TRUE, "last");
	assert_true(has(t, "\"message\":\"last\""));
	sim_run_for(t->w.sim, 500);
	set(t, "x", DP_TRUE, "single");
	assert_true(sim_run_until(t->w.sim, is_settled, t, 50));
	assert_true(has(t, "\"message\":\"single\""));
	assert_int_equal(t->reads, 1);
}

static void clearing_removes_ours_and_forgets_the_claim(void **state)
{
	struct test *t = *state;

	set(t, "x", DP_TRUE, "a");
	set_settled(t, "y", DP_TRUE, "b");
	claim_status_clear(t->status, claim());
	settle(t);
	assert_string_equal(t->devices, "[" FOREIGN "]");
	assert_int_equal(t->patches, 2);
	claim_status_clear(t->status, claim());
	settle(t);
	assert_int_equal(t->patches, 2);
	assert_int_equal(t->reads, 2);
	/* Clearing also drops entries that are not written yet. */
	set(t, "x", DP_TRUE, "a");
	claim_status_clear(t->status, claim());
	set_settled(t, "y", DP_TRUE, "b");
	assert_true(has(t, "\"device\":\"y\""));
	assert_false(has(t, "\"driver\":\"d\",\"pool\":\"p\",\"device\":\"x\""));
	assert_int_equal(t->patches, 3);
}

static void on_ended(void *arg)
{
	((struct test *)arg)->ended = true;
}

static bool is_ended(void *arg)
{
	return ((struct test *)arg)->ended;
}

static void the_end_waits_for_what_is_said(void **state)
{
	struct test *t = *state;

	set(t, "x", DP_TRUE, "a");
	claim_status_end(t->status, 2000, on_ended, t);
	assert_false(t->ended);
	assert_true(sim_run_until(t->w.sim, is_ended, t, 1900));
	assert_true(has(t, "\"message\":\"a\""));
}

static void the_end_gives_what_was_refused_one_more_try(void **state)
{
	struct test *t = *state;
	unsigned tries;

	t->refusal = 403;
	t->refusal_words = "no";
	set(t, "x", DP_TRUE, "a");
	sim_run_for(t->w.sim, 60000);
	tries = t->patches;
	claim_status_end(t->status, 2000, on_ended, t);
	assert_true(sim_run_until(t->w.sim, is_ended, t, 1900));
	assert_int_equal(t->patches, tries + 1);
}

static void the_end_does_not_slow_anything_down(void **state)
{
	struct test *t = *state;

	flood(t, 200);
	set(t, "x", DP_TRUE, "last");
	claim_status_end(t->status, 2000, on_ended, t);
	assert_true(sim_run_until(t->w.sim, is_ended, t, 50));
	assert_true(has(t, "\"message\":\"last\""));
}

static void the_end_does_not_wait_for_ever(void **state)
{
	struct test *t = *state;

	t->silent = true;
	set(t, "x", DP_TRUE, "a");
	claim_status_end(t->status, 2000, on_ended, t);
	sim_run_for(t->w.sim, 1900);
	assert_false(t->ended);
	assert_true(sim_run_until(t->w.sim, is_ended, t, 200));
}

static void an_end_without_words_comes_at_once(void **state)
{
	struct test *t = *state;

	claim_status_end(t->status, 2000, on_ended, t);
	assert_false(t->ended);
	assert_true(sim_run_until(t->w.sim, is_ended, t, 10));
}

static void a_claim_that_was_just_read_is_not_read_again(void **state)
{
	struct test *t = *state;

	/* Nobody ever said a word: nothing is kept. */
	tell_seen(t);
	set_settled(t, "x", DP_TRUE, "a");
	assert_int_equal(t->reads, 1);
	claim_status_clear(t->status, claim());
	settle(t);
	tell_seen(t);
	set_settled(t, "x", DP_TRUE, "b");
	assert_int_equal(t->reads, 1);
	assert_int_equal(t->patches, 3);
	assert_true(has(t, "\"message\":\"b\""));
}

static void an_expected_first_word_is_one_request(void **state)
{
	struct test *t = *state;

	claim_status_expect(t->status);
	tell_seen(t);
	set_settled(t, "x", DP_TRUE, "a");
	assert_int_equal(t->reads, 0);
	assert_int_equal(t->patches, 1);
	assert_true(has(t, "\"message\":\"a\""));
}

/* It was read before our own write had come to the server. */
static void an_old_copy_of_the_claim_is_ignored(void **state)
{
	CLEANUP(buf_release) struct buf old = BUF_INIT(MIB);
	struct test *t = *state;

	set_settled(t, "x", DP_TRUE, "a");
	print_claim(t, &old);
	claim_status_clear(t->status, claim());
	settle(t);
	assert_false(has(t, "\"message\":\"a\""));
	claim_status_seen(t->status, claim(), buf_str(&old));
	set_settled(t, "x", DP_TRUE, "a");
	assert_true(has(t, "\"message\":\"a\""));
	/* Nor if it is not a claim, or a different one. */
	claim_status_clear(t->status, claim());
	settle(t);
	claim_status_seen(t->status, claim(), STR("{\"metadata\":{\"resourceVersion\":\"1\"}}"));
	claim_status_seen(t->status, claim(), STR("{"));
	assert_int_equal(claim_status_waiting(t->status), 0);
	set_settled(t, "x", DP_TRUE, "c");
	assert_true(has(t, "\"message\":\"c\""));
}

/* The claim was deallocated and allocated again, or somebody has removed our entry. */
static void a_removed_status_is_written_again(void **state)
{
	struct test *t = *state;

	set_settled(t, "x", DP_TRUE, "a");
	set_devices(t, STR("[]"));
	tell_seen(t);
	set_settled(t, "x", DP_TRUE, "a");
	assert_true(has(t, "\"message\":\"a\""));
	assert_int_equal(t->reads, 1);
	assert_int_equal(t->patches, 2);
	/* Nobody says that he has read it: then it is what we know that is too old. */
	set_devices(t, STR("[]"));
	sim_run_for(t->w.sim, 10000);
	set_settled(t, "x", DP_TRUE, "a");
	assert_true(has(t, "\"message\":\"a\""));
	assert_int_equal(t->reads, 2);
	assert_int_equal(t->patches, 3);
}

static void another_device_of_the_same_claim_is_written(void **state)
{
	struct test *t = *state;

	t->results = "[" RESULT("d", "x") "]";
	set_settled(t, "x", DP_TRUE, "a");
	t->results = "[" RESULT("d", "y") "]";
	set_devices(t, STR("[]"));
	tell_seen(t);
	set_settled(t, "y", DP_TRUE, "b");
	assert_true(has(t, "\"message\":\"b\""));
	assert_int_equal(t->reads, 1);
	t->results = "[" RESULT("d", "x") "]";
	set_devices(t, STR("[]"));
	sim_run_for(t->w.sim, 10000);
	set_settled(t, "x", DP_TRUE, "c");
	assert_true(has(t, "\"message\":\"c\""));
	assert_int_equal(t->reads, 2);
}

/* The server has written it, and its answer is still on the way. */
static void a_claim_seen_during_a_write_is_not_overlooked(void **state)
{
	struct test *t = *state;

	set(t, "x", DP_TRUE, "a");
	while (t->written == 0)
		sim_run_for(t->w.sim, 1);
	assert_int_equal(claim_status_waiting(t->status), 1);
	set_devices(t, STR("[]"));
	tell_seen(t);
	set_settled(t, "x", DP_TRUE, "a");
	assert_true(has(t, "\"message\":\"a\""));
}

static void a_word_that_is_said_again_and_again_costs_little(void **state)
{
	struct test *t = *state;

	for (int i = 0; i < 1000; i++) {
		set(t, "x", DP_TRUE, "a");
		sim_run_for(t->w.sim, 10);
	}
	settle(t);
	assert_int_equal(t->patches, 1);
	assert_in_range(t->reads, 2, 5);
}

/* Words about claims that are not the server's, with messages of `n` bytes. */
static void say_large(struct test *t, size_t count, size_t n)
{
	char *message = xcalloc(1, n + 1), name[32];
	struct dp_condition c = { .size = sizeof(c), .type = "Ready", .reason = "R" };
	struct dp_device_status s = {
		.size = sizeof(s), .device = "x", .conditions = &c, .nconditions = 1
	};
	struct claim_status_id id = claim();
	struct status_entry *e;

	c.message = memset(message, 'm', n);
	for (size_t i = 0; i < count; i++) {
		(void)snprintf(name, sizeof(name), "u%zu-%zu", n, i);
		id.uid = str_from(name);
		assert_int_equal(status_entry_new(&s, "d", "p", &e, NULL), 0);
		claim_status_set(t->status, id, e);
	}
	free(message);
}

static void memory_is_bounded_and_the_loss_is_told_once(void **state)
{
	struct test *t = *state;
	size_t most = DRIVER_STATUS_MAX / CONDITION_MESSAGE_MAX;

	say_large(t, most + 100, CONDITION_MESSAGE_MAX);
	assert_in_range(claim_status_waiting(t->status), most / 2, most);
	assert_int_equal(t->errors, 1);
	/* The server has no such claims, so all entries are dropped, and there is room again. */
	settle(t);
	set_settled(t, "x", DP_TRUE, "a");
	assert_int_equal(t->written, 1);
}

static void a_word_that_takes_no_room_is_never_lost(void **state)
{
	struct test *t = *state;
	size_t most = DRIVER_STATUS_MAX / CONDITION_MESSAGE_MAX;

	set(t, "x", DP_TRUE, "a");
	say_large(t, most, CONDITION_MESSAGE_MAX);
	say_large(t, 1000, 1);
	assert_true(t->errors > 0);
	set_settled(t, "x", DP_TRUE, "b");
	assert_true(has(t, "\"message\":\"b\""));
	set(t, "x", DP_TRUE, "c");
	say_large(t, most, CONDITION_MESSAGE_MAX);
	say_large(t, 1000, 1);
	claim_status_clear(t->status, claim());
	settle(t);
	assert_string_equal(t->devices, "[" FOREIGN "]");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_first_word_is_two_requests_and_a_change_is_one),
		TEST(a_status_that_the_server_has_is_not_written),
		TEST(a_transition_has_its_own_time),
		TEST(of_many_words_the_last_one_counts),
		TEST(a_word_that_comes_during_a_write_is_written_after_it),
		TEST(somebody_who_was_faster_is_merged_with),
		TEST(many_conflicts_are_waited_off_and_end),
		TEST(a_claim_that_is_gone_is_forgotten),
		TEST(another_claim_of_the_same_name_is_not_written),
		TEST(a_device_that_the_claim_does_not_have_is_not_written),
		TEST(a_refusal_is_told_once_and_permission_may_come),
		TEST(a_corrected_word_is_not_waited_with),
		TEST(a_flood_is_slowed_down_and_its_last_word_counts),
		TEST(clearing_removes_ours_and_forgets_the_claim),
		TEST(the_end_waits_for_what_is_said),
		TEST(the_end_gives_what_was_refused_one_more_try),
		TEST(the_end_does_not_slow_anything_down),
		TEST(the_end_does_not_wait_for_ever),
		TEST(an_end_without_words_comes_at_once),
		TEST(a_claim_that_was_just_read_is_not_read_again),
		TEST(an_expected_first_word_is_one_request),
		TEST(an_old_copy_of_the_claim_is_ignored),
		TEST(a_removed_status_is_written_again),
		TEST(another_device_of_the_same_claim_is_written),
		TEST(a_claim_seen_during_a_write_is_not_overlooked),
		TEST(a_word_that_is_said_again_and_again_costs_little),
		TEST(memory_is_bounded_and_the_loss_is_told_once),
		TEST(a_word_that_takes_no_room_is_never_lost),
	};

	return cmocka_run_group_tests_name("drivers/claim_status", tests, NULL, NULL);
}
