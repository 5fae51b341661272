/*
 * Device health in a pod's status. The first group is the unit test list of KEP-4680, "DRA Manager
 * Logic", line by line. Every status built here is also checked by the API server's validation.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "api/validate/validate.h"
#include "base/core/limits.h"
#include "base/core/vec.h"
#include "node/claims/claims.h"
#include "node/host/machine.h"
#include "node/status/device_status_fixture.h"

#define DRIVER STR("gpu.example.com")
#define WALL   (INT64_C(1700000000) * INT64_C(1000000000))

struct notice {
	char pod[16];
};

struct test {
	struct machine machine;
	struct assign *assign;
	struct health *health;
	struct arena arena;
	struct pod *pod;
	struct device_status_opts opts;
	VEC(struct notice) notices;
};

/* As the agent does on a change: finds the pods that have or had the device. */
static void on_change(void *arg, const struct health_device *now, enum assign_health before UNUSED)
{
	struct test *t = arg;
	const struct str *uids;
	size_t n = assign_pods_of_device(t->assign, now->driver, now->pool, now->device, &t->arena,
					 &uids);

	for (size_t i = 0; i < n; i++) {
		struct notice notice;

		(void)snprintf(notice.pod, sizeof(notice.pod), "%.*s", STR_ARG(uids[i]));
		assert_true(vec_push(&t->notices, notice));
	}
}

static struct pod *parse_pod(const char *text)
{
	struct pod *pod = NULL;
	struct error err;

	if (pod_parse(str_from(text), &pod, &err) < 0)
		fail_msg("%s", err.msg);
	return pod;
}

#define CONTAINER(name, more)                                                    \
	"{\"name\":\"" name "\",\"image\":\"i\",\"imagePullPolicy\":\"Always\"," \
	"\"terminationMessagePath\":\"/x\",\"terminationMessagePolicy\":\"File\"" more "}"
#define CLAIMS(list) ",\"resources\":{\"claims\":[" list "]}"
#define STATUS(name)                                                              \
	"{\"name\":\"" name "\",\"image\":\"i\",\"imageID\":\"\",\"ready\":true," \
	"\"restartCount\":0}"
#define POD(uid, init, main, claims, status)                                                   \
	"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"" uid                \
	"\",\"namespace\":\"default\",\"uid\":\"" uid "\",\"resourceVersion\":\"7\"},"         \
	"\"spec\":{\"nodeName\":\"n\",\"restartPolicy\":\"Always\",\"dnsPolicy\":\"Default\"," \
	"\"initContainers\":[" init "],\"containers\":[" main "],\"resourceClaims\":[" claims  \
	"]},\"status\":{" status "}}"
#define CLAIM(name) "{\"name\":\"" name "\",\"resourceClaimName\":\"" name "-obj\"}"

static void begin(struct test *t, const char *pod)
{
	*t = (struct test){ 0 };
	machine_make(&t->machine, 4, 1 << 30, 1);
	assert_int_equal(
		assign_new(&(struct assign_opts){ .machine = &t->machine }, &t->assign, NULL), 0);
	t->health = health_new(&(struct health_opts){ .on_change = on_change, .arg = t });
	arena_init(&t->arena, 64 * MIB);
	vec_init(&t->notices, 100000);
	t->pod = parse_pod(pod);
	t->opts = (struct device_status_opts){ .assign = t->assign,
					       .health = t->health,
					       .messages = true,
					       .pod_level = true,
					       .wall_ns = WALL };
}

static void end(struct test *t)
{
	pod_unref(t->pod);
	health_free(t->health);
	assign_free(t->assign);
	machine_release(&t->machine);
	arena_release(&t->arena);
	vec_release(&t->notices);
}

struct held {
	const char *name, *request; /* request NULL: none */
};

