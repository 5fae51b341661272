/*
 * Stored values. Anybody who can write to the store may have made them. A value
 * that this server did not seal does not open: the key is made anew in each process.
 */
#include <stdint.h>

#include "base/core/mem.h"
#include "net/tls/seal.h"
#include "store/sealed/config.h"
#include "store/sealed/value.h"
#include "store/store.h"
#include "target.h"

static const struct store_key place = { STR("core/secrets"), STR("ns"), STR("a") };

/* The names that a value of the corpus has, with keys that nobody has. */
static const struct sealed_rule *make_rule(void)
{
	static struct sealed_key keys[2];
	static struct sealed_provider providers[3] = {
		{ .kind = SEALED_AESGCM, .keys = &keys[0], .nkeys = 1 },
		{ .kind = SEALED_SECRETBOX, .keys = &keys[1], .nkeys = 1 },
		{ .kind = SEALED_IDENTITY },
	};
	static struct sealed_provider *all[] = { &providers[0], &providers[1], &providers[2] };
	static const struct sealed_rule rule = { .providers = all, .n = ARRAY_SIZE(all) };

	for (size_t i = 0; i < ARRAY_SIZE(keys) && !keys[i].key; i++)
		keys[i] = (struct sealed_key){ STR("k1"), seal_key_random() };
	return &rule;
}

static void try_value(const struct sealed_rule *rule, struct str value)
{
	struct sealed_found f;
	char *out;

	if (sealed_value_find(rule, value, &f, NULL) != 0)
		return;
	require(f.n <= value.n);
	out = xmalloc(f.n + 1);
	require(sealed_value_open(&f, &place, out, NULL) < 0 || !f.key);
	require(!f.key == !sealed_value_is(value));
	free(out);
}

/* The same bytes behind a head with the id of our key: only the tag stops them. */
static void try_body(const struct sealed_rule *rule, size_t i, const char *prefix, struct str body)
{
	struct str id = seal_key_id(rule->providers[i]->keys[0].key), head = str_from(prefix);
	char *value = xmalloc(head.n + id.n + body.n + 1);

	(void)str_put(str_put(str_put(value, head), id), body);
	try_value(rule, str_of(value, head.n + id.n + body.n));
	free(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct sealed_rule *rule = make_rule();
	struct str in = str_of(data, size);

	try_value(rule, in);
	try_value(NULL, in);
	try_body(rule, 0, "k8s:enc:aesgcm:v1:k1:", in);
	try_body(rule, 1, "k8s:enc:secretbox:v1:k1:", in);
	return 0;
}
