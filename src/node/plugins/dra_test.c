/*
 * DRA drivers: registration, claims, several instances, and the health stream (KEP-4680) in its
 * three dialects.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/report/metrics.h"
#include "node/plugins/plugins_world.h"

#define DRIVER "gpu.example.com"

enum { V1, ALPHA, NODE };

static const char *const only_dra[] = { "v1.DRAPlugin", NULL };
static const char *const usual[] = { "v1.DRAPlugin", "v1beta1.DRAPlugin", "v1.DRAResourceHealth",
				     "v1alpha1.DRAResourceHealth", NULL };

static int set_up(void **state)
{
	struct plugins_world *w = XNEW(struct plugins_world);

	plugins_world_init(w, 11);
	plugins_world_start(w);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	plugins_world_release(*state);
	free(*state);
	return 0;
}

/* A registered driver; clears the events so far. */
static struct fake_plugin *driver_with(struct plugins_world *w, const char *file, unsigned services,
				       const char *const *versions)
{
	struct fake_plugin *f = fake_driver_new(w, file, DRIVER, services, versions);

	plugins_world_settle(w);
	assert_true(f->registered);
	buf_clear(&w->lines);
	return f;
}

struct answer {
	unsigned n;
	char text[1024];
	enum error_code code;
};

static void on_claims(void *arg, const struct plugin_claim_result *v, size_t n,
		      const struct error *err)
{
	struct answer *a = arg;
	struct buf b = BUF_INIT(sizeof(a->text) - 1);

	a->n++;
	a->code = err ? err->code : ERR_OK;
	if (err) {
		assert_int_equal(n, 0);
		(void)buf_addz(&b, err->msg);
	}
	for (size_t i = 0; i < n; i++) {
		(void)buf_printf(&b, "%.*s", STR_ARG(v[i].uid));
		if (v[i].error.n)
			(void)buf_printf(&b, " error=%.*s", STR_ARG(v[i].error));
		for (size_t k = 0; k < v[i].ndevices; k++)
			(void)buf_printf(
				&b, " %.*s/%.*s/%.*s cdi=%.*s request=%.*s",
				STR_ARG(v[i].devices[k].driver), STR_ARG(v[i].devices[k].pool),
				STR_ARG(v[i].devices[k].device), STR_ARG(v[i].devices[k].cdi[0]),
				STR_ARG(v[i].devices[k].requests[0]));
		(void)buf_addc(&b, ';');
	}
	(void)snprintf(a->text, sizeof(a->text), "%s", b.p ? b.p : "");
	buf_release(&b);
}

static const struct plugin_claim claims[] = {
	{ .ns = { "ns", 2 }, .uid = { "u1", 2 }, .name = { "good", 4 } },
	{ .ns = { "ns", 2 }, .uid = { "u2", 2 }, .name = { "bad", 3 } },
};

/* --- registration and claims --------------------------------------------------------- */

static void a_driver_registers_and_prepares(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = fake_driver_new(w, "gpu-reg.sock", DRIVER, FAKE_DRA, usual);
	struct plugins_driver d;
	struct str at = STR_NULL;
	struct answer a = { 0 };

	plugins_world_settle(w);
	assert_true(f->registered);
	assert_string_equal(f->error, "");
	plugins_world_expect(w, "driver " DRIVER " registered\nno-health " DRIVER "\n");
	assert_true(plugins_has_driver(w->plugins, STR(DRIVER)));

	plugins_prepare(w->plugins, STR(DRIVER), claims, 2, on_claims, &a);
	assert_int_equal(a.n, 0);
	plugins_world_settle(w);
	assert_int_equal(a.n, 1);
	assert_string_equal(a.text, "u1 " DRIVER "/pool/gpu cdi=vendor.com/gpu=0 request=r;"
				    "u2 error=no such device " DRIVER
				    "/pool/gpu cdi=vendor.com/gpu=0 request=r;");
	assert_int_equal(f->calls, 1); /* one batch */
	plugins_unprepare(w->plugins, STR(DRIVER), claims, 2, on_claims, &a);
	plugins_world_settle(w);
	assert_string_equal(a.text, "u1;u2;");

	assert_true(plugins_next_driver(w->plugins, &at, &d));
	assert_true(str_eqz(d.name, DRIVER));
	assert_true(str_eqz(d.endpoint, f->path));
	assert_true(str_eqz(d.service, "v1.DRAPlugin"));
	assert_int_equal(d.health_service.n, 0);
	assert_true(d.connected);
	assert_false(plugins_next_driver(w->plugins, &at, &d));

	fake_plugin_stop(f, true);
	plugins_world_run(w, 2000);
	plugins_world_expect(w, "driver " DRIVER " gone\n");
	assert_false(plugins_has_driver(w->plugins, STR(DRIVER)));
}