/* The pod uses a claim with these devices, all of pool "pool". */
static void use_claim(struct test *t, const struct pod *pod, const char *pod_claim, const char *uid,
		      const struct held *v, size_t n)
{
	struct str driver = DRIVER;
	struct assign_claim claim = { .uid = str_from(uid),
				      .ns = pod->ns,
				      .name = str_from(uid),
				      .drivers = &driver,
				      .ndrivers = 1 };
	struct assign_claim_device devices[8];
	struct str requests[8];

	for (size_t i = 0; i < n; i++) {
		requests[i] = str_from(v[i].request);
		devices[i] = (struct assign_claim_device){ .driver = driver,
							   .pool = STR("pool"),
							   .device = str_from(v[i].name),
							   .requests = &requests[i],
							   .nrequests = v[i].request ? 1 : 0 };
	}
	assert_int_equal(assign_claim_use(t->assign, pod, str_from(pod_claim), &claim, NULL), 0);
	assign_claim_set_devices(t->assign, claim.uid, driver, devices, n);
	assign_claim_set_state(t->assign, claim.uid, ASSIGN_CLAIM_PREPARED);
}

static struct plugin_health said(const char *device, enum assign_health health, const char *message)
{
	return (struct plugin_health){ .pool = STR("pool"),
				       .device = str_from(device),
				       .health = health,
				       .message = str_from(message) };
}

/* The whole object with this status must be valid for the API server. */
static void assert_valid(struct test *t, const struct pod *pod, struct json *status)
{
	struct field_errors errs;
	struct gates gates;
	struct validation v = {
		.errs = &errs, .arena = &t->arena, .gates = &gates, .now_ns = WALL
	};
	struct json *object = NULL, *old = NULL, *copy = NULL;

	gates_init(&gates);
	for (size_t i = 0; i < GATE_COUNT; i++)
		gates.on[i] = true;
	field_errors_init(&errs, &t->arena);
	v.kind = schema_find_kind(STR("v1"), STR("Pod"));
	assert_int_equal(json_copy(&t->arena, pod->tree, &old, NULL), 0);
	assert_int_equal(json_copy(&t->arena, pod->tree, &object, NULL), 0);
	assert_int_equal(json_copy(&t->arena, status, &copy, NULL), 0);
	json_setz(object, "status", copy);
	v.old = old;
	v.object = object;
	validate_status_update(&v);
	for (const struct field_error *e = errs.first; e; e = e->next)
		print_error("%.*s: %.*s\n", STR_ARG(e->path), STR_ARG(e->detail));
	assert_int_equal(errs.n, 0);
}

/* Fills a status with these containers, and checks that it is valid. */
static struct json *fill(struct test *t, const struct json *before)
{
	struct json *status = NULL;

	assert_int_equal(json_copy(&t->arena, t->pod->status, &status, NULL), 0);
	device_status_fill(&t->arena, t->pod, &t->opts, status, before);
	assert_valid(t, t->pod, status);
	return status;
}

#define MAIN_STATUS "\"containerStatuses\":[" STATUS("main") "]"

/* --- KEP-4680: DRA Manager Logic ----------------------------------------------------------- */

static const char simple_pod[] = POD("p", "", CONTAINER("main", CLAIMS("{\"name\":\"gpu\"}")),
				     CLAIM("gpu"), MAIN_STATUS);

static void a_health_report_is_processed_into_the_status(void **state UNUSED)
{
	struct plugin_health v[] = { said("d0", ASSIGN_HEALTHY, NULL),
				     said("d1", ASSIGN_UNHEALTHY, "too hot") };
	const struct held held[] = { { "d0", "r" }, { "d1", "r" } };
	struct json *status;
	struct test t;

	begin(&t, simple_pod);
	use_claim(&t, t.pod, "gpu", "c1", held, 2);
	(void)health_report(t.health, DRIVER, v, 2, 0);
	status = fill(&t, NULL);
	assert_string_equal(text_of(&t.arena, container_field(status, "containerStatuses", "main")),
			    "[{\"name\":\"claim:gpu\",\"resources\":["
			    "{\"resourceID\":\"gpu.example.com/pool/d0\",\"health\":\"Healthy\"},"
			    "{\"resourceID\":\"gpu.example.com/pool/d1\",\"health\":\"Unhealthy\","
			    "\"message\":\"too hot\"}]}]");
	/* Recovery, and a device that is left out. */
	v[0] = said("d1", ASSIGN_HEALTHY, NULL);
	(void)health_report(t.health, DRIVER, v, 1, 1);
	status = fill(&t, NULL);
	assert_string_equal(
		text_of(&t.arena, container_field(status, "containerStatuses", "main")),
		"[{\"name\":\"claim:gpu\",\"resources\":["
		"{\"resourceID\":\"gpu.example.com/pool/d0\",\"health\":\"Unknown\"},"
		"{\"resourceID\":\"gpu.example.com/pool/d1\",\"health\":\"Healthy\"}]}]");
	end(&t);
}

