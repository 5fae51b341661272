/*
 * cmd_get - `devplane get` between its files: what was asked for, and how it is printed.
 */
#ifndef CLI_CMD_GET_H
#define CLI_CMD_GET_H

#include "cli/object_args.h"
#include "cli/object_table.h"
#include "cli/tabs.h"

struct get_options {
	struct kube_options kube;
	const char *output, *selector, *field_selector;
	struct flag_list label_columns;
	bool all_namespaces, watch, watch_only, no_headers, show_labels, show_kind;
	bool ignore_not_found, managed_fields;
};

enum get_format { GET_TABLE, GET_WIDE, GET_JSON, GET_YAML, GET_NAME, GET_JSONPATH };

struct get {
	struct kube kube;
	struct cli *cli;
	const struct get_options *options;
	enum get_format format;
	struct str path; /* of GET_JSONPATH */
	struct object_args args;
	struct object_table_style style;
	struct tabs_memory memory; /* widths of the table that a watch goes on with */
	bool head_printed;
};

/* How to ask for one argument. */
struct kube_query get_query(const struct get *g, const struct object_arg *arg);

/* Prints one object, or List, in a format that is no table. */
int get_print_object(struct get *g, const struct discovery_resource *type, struct json *object,
		     struct error *err);

/* Appends an object, or the items of a list, to `items`, with apiVersion and kind. */
int get_gather(struct get *g, const struct discovery_resource *type, struct json *object,
	       struct json *items, struct error *err);

/* Prints what the table has; the head only once. */
void get_print_table(struct get *g, const struct json *head, const struct json *table);

/* Watches one argument from this version on, until it is interrupted or fails. */
int get_watch(struct get *g, const struct object_arg *arg, struct str version,
	      const struct json *head, struct error *err);

#endif
