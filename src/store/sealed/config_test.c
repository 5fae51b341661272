/*
 * EncryptionConfiguration: upstream's examples, which rule counts, and the faults that are named.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/tls/seal.h"
#include "store/sealed/config.h"
#include "store/sealed/sealed_world.h"

#define HEAD SEALED_WORLD_HEAD
#define RULE SEALED_WORLD_RULE
#define K1   SEALED_WORLD_KEY("aesgcm", "k1", SEALED_WORLD_A)
#define K2   SEALED_WORLD_KEY("secretbox", "k2", SEALED_WORLD_B)

static void parse(const char *text, struct sealed_config *c)
{
	struct error err = { 0 };

	if (sealed_config_parse(str_from(text), c, &err) < 0)
		fail_msg("%s", err.msg);
}

static void refuse(const char *text, const char *word)
{
	CLEANUP(sealed_config_release) struct sealed_config c;
	struct error err = { 0 };

	assert_int_equal(sealed_config_parse(str_from(text), &c, &err), -ERR_INVALID);
	if (!strstr(err.msg, word))
		fail_msg("\"%s\" is not in: %s", word, err.msg);
	assert_null(strstr(err.msg, "YWFh"));
}

/* The example of upstream's documentation, without aescbc. */
static void upstreams_example_is_read(void **state UNUSED)
{
	static const char text[] =
		"---\n#\n# CAUTION: this is an example configuration.\n#\n"
		"apiVersion: apiserver.config.k8s.io/v1\n"
		"kind: EncryptionConfiguration\n"
		"resources:\n"
		"  - resources:\n"
		"      - secrets\n"
		"      - configmaps\n"
		"      - pandas.awesome.bears.example\n"
		"    providers:\n"
		"      - identity: {} # plain text\n"
		"      - aesgcm:\n"
		"          keys:\n"
		"            - name: key1\n"
		"              secret: c2VjcmV0IGlzIHNlY3VyZQ==\n"
		"            - name: key2\n"
		"              secret: dGhpcyBpcyBwYXNzd29yZA==\n"
		"      - secretbox:\n"
		"          keys:\n"
		"            - name: key1\n"
		"              secret: YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXoxMjM0NTY=\n"
		"  - resources:\n"
		"      - events\n"
		"    providers:\n"
		"      - identity: {}\n"
		"  - resources:\n"
		"      - '*.apps'\n"
		"    providers:\n"
		"      - kms:\n"
		"          apiVersion: v2\n"
		"          name: plugin\n"
		"          endpoint: unix:///var/run/kms.sock\n"
		"  - resources:\n"
		"      - '*.*'\n"
		"    providers:\n"
		"      - aesgcm:\n"
		"          keys:\n"
		"            - name: key3\n"
		"              secret: c2VjcmV0IGlzIHNlY3VyZSwgSSBzYXku\n";
	CLEANUP(sealed_config_release) struct sealed_config c;
	const struct sealed_rule *r;

	parse(text, &c);
	r = sealed_config_rule(&c, STR("core/secrets"));
	assert_int_equal(r->n, 3);
	assert_int_equal(r->providers[0]->kind, SEALED_IDENTITY);
	assert_int_equal(r->providers[1]->kind, SEALED_AESGCM);
	assert_int_equal(r->providers[1]->nkeys, 2);
	assert_true(str_eqz(r->providers[1]->keys[1].name, "key2"));
	assert_true(str_eqz(seal_key_secret(r->providers[1]->keys[0].key), "secret is secure"));
	assert_ptr_equal(sealed_config_rule(&c, STR("awesome.bears.example/pandas"))->providers[0],
			 r->providers[0]);
	assert_int_equal(sealed_config_rule(&c, STR("core/events"))->n, 1);
	r = sealed_config_rule(&c, STR("apps/deployments"));
	assert_int_equal(r->providers[0]->kind, SEALED_KMS);
	assert_int_equal(r->providers[0]->timeout_ms, 3000);
	assert_true(str_eqz(r->providers[0]->endpoint, "unix:///var/run/kms.sock"));
	r = sealed_config_rule(&c, STR("batch/jobs"));
	assert_true(str_eqz(r->providers[0]->keys[0].name, "key3"));
}

static void only_named_resources_have_a_rule(void **state UNUSED)
{
	CLEANUP(sealed_config_release) struct sealed_config c;

	parse(HEAD RULE("secrets, '*.apps'", K1), &c);
	assert_non_null(sealed_config_rule(&c, STR("core/secrets")));
	assert_non_null(sealed_config_rule(&c, STR("apps/deployments")));
	assert_null(sealed_config_rule(&c, STR("core/configmaps")));
	assert_null(sealed_config_rule(&c, STR("example.com/secrets")));
}