static void exactly_the_pods_of_a_device_are_affected(void **state UNUSED)
{
	struct plugin_health v[] = { said("mine", ASSIGN_HEALTHY, NULL),
				     said("shared", ASSIGN_HEALTHY, NULL),
				     said("nobodys", ASSIGN_HEALTHY, NULL) };
	const struct held mine = { "mine", "r" }, shared = { "shared", "r" };
	struct pod *q;
	struct test t;

	begin(&t, POD("p", "", CONTAINER("main", CLAIMS("{\"name\":\"gpu\"}")),
		      CLAIM("gpu") "," CLAIM("both"), MAIN_STATUS));
	q = parse_pod(POD("q", "", CONTAINER("main", ""), CLAIM("both"), MAIN_STATUS));
	use_claim(&t, t.pod, "gpu", "c1", &mine, 1);
	use_claim(&t, t.pod, "both", "c2", &shared, 1);
	use_claim(&t, q, "both", "c2", &shared, 1);
	(void)health_report(t.health, DRIVER, v, 3, 0);
	assert_int_equal(t.notices.n, 3);
	assert_string_equal(t.notices.v[0].pod, "p");
	assert_string_equal(t.notices.v[1].pod, "p");
	assert_string_equal(t.notices.v[2].pod, "q");
	/* A device of the same name in another driver or pool is another device. */
	t.notices.n = 0;
	(void)health_report(t.health, STR("nic.example.com"), v, 3, 0);
	v[0].pool = STR("other");
	v[0].health = ASSIGN_UNHEALTHY;
	v[2] = said("mine", ASSIGN_HEALTHY, NULL);
	(void)health_report(t.health, DRIVER, v, 3, 1);
	assert_int_equal(t.notices.n, 0);
	/* A pod that has ended is still affected, a deleted one is not. */
	v[1].health = ASSIGN_UNHEALTHY;
	(void)assign_claim_unuse(t.assign, STR("c2"), STR("p"));
	(void)assign_claim_unuse(t.assign, STR("c2"), STR("q"));
	assign_claim_forget(t.assign, STR("c2"));
	assign_end_pod(t.assign, STR("p"));
	assign_end_pod(t.assign, STR("q"));
	assign_forget_pod(t.assign, STR("q"));
	(void)health_report(t.health, DRIVER, v, 3, 2);
	assert_int_equal(t.notices.n, 1);
	assert_string_equal(t.notices.v[0].pod, "p");
	pod_unref(q);
	end(&t);
}

enum { MANY = 1000, ROUNDS = 20 };

static void every_change_notifies_however_many_come_at_once(void **state UNUSED)
{
	struct plugin_health v[MANY];
	struct assign_claim_device devices[MANY];
	char names[MANY][8];
	struct str driver = DRIVER;
	struct assign_claim claim = { .uid = STR("c1"),
				      .ns = STR("default"),
				      .name = STR("c1"),
				      .drivers = &driver,
				      .ndrivers = 1 };
	struct test t;

	begin(&t, simple_pod);
	for (size_t i = 0; i < MANY; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "d%zu", i);
		devices[i] = (struct assign_claim_device){ .driver = driver,
							   .pool = STR("pool"),
							   .device = str_from(names[i]) };
	}
	assert_int_equal(assign_claim_use(t.assign, t.pod, STR("gpu"), &claim, NULL), 0);
	assign_claim_set_devices(t.assign, STR("c1"), driver, devices, MANY);
	for (int64_t round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < MANY; i++)
			v[i] = said(names[i], round % 2 ? ASSIGN_HEALTHY : ASSIGN_UNHEALTHY, "m");
		(void)health_report(t.health, driver, v, MANY, round);
	}
	assert_int_equal(t.notices.n, MANY * ROUNDS);
	assert_int_equal(
		json_count(json_getz(
			json_at(container_field(fill(&t, NULL), "containerStatuses", "main"), 0),
			"resources")),
		MANY);
	end(&t);
}

