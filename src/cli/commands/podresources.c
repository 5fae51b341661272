/*
 * `devplane podresources`: lists which pods hold which devices, CPUs and memory of this node, from
 * the PodResources socket. `list` and `allocatable` are here; `watch` is in podresources_watch.c.
 */
#include "cli/commands/commands.h"
#include "cli/output/output.h"
#include "cli/output/tabs.h"
#include "cli/podresources/caller.h"
#include "cli/podresources/json.h"
#include "cli/podresources/print.h"
#include "node/book/methods.h"

struct ask_options {
	struct podres_options socket;
	const char *output, *ns;
	bool all_namespaces, all, no_headers;
};

#define OUTPUT_FLAG                                                                          \
	{                                                                                    \
		"output", 'o', FLAG_STRING(struct ask_options, output),                      \
			.choices = "table|wide|json|yaml", .initial = "table",               \
			.help = "output format: wide adds columns; json and yaml print the " \
				"message"                                                    \
	}
#define HEADERS_FLAG                                                        \
	{                                                                   \
		"no-headers", 0, FLAG_BOOL(struct ask_options, no_headers), \
			.help = "do not print column headers"               \
	}

static const struct flag list_flags[] = {
	OUTPUT_FLAG,
	{ "namespace", 'n', FLAG_STRING(struct ask_options, ns), .arg = "NAME",
	  .help = "only pods of this namespace; for a POD, the default is \"default\"" },
	{ "all-namespaces", 'A', FLAG_BOOL(struct ask_options, all_namespaces),
	  .help = "show all namespaces, which is the default" },
	{ "all", 'a', FLAG_BOOL(struct ask_options, all),
	  .help = "also show containers that hold nothing" },
	HEADERS_FLAG,
	PODRES_FLAGS(struct ask_options, socket),
	{ NULL },
};

static const struct flag allocatable_flags[] = {
	OUTPUT_FLAG,
	HEADERS_FLAG,
	PODRES_FLAGS(struct ask_options, socket),
	{ NULL },
};

/* --- printing ----------------------------------------------------------------------------- */

static bool is_table(const struct ask_options *o)
{
	return strcmp(o->output, "table") == 0 || strcmp(o->output, "wide") == 0;
}

static int podresources_print_tree(struct cli *cli, const ProtobufCMessage *m, struct error *err)
{
	const struct ask_options *o = cli->options;

	return output_tree(cli, o->output, podres_json(&cli->arena, m), err);
}

static void podresources_print_table(struct cli *cli, const struct buf *text)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(PODRES_TEXT_MAX);
	const struct ask_options *o = cli->options;
	struct str lines;

	tabs_align(&out, buf_str(text), TABS_TABLE);
	lines = buf_str(&out);
	if (o->no_headers)
		lines = str_skip(lines, (size_t)str_chr(lines, '\n') + 1);
	output_table(cli, lines, !o->no_headers);
}

static struct podres_print_style style_of(const struct cli *cli)
{
	const struct ask_options *o = cli->options;

	return (struct podres_print_style){ .wide = strcmp(o->output, "wide") == 0,
					    .empty = o->all,
					    .colour = cli->out_colour };
}

static void say_nothing_held(const struct cli *cli, size_t pods)
{
	const struct ask_options *o = cli->options;

	if (pods == 0)
		(void)fprintf(cli->err, "No pods%s%s.\n", o->ns ? " in namespace " : "",
			      o->ns ? o->ns : "");
	else
		(void)fprintf(cli->err,
			      "%zu pod%s, but no container holds anything; --all shows them.\n",
			      pods, pods == 1 ? "" : "s");
}

/* --- list --------------------------------------------------------------------------------- */

static int show_pods(struct cli *cli, Podresources__PodResources *const *v, size_t n,
		     const struct podres_print_style *style)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(PODRES_TEXT_MAX);

	if (podres_print_pods(&text, v, n, style) > 0)
		podresources_print_table(cli, &text);
	else
		say_nothing_held(cli, n);
	return 0;
}

static int list_all(struct podres_caller *c, struct error *err)
{
	const struct ask_options *o = c->cli->options;
	Podresources__ListRequest request = PODRESOURCES__LIST_REQUEST__INIT;
	struct podres_print_style style = style_of(c->cli);
	Podresources__ListResponse some;
	const void *reply;
	int r = podres_caller_ask(c, &podres_method_list, &request.base, &reply, err);

	if (r < 0)
		return r;
	some = *(const Podresources__ListResponse *)reply;
	some.pod_resources = ARENA_ARRAY(&c->cli->arena, Podresources__PodResources *,
					 some.n_pod_resources + 1);
	some.n_pod_resources = 0;
	for (size_t i = 0; i < ((const Podresources__ListResponse *)reply)->n_pod_resources; i++) {
		Podresources__PodResources *pod =
			((const Podresources__ListResponse *)reply)->pod_resources[i];

		if (!o->ns || strcmp(pod->namespace_, o->ns) == 0)
			some.pod_resources[some.n_pod_resources++] = pod;
	}
	if (!is_table(o))
		return podresources_print_tree(c->cli, &some.base, err);
	return show_pods(c->cli, some.pod_resources, some.n_pod_resources, &style);
}