static void the_first_version_that_the_driver_names_is_spoken(void **state)
{
	static const char *const old[] = { "v1alpha4", "v1beta1.DRAPlugin", "v1.DRAPlugin", NULL };
	struct plugins_world *w = *state;
	struct answer a = { 0 };

	(void)driver_with(w, "gpu-reg.sock", FAKE_DRA_BETA, old);
	plugins_prepare(w->plugins, STR(DRIVER), claims, 1, on_claims, &a);
	plugins_world_settle(w);
	assert_int_equal(a.code, ERR_OK);
}

static void an_endpoint_may_be_another_socket(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *dra = fake_plugin_new(w, "plugins/gpu/dra.sock", FAKE_DRA);
	struct fake_plugin *f = fake_driver_new(w, "gpu-reg.sock", DRIVER, 0, only_dra);
	struct answer a = { 0 };

	f->endpoint = dra->path;
	plugins_world_settle(w);
	plugins_prepare(w->plugins, STR(DRIVER), claims, 1, on_claims, &a);
	plugins_world_settle(w);
	assert_int_equal(a.code, ERR_OK);
	assert_int_equal(dra->calls, 1);
	/* Its registration socket counts, whatever happens to the other's file. */
	fake_plugin_file(dra, false);
	plugins_world_settle(w);
	assert_true(plugins_has_driver(w->plugins, STR(DRIVER)));
}

static void an_invalid_driver_gets_the_reason(void **state)
{
	static const char *const none[] = { NULL };
	static const char *const odd[] = { "v2.DRAPlugin", "x", NULL };
	struct plugins_world *w = *state;
	struct fake_plugin *a = fake_driver_new(w, "a.sock", DRIVER, FAKE_DRA, none);
	struct fake_plugin *b = fake_driver_new(w, "b.sock", DRIVER, FAKE_DRA, odd);
	struct fake_plugin *c = fake_driver_new(w, "c.sock", "Not_A_Name", FAKE_DRA, only_dra);
	struct fake_plugin *d = fake_driver_new(w, "d.sock", DRIVER, FAKE_DRA, only_dra);
	char text[512];

	d->type = "CSIPlugin";
	plugins_world_settle(w);
	assert_false(a->registered || b->registered || c->registered || d->registered);
	(void)snprintf(
		text, sizeof(text),
		"RegisterPlugin error -- plugin validation failed with err: invalid supported "
		"gRPC versions of DRA driver plugin " DRIVER
		" at endpoint %s: empty list of supported gRPC services (aka supported "
		"versions)",
		a->path);
	assert_string_equal(a->error, text);
	assert_non_null(strstr(b->error, "none of services supported by the plugin "
					 "([\"v2.DRAPlugin\" \"x\"]) are supported by the kubelet "
					 "([\"v1.DRAPlugin\" \"v1beta1.DRAPlugin\"])"));
	assert_non_null(strstr(c->error, "invalid DRA driver name \"Not_A_Name\""));
	(void)snprintf(
		text, sizeof(text),
		"RegisterPlugin error -- no handler registered for plugin type: CSIPlugin at "
		"socket %s",
		d->path);
	assert_string_equal(d->error, text);
	plugins_world_expect(w, "");
}

