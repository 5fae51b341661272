/*
 * sealed_kms - one KMS plugin (version 2), behind a unix socket.
 *
 * The plugin never sees values. This server makes a random data key, lets the plugin encrypt it
 * once, and derives a key for each value from it. The encrypted data key is stored with each value.
 * A data key that another server made, or this one before a restart, is decrypted by the plugin
 * once and then kept in memory.
 *
 * Status is polled. If the plugin's key id has changed, a new data key is made, and values under
 * the old key id count as sealed with an old key. If the last good answer is too old, nothing is
 * sealed until the plugin answers again; data keys that are known still open values.
 * Threads: belongs to its loop.
 */
#ifndef STORE_SEALED_KMS_H
#define STORE_SEALED_KMS_H

#include "base/core/error.h"
#include "base/core/str.h"

struct loop;
struct seal_key;
struct sealed_kms;
struct sealed_provider;

struct sealed_kms_opts {
	struct loop *loop;
	/*
	 * A data key has arrived or could not be had, or the plugin's health or key has changed.
	 * The last thing that a callback of the plugin does: it may free the plugin.
	 */
	void (*on_change)(void *arg);
	/* The plugin's health has changed; `err` is NULL if it works again. Or NULL. */
	void (*on_health)(void *arg, struct str name, const struct error *err);
	void *arg;
	/* 0: the defaults. */
	int64_t poll_ms, poll_failing_ms; /* how often Status is asked */
	int64_t grace_ms; /* how old the last good answer may be when a value is sealed */
};

/* A data key. Valid until the next call of a function of the plugin, or turn of the loop. */
struct sealed_dek {
	struct str packed; /* as stored with each value */
	const struct seal_key *key;
	uint32_t seal; /* number of the plugin's key (store/sealed/value.h) */
};

/* `p` is of kind SEALED_KMS; its texts are copied. -ERR_INVALID: not a valid endpoint. */
int sealed_kms_new(const struct sealed_provider *p, const struct sealed_kms_opts *opts,
		   struct sealed_kms **ret_kms, struct error *err);
void sealed_kms_free(struct sealed_kms *k); /* NULL allowed */

/* Whether it was made for an equal provider. */
bool sealed_kms_is_for(const struct sealed_kms *k, const struct sealed_provider *p);

/* Whether the first answer, or failure, has arrived; whether the last one was good. */
bool sealed_kms_settled(const struct sealed_kms *k);
bool sealed_kms_healthy(const struct sealed_kms *k);

struct str sealed_kms_name(const struct sealed_kms *k);

/* The data key that seals now. -ERR_UNAVAILABLE says what is wrong with the plugin. */
int sealed_kms_current(const struct sealed_kms *k, struct sealed_dek *ret_dek, struct error *err);
/* The number of the key that seals now, or would, if the plugin answered; 0: never known. */
uint32_t sealed_kms_seal(const struct sealed_kms *k);

/*
 * Finds a data key. Returns 1 if the plugin must be asked first: it was asked, and on_change will
 * say when to look again. -ERR_UNAVAILABLE: it was asked, and failed; it is asked again a second
 * later at the earliest. -ERR_INTERNAL: `packed` is malformed.
 */
int sealed_kms_find(struct sealed_kms *k, struct str packed, struct sealed_dek *ret_dek,
		    struct error *err);

#endif
