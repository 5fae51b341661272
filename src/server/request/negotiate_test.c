/*
 * Content types as clients send them.
 */
#include "server/request/negotiate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define ALL_FORMS (ACCEPT_OF_RESOURCES | 1U << ACCEPT_DISCOVERY_V2)

static void clients_get_the_best_that_can_be_served(void **state UNUSED)
{
	static const struct {
		const char *accept;
		enum accept_as as;
		enum accept_format format;
		const char *version;
	} rows[] = {
		{ "", ACCEPT_OBJECT, ACCEPT_JSON, "v1" },
		{ "*/*", ACCEPT_OBJECT, ACCEPT_JSON, NULL },
		{ "*", ACCEPT_OBJECT, ACCEPT_JSON, NULL },
		{ "application/*", ACCEPT_OBJECT, ACCEPT_JSON, NULL },
		{ "application/json", ACCEPT_OBJECT, ACCEPT_JSON, NULL },
		{ "application/json; charset=utf-8", ACCEPT_OBJECT, ACCEPT_JSON, NULL },
		{ "application/yaml", ACCEPT_OBJECT, ACCEPT_YAML, NULL },
		{ "application/json;q=0.5, application/yaml;q=0.9", ACCEPT_OBJECT, ACCEPT_YAML,
		  NULL },
		{ "application/yaml, application/json", ACCEPT_OBJECT, ACCEPT_YAML, NULL },
		{ "*/*, application/yaml", ACCEPT_OBJECT, ACCEPT_YAML, NULL },
		{ "text/html, application/xhtml+xml, */*;q=0.8", ACCEPT_OBJECT, ACCEPT_JSON, NULL },
		/* Go's typed clients, for kinds without protobuf. */
		{ "application/vnd.kubernetes.protobuf,application/json", ACCEPT_OBJECT,
		  ACCEPT_JSON, NULL },
		{ "application/vnd.kubernetes.protobuf, */*", ACCEPT_OBJECT, ACCEPT_JSON, NULL },
		{ "application/json;stream=watch", ACCEPT_OBJECT, ACCEPT_JSON, NULL },
		/* kubectl get. */
		{ "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;"
		  "v=v1beta1;g=meta.k8s.io,application/json",
		  ACCEPT_TABLE, ACCEPT_JSON, "v1" },
		{ "application/json;as=Table;v=v2;g=meta.k8s.io,application/json;as=Table;"
		  "v=v1beta1;g=meta.k8s.io",
		  ACCEPT_TABLE, ACCEPT_JSON, "v1beta1" },
		{ "application/json;as=Tree;v=v1;g=meta.k8s.io,application/json", ACCEPT_OBJECT,
		  ACCEPT_JSON, NULL },
		/* Metadata informers. */
		{ "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;"
		  "v=v1,application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,"
		  "application/json",
		  ACCEPT_PARTIAL_LIST, ACCEPT_PROTOBUF, "v1" },
		{ "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", ACCEPT_PARTIAL,
		  ACCEPT_JSON, "v1" },
		/* Discovery. */
		{ "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
		  "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
		  "application/json",
		  ACCEPT_DISCOVERY_V2, ACCEPT_JSON, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct accept a;
		struct error err = { 0 };

		if (negotiate_accept(ALL_FORMS, str_from(rows[i].accept), STR_NULL, STR_NULL, &a,
				     &err) < 0)
			fail_msg("%s: %s", rows[i].accept, err.msg);
		assert_int_equal(a.as, rows[i].as);
		assert_int_equal(a.format, rows[i].format);
		if (rows[i].version)
			assert_true(str_eqz(a.as_version, rows[i].version));
	}
}

static void media_types_that_are_not_served_are_not_acceptable(void **state UNUSED)
{
	static const char *const rows[] = { "application/vnd.kubernetes.protobuf",
					    "text/plain",
					    "application/json;as=Table;v=v9;g=meta.k8s.io",
					    "application/json;stream=tail",
					    "json",
					    "a/b/c",
					    ",;," };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct accept a;
		struct error err;

		assert_int_equal(negotiate_accept(ALL_FORMS, str_from(rows[i]), STR_NULL, STR_NULL,
						  &a, &err),
				 -ERR_NOT_ACCEPTABLE);
		assert_string_equal(err.msg, "only the following media types are accepted: "
					     "application/json, application/yaml, "
					     "application/vnd.kubernetes.protobuf");
	}
}