static void tries_back_off(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = fake_driver_new(w, "a.sock", DRIVER, FAKE_DRA, only_dra);
	unsigned before;

	f->type = "CSIPlugin";
	plugins_world_run(w, 400);
	assert_int_equal(f->infos, 1);
	plugins_world_run(w, 200); /* 0.5 s */
	assert_int_equal(f->infos, 2);
	plugins_world_run(w, 7000); /* 1.5 s, 3.5 s, 7.5 s */
	assert_int_equal(f->infos, 5);
	plugins_world_run(w, 600 * 1000);
	before = f->infos;
	plugins_world_run(w, 1220 * 1000); /* by now every 2 min 2 s */
	assert_in_range(f->infos - before, 9, 10);
	/* A recreated socket starts at once. */
	f->type = "DRAPlugin";
	fake_plugin_file(f, false);
	plugins_world_settle(w);
	fake_plugin_file(f, true);
	plugins_world_settle(w);
	assert_true(f->registered);
}

static void a_driver_that_hangs_does_not_hold_up_others(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = fake_driver_new(w, "a.sock", "hung.example.com", FAKE_DRA,
						only_dra);
	struct fake_plugin *g = fake_driver_new(w, "b.sock", "mute.example.com", FAKE_DRA,
						only_dra);

	f->hang_info = true;
	g->hang_notify = true;
	(void)driver_with(w, "c.sock", FAKE_DRA, only_dra);
	plugins_world_run(w, 1500);
	plugins_world_expect_problem(w, "failed to get plugin info using RPC GetInfo at socket");
	/* Registered until the notification fails. */
	assert_true(plugins_has_driver(w->plugins, STR("mute.example.com")));
	plugins_world_run(w, 3600);
	assert_false(plugins_has_driver(w->plugins, STR("mute.example.com")));
	plugins_world_expect_problem(w, "failed to send registration status at socket");
	f->hang_info = g->hang_notify = false;
	plugins_world_run(w, 15 * 1000);
	assert_true(f->registered);
	assert_true(plugins_has_driver(w->plugins, STR("mute.example.com")));
	assert_true(plugins_has_driver(w->plugins, STR(DRIVER)));
}

static void answers_must_be_those_of_the_question(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = driver_with(w, "a.sock", FAKE_DRA, only_dra);
	struct answer a = { 0 };

	f->skip_claim = true;
	plugins_prepare(w->plugins, STR(DRIVER), claims, 2, on_claims, &a);
	plugins_world_settle(w);
	assert_int_equal(a.code, ERR_PROTOCOL);
	assert_string_equal(a.text, "NodePrepareResources skipped 1 ResourceClaims");
	plugins_unprepare(w->plugins, STR(DRIVER), claims, 2, on_claims, &a);
	plugins_world_settle(w);
	assert_string_equal(a.text, "NodeUnprepareResources skipped 1 ResourceClaims");
	f->skip_claim = false;
	f->add_claim = true;
	plugins_prepare(w->plugins, STR(DRIVER), claims, 2, on_claims, &a);
	plugins_world_settle(w);
	assert_string_equal(a.text,
			    "NodePrepareResources returned result for unknown claim UID nobody");
	plugins_unprepare(w->plugins, STR(DRIVER), claims, 2, on_claims, &a);
	plugins_world_settle(w);
	assert_string_equal(a.text,
			    "NodeUnprepareResources returned result for unknown claim UID nobody");
}

static void calls_have_a_deadline_and_are_counted(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = driver_with(w, "a.sock", FAKE_DRA, only_dra);
	struct buf text = BUF_INIT(MIB);
	struct answer a = { 0 };

	f->hang_calls = true;
	plugins_prepare(w->plugins, STR(DRIVER), claims, 1, on_claims, &a);
	plugins_world_run(w, 44 * 1000);
	assert_int_equal(a.n, 0);
	plugins_world_run(w, 2000);
	assert_int_equal(a.n, 1);
	assert_int_equal(a.code, ERR_TIMEOUT);
	assert_int_equal(metrics_print(w->metrics, &text), 0);
	assert_non_null(strstr(
		text.p,
		"dra_grpc_operations_duration_seconds_count{driver_name=\"" DRIVER
		"\",method_name=\"/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources"
		"\",grpc_status_code=\"DeadlineExceeded\"} 1\n"));
	buf_release(&text);
	plugins_prepare(w->plugins, STR("other.example.com"), claims, 1, on_claims, &a);
	assert_int_equal(a.n, 1);
	plugins_world_settle(w);
	assert_int_equal(a.code, ERR_UNAVAILABLE);
	assert_string_equal(a.text, "DRA driver other.example.com is not registered");
}

