/*
 * The file of --encryption-provider-config. A configuration that is accepted has a provider for
 * each rule, each with a key or a plugin's socket, and seals a value so that it opens again; a
 * value of another key does not.
 */
#include <stdint.h>

#include "store/sealed/config.h"
#include "store/sealed/value.h"
#include "store/store.h"
#include "target.h"

static const struct store_key place = { STR("core/secrets"), STR("ns"), STR("a") };

static void check_provider(const struct sealed_provider *p)
{
	switch (p->kind) {
	case SEALED_IDENTITY:
		return;
	case SEALED_KMS:
		require(p->name.n > 0 && p->endpoint.n > 0 && p->timeout_ms > 0);
		return;
	default:
		require(p->nkeys > 0);
		for (size_t i = 0; i < p->nkeys; i++)
			require(p->keys[i].name.n > 0 && p->keys[i].key);
	}
}

static void seal_and_open(const struct sealed_rule *rule)
{
	CLEANUP(bytes_unref) struct bytes *sealed = NULL;
	struct sealed_found f;
	uint32_t seal;
	char out[8];

	if (rule->providers[0]->kind == SEALED_KMS) /* there is no plugin */
		return;
	require(sealed_value_make(rule, &place, STR("value"), &sealed, &seal, NULL) == 0);
	require(seal == sealed_rule_seal(rule));
	if (!sealed)
		return;
	require(sealed_value_find(rule, bytes_str(sealed), &f, NULL) == 0 && f.n == 5);
	require(sealed_value_open(&f, &place, out, NULL) == 0 && memcmp(out, "value", 5) == 0);
	require(sealed_value_find(NULL, bytes_str(sealed), &f, NULL) < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(sealed_config_release) struct sealed_config c;

	if (sealed_config_parse(str_of(data, size), &c, NULL) < 0)
		return 0;
	for (size_t i = 0; i < c.nproviders; i++)
		check_provider(c.providers[i]);
	require(c.n > 0);
	for (size_t i = 0; i < c.n; i++) {
		require(c.rules[i].n > 0 && c.rules[i].resource.n > 0);
		seal_and_open(&c.rules[i]);
	}
	(void)sealed_config_rule(&c, place.resource);
	return 0;
}
