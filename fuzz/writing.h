/*
 * writing - for fuzz targets: a request to write, always the same but for its kind.
 */
#ifndef FUZZ_WRITING_H
#define FUZZ_WRITING_H

#include "api/write/write.h"

static inline void writing_begin(struct write *w, struct arena *a, const struct schema_kind *kind,
				 const struct gates *gates, struct prng *prng)
{
	*w = (struct write){
		.arena = a,
		.kind = kind,
		.ns = kind->flags & SCHEMA_NAMESPACED ? STR("ns") : STR_NULL,
		.gates = gates,
		.now_ns = INT64_C(1767312000000000000),
		.prng = prng,
		.user_agent = STR("fuzz/1"),
	};
	write_init(w);
}

#endif
