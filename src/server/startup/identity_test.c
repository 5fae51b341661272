/*
 * Names in data folders; Leases in a simulated cluster, where hours pass immediately.
 */
#include "server/startup/identity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/report/log.h"
#include "base/system/file.h"
#include "net/sim/sim.h"
#include "server/core/ensure.h"
#include "server/testing/state_fake.h"
#include "server/testing/state_world.h"
#include "server/testing/verb_world.h"

#define LEASES "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"

enum { RENEW_MS = 600 * 1000, HOUR_MS = 3600 * 1000 };

struct fixture {
	struct verb_world world;
	struct log log;
	FILE *lines;
	struct identity *identity;
	unsigned renewals;
};

static void on_renewed(struct server *s)
{
	struct fixture *f = CONTAINER_OF(s, struct fixture, world.server);

	f->renewals++;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct server *s = &f->world.server;

	verb_world_init(&f->world, 1, HTTP_PROTOCOL_2, false);
	f->lines = tmpfile();
	assert_non_null(f->lines);
	log_init(&f->log, &(struct log_options){ .level = LOG_LEVEL_WARN, .fd = fileno(f->lines) });
	s->opts.log = &f->log;
	s->opts.netcd_servers = 1;
	s->identity = f->identity = identity_new(s);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	identity_stop(f->identity);
	verb_world_release(&f->world);
	identity_free(f->identity);
	log_release(&f->log);
	(void)fclose(f->lines);
	free(f);
	return 0;
}

static bool has_warned(struct fixture *f)
{
	return lseek(fileno(f->lines), 0, SEEK_END) > 0;
}

static const char *path_of(struct fixture *f, struct str name)
{
	return arena_printf(&f->world.arena, LEASES "/%.*s", STR_ARG(name));
}

static const char *renew_time(struct fixture *f)
{
	struct json *lease = verb_world_call(&f->world, "GET",
					     path_of(f, identity_name(f->identity)), NULL, 200);

	return verb_world_text(&f->world, lease, "/spec/renewTime");
}

/* A Lease of another server; `labels` as JSON. */
static void make_lease(struct fixture *f, const char *name, const char *labels, const char *renewed)
{
	verb_world_call(&f->world, "POST", LEASES,
			arena_printf(&f->world.arena,
				     "{\"metadata\":{\"name\":\"%s\",\"labels\":%s},\"spec\":{"
				     "\"holderIdentity\":\"x\",\"leaseDurationSeconds\":3600,"
				     "\"renewTime\":\"%s\"}}",
				     name, labels, renewed),
			201);
}

/* --- leases ------------------------------------------------------------------------------- */

static void a_lease_is_written_and_renewed(void **state)
{
	struct fixture *f = *state;
	const char *first, *second;

	identity_keep(f->identity, on_renewed);
	sim_run_for(f->world.sim, 100);
	first = renew_time(f);
	assert_int_equal(f->renewals, 0);
	sim_run_for(f->world.sim, RENEW_MS);
	second = renew_time(f);
	assert_true(strcmp(first, second) < 0);
	assert_int_equal(f->renewals, 1);
	assert_false(has_warned(f));
}

static void a_failed_renewal_is_reported_and_retried(void **state)
{
	struct fixture *f = *state;

	fake_store_fail(f->world.server.store, 1, ERR_UNAVAILABLE);
	identity_keep(f->identity, on_renewed);
	sim_run_for(f->world.sim, 100);
	assert_true(has_warned(f));
	verb_world_call(&f->world, "GET", path_of(f, identity_name(f->identity)), NULL, 404);
	sim_run_for(f->world.sim, RENEW_MS);
	(void)renew_time(f);
}

static void leases_that_ran_out_long_ago_are_deleted(void **state)
{
	static const char ours[] = "{\"apiserver.kubernetes.io/identity\":\"kube-apiserver\"}";
	struct fixture *f = *state;

	identity_keep(f->identity, on_renewed);
	sim_run_for(f->world.sim, 100);
	make_lease(f, "past", ours, "2020-01-01T00:00:00.000000Z");
	make_lease(f, "now", ours, renew_time(f));
	make_lease(f, "another", "{}", "2020-01-01T00:00:00.000000Z");
	sim_run_for(f->world.sim, RENEW_MS);
	verb_world_call(&f->world, "GET", LEASES "/past", NULL, 404);
	verb_world_call(&f->world, "GET", LEASES "/now", NULL, 200);
	sim_run_for(f->world.sim, HOUR_MS);
	verb_world_call(&f->world, "GET", LEASES "/now", NULL, 200);
	sim_run_for(f->world.sim, HOUR_MS);
	verb_world_call(&f->world, "GET", LEASES "/now", NULL, 404);
	verb_world_call(&f->world, "GET", LEASES "/another", NULL, 200);
	(void)renew_time(f);
}

