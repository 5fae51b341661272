/*
 * Discovery in both forms, whole and in part.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/api/discovery.h"
#include "client/testing/api_world.h"

#define AGGREGATED       "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
#define ASSERT_STR(s, z) assert_true(str_eqz(s, z))

/* The server's reply to a path; the content type selects the form. */
struct page {
	const char *path, *content_type, *body;
	int status;
};

struct test {
	struct api_world w;
	struct discovery *d;
	const struct page *pages;
	unsigned done;
	struct error err;
};

static void handle(struct api_world *w, struct http_stream *s, struct str body UNUSED)
{
	struct test *t = w->data;

	for (const struct page *p = t->pages; p->path; p++)
		if (str_eqz(s->in.path, p->path)) {
			api_world_reply(s, p->status ? p->status : 200, p->content_type, p->body);
			return;
		}
	api_world_reply(s, 404, "text/plain", "no such page");
}

static void on_done(void *arg, const struct error *err)
{
	struct test *t = arg;

	t->done++;
	t->err = err ? *err : (struct error){ 0 };
}

static bool is_done(void *arg)
{
	return ((struct test *)arg)->done > 0;
}

static void refresh(struct test *t, const struct page *pages)
{
	t->pages = pages;
	t->done = 0;
	discovery_refresh(t->d, on_done, t);
	assert_int_equal(t->done, 0);
	assert_true(sim_run_until(t->w.sim, is_done, t, 60 * 1000));
	assert_int_equal(t->done, 1);
}

static void begin(struct test *t)
{
	*t = (struct test){ 0 };
	api_world_init(&t->w, &(struct sim_opts){ .seed = 1 }, HTTP_PROTOCOL_2);
	t->w.handler = handle;
	t->w.data = t;
	t->d = discovery_open(t->w.client);
}

static void end(struct test *t)
{
	discovery_close(t->d);
	api_world_release(&t->w);
}

static const struct page aggregated[] = {
	{ "/api", AGGREGATED,
	  "{\"items\":[{\"metadata\":{},\"versions\":[{\"version\":\"v1\",\"freshness\":"
	  "\"Current\",\"resources\":["
	  "{\"resource\":\"pods\",\"responseKind\":{\"group\":\"\",\"version\":\"v1\",\"kind\":"
	  "\"Pod\"},\"scope\":"
	  "\"Namespaced\",\"singularResource\":\"pod\",\"verbs\":[\"get\",\"list\",\"watch\","
	  "\"proxy\"],"
	  "\"shortNames\":[\"po\"],\"categories\":[\"all\",\"x\"],\"subresources\":[{"
	  "\"subresource\":\"status\"},"
	  "{\"subresource\":\"log\"}]},{\"resource\":\"odd\"}]}]}]}",
	  0 },
	{ "/apis", AGGREGATED,
	  "{\"items\":[{\"metadata\":{\"name\":\"g\"},\"versions\":[{\"version\":\"v2\","
	  "\"resources\":[{\"resource\":"
	  "\"as\",\"responseKind\":{\"kind\":\"A\"},\"scope\":\"Cluster\",\"verbs\":[\"delete\"]}]}"
	  ","
	  "{\"version\":\"v1\",\"freshness\":\"Stale\",\"resources\":[{\"resource\":\"as\","
	  "\"responseKind\":"
	  "{\"kind\":\"A\"},\"scope\":\"Cluster\"},{\"resource\":\"bs\",\"responseKind\":{\"kind\":"
	  "\"B\"},"
	  "\"scope\":\"Cluster\"}]}]}]}",
	  0 },
	{ 0 },
};

static void the_aggregated_form_takes_two_requests(void **state UNUSED)
{
	const struct discovery_resource *r;
	struct test t;
	size_t n;

	begin(&t);
	refresh(&t, aggregated);
	assert_int_equal(t.err.code, ERR_OK);
	assert_int_equal(t.w.other, 2);
	(void)discovery_resources(t.d, &n);
	assert_int_equal(n, 4);
	r = discovery_find(t.d, STR(""), STR("v1"), STR("pods"));
	assert_non_null(r);
	ASSERT_STR(r->resource.kind, "Pod");
	assert_true(r->resource.namespaced);
	assert_int_equal(r->verbs, DISCOVERY_GET | DISCOVERY_LIST | DISCOVERY_WATCH);
	ASSERT_STR(r->short_names, "po");
	ASSERT_STR(r->categories, "all,x");
	ASSERT_STR(r->subresources, "status,log");
	ASSERT_STR(discovery_find(t.d, STR("g"), STR(""), STR("as"))->resource.version, "v2");
	ASSERT_STR(discovery_find(t.d, STR("g"), STR(""), STR("bs"))->resource.version, "v1");
	assert_false(discovery_find(t.d, STR("g"), STR("v1"), STR("as"))->preferred);
	ASSERT_STR(discovery_find_kind(t.d, STR("g/v1"), STR("B"))->resource.resource, "bs");
	ASSERT_STR(discovery_find_kind(t.d, STR("v1"), STR("Pod"))->resource.resource, "pods");
	assert_null(discovery_find_kind(t.d, STR("v1"), STR("A")));
	assert_null(discovery_find(t.d, STR("g"), STR("v3"), STR("as")));
	assert_true(discovery_incomplete(t.d));
	end(&t);
}

