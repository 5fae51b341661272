/*
 * sealed_config - upstream's EncryptionConfiguration: which resources are sealed with which keys.
 *
 * Each resource has a list of providers. The first one seals; all of them may open. Keys are kept
 * in pages of their own (net/tls/seal.h) and are wiped when the configuration is released, and so
 * is the memory in which the file was parsed.
 * Threads: belongs to one.
 */
#ifndef STORE_SEALED_CONFIG_H
#define STORE_SEALED_CONFIG_H

#include "base/core/arena.h"
#include "base/core/error.h"

struct seal_key;
struct sealed_kms;

enum sealed_kind {
	SEALED_IDENTITY, /* stored as it is */
	SEALED_AESGCM,
	SEALED_SECRETBOX,
	SEALED_KMS, /* version 2 */
};

struct sealed_key {
	struct str name;
	struct seal_key *key;
};

struct sealed_provider {
	enum sealed_kind kind;
	struct sealed_key *keys; /* aesgcm, secretbox: the first one seals */
	size_t nkeys;
	/* kms */
	struct str name;
	struct str endpoint; /* "unix:///path" */
	int64_t timeout_ms; /* of one call */
	struct sealed_kms *kms; /* set and owned by the store */
};

/* What the file says of one resource, one group, or all. */
struct sealed_rule {
	struct str resource, group; /* "secrets", ""; "*" for all */
	struct sealed_provider **providers;
	size_t n;
};

struct sealed_config {
	struct arena arena; /* holds everything but the keys */
	struct sealed_rule *rules;
	size_t n;
	struct sealed_provider **providers; /* all of them */
	size_t nproviders;
};

/*
 * Parses the text of a file. Faults are -ERR_INVALID and are named by their fields; secrets are
 * never shown. Release the configuration also after a failure.
 */
int sealed_config_parse(struct str text, struct sealed_config *ret_config, struct error *err);
/* Reads and parses a file. */
int sealed_config_read(const char *path, struct sealed_config *ret_config, struct error *err);
void sealed_config_release(struct sealed_config *c);

/*
 * The rule for a resource of the store ("core/secrets"), or NULL: its values are not sealed. The
 * resource's own rule comes first, then that of its group, then that of all.
 */
const struct sealed_rule *sealed_config_rule(const struct sealed_config *c, struct str resource);

static inline void sealed_config_release_cleanup(struct sealed_config *c)
{
	sealed_config_release(c);
}

#endif
