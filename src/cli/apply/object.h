/*
 * apply_object - brings one object to what its manifest says, for apply and diff.
 *
 * On the client's side: what is not there is created; what is there gets the patch of
 * api/patch/diff.h, strategic for kinds that we know, JSON merge for others, none when nothing
 * changed. On the server's side: apply_server.h.
 */
#ifndef CLI_APPLY_OBJECT_H
#define CLI_APPLY_OBJECT_H

#include "base/system/flags.h"
#include "client/api/resource.h"
#include "cli/connect/kube_flags.h"

struct discovery_resource;
struct json;
struct kube;

/* Embed it in the options of a command, whose flags are then these and KUBE_FLAGS() for `kube`. */
struct apply_options {
	struct kube_options kube;
	struct flag_list files;
	const char *manager; /* NULL: by the side */
	const char *subresource; /* or NULL */
	bool server_side, force;
};

/* Who does not write: we, who send nothing then, or the server. */
enum apply_dry { APPLY_DRY_NONE, APPLY_DRY_CLIENT, APPLY_DRY_SERVER };

#define APPLY_FLAGS(type, member)                                                                  \
	{ "filename",                                                                              \
	  'f',                                                                                     \
	  FLAG_REPEAT(type, member.files),                                                         \
	  .arg = "FILE",                                                                           \
	  .help = "a manifest, a folder of them, or - for standard input; may be repeated",        \
	  .required = true },                                                                      \
		{ "server-side", 0, FLAG_BOOL(type, member.server_side),                           \
		  .help = "let the server merge, and remember which fields are ours" },            \
		{ "force-conflicts", 0, FLAG_BOOL(type, member.force),                             \
		  .help = "with --server-side: take fields away from their managers" },            \
		{ "field-manager", 0, FLAG_STRING(type, member.manager), .arg = "NAME",            \
		  .help = "whose fields these are; devplane with --server-side, else "             \
			  "devplane-client-side-apply" },                                          \
	{                                                                                          \
		"subresource", 0, FLAG_STRING(type, member.subresource),                           \
			.choices = "status",                                                       \
			.help = "write this part of objects that exist, as their controller would" \
	}

/* How all objects of a run are applied. */
struct apply {
	struct kube *kube;
	const struct apply_options *options;
	enum apply_dry dry;
	bool want_live; /* applied.live, also where nobody else needs it */
};

/* What came of one of them; memory is the run's. */
struct applied {
	const struct discovery_resource *type;
	struct resource_name name;
	struct json *live; /* what it had before; NULL: nothing, or nobody has looked */
	struct json
		*result; /* what the server has then, or would have; our wish if it is not asked */
	const char *done; /* "created", "configured", "unchanged", "serverside-applied" */
	const char *conflict; /* all that the server said of fields of others in the way; or NULL */
	bool handed; /* what client-side apply set was handed over, or would be */
};

/* Fails when the flags make no sense together. */
int apply_check_options(struct cli *cli, const struct apply_options *o, enum apply_dry dry,
			struct error *err);

/* May change the manifest's tree. A failure that has ret->conflict is about fields of others. */
int apply_object(const struct apply *p, struct json *tree, struct applied *ret, struct error *err);

/* Says how conflicts can be resolved; on the error stream. */
void apply_advise(const struct cli *cli);

#endif
