/*
 * config_impl - between the files of config.
 */
#ifndef SCHEDULER_CONFIG_CONFIG_IMPL_H
#define SCHEDULER_CONFIG_CONFIG_IMPL_H

#include "base/report/field_errors.h"
#include "scheduler/config/config.h"

/* Faults of values are gathered, those of the form (unknown fields) end the reading. */
struct config_reader {
	struct config *config;
	struct field_errors faults;
	struct error *err;
	/* As they are written; completed and checked before they are the configuration's. */
	bool leader_elect;
	struct str lease_name, lease_namespace, resource_lock;
	int64_t parallelism;
	int64_t initial_backoff_s, max_backoff_s;
	int64_t lease_duration_ns, renew_deadline_ns, retry_period_ns;
};

/* A field of an object. `to` is where the value goes, as `read` takes it. */
struct config_field {
	const char *name;
	int (*read)(struct config_reader *r, const struct json *v, const struct field_path *path,
		    void *to);
	size_t offset; /* in what the object is read into */
};

/* Reads an object strictly: a field that the table does not have is an error; null is absent. */
int config_object(struct config_reader *r, const struct json *v, const struct field_path *path,
		  const struct config_field *fields, void *to);
/* Each element with `read`, `size` bytes apart, in the arena. */
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
		   void *to); /* known, without effect */

/* profiles: into r->config. */
int config_profiles(struct config_reader *r, const struct json *v, const struct field_path *path,
		    void *to);

/* One profile without any words of its own. */
void config_default_profile(struct arena *a, struct config_profile *p);
/* The profile's sets become the defaults changed by them. */
void config_merge_defaults(struct arena *a, struct config_profile *p);

#endif
