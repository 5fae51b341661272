/*
 * get - the parts of `devplane get`: the options of a run, how to query, and how to print.
 */
#ifndef CLI_GET_GET_H
#define CLI_GET_GET_H

#include "cli/connect/object_args.h"
#include "cli/output/object_table.h"
#include "cli/output/tabs.h"

struct claim_sight;
struct custom_columns;
struct device_counts;
struct device_newest;
struct device_view;
struct jsonpath;
struct jsonpath_template;

struct get_options {
	struct kube_options kube;
	const char *output, *selector, *field_selector, *sort_by;
	struct flag_list label_columns;
	bool all_namespaces, watch, watch_only, no_headers, show_labels, show_kind;
	bool ignore_not_found, managed_fields;
	const char *driver, *node, *state; /* of `get devices` */
	bool unhealthy;
	struct flag_list feature_gates;
};

enum get_format {
	GET_TABLE,
	GET_WIDE,
	GET_JSON,
	GET_YAML,
	GET_NAME,
	GET_JSONPATH,
	GET_COLUMNS,
};

struct get {
	struct kube kube;
	struct cli *cli;
	const struct get_options *options;
	enum get_format format;
	const struct jsonpath_template *template; /* for GET_JSONPATH */
	const struct custom_columns *columns; /* for GET_COLUMNS */
	const struct jsonpath *sort; /* of --sort-by; or NULL */
	struct object_args args;
	struct object_table_style style;
	struct tabs_memory memory; /* column widths, which a watch continues */
	bool head_printed;
	bool hidden; /* the availability of devices is hidden */
	struct device_newest *newest; /* generations of pools, for a watch of slices */
	struct claim_sight *sight; /* which claims may be named */
};

static inline bool get_is_table(const struct get *g)
{
	return g->format == GET_TABLE || g->format == GET_WIDE;
}

/* Reads --output and --sort-by: get/format.c. */
int get_read_format(struct get *g, struct error *err);

/* Sorts the rows of a table, or the items of a list, if --sort-by is given. */
int get_sort(const struct get *g, struct json *tree, struct error *err);

/* The query for one argument. */
struct kube_query get_query(const struct get *g, const struct object_arg *arg);

/* Prints one object, or List, in a format other than a table. */
int get_print_object(struct get *g, const struct discovery_resource *type, struct json *object,
		     struct error *err);

/* Appends an object, or the items of a list, to `items`, with apiVersion and kind. */
int get_gather(struct get *g, const struct discovery_resource *type, struct json *object,
	       struct json *items, struct error *err);

/* Prints the table's rows; the head only once. */
void get_print_table(struct get *g, const struct json *head, const struct json *table);

/* Watches one argument from this version on, until interrupted or failed. */
int get_watch(struct get *g, const struct object_arg *arg, struct str version,
	      const struct json *head, struct error *err);

/* --- devices: get/slices.c ------------------------------------------------------------------- */

struct pool_args;

struct get_column {
	const char *name;
	bool wide; /* only with -o wide */
};

/* A Table, a row of it (returns its cells), and cells. `object` is shared; it may be NULL. */
struct json *get_make_table(struct arena *a, const struct get_column *columns, size_t n);
struct json *get_make_row(struct arena *a, struct json *table, const struct json *object);
void get_add_cell(struct arena *a, struct json *cells, struct str text);
void get_add_count(struct arena *a, struct json *cells, bool known, size_t n);
/*
 * Cells in the order of device_counts_at(). A number that may be too low, because some are
 * unknown, is "3+".
 */
void get_add_counts(struct arena *a, struct json *cells, const struct device_counts *c);

/* Whether we make the type's tables instead of the server: true for ResourceSlices. */
bool get_is_slices(const struct discovery_resource *type);
int get_slices(struct get *g, const struct object_arg *arg, struct json **ret_table,
	       struct error *err);
/* Removes the status of a slice, or of a list of slices, if the gate is off. */
void get_hide(const struct get *g, const struct discovery_resource *type, struct json *tree);
/* The Table for a slice in an event of a watch. */
struct json *get_slice_event(struct get *g, struct arena *a, struct json *slice);

/* Prints on stderr where availability comes from, if the user should know. */
void get_say_note(const struct get *g, const struct device_view *v);

/* get/pools.c: `devplane get resourcepools`. */
int get_pools(struct get *g, const struct pool_args *args, struct error *err);

/* get/devices.c: `devplane get devices`; the arguments are names of pools. */
int get_devices(struct get *g, const struct pool_args *args, struct error *err);

#endif