static struct accept picked(unsigned forms, const char *accept)
{
	struct accept a = { 0 };
	struct error err = { 0 };

	if (negotiate_accept(forms, str_from(accept), STR_NULL, STR_NULL, &a, &err) < 0)
		fail_msg("%s: %s", accept, err.msg);
	return a;
}

#define PROTOBUF "application/vnd.kubernetes.protobuf"
#define PARTIAL  ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

static void objects_of_kinds_that_have_it_are_protobuf(void **state UNUSED)
{
	static const struct {
		const char *accept;
		enum accept_as as;
		enum accept_format format, failure;
	} rows[] = {
		{ PROTOBUF ",application/json", ACCEPT_OBJECT, ACCEPT_PROTOBUF, ACCEPT_PROTOBUF },
		{ PROTOBUF ", */*", ACCEPT_OBJECT, ACCEPT_PROTOBUF, ACCEPT_PROTOBUF },
		{ PROTOBUF, ACCEPT_OBJECT, ACCEPT_PROTOBUF, ACCEPT_PROTOBUF },
		{ PROTOBUF ";stream=watch", ACCEPT_OBJECT, ACCEPT_PROTOBUF, ACCEPT_PROTOBUF },
		{ "*/*, " PROTOBUF, ACCEPT_OBJECT, ACCEPT_PROTOBUF, ACCEPT_PROTOBUF },
		{ PROTOBUF ";q=0.5,application/json", ACCEPT_OBJECT, ACCEPT_JSON, ACCEPT_JSON },
		{ "*/*", ACCEPT_OBJECT, ACCEPT_JSON, ACCEPT_JSON },
		/* An error is never partial: it has the next clause's format, or JSON. */
		{ PROTOBUF PARTIAL ",application/json" PARTIAL ",application/json", ACCEPT_PARTIAL,
		  ACCEPT_PROTOBUF, ACCEPT_JSON },
		{ PROTOBUF PARTIAL "," PROTOBUF, ACCEPT_PARTIAL, ACCEPT_PROTOBUF, ACCEPT_PROTOBUF },
		{ PROTOBUF PARTIAL, ACCEPT_PARTIAL, ACCEPT_PROTOBUF, ACCEPT_JSON },
		/* There is no Table in protobuf. */
		{ PROTOBUF ";as=Table;g=meta.k8s.io;v=v1,application/json;as=Table;g=meta.k8s.io;"
			   "v=v1",
		  ACCEPT_TABLE, ACCEPT_JSON, ACCEPT_JSON },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct accept a = picked(ACCEPT_OF_RESOURCES | ACCEPT_OBJECT_AS_PROTOBUF,
					 rows[i].accept);

		assert_int_equal(a.as, rows[i].as);
		assert_int_equal(a.format, rows[i].format);
		assert_int_equal(a.failure_format, rows[i].failure);
	}
}

/* As upstream: a custom resource has no protobuf, but its Status and its metadata have. */
static void without_protobuf_metadata_and_failures_still_have_it(void **state UNUSED)
{
	struct accept a = picked(ACCEPT_OF_RESOURCES, PROTOBUF ",application/json");

	assert_int_equal(a.format, ACCEPT_JSON);
	assert_int_equal(a.failure_format, ACCEPT_PROTOBUF);
	a = picked(ACCEPT_OF_RESOURCES, PROTOBUF PARTIAL);
	assert_int_equal(a.format, ACCEPT_PROTOBUF);
	assert_int_equal(
		negotiate_accept(ACCEPT_OF_RESOURCES, STR(PROTOBUF), STR_NULL, STR_NULL, &a, NULL),
		-ERR_NOT_ACCEPTABLE);
	assert_int_equal(a.format, ACCEPT_JSON);
	assert_int_equal(a.failure_format, ACCEPT_PROTOBUF);
}