#define SETUP CONTAINER("setup", CLAIMS("{\"name\":\"nic\"}"))
#define SIDECAR                                                      \
	CONTAINER("sidecar", ",\"restartPolicy\":\"Always\"" CLAIMS( \
				     "{\"name\":\"gpu\",\"request\":\"small/first\"}"))
#define MAIN                                                                 \
	CONTAINER("main", CLAIMS("{\"name\":\"gpu\",\"request\":\"big\"},"   \
				 "{\"name\":\"gpu\",\"request\":\"small\"}," \
				 "{\"name\":\"nic\"}"))
#define STATUSES                                                  \
	"\"initContainerStatuses\":[" STATUS("setup") "," STATUS( \
		"sidecar") "],"                                   \
			   "\"containerStatuses\":[" STATUS("main") "," STATUS("plain") "]"

/* Requests, subrequests, several containers, init containers and sidecars. */
static void the_field_is_populated_for_each_container_as_it_names_things(void **state UNUSED)
{
	struct plugin_health v[] = { said("a", ASSIGN_HEALTHY, NULL),
				     said("b", ASSIGN_UNHEALTHY, "bent") };
	const struct held held[] = { { "a", "big" }, { "b", "small" }, { "any", NULL } };
	const struct held nic = { "nic0", "port" };
	struct json *status;
	struct test t;

	begin(&t, POD("p", SETUP "," SIDECAR, MAIN "," CONTAINER("plain", ""),
		      CLAIM("gpu") "," CLAIM("nic"), STATUSES));
	use_claim(&t, t.pod, "gpu", "c1", held, 3);
	use_claim(&t, t.pod, "nic", "c2", &nic, 1);
	(void)health_report(t.health, DRIVER, v, 2, 0);
	status = fill(&t, NULL);
#define H(id, health) "{\"resourceID\":\"gpu.example.com/pool/" id "\",\"health\":\"" health "\"}"
#define BENT                                                                   \
	"{\"resourceID\":\"gpu.example.com/pool/b\",\"health\":\"Unhealthy\"," \
	"\"message\":\"bent\"}"
	assert_string_equal(
		text_of(&t.arena, container_field(status, "containerStatuses", "main")),
		"[{\"name\":\"claim:gpu/big\",\"resources\":[" H("a", "Healthy") "," H(
			"any", "Unknown") "]},"
					  "{\"name\":\"claim:gpu/small\",\"resources\":[" H(
						  "any", "Unknown") "," BENT "]},"
								    "{\"name\":\"claim:"
								    "nic\",\"resources\":[" H(
									    "nic0",
									    "Unknown") "]}]");
	assert_string_equal(
		text_of(&t.arena, container_field(status, "initContainerStatuses", "setup")),
		"[{\"name\":\"claim:nic\",\"resources\":[" H("nic0", "Unknown") "]}]");
	assert_string_equal(
		text_of(&t.arena, container_field(status, "initContainerStatuses", "sidecar")),
		"[{\"name\":\"claim:gpu/small/first\",\"resources\":[" H("any", "Unknown") "," BENT
											   "]}]");
	assert_null(container_field(status, "containerStatuses", "plain"));
	assert_null(json_getz(status, FIELD));
	end(&t);
}

/* --- other fields -------------------------------------------------------------------------- */

static void devices_that_no_container_names_are_the_pods_own(void **state UNUSED)
{
	const struct held a = { "a", "r" }, b = { "b", "r" };
	const struct held two[] = { { "c", "named" }, { "d", "unnamed" } };
	struct json *status;
	struct test t;

	begin(&t, POD("p", "",
		      CONTAINER("main", CLAIMS("{\"name\":\"used\"},"
					       "{\"name\":\"part\",\"request\":\"named\"}")),
		      CLAIM("used") "," CLAIM("loose") "," CLAIM("part"), MAIN_STATUS));
	use_claim(&t, t.pod, "used", "c1", &a, 1);
	use_claim(&t, t.pod, "loose", "c2", &b, 1);
	use_claim(&t, t.pod, "part", "c3", two, 2);
	status = fill(&t, NULL);
	assert_string_equal(
		text_of(&t.arena, json_getz(status, FIELD)),
		"[{\"name\":\"claim:loose\",\"resources\":[" H(
			"b",
			"Unknown") "]},{\"name\":\"claim:part\",\"resources\":[" H("d",
										   "Unknown") "]}"
											      "]");
	/* Not for a server that does not know the field. */
	t.opts.pod_level = false;
	status = fill(&t, NULL);
	assert_null(json_getz(status, FIELD));
	/* A container without a status names its claims nevertheless. */
	t.opts.pod_level = true;
	status = json_make_object(&t.arena);
	device_status_fill(&t.arena, t.pod, &t.opts, status, NULL);
	assert_int_equal(json_count(json_getz(status, FIELD)), 2);
	end(&t);
}

