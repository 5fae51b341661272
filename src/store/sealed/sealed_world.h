/*
 * sealed_world - for tests: a sealed store on LMDB in a temporary folder, with its configuration.
 */
#ifndef STORE_SEALED_SEALED_WORLD_H
#define STORE_SEALED_SEALED_WORLD_H

#include "net/tls/seal.h"
#include "store/contract_fixture.h"
#include "store/sealed/store.h"

/* Base64 of 32 times 'a', and so on; and of 16 times 'd'. */
#define SEALED_WORLD_A "YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE="
#define SEALED_WORLD_B "YmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmJiYmI="
#define SEALED_WORLD_D "ZGRkZGRkZGRkZGRkZGRkZA=="

#define SEALED_WORLD_HEAD \
	"apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n"

/* One provider, as an element of a list. */
#define SEALED_WORLD_KEY(provider, name, secret) \
	"{" provider ": {keys: [{name: " name ", secret: " secret "}]}}"
/* A rule: its resources and its providers. */
#define SEALED_WORLD_RULE(resources, providers) \
	"- {resources: [" resources "], providers: [" providers "]}\n"

/* Bytes that a value is longer under the first configuration: prefix, id, and the form gcm. */
enum { SEALED_WORLD_MORE = 21 + 8 + SEAL_GCM_MORE };

struct sealed_world {
	void *place; /* of the inner backend */
	const struct store_contract_backend *inner;
	char file[128];
	struct loop *loop; /* of the store that was opened last; stopped by each report */
	struct store_sealed_opts opts;
	const char *reported; /* the last report */
	struct error why;
};

extern const struct store_contract_backend sealed_world_threaded, sealed_world_inline,
	sealed_world_journal;

/* A location of this inner backend; NULL if it has none. */
struct sealed_world *sealed_world_new(const struct store_contract_backend *inner);
void sealed_world_free(struct sealed_world *w);
int sealed_world_open(void *place, struct loop *l, struct store **ret_store, struct error *err);

static inline struct sealed_world *sealed_world_of(const struct store_contract *c)
{
	return c->place;
}

/* Replaces the configuration. */
void sealed_world_configure(struct sealed_world *w, const char *text);

/* Opens and closes the inner store alone, as a tool would see it; use it with the store closed. */
void sealed_world_bare(struct store_contract *c, struct store_contract *ret_bare);

#endif