static void a_place_serves_only_its_forms(void **state UNUSED)
{
	struct str table = STR("application/json;as=Table;v=v1;g=meta.k8s.io,application/json");
	struct accept a;

	assert_int_equal(negotiate_accept(ACCEPT_OF_DISCOVERY, table, STR_NULL, STR_NULL, &a, NULL),
			 0);
	assert_int_equal(a.as, ACCEPT_OBJECT);
}

static void people_get_indented_answers(void **state UNUSED)
{
	struct accept a;

	(void)negotiate_accept(ALL_FORMS, STR(""), STR_NULL, STR("curl/8.1"), &a, NULL);
	assert_true(a.pretty);
	(void)negotiate_accept(ALL_FORMS, STR(""), STR_NULL, STR("kubectl/v1.37"), &a, NULL);
	assert_false(a.pretty);
	(void)negotiate_accept(ALL_FORMS, STR("application/json;pretty=1"), STR_NULL, STR_NULL, &a,
			       NULL);
	assert_true(a.pretty);
}

static void gzip_is_taken_where_it_is_offered(void **state UNUSED)
{
	static const struct {
		const char *encodings;
		bool gzip;
	} rows[] = { { "", false },
		     { "gzip", true },
		     { "deflate, GZIP;q=0.5", true },
		     { "gzip;q=0", false },
		     { "identity", false } };
	struct accept a;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		(void)negotiate_accept(ALL_FORMS, STR(""), str_from(rows[i].encodings), STR_NULL,
				       &a, NULL);
		assert_int_equal(a.gzip, rows[i].gzip);
	}
}

static void bodies_are_json_yaml_or_protobuf(void **state UNUSED)
{
	enum decode_format f = DECODE_YAML;
	struct error err;

	assert_int_equal(negotiate_body(STR(""), &f, NULL), 0);
	assert_int_equal(f, DECODE_JSON);
	assert_int_equal(negotiate_body(STR("application/yaml; charset=utf-8"), &f, NULL), 0);
	assert_int_equal(f, DECODE_YAML);
	assert_int_equal(negotiate_body(STR("application/vnd.kubernetes.protobuf"), &f, NULL), 0);
	assert_int_equal(f, DECODE_PROTOBUF);
	assert_int_equal(negotiate_body(STR("application/cbor"), &f, &err),
			 -ERR_UNSUPPORTED_MEDIA_TYPE);
	assert_string_equal(err.msg, "the body of the request was in an unknown format - accepted "
				     "media types include: application/json, application/yaml, "
				     "application/vnd.kubernetes.protobuf");
}

static void patches_have_four_types(void **state UNUSED)
{
	enum patch_type t;

	assert_int_equal(negotiate_patch(STR("application/json-patch+json"), &t, NULL), 0);
	assert_int_equal(t, PATCH_JSON);
	assert_int_equal(negotiate_patch(STR("application/merge-patch+json;charset=x"), &t, NULL),
			 0);
	assert_int_equal(t, PATCH_MERGE);
	assert_int_equal(negotiate_patch(STR("application/apply-patch+yaml"), &t, NULL), 0);
	assert_int_equal(t, PATCH_APPLY);
	assert_int_equal(negotiate_patch(STR("application/json"), &t, NULL),
			 -ERR_UNSUPPORTED_MEDIA_TYPE);
	assert_int_equal(negotiate_patch(STR(""), &t, NULL), -ERR_UNSUPPORTED_MEDIA_TYPE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clients_get_the_best_that_can_be_served),
		cmocka_unit_test(media_types_that_are_not_served_are_not_acceptable),
		cmocka_unit_test(objects_of_kinds_that_have_it_are_protobuf),
		cmocka_unit_test(without_protobuf_metadata_and_failures_still_have_it),
		cmocka_unit_test(a_place_serves_only_its_forms),
		cmocka_unit_test(people_get_indented_answers),
		cmocka_unit_test(gzip_is_taken_where_it_is_offered),
		cmocka_unit_test(bodies_are_json_yaml_or_protobuf),
		cmocka_unit_test(patches_have_four_types),
	};

	return cmocka_run_group_tests_name("server/negotiate", tests, NULL, NULL);
}
