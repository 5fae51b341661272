/*
 * sealed_value - values as they are stored: `k8s:enc:PROVIDER:VERSION:NAME:` and the sealed bytes.
 *
 *   aesgcm v1     id of the key (8), then net/tls/seal.h's form gcm
 *   secretbox v1  id of the key (8), then its form box
 *   kms v2        length of the packed data key (4, big-endian), the data key, then the form gcm
 *
 * The prefixes are upstream's, so that people know a sealed value when they see one; the bytes
 * after them are not. The id tells a wrong key from damage. The context of a sealed value is the
 * key of the store (resource, namespace and name), so values cannot be swapped.
 */
#ifndef STORE_SEALED_VALUE_H
#define STORE_SEALED_VALUE_H

#include "base/core/bytes.h"
#include "base/core/error.h"
#include "store/sealed/config.h"

struct store_key;

/* How a value can be opened: all members point into the value and into the keys. */
struct sealed_found {
	enum sealed_kind kind;
	const struct seal_key *key; /* NULL: it is not sealed */
	struct str body;
	size_t n; /* bytes of the opened value */
	uint32_t seal; /* number of the key; 0: not sealed */
};

/*
 * A number for a key: equal keys have equal numbers, in every process. Other keys have other ones
 * (but for one in 2^32). Never 0. `id` is the id of the key, or that of a plugin's key.
 */
uint32_t sealed_number(enum sealed_kind kind, struct str name, struct str id);

/*
 * The number of the key that seals values of this rule now. 0: they are not sealed;
 * STORE_SEAL_UNKNOWN: the KMS plugin has not answered yet.
 */
uint32_t sealed_rule_seal(const struct sealed_rule *rule);

/*
 * Seals. `rule` may be NULL: then, and with the provider identity, *ret_sealed is NULL.
 * -ERR_UNAVAILABLE: the KMS plugin does not answer.
 */
int sealed_value_make(const struct sealed_rule *rule, const struct store_key *key, struct str clear,
		      struct bytes **ret_sealed, uint32_t *ret_seal, struct error *err);

/*
 * Finds the key of a value. Returns 1 if a KMS plugin was asked for it: look again later.
 * -ERR_INVALID: the configuration does not have it, and the error names it. -ERR_INTERNAL: the
 * value is damaged. -ERR_UNAVAILABLE: the KMS plugin does not answer.
 */
int sealed_value_find(const struct sealed_rule *rule, struct str value,
		      struct sealed_found *ret_found, struct error *err);

/* Opens into room for found->n bytes. -ERR_INTERNAL: the value is damaged, or of another key. */
int sealed_value_open(const struct sealed_found *found, const struct store_key *key, char *out,
		      struct error *err);

/* Whether a value has a prefix of a sealed one. */
bool sealed_value_is(struct str value);

#endif
