/*
 * config_impl - private to the files of config.
 */
#ifndef SCHEDULER_CONFIG_CONFIG_IMPL_H
#define SCHEDULER_CONFIG_CONFIG_IMPL_H

#include "base/report/field_errors.h"
#include "scheduler/config/config.h"

/* Invalid values are collected; structural errors (unknown fields) end the reading at once. */
struct config_reader {
	struct config *config;
	struct field_errors faults;
	struct error *err;
	/* Values as written. They are defaulted and checked before they go to the configuration. */
	bool leader_elect;
	struct str lease_name, lease_namespace, resource_lock;
	int64_t parallelism;
	int64_t initial_backoff_s, max_backoff_s;
	int64_t lease_duration_ns, renew_deadline_ns, retry_period_ns;
};

/* A field of an object. `to` points to the destination; `read` defines its type. */
struct config_field {
	const char *name;
	int (*read)(struct config_reader *r, const struct json *v, const struct field_path *path,
		    void *to);
	size_t offset; /* of the destination, in the struct that the object is read into */
};

/* Reads an object strictly: a field that is not in the table is an error; null counts as absent. */
int config_object(struct config_reader *r, const struct json *v, const struct field_path *path,
		  const struct config_field *fields, void *to);
/* Reads each element with `read` into an array with elements of `size` bytes, in the arena. */
int config_array(struct config_reader *r, const struct json *v, const struct field_path *path,
		 const struct config_field *element, size_t size, void **ret_array, size_t *ret_n);

/* Scalars. */
int config_text(struct config_reader *r, const struct json *v, const struct field_path *path,
		void *to); /* struct str */
int config_bool(struct config_reader *r, const struct json *v, const struct field_path *path,
		void *to); /* bool */
int config_i32(struct config_reader *r, const struct json *v, const struct field_path *path,
	       void *to); /* int32_t */
int config_i64(struct config_reader *r, const struct json *v, const struct field_path *path,
	       void *to); /* int64_t */
int config_f64(struct config_reader *r, const struct json *v, const struct field_path *path,
	       void *to); /* double */
int config_duration(struct config_reader *r, const struct json *v, const struct field_path *path,
		    void *to); /* int64_t, ns */
int config_ignored(struct config_reader *r, const struct json *v, const struct field_path *path,
		   void *to); /* accepted without effect */

/* Reads `profiles` into r->config. */
int config_profiles(struct config_reader *r, const struct json *v, const struct field_path *path,
		    void *to);

/* Sets the profile that is used if the file lists none. */
void config_default_profile(struct arena *a, struct config_profile *p);
/* Merges the profile's sets with upstream's defaults. */
void config_merge_defaults(struct arena *a, struct config_profile *p);

#endif