static void the_core_group_is_a_dot_without_a_name(void **state UNUSED)
{
	CLEANUP(sealed_config_release) struct sealed_config c;

	parse(HEAD RULE("'*.'", K1), &c);
	assert_non_null(sealed_config_rule(&c, STR("core/pods")));
	assert_null(sealed_config_rule(&c, STR("apps/deployments")));
}

static void a_resource_in_two_lists_has_the_providers_of_both(void **state UNUSED)
{
	CLEANUP(sealed_config_release) struct sealed_config c;
	const struct sealed_rule *r;

	parse(HEAD RULE("secrets", K1) RULE("secrets", K2), &c);
	r = sealed_config_rule(&c, STR("core/secrets"));
	assert_int_equal(r->n, 2);
	assert_int_equal(r->providers[0]->kind, SEALED_AESGCM);
	assert_int_equal(r->providers[1]->kind, SEALED_SECRETBOX);
}

static void faults_are_named(void **state UNUSED)
{
	static const struct {
		const char *text, *word;
	} rows[] = {
		{ "", "EncryptionConfiguration" },
		{ "kind: EncryptionConfiguration\napiVersion: v1\n", "config.k8s.io/v1" },
		{ HEAD, "at least one" },
		{ HEAD RULE("", K1), "resources[0].resources" },
		{ HEAD RULE("secrets", ""), "resources[0].providers" },
		{ HEAD RULE("'*'", K1), "use '*.'" },
		{ HEAD RULE("secrets, secrets", K1), "multiple times" },
		{ HEAD RULE("secrets, '*.'", K1), "masked" },
		{ HEAD RULE("'*.*'", K1) RULE("secrets", K2), "masked" },
		{ HEAD RULE("Secrets", K1), "capital" },
		{ HEAD RULE("'secrets.*'", K1), "across groups" },
		{ HEAD RULE("events.events.k8s.io", K1), "Use 'events'" },
		{ HEAD RULE("ingresses.extensions", K1), "extensions" },
		{ HEAD RULE("serviceipallocations", K1), "REST" },
		{ HEAD RULE("secrets", "{}"), "providers[0]" },
		{ HEAD RULE("secrets", "{magic: {}}"), "magic" },
		{ HEAD RULE("secrets", "{identity: {}, aesgcm: {}}"), "more than one" },
		{ HEAD RULE("secrets", "{aesgcm: {keys: []}}"), "aesgcm.keys" },
		{ HEAD RULE("secrets", SEALED_WORLD_KEY("aesgcm", "''", SEALED_WORLD_A)),
		  "keys[0].name" },
		{ HEAD RULE("secrets", SEALED_WORLD_KEY("aesgcm", "'a:b'", SEALED_WORLD_A)),
		  "':'" },
		{ HEAD RULE("secrets", SEALED_WORLD_KEY("aesgcm", "k", "YWFhYQ==")), "length" },
		{ HEAD RULE("secrets", SEALED_WORLD_KEY("secretbox", "k", SEALED_WORLD_D)),
		  "length" },
		{ HEAD RULE("secrets", SEALED_WORLD_KEY("aesgcm", "k", "'YWFhYQ'")), "base64" },
		{ HEAD RULE("secrets", SEALED_WORLD_KEY("aescbc", "k", SEALED_WORLD_A)),
		  "use aesgcm, secretbox or kms" },
		{ HEAD RULE("secrets", "{kms: {name: a, endpoint: 'unix:///s'}}"), "v2" },
		{ HEAD RULE("secrets", "{kms: {apiVersion: v2, name: a, endpoint: 'tcp://s'}}"),
		  "only unix" },
		{ HEAD RULE("secrets", "{kms: {apiVersion: v2, endpoint: 'unix:///s'}}"), "name" },
		{ HEAD RULE("secrets", "{kms: {apiVersion: v2, name: a, endpoint: 'unix:///s', "
				       "timeout: 0s}}"),
		  "positive" },
		{ HEAD RULE("secrets", "{kms: {apiVersion: v2, name: a, endpoint: 'unix:///s', "
				       "cachesize: 5}}"),
		  "cachesize" },
		{ HEAD "more: 1\n", "more" },
		{ "{", "line" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		refuse(rows[i].text, rows[i].word);
}

static void two_plugins_need_two_names(void **state UNUSED)
{
	refuse(HEAD RULE("secrets", "{kms: {apiVersion: v2, name: a, endpoint: 'unix:///s'}}")
		       RULE("pods", "{kms: {apiVersion: v2, name: a, endpoint: 'unix:///t'}}"),
	       "Duplicate");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(upstreams_example_is_read),
		cmocka_unit_test(only_named_resources_have_a_rule),
		cmocka_unit_test(the_core_group_is_a_dot_without_a_name),
		cmocka_unit_test(a_resource_in_two_lists_has_the_providers_of_both),
		cmocka_unit_test(faults_are_named),
		cmocka_unit_test(two_plugins_need_two_names),
	};

	return cmocka_run_group_tests_name("store/sealed/config", tests, NULL, NULL);
}