static int list_one(struct podres_caller *c, struct error *err)
{
	const struct ask_options *o = c->cli->options;
	Podresources__GetRequest request = PODRESOURCES__GET_REQUEST__INIT;
	struct podres_print_style style = style_of(c->cli);
	const Podresources__GetResponse *answer;
	const void *reply;
	int r;

	request.pod_name = (char *)c->cli->operands.v[0];
	request.pod_namespace = (char *)(o->ns ? o->ns : "default");
	r = podres_caller_ask(c, &podres_method_get, &request.base, &reply, err);
	if (r == -ERR_NOT_FOUND)
		return error_set(err, ERR_NOT_FOUND,
				 "this node has no pod \"%s\" in namespace \"%s\"; use -n NAME for "
				 "another namespace",
				 request.pod_name, request.pod_namespace);
	if (r < 0)
		return r;
	answer = reply;
	if (!is_table(o))
		return podresources_print_tree(c->cli, &answer->base, err);
	style.empty = true;
	return show_pods(c->cli, &answer->pod_resources, answer->pod_resources ? 1 : 0, &style);
}

static int run_list(struct cli *cli, struct error *err)
{
	const struct ask_options *o = cli->options;
	struct podres_caller c = { 0 };
	bool named = cli->operands.n > 0;
	int r;

	if (o->all_namespaces && (o->ns || named))
		return cli_bad_usage(cli, err,
				     named ? "a name is looked up in one namespace: leave out -A"
					   : "-n and -A exclude each other");
	r = podres_caller_open(&c, cli, &o->socket, false, err);
	if (r == 0)
		r = named ? list_one(&c, err) : list_all(&c, err);
	podres_caller_close(&c);
	return r;
}

static const struct command list_row = {
	.name = "list",
	.summary = "show the devices, CPUs and memory of this node's pods",
	.usage = "[POD] [FLAGS]",
	.about = "Prints a row for each container that holds something: devices of device plugins, "
		 "devices of claims as DRIVER/POOL/DEVICE, exclusive CPUs, memory. json and yaml "
		 "print the message in protobuf's JSON mapping, where 64-bit integers are strings.",
	.examples = "devplane podresources list\n"
		    "devplane podresources list train-0 -n ml -o wide\n"
		    "devplane podresources list -o json | jq '.podResources[].name'\n"
		    "devplane podresources list --root-dir d/n1",
	.flags = list_flags,
	.options_size = sizeof(struct ask_options),
	.operands_max = 1,
	.run = run_list,
};

/* --- allocatable -------------------------------------------------------------------------- */

static int show_allocatable(struct podres_caller *c, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(PODRES_TEXT_MAX);
	Podresources__AllocatableRequest request = PODRESOURCES__ALLOCATABLE_REQUEST__INIT;
	struct podres_print_style style = style_of(c->cli);
	const Podresources__AllocatableResponse *answer;
	const void *reply;
	int r = podres_caller_ask(c, &podres_method_allocatable, &request.base, &reply, err);

	if (r < 0)
		return r;
	answer = reply;
	if (!is_table(c->cli->options))
		return podresources_print_tree(c->cli, &answer->base, err);
	if (podres_print_allocatable(&text, answer, &style) > 0)
		podresources_print_table(c->cli, &text);
	else
		(void)fputs("Nothing can be handed out: no device plugin has registered, and CPUs "
			    "and memory are not given to containers of their own.\n",
			    c->cli->err);
	return 0;
}

static int run_allocatable(struct cli *cli, struct error *err)
{
	const struct ask_options *o = cli->options;
	struct podres_caller c = { 0 };
	int r = podres_caller_open(&c, cli, &o->socket, false, err);

	if (r == 0)
		r = show_allocatable(&c, err);
	podres_caller_close(&c);
	return r;
}

static const struct command allocatable_row = {
	.name = "allocatable",
	.summary = "show the resources that this node can allocate",
	.about = "Prints a row for each resource and NUMA node: healthy devices of device plugins, "
		 "CPUs and memory, whether in use or free. Without -o wide, long lists of devices "
		 "are cut.",
	.examples = "devplane podresources allocatable\n"
		    "devplane podresources allocatable -o json --root-dir d/n1",
	.flags = allocatable_flags,
	.options_size = sizeof(struct ask_options),
	.run = run_allocatable,
};

/* --- the group ---------------------------------------------------------------------------- */

static const struct command *const rows[] = { &list_row, &cmd_podresources_watch, &allocatable_row,
					      NULL };

const struct command cmd_podresources = {
	.name = "podresources",
	.summary = "list and watch the devices, CPUs and memory of this node's pods",
	.about = "Reads from the PodResources socket of devplane node or of a kubelet on this "
		 "machine which devices, CPUs and memory each container has. See "
		 "docs/podresources.md.",
	.group = COMMAND_TOOL,
	.subcommands = rows,
};