static const struct page legacy[] = {
	{ "/api", "application/json", "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"]}", 0 },
	{ "/apis", "application/json",
	  "{\"groups\":[{\"name\":\"g\",\"versions\":[{\"groupVersion\":\"g/"
	  "v2\",\"version\":\"v2\"},"
	  "{\"groupVersion\":\"g/v1\",\"version\":\"v1\"}]}]}",
	  0 },
	{ "/api/v1", "application/json",
	  "{\"groupVersion\":\"v1\",\"resources\":[{\"name\":\"pods/"
	  "status\",\"kind\":\"Pod\"},{\"name\":\"pods\","
	  "\"singularName\":\"pod\",\"namespaced\":true,\"kind\":\"Pod\",\"verbs\":[\"create\"],"
	  "\"shortNames\":[\"po\"]}]}",
	  0 },
	{ "/apis/g/v2", "application/json",
	  "{\"resources\":[{\"name\":\"as\",\"namespaced\":false,\"kind\":\"A\",\"verbs\":[]}]}",
	  0 },
	{ "/apis/g/v1", "application/json", "unavailable", 503 },
	{ 0 },
};

static void older_servers_are_asked_for_each_version(void **state UNUSED)
{
	const struct discovery_resource *r;
	struct test t;
	size_t n;

	begin(&t);
	refresh(&t, legacy);
	assert_int_equal(t.err.code, ERR_OK);
	(void)discovery_resources(t.d, &n);
	assert_int_equal(n, 2);
	r = discovery_find(t.d, STR(""), STR("v1"), STR("pods"));
	assert_non_null(r);
	ASSERT_STR(r->subresources, "status");
	assert_int_equal(r->verbs, DISCOVERY_CREATE);
	assert_true(r->resource.namespaced);
	assert_true(discovery_incomplete(t.d));
	end(&t);
}

static void a_failed_refresh_leaves_what_is_known(void **state UNUSED)
{
	static const struct page broken[] = { { "/api", AGGREGATED, "{\"items\":[]}", 0 },
					      { "/apis", "application/json", "no", 403 },
					      { 0 } };
	static const struct page nonsense[] = { { "/api", AGGREGATED, "{", 0 }, { 0 } };
	static const struct page no_core[] = { { "/apis", AGGREGATED, "{\"items\":[]}", 0 },
					       { 0 } };
	struct test t;
	size_t n;

	begin(&t);
	refresh(&t, aggregated);
	refresh(&t, broken);
	assert_int_equal(t.err.code, ERR_FORBIDDEN);
	refresh(&t, nonsense);
	assert_int_equal(t.err.code, ERR_PROTOCOL);
	assert_non_null(discovery_find(t.d, STR(""), STR("v1"), STR("pods")));
	refresh(&t, no_core);
	assert_int_equal(t.err.code, ERR_OK);
	(void)discovery_resources(t.d, &n);
	assert_int_equal(n, 0);
	assert_false(discovery_incomplete(t.d));
	end(&t);
}

static void it_may_be_freed_while_it_asks(void **state UNUSED)
{
	struct test t;

	begin(&t);
	t.pages = aggregated;
	discovery_refresh(t.d, on_done, &t);
	sim_run_for(t.w.sim, 1);
	discovery_close(t.d);
	t.d = NULL;
	sim_run_for(t.w.sim, 1000);
	assert_int_equal(t.done, 0);
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_aggregated_form_takes_two_requests),
		cmocka_unit_test(older_servers_are_asked_for_each_version),
		cmocka_unit_test(a_failed_refresh_leaves_what_is_known),
		cmocka_unit_test(it_may_be_freed_while_it_asks),
	};

	return cmocka_run_group_tests_name("client/discovery", tests, NULL, NULL);
}