static void a_claim_behind_extended_resources_has_its_own_name(void **state UNUSED)
{
	const struct held held[] = { { "a", "container-0-request-0" }, { "b", "other" } };
	struct json *status;
	struct test t;

	begin(&t,
	      POD("p", "",
		  CONTAINER("main",
			    ",\"resources\":{\"requests\":{\"example.com/gpu\":\"1\"},"
			    "\"limits\":{\"example.com/gpu\":\"1\"}}") "," CONTAINER("other", ""),
		  "",
		  "\"containerStatuses\":[" STATUS("main") "," STATUS(
			  "other") "],\"extendedResourceClaimStatus\":{"
				   "\"resourceClaimName\":\"p-extended-resources-xyz\","
				   "\"requestMappings\":[{\"containerName\":\"main\","
				   "\"resourceName\":\"example.com/gpu\","
				   "\"requestName\":\"container-0-request-0\"}]}"));
	use_claim(&t, t.pod, CLAIMS_EXTENDED, "c1", held, 2);
	status = fill(&t, NULL);
	assert_string_equal(text_of(&t.arena, container_field(status, "containerStatuses", "main")),
			    "[{\"name\":\"claim:p-extended-resources-xyz/container-0-request-0\","
			    "\"resources\":[" H("a", "Unknown") "]}]");
	assert_null(container_field(status, "containerStatuses", "other"));
	assert_null(json_getz(status, FIELD));
	end(&t);
}

static void hold_plugin_devices(struct test *t, const struct assign_device *v, size_t n)
{
	struct assign_admission io = { 0 };
	struct error err;

	assign_set_resource(t->assign, STR("vendor.com/fpga"), v, n);
	if (assign_admit(t->assign, t->pod, &t->arena, &io, &err) < 0)
		fail_msg("%s", err.msg);
}

#define FPGA_POD(uid)                                                                     \
	POD(uid, "",                                                                      \
	    CONTAINER("main", ",\"resources\":{\"requests\":{\"vendor.com/fpga\":\"2\"}," \
			      "\"limits\":{\"vendor.com/fpga\":\"2\"}}"),                 \
	    CLAIM("gpu"), MAIN_STATUS)

static void devices_of_plugins_are_told_with_their_messages(void **state UNUSED)
{
	struct assign_device v[] = { { .id = STR("f1"), .health = ASSIGN_HEALTHY },
				     { .id = STR("f0"), .health = ASSIGN_HEALTHY } };
	struct json *status;
	struct test t;

	begin(&t, FPGA_POD("p"));
	hold_plugin_devices(&t, v, 2);
	v[1].health = ASSIGN_UNHEALTHY;
	v[1].message = STR("lost its bitstream");
	assign_set_resource(t.assign, STR("vendor.com/fpga"), v, 2);
	status = fill(&t, NULL);
	assert_string_equal(text_of(&t.arena, container_field(status, "containerStatuses", "main")),
			    "[{\"name\":\"vendor.com/fpga\",\"resources\":["
			    "{\"resourceID\":\"f0\",\"health\":\"Unhealthy\","
			    "\"message\":\"lost its bitstream\"},"
			    "{\"resourceID\":\"f1\",\"health\":\"Healthy\"}]}]");
	/* Without the gate for messages. */
	t.opts.messages = false;
	status = fill(&t, NULL);
	assert_null(strstr(text_of(&t.arena, status), "bitstream"));
	/* The plugin is gone, and then everything is forgotten: Unknown. */
	for (int i = 0; i < 2; i++) {
		if (i == 0)
			assign_resource_gone(t.assign, STR("vendor.com/fpga"));
		else
			assign_drop_resource(t.assign, STR("vendor.com/fpga"));
		status = fill(&t, NULL);
		assert_string_equal(
			text_of(&t.arena, container_field(status, "containerStatuses", "main")),
			"[{\"name\":\"vendor.com/fpga\",\"resources\":["
			"{\"resourceID\":\"f0\",\"health\":\"Unknown\"},"
			"{\"resourceID\":\"f1\",\"health\":\"Unknown\"}]}]");
	}
	end(&t);
}