static void on_looked(void *arg, const struct error *err, bool outrun)
{
	(void)arg;
	(void)outrun;
	assert_null(err);
}

static bool is_gone(struct fixture *f, const char *name)
{
	struct ensure *e = ensure_new(&f->world.server, on_looked, NULL);
	bool gone = identity_is_gone(f->identity, e, str_from(name));

	ensure_end(e);
	return gone;
}

static void gone_is_whose_lease_ran_out_or_is_not_there(void **state)
{
	struct fixture *f = *state;

	identity_keep(f->identity, on_renewed);
	sim_run_for(f->world.sim, 100);
	make_lease(f, "other", "{}", renew_time(f));
	assert_false(is_gone(f, "other"));
	assert_true(is_gone(f, "nobody"));
	sim_run_for(f->world.sim, HOUR_MS + RENEW_MS);
	assert_true(is_gone(f, "other"));
	assert_false(is_gone(f, identity_name(f->identity).p));
	f->world.server.opts.netcd_servers = 0;
	make_lease(f, "live", "{}", renew_time(f));
	assert_true(is_gone(f, "live"));
}

static void the_lease_goes_with_the_server(void **state)
{
	struct fixture *f = *state;

	identity_keep(f->identity, on_renewed);
	sim_run_for(f->world.sim, 100);
	(void)renew_time(f);
	identity_stop(f->identity);
	sim_run_for(f->world.sim, RENEW_MS);
	verb_world_call(&f->world, "GET", path_of(f, identity_name(f->identity)), NULL, 404);
	assert_int_equal(f->renewals, 0);
}

static void a_stopping_server_begins_no_renewal(void **state)
{
	struct fixture *f = *state;

	atomic_store(&f->world.server.stopping, true);
	identity_keep(f->identity, on_renewed);
	atomic_store(&f->world.server.stopping, false);
	sim_run_for(f->world.sim, 2 * RENEW_MS);
	verb_world_call(&f->world, "GET", path_of(f, identity_name(f->identity)), NULL, 404);
	assert_int_equal(f->renewals, 0);
}

/* --- names -------------------------------------------------------------------------------- */

/* The name of a server with this folder; in the world's arena. */
static const char *name_in(struct fixture *f, const char *dir)
{
	struct server s = { .opts = f->world.server.opts };
	struct identity *i;
	const char *name;

	s.opts.data_dir = dir;
	i = identity_new(&s);
	name = arena_printf(&f->world.arena, "%.*s", STR_ARG(identity_name(i)));
	identity_free(i);
	return name;
}

static void a_name_lies_in_its_folder(void **state)
{
	char one[] = "/tmp/identity_test.XXXXXX", two[] = "/tmp/identity_test.XXXXXX";
	struct fixture *f = *state;
	const char *name, *path;

	assert_non_null(mkdtemp(one));
	assert_non_null(mkdtemp(two));
	name = name_in(f, one);
	assert_int_equal(strlen(name), strlen("apiserver-") + 26);
	assert_string_equal(name_in(f, one), name);
	assert_string_not_equal(name_in(f, two), name);
	path = arena_printf(&f->world.arena, "%s/server-id", one);
	assert_int_equal(file_write_atomic(path, STR("damaged"), 0600, NULL), 0);
	assert_string_not_equal(name_in(f, one), name);
	assert_string_equal(name_in(f, one), name_in(f, one));
	assert_false(has_warned(f));
	state_world_remove(one);
	state_world_remove(two);
}

static void a_name_that_cannot_be_kept_is_for_this_run(void **state)
{
	char dir[] = "/tmp/identity_test.XXXXXX";
	struct fixture *f = *state;

	assert_non_null(mkdtemp(dir));
	assert_int_equal(mkdir(arena_printf(&f->world.arena, "%s/server-id", dir), 0700), 0);
	assert_string_not_equal(name_in(f, dir), name_in(f, dir));
	assert_true(has_warned(f));
	state_world_remove(dir);
}

static void without_etcd_all_have_one_name(void **state)
{
	struct fixture *f = *state;

	f->world.server.opts.netcd_servers = 0;
	assert_string_equal(name_in(f, "/nowhere"), name_in(f, "/elsewhere"));
	assert_false(has_warned(f));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_lease_is_written_and_renewed),
		TEST(a_failed_renewal_is_reported_and_retried),
		TEST(leases_that_ran_out_long_ago_are_deleted),
		TEST(gone_is_whose_lease_ran_out_or_is_not_there),
		TEST(the_lease_goes_with_the_server),
		TEST(a_stopping_server_begins_no_renewal),
		TEST(a_name_lies_in_its_folder),
		TEST(a_name_that_cannot_be_kept_is_for_this_run),
		TEST(without_etcd_all_have_one_name),
	};

	return cmocka_run_group_tests_name("server/identity", tests, NULL, NULL);
}
