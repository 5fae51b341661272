/*
 * What is stored: the prefix, and values that are cut or changed anywhere.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/sealed/sealed_world.h"
#include "store/sealed/value.h"

static const struct store_key place = { STR("core/secrets"), STR("ns"), STR("a") };

static void configure(struct sealed_config *c, const char *provider)
{
	struct error err = { 0 };
	char text[512];

	(void)snprintf(text, sizeof(text), SEALED_WORLD_HEAD SEALED_WORLD_RULE("secrets", "%s"),
		       provider);
	if (sealed_config_parse(str_from(text), c, &err) < 0)
		fail_msg("%s", err.msg);
}

static int open_value(const struct sealed_rule *r, struct str value, char *out)
{
	struct sealed_found f;
	int ret = sealed_value_find(r, value, &f, NULL);

	return ret < 0 ? ret : sealed_value_open(&f, &place, out, NULL);
}

/* No byte may be changed or missing, of the prefix neither. */
static void check_changes(const struct sealed_rule *rule, struct bytes *sealed)
{
	char out[64];

	assert_int_equal(open_value(rule, bytes_str(sealed), out), 0);
	assert_memory_equal(out, "value", 5);
	for (size_t i = 0; i < sealed->n; i++) {
		assert_true(open_value(rule, str_of(sealed->data, i), out) < 0);
		sealed->data[i] ^= 1;
		assert_true(open_value(rule, bytes_str(sealed), out) < 0);
		sealed->data[i] ^= 1;
	}
}

static void changed_values_are_refused(void **state UNUSED)
{
	static const char *const providers[] = {
		SEALED_WORLD_KEY("aesgcm", "k1", SEALED_WORLD_D),
		SEALED_WORLD_KEY("secretbox", "k1", SEALED_WORLD_A),
	};

	for (size_t i = 0; i < ARRAY_SIZE(providers); i++) {
		CLEANUP(sealed_config_release) struct sealed_config c;
		CLEANUP(bytes_unref) struct bytes *sealed = NULL;
		const struct sealed_rule *rule;
		uint32_t seal;

		configure(&c, providers[i]);
		rule = sealed_config_rule(&c, place.resource);
		assert_int_equal(
			sealed_value_make(rule, &place, STR("value"), &sealed, &seal, NULL), 0);
		assert_int_equal(seal, sealed_rule_seal(rule));
		assert_true(sealed_value_is(bytes_str(sealed)));
		check_changes(rule, sealed);
	}
}

static void without_a_rule_nothing_is_sealed(void **state UNUSED)
{
	struct bytes *sealed;
	uint32_t seal;

	assert_int_equal(sealed_value_make(NULL, &place, STR("{}"), &sealed, &seal, NULL), 0);
	assert_null(sealed);
	assert_int_equal(seal, 0);
	assert_int_equal(sealed_rule_seal(NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changed_values_are_refused),
		cmocka_unit_test(without_a_rule_nothing_is_sealed),
	};

	return cmocka_run_group_tests_name("store/sealed/value", tests, NULL, NULL);
}