static void health_is_told_after_the_pod_has_ended(void **state UNUSED)
{
	struct assign_device v[] = { { .id = STR("f0") }, { .id = STR("f1") } };
	struct plugin_health bad = said("d", ASSIGN_UNHEALTHY, "afterwards");
	const struct held held = { "d", "r" };
	const char *text;
	struct test t;

	begin(&t, FPGA_POD("p"));
	hold_plugin_devices(&t, v, 2);
	use_claim(&t, t.pod, "gpu", "c1", &held, 1);
	(void)assign_claim_unuse(t.assign, STR("c1"), STR("p"));
	assign_claim_forget(t.assign, STR("c1"));
	assign_end_pod(t.assign, STR("p"));
	v[0].health = ASSIGN_UNHEALTHY;
	assign_set_resource(t.assign, STR("vendor.com/fpga"), v, 2);
	(void)health_report(t.health, DRIVER, &bad, 1, 0);
	assert_int_equal(t.notices.n, 1);
	text = text_of(&t.arena, fill(&t, NULL));
	assert_non_null(strstr(text, "\"resourceID\":\"f0\",\"health\":\"Unhealthy\""));
	assert_non_null(strstr(text, "gpu.example.com/pool/d\",\"health\":\"Unhealthy\","
				     "\"message\":\"afterwards\""));
	assign_forget_pod(t.assign, STR("p"));
	assert_null(container_field(fill(&t, NULL), "containerStatuses", "main"));
	end(&t);
}

static void ephemeral_containers_and_pods_without_devices_get_nothing(void **state UNUSED)
{
	const struct held held = { "d", "r" };
	struct json *status;
	struct test t;

	begin(&t, POD("p", "", CONTAINER("main", ""), CLAIM("gpu"),
		      MAIN_STATUS ",\"ephemeralContainerStatuses\":[" STATUS("debug") "]"));
	status = fill(&t, NULL);
	assert_true(json_equal(status, t.pod->status));
	use_claim(&t, t.pod, "gpu", "c1", &held, 1);
	status = fill(&t, NULL);
	assert_null(json_getz(json_at(json_getz(status, "ephemeralContainerStatuses"), 0), FIELD));
	assert_int_equal(json_count(json_getz(status, FIELD)), 1);
	end(&t);
}

static void a_device_in_two_shares_and_a_claim_named_twice_are_told_once(void **state UNUSED)
{
	struct str driver = DRIVER;
	struct assign_claim claim = { .uid = STR("c1"),
				      .ns = STR("default"),
				      .name = STR("c1"),
				      .drivers = &driver,
				      .ndrivers = 1 };
	struct assign_claim_device devices[2];
	struct json *status;
	struct test t;

	begin(&t, POD("p", "", CONTAINER("main", CLAIMS("{\"name\":\"gpu\"},{\"name\":\"other\"}")),
		      CLAIM("gpu") "," CLAIM("other"), MAIN_STATUS));
	for (size_t i = 0; i < 2; i++)
		devices[i] = (struct assign_claim_device){ .driver = driver,
							   .pool = STR("pool"),
							   .device = STR("d"),
							   .share_id = i ? STR("s1") : STR("s0") };
	assert_int_equal(assign_claim_use(t.assign, t.pod, STR("gpu"), &claim, NULL), 0);
	assert_int_equal(assign_claim_use(t.assign, t.pod, STR("other"), &claim, NULL), 0);
	assign_claim_set_devices(t.assign, STR("c1"), driver, devices, 2);
	status = fill(&t, NULL);
	assert_string_equal(text_of(&t.arena, container_field(status, "containerStatuses", "main")),
			    "[{\"name\":\"claim:gpu\",\"resources\":[" H(
				    "d", "Unknown") "]},"
						    "{\"name\":\"claim:other\",\"resources\":[" H(
							    "d", "Unknown") "]}]");
	assert_string_equal(json_text_at(condition(status), "message").p, "gpu.example.com/pool/d");
	end(&t);
}

