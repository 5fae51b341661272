/*
 * volume_payload - the files of a volume: from ConfigMaps, Secrets, pod fields, tokens. Pure.
 *
 * Takes trees and builds a list. Later files replace earlier ones of the same path, as projected
 * volumes require.
 */
#ifndef NODE_VOLUMES_PAYLOAD_H
#define NODE_VOLUMES_PAYLOAD_H

#include "base/core/map.h"
#include "base/core/vec.h"
#include "node/sources/env.h"

struct volume_file {
	struct str path; /* relative, clean */
	struct str data;
	unsigned mode;
	int64_t user; /* -1: ours */
};

struct volume_payload {
	VEC(struct volume_file *) files; /* in the arena */
	struct map by_path;
	struct arena *arena;
	size_t bytes;
};

void volume_payload_init(struct volume_payload *p, struct arena *a);
void volume_payload_release(struct volume_payload *p);

/*
 * Returns -ERR_INVALID with upstream's message for a path that leaves the volume, or is reserved
 * ("..x"). Borrows everything.
 */
int volume_payload_add(struct volume_payload *p, const struct volume_file *f, struct error *err);

/* The context for building a pod's volumes. */
struct volume_context {
	const struct pod *pod;
	const struct env_context *env;
	int64_t fs_group, fs_user; /* -1: none */
	/* The token of a serviceAccountToken source; returns the error of the token request. */
	int (*token)(void *arg, const struct json *source, struct str *ret_token,
		     struct error *err);
	void *arg;
};

/* A volume (of spec.volumes) with configMap, secret, downwardAPI or projected. */
int volume_payload_make(const struct volume_context *c, const struct json *volume,
			struct volume_payload *p, struct error *err);

#endif
