/*
 * backend - the functions that a backend provides; for store.c and the backends only.
 */
#ifndef STORE_BACKEND_H
#define STORE_BACKEND_H

#include "store/store.h"

/* One function for each function of store.h, with the same contract. */
struct store_ops {
	void (*close)(struct store *s, void (*closed)(void *arg), void *arg);
	void (*write)(struct store *s, struct store_write *w);
	int (*health)(struct store *s, struct error *err);
	void (*range)(struct store *s, const struct store_range *range, struct arena *arena,
		      void (*done)(void *arg, const struct store_range_result *result,
				   const struct error *err),
		      void *arg);
	void (*current)(struct store *s,
			void (*done)(void *arg, int64_t revision, const struct error *err),
			void *arg);
	void (*follow)(struct store *s, int64_t revision, const struct store_feed *feed);
	int (*history)(struct store *s, struct str resource, int64_t revision, size_t max_bytes,
		       struct arena *arena, struct store_past *ret_past, struct error *err);
	void (*compact)(struct store *s, int64_t revision,
			void (*done)(void *arg, const struct error *err), void *arg);
	int64_t (*compacted)(const struct store *s);
	struct str (*cluster_id)(const struct store *s);
	/* NULL: values are not sealed. */
	void (*note_seal)(struct store *s, struct str resource, atomic_uint *seal);
};

/* The first member of each backend's own struct. */
struct store {
	const struct store_ops *ops;
	struct loop *loop;
	size_t pending;
	bool local; /* returned by store_is_local(); set by the backend */
};

#endif