/* --- the condition ------------------------------------------------------------------------- */

static void assert_condition(struct test *t, const struct json *status, const char *value,
			     const char *reason, const char *message, const char *since)
{
	const struct json *c = condition(status);

	assert_non_null(c);
	assert_string_equal(arena_strdup(&t->arena, json_text_at(c, "status")), value);
	assert_string_equal(arena_strdup(&t->arena, json_text_at(c, "reason")), reason);
	assert_string_equal(arena_strdup(&t->arena, json_text_at(c, "message")), message);
	assert_string_equal(arena_strdup(&t->arena, json_text_at(c, "lastTransitionTime")), since);
}

static void the_condition_follows_the_worst_device_and_keeps_its_time(void **state UNUSED)
{
	struct plugin_health v[] = { said("d0", ASSIGN_HEALTHY, NULL),
				     said("d1", ASSIGN_HEALTHY, NULL) };
	const struct held held[] = { { "d0", "r" }, { "d1", "r" } };
	const char *first = "2023-11-14T22:13:20Z", *later = "2023-11-14T22:13:30Z";
	struct json *status;
	struct test t;

	begin(&t, simple_pod);
	use_claim(&t, t.pod, "gpu", "c1", held, 2);
	status = fill(&t, NULL);
	assert_condition(&t, status, "Unknown", "DeviceHealthUnknown",
			 "gpu.example.com/pool/d0; gpu.example.com/pool/d1", first);
	(void)health_report(t.health, DRIVER, v, 2, 0);
	status = fill(&t, status);
	assert_condition(&t, status, "True", "DevicesHealthy", "", first);
	v[1] = said("d1", ASSIGN_UNHEALTHY, "fell off the bus");
	(void)health_report(t.health, DRIVER, v, 2, 1);
	t.opts.wall_ns += INT64_C(10000000000);
	status = fill(&t, status);
	assert_condition(&t, status, "False", "DeviceUnhealthy",
			 "gpu.example.com/pool/d1: fell off the bus", later);
	/* The same state for longer, with the condition as the API returned it. */
	json_setz(t.pod->status, "conditions", json_getz(status, "conditions"));
	t.opts.wall_ns += INT64_C(10000000000);
	status = fill(&t, t.pod->status);
	assert_condition(&t, status, "False", "DeviceUnhealthy",
			 "gpu.example.com/pool/d1: fell off the bus", later);
	end(&t);
}

static void a_long_message_names_some_and_counts_the_rest(void **state UNUSED)
{
	char message[900], names[6][4];
	struct plugin_health v[6];
	struct held held[6];
	struct str text;
	struct test t;

	memset(message, 'x', sizeof(message) - 1);
	message[sizeof(message) - 1] = '\0';
	begin(&t, simple_pod);
	for (size_t i = 0; i < 6; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "d%zu", i);
		v[i] = said(names[i], ASSIGN_UNHEALTHY, message);
		held[i] = (struct held){ names[i], "r" };
	}
	use_claim(&t, t.pod, "gpu", "c1", held, 6);
	(void)health_report(t.health, DRIVER, v, 6, 0);
	text = json_text_at(condition(fill(&t, NULL)), "message");
	assert_true(str_starts(text, STR("gpu.example.com/pool/d0: xxx")));
	assert_true(str_ends(text, STR("x; and 5 more")));
	end(&t);
}

/* --- differences --------------------------------------------------------------------------- */

