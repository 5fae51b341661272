/*
 * apply_object - makes one object match its manifest, for apply and diff.
 *
 * Client-side apply creates a missing object. An existing one gets the patch of api/patch/diff.h:
 * a strategic patch for built-in kinds, a JSON merge patch for others, and no patch if nothing
 * changed. Server-side apply is in apply/server.h.
 */
#ifndef CLI_APPLY_OBJECT_H
#define CLI_APPLY_OBJECT_H

#include "base/system/flags.h"
#include "cli/connect/kube_flags.h"
#include "client/api/resource.h"

struct discovery_resource;
struct json;
struct kube;

/*
 * Embed it in a command's options. The command's flags are then these and KUBE_FLAGS() for `kube`.
 */
struct apply_options {
	struct kube_options kube;
	struct flag_list files;
	const char *manager; /* NULL: the default of client-side or server-side apply */
	const char *subresource; /* or NULL */
	bool server_side, force;
};

/* The side that discards the write: the client, which then sends nothing, or the server. */
enum apply_dry { APPLY_DRY_NONE, APPLY_DRY_CLIENT, APPLY_DRY_SERVER };

#define APPLY_FLAGS(type, member)                                                               \
	{ "filename",                                                                           \
	  'f',                                                                                  \
	  FLAG_REPEAT(type, member.files),                                                      \
	  .arg = "FILE",                                                                        \
	  .help = "a manifest, a folder of them, or - for standard input; may be repeated",     \
	  .required = true },                                                                   \
		{ "server-side", 0, FLAG_BOOL(type, member.server_side),                        \
		  .help = "merge on the server, which records the fields that you manage" },    \
		{ "force-conflicts", 0, FLAG_BOOL(type, member.force),                          \
		  .help = "with --server-side: take over fields that other managers set" },     \
		{ "field-manager", 0, FLAG_STRING(type, member.manager), .arg = "NAME",         \
		  .help = "name to manage the fields under; devplane with --server-side, else " \
			  "devplane-client-side-apply" },                                       \
	{                                                                                       \
		"subresource", 0, FLAG_STRING(type, member.subresource),                        \
			.choices = "status",                                                    \
			.help = "write only this subresource of existing objects, as a "        \
				"controller would"                                              \
	}

/* The settings for all objects of a run. */
struct apply {
	struct kube *kube;
	const struct apply_options *options;
	enum apply_dry dry;
	bool want_live; /* always fill applied.live */
};

/* The result for one object; memory is the run's. */
struct applied {
	const struct discovery_resource *type;
	struct resource_name name;
	struct json *live; /* the object before; NULL: it did not exist, or was not read */
	/* The object the server has then, or would have; the desired one if it was not asked. */
	struct json *result;
	const char *done; /* "created", "configured", "unchanged", "serverside-applied" */
	/* The server's full message if other managers own the fields; or NULL. */
	const char *conflict;
	bool handed; /* fields of client-side apply were handed over, or would be */
};

/* Fails if the flags contradict each other. */
int apply_check_options(struct cli *cli, const struct apply_options *o, enum apply_dry dry,
			struct error *err);

/* May change the manifest's tree. If it fails with ret->conflict set, other managers own fields. */
int apply_object(const struct apply *p, struct json *tree, struct applied *ret, struct error *err);

/* Prints on stderr how conflicts can be resolved. */
void apply_advise(const struct cli *cli);

#endif