static void a_broken_connection_leaves_it_registered(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = driver_with(w, "a.sock", FAKE_DRA, only_dra);
	struct plugins_driver d;
	struct str at = STR_NULL;
	struct answer a = { 0 };

	fake_plugin_stop(f, false);
	plugins_world_run(w, 2000);
	assert_true(plugins_next_driver(w->plugins, &at, &d));
	assert_false(d.connected);
	plugins_prepare(w->plugins, STR(DRIVER), claims, 1, on_claims, &a);
	plugins_world_run(w, 6000);
	assert_int_equal(a.code, ERR_UNAVAILABLE);
	plugins_world_expect(w, "");
}

/* --- instances ----------------------------------------------------------------------- */

static void the_newest_instance_prepares_and_the_older_steps_in(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *old = driver_with(w, "old.sock", FAKE_DRA, only_dra);
	struct fake_plugin *new = driver_with(w, "new.sock", FAKE_DRA, only_dra);
	struct answer a = { 0 };

	plugins_prepare(w->plugins, STR(DRIVER), claims, 1, on_claims, &a);
	plugins_world_settle(w);
	assert_int_equal(old->calls, 0);
	assert_int_equal(new->calls, 1);
	/* The new one is registered but not connected: the older one is used. */
	fake_plugin_stop(new, false);
	plugins_world_run(w, 2000);
	plugins_prepare(w->plugins, STR(DRIVER), claims, 1, on_claims, &a);
	plugins_world_settle(w);
	assert_int_equal(a.code, ERR_OK);
	assert_int_equal(old->calls, 1);
	fake_plugin_file(new, false);
	plugins_world_settle(w);
	plugins_world_expect(w, "no-health " DRIVER "\n");
	fake_plugin_stop(old, true);
	plugins_world_run(w, 2000);
	plugins_world_expect(w, "driver " DRIVER " gone\n");
}

static void an_endpoint_belongs_to_one_instance(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = driver_with(w, "a.sock", FAKE_DRA, only_dra);
	struct fake_plugin *g = fake_driver_new(w, "b.sock", DRIVER, 0, only_dra);
	char text[512];

	g->endpoint = f->path;
	plugins_world_settle(w);
	assert_false(g->registered);
	(void)snprintf(text, sizeof(text),
		       "RegisterPlugin error -- plugin registration failed with err: endpoint %s "
		       "already registered for DRA driver plugin " DRIVER,
		       f->path);
	assert_string_equal(g->error, text);
	/* Its end does not affect the first. */
	fake_plugin_stop(g, true);
	plugins_world_run(w, 2000);
	assert_true(plugins_has_driver(w->plugins, STR(DRIVER)));
	plugins_world_expect(w, "");
}

static void only_the_newest_instance_is_watched(void **state)
{
	struct plugins_world *w = *state;
	unsigned all = FAKE_DRA | FAKE_HEALTH;
	struct fake_plugin *old = driver_with(w, "old.sock", all, usual), *new;

	fake_plugin_send_health(old, V1, "p/d:Healthy");
	plugins_world_settle(w);
	plugins_world_expect(w, "health " DRIVER " p/d:Healthy\n");
	new = driver_with(w, "new.sock", all, usual);
	assert_null(old->health[V1]);
	fake_plugin_send_health(new, V1, "p/d:Unhealthy|hot");
	plugins_world_settle(w);
	plugins_world_expect(w, "health " DRIVER " p/d:Unhealthy/hot\n");
	/*
	 * The old one goes: there is no event, and the new one's stream continues
	 * (kubernetes#140818).
	 */
	fake_plugin_stop(old, true);
	plugins_world_run(w, 2000);
	plugins_world_expect(w, "");
	assert_int_equal(new->health_opens[V1], 1);
	assert_non_null(new->health[V1]);
	fake_plugin_stop(new, true);
	plugins_world_run(w, 2000);
	plugins_world_expect(w, "driver " DRIVER " gone\n");
}