static void differences_are_found_once_per_device(void **state UNUSED)
{
	struct plugin_health v[] = { said("a", ASSIGN_HEALTHY, NULL),
				     said("b", ASSIGN_UNHEALTHY, "bad") };
	const struct held held[] = { { "a", "r" }, { "b", "r" } };
	const struct device_status_change *c;
	struct json *one, *two;
	struct test t;

	begin(&t,
	      POD("p", "",
		  CONTAINER("main", CLAIMS("{\"name\":\"gpu\"}")) "," CONTAINER(
			  "too", CLAIMS("{\"name\":\"gpu\",\"request\":\"r\"}")),
		  CLAIM("gpu"), "\"containerStatuses\":[" STATUS("main") "," STATUS("too") "]"));
	use_claim(&t, t.pod, "gpu", "c1", held, 2);
	one = fill(&t, NULL);
	/* Health was never reported: not a change. */
	assert_int_equal(device_status_diff(&t.arena, NULL, one, &c), 0);
	(void)health_report(t.health, DRIVER, v, 2, 0);
	two = fill(&t, one);
	assert_int_equal(device_status_diff(&t.arena, one, two, &c), 2);
	assert_true(str_eqz(c[0].id, "gpu.example.com/pool/a"));
	assert_int_equal(c[0].before, ASSIGN_UNKNOWN);
	assert_int_equal(c[0].now, ASSIGN_HEALTHY);
	assert_true(str_eqz(c[1].resource, "claim:gpu"));
	assert_true(str_eqz(c[1].message, "bad"));
	assert_int_equal(c[1].now, ASSIGN_UNHEALTHY);
	/* New, and Unhealthy. */
	assert_int_equal(device_status_diff(&t.arena, NULL, two, &c), 1);
	assert_int_equal(c[0].now, ASSIGN_UNHEALTHY);
	assert_int_equal(c[0].before, ASSIGN_UNKNOWN);
	assert_int_equal(device_status_diff(&t.arena, two, two, &c), 0);
	v[1].message = STR("worse");
	(void)health_report(t.health, DRIVER, v, 2, 0);
	one = fill(&t, two);
	assert_int_equal(device_status_diff(&t.arena, two, one, &c), 1);
	assert_int_equal(c[0].before, ASSIGN_UNHEALTHY);
	assert_true(str_eqz(c[0].message, "worse"));
	end(&t);
}

static void devices_that_another_agent_assigned_are_shown(void **state UNUSED)
{
	const struct assign_use use = {
		.pod_claim = STR("a"),
		.device = { .driver = DRIVER, .pool = STR("pool"), .device = STR("gpu0") }
	};
	const struct plugin_health report = { .pool = STR("pool"),
					      .device = STR("gpu0"),
					      .health = ASSIGN_UNHEALTHY };
	struct json *status = NULL;
	struct test t;

	begin(&t, POD("u1", "", CONTAINER("main", CLAIMS("{\"name\":\"a\"}")), CLAIM("a"),
		      "\"containerStatuses\":[" STATUS("main") "]"));
	(void)health_report(t.health, DRIVER, &report, 1, 0);
	t.opts.uses = &use;
	t.opts.nuses = 1;
	assert_int_equal(json_copy(&t.arena, t.pod->status, &status, NULL), 0);
	device_status_fill(&t.arena, t.pod, &t.opts, status, NULL);
	assert_string_equal(text_of(&t.arena, container_field(status, "containerStatuses", "main")),
			    "[{\"name\":\"claim:a\",\"resources\":[{\"resourceID\":"
			    "\"gpu.example.com/pool/gpu0\",\"health\":\"Unhealthy\"}]}]");
	assert_true(str_eqz(json_text_at(condition(status), "status"), "False"));
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_health_report_is_processed_into_the_status),
		cmocka_unit_test(exactly_the_pods_of_a_device_are_affected),
		cmocka_unit_test(every_change_notifies_however_many_come_at_once),
		cmocka_unit_test(the_field_is_populated_for_each_container_as_it_names_things),
		cmocka_unit_test(devices_that_no_container_names_are_the_pods_own),
		cmocka_unit_test(a_claim_behind_extended_resources_has_its_own_name),
		cmocka_unit_test(devices_of_plugins_are_told_with_their_messages),
		cmocka_unit_test(health_is_told_after_the_pod_has_ended),
		cmocka_unit_test(ephemeral_containers_and_pods_without_devices_get_nothing),
		cmocka_unit_test(a_device_in_two_shares_and_a_claim_named_twice_are_told_once),
		cmocka_unit_test(the_condition_follows_the_worst_device_and_keeps_its_time),
		cmocka_unit_test(a_long_message_names_some_and_counts_the_rest),
		cmocka_unit_test(differences_are_found_once_per_device),
		cmocka_unit_test(devices_that_another_agent_assigned_are_shown),
	};

	return cmocka_run_group_tests_name("node/device_status", tests, NULL, NULL);
}