static void when_the_newest_goes_the_one_before_is_watched(void **state)
{
	struct plugins_world *w = *state;
	unsigned all = FAKE_DRA | FAKE_HEALTH;
	struct fake_plugin *old = driver_with(w, "old.sock", all, usual);
	struct fake_plugin *new = driver_with(w, "new.sock", all, usual);

	fake_plugin_stop(new, true);
	plugins_world_run(w, 2000);
	plugins_world_expect(w, "");
	assert_int_equal(old->health_opens[V1], 2);
	fake_plugin_send_health(old, V1, "p/d:Healthy");
	plugins_world_settle(w);
	plugins_world_expect(w, "health " DRIVER " p/d:Healthy\n");
}

static void a_socket_made_anew_registers_anew(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = driver_with(w, "a.sock", FAKE_DRA | FAKE_HEALTH, usual);

	fake_plugin_renew_file(f);
	plugins_world_settle(w);
	plugins_world_expect(w, "driver " DRIVER " gone\ndriver " DRIVER " registered\n");
	assert_int_equal(f->notifies, 2);
	assert_int_equal(f->health_opens[V1], 2);
}

/* --- health -------------------------------------------------------------------------- */

static void the_best_dialect_that_is_advertised_is_spoken(void **state)
{
	static const struct {
		const char *versions[4];
		unsigned dialect;
	} rows[] = {
		{ { "v1.DRAPlugin", "v1alpha1.NodeHealth", "v1.DRAResourceHealth" }, V1 },
		{ { "v1.DRAPlugin", "v1alpha1.NodeHealth", "v1alpha1.DRAResourceHealth" }, ALPHA },
		{ { "v1.DRAPlugin", "v1alpha1.NodeHealth" }, NODE },
	};
	struct plugins_world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		unsigned all = FAKE_DRA | FAKE_HEALTH | FAKE_HEALTH_ALPHA | FAKE_NODE_HEALTH;
		char file[16];
		struct fake_plugin *f;

		(void)snprintf(file, sizeof(file), "%zu.sock", i);
		f = driver_with(w, file, all, rows[i].versions);
		for (unsigned k = V1; k <= NODE; k++)
			assert_int_equal(f->health_opens[k], k == rows[i].dialect);
		fake_plugin_send_health(f, rows[i].dialect,
					"p/a:Healthy p/b:Unhealthy|hot p/c:Odd");
		plugins_world_settle(w);
		plugins_world_expect(w, "health " DRIVER
					" p/a:Healthy p/b:Unhealthy/hot p/c:Unknown\n");
	}
}

static void a_driver_that_advertises_no_health_is_asked_once_for_each(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = driver_with(w, "a.sock", FAKE_DRA | FAKE_NODE_HEALTH, only_dra);

	assert_int_equal(f->health_opens[NODE], 1);
	fake_plugin_send_health(f, NODE, "p/d:Healthy");
	plugins_world_settle(w);
	plugins_world_expect(w, "health " DRIVER " p/d:Healthy\n");
}

static void unimplemented_ends_it_until_the_driver_registers_again(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = fake_driver_new(w, "a.sock", DRIVER,
						FAKE_DRA | FAKE_HEALTH | FAKE_HEALTH_ALPHA, usual);

	f->fail_health = GRPC_UNIMPLEMENTED;
	plugins_world_settle(w);
	plugins_world_expect(w, "driver " DRIVER " registered\nno-health " DRIVER "\n");
	plugins_world_run(w, 3600 * 1000);
	assert_int_equal(f->health_opens[V1], 1);
	assert_int_equal(f->health_opens[ALPHA], 1);
	plugins_world_expect(w, "");
	f->fail_health = GRPC_OK;
	fake_plugin_file(f, false);
	plugins_world_settle(w);
	fake_plugin_file(f, true);
	plugins_world_settle(w);
	assert_int_equal(f->health_opens[V1], 2);
	fake_plugin_send_health(f, V1, "p/d:Healthy");
	plugins_world_settle(w);
	plugins_world_expect(w, "driver " DRIVER " gone\ndriver " DRIVER " registered\n"
				"health " DRIVER " p/d:Healthy\n");
}

static void a_stream_that_breaks_is_opened_again_gently(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = driver_with(w, "a.sock", FAKE_DRA | FAKE_HEALTH, usual);
	unsigned opens;

	fake_plugin_send_health(f, V1, "p/d:Healthy");
	plugins_world_settle(w);
	f->fail_health = GRPC_INTERNAL;
	(void)grpc_call_finish(f->health[V1], GRPC_OK, STR_NULL);
	plugins_world_run(w, 1200);
	assert_int_equal(f->health_opens[V1], 2);
	plugins_world_expect_problem(w, "the health stream has ended and is opened again: EOF");
	plugins_world_run(w, 100 * 1000); /* every 4 to 5 s in the end */
	opens = f->health_opens[V1];
	assert_in_range(opens, 20, 28);
	/* Reported once, not each time; and known health stays. */
	assert_int_equal(w->problems.n, 0);
	plugins_world_expect(w, "health " DRIVER " p/d:Healthy\n");
	f->fail_health = GRPC_OK;
	plugins_world_run(w, 6000);
	fake_plugin_send_health(f, V1, "p/d:Unhealthy");
	plugins_world_settle(w);
	plugins_world_expect(w, "health " DRIVER " p/d:Unhealthy\n");
	/* After a report the delay is one second again. */
	opens = f->health_opens[V1];
	(void)grpc_call_finish(f->health[V1], GRPC_UNAVAILABLE, STR("later"));
	plugins_world_run(w, 1200);
	assert_int_equal(f->health_opens[V1], opens + 1);
}

static void garbage_on_the_health_stream_is_told_and_tried_again(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = driver_with(w, "a.sock", FAKE_DRA | FAKE_HEALTH, usual);

	fake_plugin_send_garbage(f->health[V1]);
	plugins_world_settle(w);
	plugins_world_expect_problem(w, "failed to unmarshal message");
	plugins_world_run(w, 2000);
	fake_plugin_send_health(f, V1, "p/d:Healthy");
	plugins_world_settle(w);
	plugins_world_expect(w, "health " DRIVER " p/d:Healthy\n");
}

static void a_stream_follows_its_driver_over_a_broken_connection(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = driver_with(w, "a.sock", FAKE_DRA | FAKE_HEALTH, usual);

	fake_plugin_send_health(f, V1, "p/d:Healthy");
	plugins_world_settle(w);
	assert_true(sim_break_conns(w->sim, 1) > 0);
	plugins_world_run(w, 10 * 1000);
	assert_int_equal(f->health_opens[V1], 2);
	fake_plugin_send_health(f, V1, "p/d:Unhealthy");
	plugins_world_settle(w);
	plugins_world_expect(w, "health " DRIVER " p/d:Healthy\nhealth " DRIVER " p/d:Unhealthy\n");
}

static void without_the_gate_nobody_is_asked_for_health(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f;

	plugins_world_stop(w);
	w->opts.watch_health = false;
	plugins_world_start(w);
	f = driver_with(w, "a.sock", FAKE_DRA | FAKE_HEALTH, usual);
	plugins_world_run(w, 60 * 1000);
	assert_int_equal(f->health_opens[V1], 0);
	plugins_world_expect(w, "");
}

/* --- the registry folder ------------------------------------------------------------- */

static void sockets_that_are_there_already_register_the_oldest_first(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *a, *b;
	struct answer answer = { 0 };

	plugins_world_stop(w);
	a = fake_driver_new(w, "z-old.sock", DRIVER, FAKE_DRA, only_dra);
	b = fake_driver_new(w, "deep/er/a-new.sock", DRIVER, FAKE_DRA, only_dra);
	plugins_world_start(w);
	assert_true(a->registered && b->registered);
	plugins_prepare(w->plugins, STR(DRIVER), claims, 1, on_claims, &answer);
	plugins_world_settle(w);
	assert_int_equal(a->calls + b->calls, 1);
}

static void hidden_names_are_not_looked_at(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = fake_driver_new(w, ".a.sock", DRIVER, FAKE_DRA, only_dra);
	struct fake_plugin *g = fake_driver_new(w, ".b/a.sock", DRIVER, FAKE_DRA, only_dra);

	plugins_world_run(w, 60 * 1000);
	assert_int_equal(f->infos + g->infos, 0);
}

static void a_socket_that_goes_while_it_registers_is_let_go(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = fake_driver_new(w, "a.sock", DRIVER, FAKE_DRA, only_dra);
	struct fake_plugin *g = fake_plugin_new(w, "plugins_registry/b.sock",
						FAKE_DEVICE | FAKE_REGISTRATION);

	f->hang_notify = true;
	g->type = "DevicePlugin";
	g->name = "example.com/gpu";
	g->versions[0] = "v1beta1";
	g->hang_options = true;
	plugins_world_settle(w);
	assert_int_equal(g->options, 1);
	fake_plugin_file(f, false);
	fake_plugin_file(g, false);
	plugins_world_settle(w);
	plugins_world_expect(w, "driver " DRIVER " registered\nno-health " DRIVER "\n"
				"driver " DRIVER " gone\n");
	plugins_world_run(w, 600 * 1000);
	assert_int_equal(f->infos + g->infos, 2);
}

static void everything_may_be_freed_from_an_event(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = driver_with(w, "a.sock", FAKE_DRA | FAKE_HEALTH, usual);
	struct answer a = { 0 };

	f->hang_calls = true;
	plugins_prepare(w->plugins, STR(DRIVER), claims, 1, on_claims, &a);
	plugins_prepare(w->plugins, STR("other"), claims, 1, on_claims, &a);
	w->free_at_event = true;
	(void)fake_driver_new(w, "b.sock", "other.example.com", FAKE_DRA, only_dra);
	plugins_world_run(w, 3000);
	assert_null(w->plugins);
	assert_int_equal(a.n, 1); /* the one that failed before */
	plugins_world_expect(w, "driver other.example.com registered\n");
}

static void everything_may_be_freed_from_a_report(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = driver_with(w, "a.sock", FAKE_DRA | FAKE_HEALTH, usual);

	w->free_at_event = true;
	fake_plugin_send_health(f, V1, "p/d:Healthy");
	fake_plugin_send_health(f, V1, "p/d:Unhealthy");
	plugins_world_run(w, 3000);
	assert_null(w->plugins);
	plugins_world_expect(w, "health " DRIVER " p/d:Healthy\n");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_driver_registers_and_prepares),
		TEST(the_first_version_that_the_driver_names_is_spoken),
		TEST(an_endpoint_may_be_another_socket),
		TEST(an_invalid_driver_gets_the_reason),
		TEST(tries_back_off),
		TEST(a_driver_that_hangs_does_not_hold_up_others),
		TEST(answers_must_be_those_of_the_question),
		TEST(calls_have_a_deadline_and_are_counted),
		TEST(a_broken_connection_leaves_it_registered),
		TEST(the_newest_instance_prepares_and_the_older_steps_in),
		TEST(an_endpoint_belongs_to_one_instance),
		TEST(only_the_newest_instance_is_watched),
		TEST(when_the_newest_goes_the_one_before_is_watched),
		TEST(a_socket_made_anew_registers_anew),
		TEST(the_best_dialect_that_is_advertised_is_spoken),
		TEST(a_driver_that_advertises_no_health_is_asked_once_for_each),
		TEST(unimplemented_ends_it_until_the_driver_registers_again),
		TEST(a_stream_that_breaks_is_opened_again_gently),
		TEST(garbage_on_the_health_stream_is_told_and_tried_again),
		TEST(a_stream_follows_its_driver_over_a_broken_connection),
		TEST(without_the_gate_nobody_is_asked_for_health),
		TEST(sockets_that_are_there_already_register_the_oldest_first),
		TEST(hidden_names_are_not_looked_at),
		TEST(a_socket_that_goes_while_it_registers_is_let_go),
		TEST(everything_may_be_freed_from_an_event),
		TEST(everything_may_be_freed_from_a_report),
	};

	return cmocka_run_group_tests_name("node/plugins_dra", tests, NULL, NULL);
}
